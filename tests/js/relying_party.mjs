// A relying party with openid-client, configured only by discovery. It executes calls in lines of JSON, and answers
// each line with one. tests/py/relying_party.py does the same with Authlib.
//
// First line: the application's registration, see `Registration` in tests/it/clients/relying_party.rs.
// Then:
//   {"call":"authorize","parameters":{}}       -> {"url"}   starts a sign-in, also with these parameters
//   {"call":"sign_in","url","form"}            -> {"claims","userinfo","tokens"}   the browser returned to this URL
//   {"call":"refresh"}                         -> {"claims","userinfo","tokens"}
//   {"call":"introspect"}                      -> the provider's introspection response for the access token
//   {"call":"revoke"}                          -> {}   revokes the refresh token, or otherwise the access token
//   {"call":"end_session","parameters":{}}     -> {"url"}   the browser signs out at this URL
//   {"call":"client_credentials","scope"}      -> {"tokens"}
// A rejection by the protocol is {"error","error_description"}. Any other failure ends the program with code 1.

import './webcrypto.mjs';

import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';

import * as client from 'openid-client';

/** Calls the provider by TLS with the application's certificate, which the `fetch` of Node.js cannot do. */
function fetchWithCertificate(files) {
  const [cert, key, ca] = [files.certificate_file, files.certificate_key_file, files.trusted_file].map((file) =>
    readFileSync(file),
  );
  return async (url, { method, headers, body, signal }) => {
    if (!url.startsWith('https:')) return fetch(url, { method, headers, body, signal });
    const response = await new Promise((resolve, reject) => {
      request(url, { method, headers, signal, cert, key, ca }, resolve).on('error', reject).end(body?.toString());
    });
    return new Response(await buffer(response), {
      status: response.statusCode,
      headers: Object.entries(response.headers),
    });
  };
}

/** Returns the application's client authentication method. */
async function authentication({ method, client_secret, private_key }) {
  switch (method) {
    case 'client_secret_basic':
      return client.ClientSecretBasic(client_secret);
    case 'client_secret_post':
      return client.ClientSecretPost(client_secret);
    case 'client_secret_jwt':
      return client.ClientSecretJwt(client_secret);
    case 'private_key_jwt': {
      const algorithm = { name: 'ECDSA', namedCurve: private_key.crv };
      const key = await crypto.subtle.importKey('jwk', private_key, algorithm, false, ['sign']);
      return client.PrivateKeyJwt({ key, kid: private_key.kid });
    }
    case 'tls_client_certificate':
      return client.TlsClientAuth();
    case 'none':
      return client.None();
    default:
      throw new Error(`openid-client has no ${method}`);
  }
}

class RelyingParty {
  #registration;
  #config;
  /** The state of a sign-in that has started. */
  #begun;
  #tokens;
  /** The proofs of each request, if the application sends some. */
  #proofs = {};

  static async configure(registration) {
    const party = new RelyingParty();
    party.#registration = registration;
    const metadata = {
      id_token_signed_response_alg: registration.id_token_alg,
      use_mtls_endpoint_aliases: registration.method === 'tls_client_certificate',
    };
    const way = await authentication(registration);
    party.#config = await client.discovery(new URL(registration.issuer), registration.client_id, metadata, way, {
      // Assent allows plain http only for localhost, where the tests run.
      execute: [client.allowInsecureRequests],
      [client.customFetch]: registration.certificate_file ? fetchWithCertificate(registration) : undefined,
    });
    const protection = registration.protection ?? [];
    if (protection.includes('jarm')) client.useJwtResponseMode(party.#config);
    if (protection.includes('dpop')) {
      party.#proofs = { DPoP: client.getDPoPHandle(party.#config, await client.randomDPoPKeyPair('ES256')) };
    }
    return party;
  }

  async authorize({ parameters }) {
    const [verifier, nonce, state] = [client.randomPKCECodeVerifier(), client.randomNonce(), client.randomState()];
    this.#begun = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state, idTokenExpected: true };
    const request = {
      redirect_uri: this.#registration.redirect_uri,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      nonce,
      state,
      ...parameters,
    };
    const url = this.#registration.protection?.includes('par')
      ? await client.buildAuthorizationUrlWithPAR(this.#config, request, this.#proofs)
      : client.buildAuthorizationUrl(this.#config, request);
    return { url: url.href };
  }

  async sign_in({ url, form }) {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = form ? new Request(url, { method: 'POST', body: form, headers }) : new URL(url);
    return this.#received(await client.authorizationCodeGrant(this.#config, answer, this.#begun, {}, this.#proofs));
  }

  async refresh() {
    return this.#received(await client.refreshTokenGrant(this.#config, this.#tokens.refresh_token, {}, this.#proofs));
  }

  async #received(tokens) {
    this.#tokens = tokens;
    const claims = tokens.claims();
    const userinfo = await client.fetchUserInfo(this.#config, tokens.access_token, claims.sub, this.#proofs);
    return { claims, userinfo, tokens };
  }

  introspect() {
    return client.tokenIntrospection(this.#config, this.#tokens.access_token);
  }

  async revoke() {
    await client.tokenRevocation(this.#config, this.#tokens.refresh_token ?? this.#tokens.access_token);
    return {};
  }

  end_session({ parameters }) {
    const url = client.buildEndSessionUrl(this.#config, { id_token_hint: this.#tokens.id_token, ...parameters });
    return { url: url.href };
  }

  async client_credentials({ scope }) {
    this.#tokens = await client.clientCredentialsGrant(this.#config, scope ? { scope } : undefined);
    return { tokens: this.#tokens };
  }
}

const REFUSALS = [client.AuthorizationResponseError, client.ResponseBodyError, client.WWWAuthenticateChallengeError];

/** Executes one call. A rejection by the protocol is also an answer. */
async function answer(party, { call, ...details }) {
  try {
    return await party[call](details);
  } catch (failure) {
    if (!REFUSALS.some((kind) => failure instanceof kind)) throw failure;
    const { error, error_description } = failure.cause?.[0]?.parameters ?? failure;
    return { error, error_description };
  }
}

async function main() {
  let party;
  for await (const line of createInterface({ input: process.stdin })) {
    const call = JSON.parse(line);
    if (party) process.stdout.write(`${JSON.stringify(await answer(party, call))}\n`);
    else party = await RelyingParty.configure(call);
  }
}

main().catch((failure) => {
  const cause = failure.cause ? `because of ${failure.cause} ${JSON.stringify(failure.cause)}\n` : '';
  // The program does not wait for another line, because no caller would read the answer.
  process.stderr.write(`${failure.stack}\n${cause}`, () => process.exit(1));
});
