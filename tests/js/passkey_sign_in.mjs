// Sign-in with a passkey on the login page, with Chromium's virtual authenticator in place of the phone's lock. Relay
// pages on other origins must fail.
//
// Environment: BASE_URL, ENROL_URL (of ada), AUTHORIZE (the address of an application's authorization request), and
// REDIRECT_URI (the target of its answers); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { complaints, desktop, inspect, launch, phone, shot } from './browser.mjs';

const { BASE_URL, ENROL_URL, AUTHORIZE, REDIRECT_URI } = process.env;
assert.ok(BASE_URL && ENROL_URL && AUTHORIZE && REDIRECT_URI, 'a variable is missing');
const AGAIN = `${AUTHORIZE}&prompt=login`;
/** The same host with another port: the browser's RP ID has no port. */
const SAME_HOST = 'http://localhost:1/relay';
const OTHER_HOST = 'http://evil.localhost:1/relay';
/** A flag in the storage of the server's origin, which disables the list at the name's field. */
const NO_LIST = 'test-no-list';

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

/** A phone with a screen lock. `present(yes)` sets whether its user touches the phone automatically. */
async function phoneWithPasskeys(browser) {
  const page = await (await phone(browser)).newPage();
  await page.addInitScript((flag) => {
    if (localStorage.getItem(flag)) PublicKeyCredential.isConditionalMediationAvailable = async () => false;
  }, NO_LIST);
  for (const address of [SAME_HOST, OTHER_HOST]) {
    await page.route(address, (route) => route.fulfill({ contentType: 'text/html', body: '<p>Sign in</p>' }));
  }
  const session = await page.context().newCDPSession(page);
  // The application's answer to a redirect. Playwright's routes do not see redirects.
  session.on('Fetch.requestPaused', ({ requestId }) => {
    const responseHeaders = [{ name: 'content-type', value: 'text/html' }];
    session.send('Fetch.fulfillRequest', {
      requestId,
      responseCode: 200,
      responseHeaders,
      body: btoa('<p>Answered</p>'),
    });
  });
  await session.send('Fetch.enable', { patterns: [{ urlPattern: `${REDIRECT_URI}*` }] });
  await session.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
    automaticPresenceSimulation: true,
  };
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', { options });
  return {
    page,
    credentials: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    list: (shown) =>
      page.evaluate(
        ([flag, off]) => (off ? localStorage.setItem(flag, 'yes') : localStorage.removeItem(flag)),
        [NO_LIST, !shown],
      ),
  };
}

const answered = (page) => page.waitForURL((url) => url.href.startsWith(`${REDIRECT_URI}?code=`));

async function agree({ page, credentials }) {
  await page.goto(ENROL_URL);
  await page.getByRole('button', { name: /set up this/i }).click();
  await page.getByRole('button', { name: /protect \(recommended\)/i }).click();
  await page.getByRole('heading', { name: /is set up/i }).waitFor();
  await page.getByRole('button', { name: /done/i }).click();
  const agreement = page.getByRole('button', { name: 'Turn on passkey sign-in' });
  await agreement.waitFor();
  assert.deepEqual(
    (await credentials()).map((one) => one.isResidentCredential),
    [false],
    'a passkey for approvals only is in no list',
  );
  await look(page, 'passkey-sign-in-offer');
  await agreement.click();
  await page.getByText(/also signs you in/).waitFor();
  assert.equal((await credentials()).filter((one) => one.isResidentCredential).length, 1);
  await look(page, 'passkey-sign-in-set');
}

/** One tap on the button: no name, no number, no request. */
async function byButton({ page, list }) {
  await list(false);
  await page.goto(AUTHORIZE);
  const button = page.getByRole('button', { name: 'Sign in with a passkey' });
  await button.waitFor();
  await look(page, 'login-passkey');
  await button.click();
  await answered(page);
}

/** The list at the name's field: the virtual authenticator's user chooses the only passkey at once. */
async function byList({ page, list }) {
  await page.goto(`${BASE_URL}/authenticator`);
  await list(true);
  await page.goto(AGAIN);
  await answered(page);
}

/** Returns the phone's answer to an attacker's page for this challenge: an assertion, or the name of the error. */
function relayed(page, challenge) {
  return page.evaluate(async (text) => {
    const decoded = (value) =>
      Uint8Array.from(atob(value.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0));
    const publicKey = { challenge: decoded(text), rpId: 'localhost', userVerification: 'required' };
    try {
      const credential = await navigator.credentials.get({ publicKey });
      return { assertion: credential.toJSON() };
    } catch (error) {
      return { error: error.name };
    }
  }, challenge);
}

/** The attacker has started a sign-in, and shows the victim its challenge on another origin. */
async function relays(browser, { page }) {
  for (const [address, refusedByBrowser] of [
    [OTHER_HOST, true],
    [SAME_HOST, false],
  ]) {
    const attacker = await (await desktop(browser)).newPage();
    await attacker.goto(AUTHORIZE);
    await attacker.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    const { challenge } = await attacker.evaluate(async () => {
      const form = document.getElementById('passkey');
      const body = new URLSearchParams({ csrf: form.elements.namedItem('csrf').value });
      return (await fetch(form.dataset.challenge, { method: 'POST', body })).json();
    });
    await page.goto(address);
    const { assertion, error } = await relayed(page, challenge);
    if (refusedByBrowser) {
      assert.equal(error, 'SecurityError', 'the browser returns no assertion to another host');
    } else {
      assert.ok(assertion, `the browser returns one to another port, and not ${error}`);
      await attacker.evaluate((answer) => {
        const form = document.getElementById('passkey');
        form.elements.namedItem('assertion').value = JSON.stringify(answer);
        form.requestSubmit();
      }, assertion);
      await attacker.getByText(/That passkey can’t sign you in here/).waitFor();
      await look(attacker, 'login-passkey-failed');
    }
    await attacker.context().close();
  }
}

/** The user withdraws the agreement in the portal. Then no sign-in with the passkey succeeds. */
async function withdraw({ page, list }) {
  await page.goto(`${BASE_URL}/authenticator`);
  await list(false);
  await page.goto(`${BASE_URL}/devices`);
  assert.equal(await page.locator('#passkey').count(), 0, "the server's own pages accept no passkey");
  await page.getByRole('link', { name: 'Approve on this device' }).click();
  await page.getByRole('button', { name: /Approve as .*\(ada\)/ }).click();
  await page.waitForURL(`${BASE_URL}/devices`);
  const stop = page.getByRole('button', { name: /^Turn off passkey sign-in: / });
  await stop.waitFor();
  await look(page, 'portal-devices-passkey');
  await stop.click();
  await page.getByText('no longer signs you in').waitFor();
  await page.goto(AGAIN);
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
  await page.getByText(/That passkey can’t sign you in here/).waitFor();
}

const browser = await launch();
try {
  const it = await phoneWithPasskeys(browser);
  const collected = complaints(it.page);
  try {
    await agree(it);
    await byButton(it);
    await byList(it);
    await relays(browser, it);
    await withdraw(it);
  } catch (failure) {
    await shot(it.page, 'failed-phone');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
  // The browser itself logs the responses that require the passkey, or reject it.
  assert.deepEqual(
    collected.filter((line) => !/409|422/.test(line)),
    [],
    'no page logs an error',
  );
} finally {
  await browser.close();
}
