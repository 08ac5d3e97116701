// fapi_client.mjs
import { Agent, request } from 'node:https';
import { buffer } from 'node:stream/consumers';

import * as client from 'openid-client';

const KEYS = { ES256: { name: 'ECDSA', namedCurve: 'P-256' }, PS256: { name: 'RSA-PSS', hash: 'SHA-256' } };

/** Sends requests with the certificate of the application, which the `fetch` of Node.js cannot do. */
function fetchWithCertificate({ cert, key, ca }) {
  const agent = new Agent({ cert, key, ca });
  return async (url, { method, headers, body, signal }) => {
    if (!url.startsWith('https:')) return fetch(url, { method, headers, body, signal });
    const response = await new Promise((resolve, reject) => {
      request(url, { method, headers, signal, agent }, resolve).on('error', reject).end(body?.toString());
    });
    const init = { status: response.statusCode, headers: Object.entries(response.headers) };
    return new Response(await buffer(response), init);
  };
}

export class FapiClient {
  #settings;
  #config;
  #key;
  /** The proofs of each request, if the access tokens are bound to a DPoP key. */
  #proofs = {};

  /** Configures the client from the discovery document of `settings.issuer`. */
  static async connect(settings) {
    const { algorithm, authentication, binding, certificate, issuer, messages } = settings;
    const it = new FapiClient();
    it.#settings = settings;
    if (settings.key) it.#key = await crypto.subtle.importKey('jwk', settings.key, KEYS[algorithm], false, ['sign']);
    const byCertificate = authentication === 'tls_client_certificate' || binding === 'certificate';
    const metadata = {
      id_token_signed_response_alg: algorithm,
      authorization_signed_response_alg: algorithm,
      use_mtls_endpoint_aliases: byCertificate,
    };
    const way = authentication === 'private_key_jwt' ? client.PrivateKeyJwt(it.#key) : client.TlsClientAuth();
    it.#config = await client.discovery(new URL(issuer), settings.clientId, metadata, way, {
      // Plain http is only for a server on this machine.
      execute: issuer.startsWith('http:') ? [client.allowInsecureRequests] : [],
      [client.customFetch]: byCertificate ? fetchWithCertificate(certificate) : undefined,
    });
    // Checks the signatures of ID tokens, too.
    client.enableNonRepudiationChecks(it.#config);
    if (messages === 'signed_response') client.useJwtResponseMode(it.#config);
    if (binding === 'dpop') {
      it.#proofs = { DPoP: client.getDPoPHandle(it.#config, await client.randomDPoPKeyPair(algorithm)) };
    }
    return it;
  }

  /** Begins a sign-in. Redirect the browser to `url`, and store `checks` in its session. */
  async begin(scope) {
    const [verifier, nonce, state] = [client.randomPKCECodeVerifier(), client.randomNonce(), client.randomState()];
    const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state, idTokenExpected: true };
    let parameters = new URLSearchParams({
      redirect_uri: this.#settings.redirectUri,
      scope,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      nonce,
      state,
    });
    // A refresh token needs the consent of the user.
    if (scope.split(' ').includes('offline_access')) parameters.set('prompt', 'consent');
    if (this.#settings.messages === 'signed_request') {
      const signed = await client.buildAuthorizationUrlWithJAR(this.#config, parameters, this.#key);
      parameters = signed.searchParams;
    }
    const url = await client.buildAuthorizationUrlWithPAR(this.#config, parameters, this.#proofs);
    return { url: url.href, checks };
  }

  /** Ends the sign-in: the browser returned to this URL of the application. */
  async finish(url, checks) {
    const tokens = await client.authorizationCodeGrant(this.#config, new URL(url), checks, {}, this.#proofs);
    return this.#user(tokens);
  }

  /** Refreshes the tokens. Store the refresh token of the result. */
  async refresh(refreshToken) {
    return this.#user(await client.refreshTokenGrant(this.#config, refreshToken, {}, this.#proofs));
  }

  async #user(tokens) {
    const claims = tokens.claims();
    const userinfo = await client.fetchUserInfo(this.#config, tokens.access_token, claims.sub, this.#proofs);
    return { tokens, claims, userinfo };
  }
}
