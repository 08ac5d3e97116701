/// <reference path="./host.d.ts" />

// The types of the contract `assent:claims@1.0.0`, and the adapter between it and a plugin in TypeScript.
//
// The contract passes open-ended values as JSON text. In this API they are values. Each text is parsed at its first
// use, because most plugins use few of them.

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** A JSON object. */
export type JsonObject = { [member: string]: Json };

/**
 * A JSON value that is only read, such as `input.user.groups` or `input.user.profile`. JSON has no `undefined`, so
 * members with this value are omitted. For an object, declare a type alias: TypeScript does not accept an interface.
 */
export type ReadonlyJson =
  | null
  | boolean
  | number
  | string
  | readonly ReadonlyJson[]
  | { readonly [member: string]: ReadonlyJson | undefined };

/** The destination of the claims. */
export type Sink = "id-token" | "userinfo" | "introspection" | "saml-assertion";

/** One entry of the request's `claims` parameter (OpenID Connect Core 1.0, section 5.5). */
export interface RequestedClaim {
  name: string;
  /** Whether the claim is essential for the application. */
  essential: boolean;
  /** The requested values, in the order of preference. Empty if the application accepts any value. */
  values: Json[];
}

/** The application. Later versions may add members to this object and to {@link Account} and {@link User}. */
export type Application = {
  /** The Client ID, a DID. */
  readonly id: string;
  readonly name: string;
  /** Only with OIDC. */
  readonly application_type?: "web" | "spa" | "native";
  /** Only with SAML. */
  readonly entity_id?: string;
  /** Only with SAML: the attributes in the settings of the application. */
  readonly custom_attributes?: readonly { readonly name: string; readonly values: readonly string[] }[];
};

/** The user's account in this application. */
export type Account = {
  readonly id: string;
  readonly name: string;
  readonly short_code: string;
  /** The state, such as `active`. */
  readonly state: string;
};

/** The user. */
export type User = {
  readonly did: string;
  /** The name that the user types at the sign-in. */
  readonly name: string;
  /** The email address, if it is known. `profile.email_verified` states whether it is verified. */
  readonly email?: string | null;
  /** The names of the user's groups that are assigned to the application. */
  readonly groups: readonly string[];
  /** More claims about the user. */
  readonly profile: Profile;
};

/** Claims about the user (OpenID Connect Core 1.0, section 5.1). An unknown claim is null or missing. */
export type Profile = {
  /** The full name. */
  readonly name?: string | null;
  readonly given_name?: string | null;
  readonly family_name?: string | null;
  readonly middle_name?: string | null;
  readonly nickname?: string | null;
  readonly picture?: string | null;
  /** The address of the user's page. */
  readonly profile?: string | null;
  readonly website?: string | null;
  readonly gender?: string | null;
  readonly birthdate?: string | null;
  readonly zoneinfo?: string | null;
  readonly locale?: string | null;
  readonly phone_number?: string | null;
  readonly phone_number_verified?: boolean | null;
  readonly email_verified?: boolean | null;
  readonly address?: Address | null;
};

/** The postal address (OpenID Connect Core 1.0, section 5.1.1). */
export type Address = {
  readonly formatted?: string | null;
  readonly street_address?: string | null;
  readonly locality?: string | null;
  readonly region?: string | null;
  readonly postal_code?: string | null;
  readonly country?: string | null;
};

/** The input of a claim mapper. */
export interface Input {
  readonly protocol: "oidc" | "saml";
  readonly sink: Sink;
  /** The current time, in seconds since the Unix epoch. */
  readonly now: number;
  readonly application: Application;
  /** The user's account in this application. */
  readonly account: Account;
  readonly user: User;
  /** The user's roles in this application. */
  readonly roles: readonly string[];
  /** The granted scopes of which the application receives claims in this sink. Empty for SAML. */
  readonly scopes: readonly string[];
  /** The entries of the request's `claims` parameter for this sink. */
  readonly requested: readonly RequestedClaim[];
  /** The authentication context class of the sign-in (OpenID Connect Core 1.0, section 2). */
  readonly acr: string | null;
  /** The authentication methods of the sign-in (RFC 8176). */
  readonly amr: readonly string[];
  /** The claims from the server, with the edits of earlier plugins. */
  readonly current: JsonObject;
}

/** The type of an attribute's values, as in `xsi:type` (XML Schema Part 2). */
export type ValueType = "string" | "boolean" | "integer" | "date-time" | "any-uri" | "base64-binary";

/** An attribute of the assertion's AttributeStatement (SAML 2.0 Core, section 2.7.3.1). */
export interface SamlAttribute {
  name: string;
  /** A URI. The default is the basic format. */
  nameFormat?: string;
  friendlyName?: string;
  /** The default is `string`. A value with another type is a fault of the plugin. */
  valueType?: ValueType;
  values: readonly string[];
}

/**
 * A change of the claims or attributes that the application receives. {@link set}, {@link remove} and {@link attribute}
 * return one.
 */
export type Edit =
  | { tag: "set"; val: [name: string, json: string] }
  | { tag: "remove"; val: string }
  | { tag: "attribute"; val: ContractAttribute };

interface ContractAttribute {
  name: string;
  nameFormat: string | null;
  friendlyName: string | null;
  valueType: ValueType;
  values: readonly string[];
}

/** Returns an edit that sets a claim. For an optional value, write `value ?? null`, or return no edit. */
export function set(name: string, value: ReadonlyJson): Edit {
  return { tag: "set", val: [name, JSON.stringify(value)] };
}

/** Returns an edit that removes a claim. The plugin must have the permission to write it. */
export function remove(name: string): Edit {
  return { tag: "remove", val: name };
}

/** Returns an edit that adds an attribute; only for the sink `saml-assertion`. */
export function attribute({ name, nameFormat, friendlyName, valueType, values }: SamlAttribute): Edit {
  return {
    tag: "attribute",
    val: {
      name,
      nameFormat: nameFormat ?? null,
      friendlyName: friendlyName ?? null,
      valueType: valueType ?? "string",
      values,
    },
  };
}

/**
 * An error that `map` throws to deny the user access to this application. The message is the reason for the user, in
 * one sentence. A plugin that may throw it must set `denies` in its description. Otherwise the denial is a fault, which
 * ends the sign-in.
 */
export class Deny extends Error {}

/** A plugin's description of itself. */
export interface Description {
  name: string;
  version: string;
  /** The plugin's task, in one sentence. */
  summary: string;
  /**
   * The claims that it writes, with `attribute:NAME` for SAML attributes. `*` and `attribute:*` leave the choice to the
   * operator.
   */
  writes: string[];
  /** The JSON Schema of the settings, if the plugin has settings. */
  config_schema?: JsonObject;
  /** The destinations of claims for which it runs. All destinations, if it names none. */
  sinks?: Sink[];
  /** Whether it may throw {@link Deny}, which is a fault otherwise. The operator then cannot omit its faults. */
  denies?: boolean;
}

/** A plugin that decides which claims about a user an application receives. */
export interface ClaimMapper<Config> {
  description: Description;

  /** Checks the operator's settings. Each error is one plain sentence. The list is empty if the settings are valid. */
  validate(config: Partial<Record<keyof Config, unknown>>): string[];

  /**
   * Returns the edits for one token, response or assertion. A thrown {@link Deny} denies access. Any other error is a
   * fault of the plugin, and the sign-in fails closed.
   */
  map(config: Config, input: Input): Edit[];
}

/** The input in the form of the contract. */
export interface ContractInput {
  protocol: Input["protocol"];
  sink: Sink;
  now: number;
  application: string;
  account: string;
  user: string;
  roles: string[];
  scopes: string[];
  requested: { name: string; essential: boolean; values: string[] }[];
  acr: string | null;
  amr: string[];
  current: string;
  config: string;
}

/** The interface `mapper` of the contract, which the component exports. */
export interface ContractMapper {
  describe(): string;
  /** Throws the list of errors. */
  validate(config: string): void;
  /** Throws `{ tag: "deny" | "fault", val }`. */
  mapClaims(input: ContractInput): Edit[];
}

/** A plugin with the component's exports. */
export type Plugin<Config> = ClaimMapper<Config> & { exported: ContractMapper };

/** Creates a claim mapper from a plugin. */
export function claimMapper<Config>(plugin: ClaimMapper<Config>): Plugin<Config> {
  const exported: ContractMapper = {
    describe: () => JSON.stringify(plugin.description),
    validate(config) {
      const errors = plugin.validate(JSON.parse(config));
      if (errors.length > 0) {
        throw errors;
      }
    },
    mapClaims(input) {
      try {
        return plugin.map(JSON.parse(input.config), new LazyInput(input));
      } catch (error) {
        throw { tag: error instanceof Deny ? "deny" : "fault", val: reason(error) };
      }
    },
  };
  return { ...plugin, exported };
}

function reason(error: unknown): string {
  return error instanceof Deny ? error.message : String(error);
}

/** Parses each JSON text at its first use. */
class LazyInput implements Input {
  readonly #input: ContractInput;
  readonly #parsed: { [text: string]: unknown } = {};
  readonly protocol: Input["protocol"];
  readonly sink: Sink;
  readonly now: number;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly acr: string | null;
  readonly amr: readonly string[];

  constructor(input: ContractInput) {
    this.#input = input;
    this.protocol = input.protocol;
    this.sink = input.sink;
    this.now = input.now;
    this.roles = input.roles;
    this.scopes = input.scopes;
    this.acr = input.acr;
    this.amr = input.amr;
  }

  get application(): Application {
    return this.#json("application");
  }

  get account(): Account {
    return this.#json("account");
  }

  get user(): User {
    return this.#json("user");
  }

  get current(): JsonObject {
    return this.#json("current");
  }

  get requested(): readonly RequestedClaim[] {
    return this.#input.requested.map(({ name, essential, values }) => ({
      name,
      essential,
      values: values.map((value) => JSON.parse(value)),
    }));
  }

  #json<Member extends "application" | "account" | "user" | "current">(member: Member): Input[Member] {
    // The host sends these members in the form of their types.
    return (this.#parsed[member] ??= JSON.parse(this.#input[member])) as Input[Member];
  }
}
