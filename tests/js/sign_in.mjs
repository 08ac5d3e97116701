// Signs in as an application and a browser without JavaScript do, and reports the result in lines of JSON:
//   {"event":"waiting","number":"42"}                          the number to type on the phone
//   {"event":"done","claims":{},"userinfo":{},"tokens":{}}     signed in, every check of openid-client passed
//   {"event":"error","from":"authorization"|"token"|"userinfo","error":"","error_description":""}
//                                                              rejected by the protocol
//   {"event":"failed","message":""}                            any other failure; the exit code is 1
//
// Environment: ASSENT_ISSUER, CLIENT_ID, CLIENT_SECRET (none for a public client), REDIRECT_URI, LOGIN_NAME, SCOPE.

import './webcrypto.mjs';

import { setTimeout as sleep } from 'node:timers/promises';

import * as client from 'openid-client';

import { attribute, PlainBrowser, text } from './plain_browser.mjs';

const REFRESH_MS = 300;
const PATIENCE_MS = 300_000;

const tell = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

function setting(name, fallback) {
  const value = process.env[name] ?? fallback;
  if (value === undefined) throw new Error(`the environment variable ${name} is missing`);
  return value;
}

/** Configures the application: everything except its own registration comes from the discovery document. */
async function discover() {
  const secret = process.env.CLIENT_SECRET;
  const authentication = secret ? client.ClientSecretBasic(secret) : client.None();
  return client.discovery(new URL(setting('ASSENT_ISSUER')), setting('CLIENT_ID'), undefined, authentication, {
    // Assent allows plain http only for localhost, where the tests run.
    execute: [client.allowInsecureRequests],
  });
}

/** Reports the number of the waiting page, and refreshes that page until its state changes. */
async function wait(browser, first) {
  const until = Date.now() + PATIENCE_MS;
  let [page, shown] = [first, undefined];
  while (Date.now() < until) {
    const element = page.find((candidate) => attribute(candidate, 'id') === 'number');
    if (!element) return { page };
    if (!page.refreshesItself) throw new Error(`the waiting page does not refresh itself without JavaScript: ${page}`);
    const number = text(element);
    if (number !== shown) tell({ event: 'waiting', number });
    shown = number;
    await sleep(REFRESH_MS);
    const next = await browser.open(page.url);
    if (next.left) return next;
    page = next.page;
  }
  throw new Error(`still waiting after ${PATIENCE_MS / 1000} seconds: ${page}`);
}

/** Completes the pages, and returns the application's address that the browser returns to. */
async function approve(browser, start) {
  let at = await browser.open(start);
  if (at.left) return at.left;
  const login = at.page.form(/./);
  if (!login || !at.page.find((element) => attribute(element, 'name') === 'name')) {
    throw new Error(`this is not the login page: ${at.page}`);
  }
  at = await browser.submit(at.page, login, { name: setting('LOGIN_NAME') });
  if (at.page) at = await wait(browser, at.page);
  const consent = at.page?.form(/\/consent$/);
  if (consent) at = await browser.submit(at.page, consent, { decision: 'allow' });
  if (at.left) return at.left;
  // The sign-in failed. The browser returns to the application with the reason.
  const leave = at.page.form(/\/leave$/);
  if (!leave || !at.page.find((element) => attribute(element, 'data-outcome'))) {
    throw new Error(`neither the application nor the end of the sign-in: ${at.page}`);
  }
  at = await browser.submit(at.page, leave);
  if (at.left) return at.left;
  throw new Error(`leaving did not lead back to the application: ${at.page}`);
}

/** Runs one step. If the protocol rejects it, reports the error and returns undefined. */
async function step(from, action) {
  try {
    return await action();
  } catch (failure) {
    const refusal = [client.AuthorizationResponseError, client.ResponseBodyError].some(
      (kind) => failure instanceof kind,
    );
    if (!refusal) throw failure;
    // openid-client reads the redirect and calls the token endpoint at once.
    const origin = failure instanceof client.AuthorizationResponseError ? 'authorization' : from;
    tell({ event: 'error', from: origin, error: failure.error, error_description: failure.error_description ?? null });
    return undefined;
  }
}

async function main() {
  const config = await discover();
  const redirectUri = new URL(setting('REDIRECT_URI'));
  const [verifier, nonce, state] = [client.randomPKCECodeVerifier(), client.randomNonce(), client.randomState()];
  const start = client.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri.href,
    scope: setting('SCOPE', 'openid'),
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    nonce,
    state,
  });
  const browser = new PlainBrowser((url) => url.origin === redirectUri.origin && url.pathname === redirectUri.pathname);
  const answer = await approve(browser, start);

  const tokens = await step('token', () =>
    client.authorizationCodeGrant(config, answer, {
      pkceCodeVerifier: verifier,
      expectedNonce: nonce,
      expectedState: state,
      idTokenExpected: true,
    }),
  );
  if (!tokens) return;
  const claims = tokens.claims();
  const userinfo = await step('userinfo', () => client.fetchUserInfo(config, tokens.access_token, claims.sub));
  if (!userinfo) return;
  const { expires_in, token_type, scope } = tokens;
  tell({ event: 'done', claims, userinfo, tokens: { expires_in, token_type, scope } });
}

main().catch((failure) => {
  const cause = failure.cause instanceof Error ? `: ${failure.cause.message}` : '';
  tell({ event: 'failed', message: `${failure.message}${cause}` });
  process.exitCode = 1;
});
