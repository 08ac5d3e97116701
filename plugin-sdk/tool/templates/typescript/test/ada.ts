import type { Input } from "assent-plugin-sdk";

/** An example user: the same one as in fixtures. */
export const ada: Input = {
  protocol: "oidc",
  sink: "id-token",
  now: 1_800_000_000,
  application: { id: "did:key:books", name: "Books", application_type: "web" },
  account: { id: "018f-account", name: "ada", short_code: "7KQ2M9T4VX", state: "active" },
  user: {
    did: "did:key:ada",
    name: "ada",
    email: "ada@example.org",
    groups: ["Readers"],
    profile: { name: "Ada Lovelace", given_name: "Ada", family_name: "Lovelace" },
  },
  roles: ["reader", "editor"],
  scopes: ["openid", "profile", "email"],
  requested: [],
  acr: "urn:assent:acr:device",
  amr: ["swk"],
  current: { sub: "9f2c1a7be04d", name: "Ada Lovelace", email: "ada@example.org", email_verified: true },
};
