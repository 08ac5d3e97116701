// Every page that the first sign-in does not show: start page, errors, an invalid name, a cancelled sign-in, the
// console. The sign-in to the console works without scripts. The test checks each page at both widths, light and dark,
// with axe-core.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (an administrator), AUTHORIZE_URL (an application's request); CHROMIUM
// and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { CHROMIUM, desktop, enrolDevice, inspect, launch, PATIENCE, phone } from './browser.mjs';

const { BASE_URL, ENROL_URL, LOGIN_NAME, AUTHORIZE_URL } = process.env;
assert.ok(
  BASE_URL && ENROL_URL && LOGIN_NAME && AUTHORIZE_URL,
  'BASE_URL, ENROL_URL, LOGIN_NAME or AUTHORIZE_URL is missing',
);

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

async function signedOutPages(page) {
  await page.goto(BASE_URL);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await look(page, 'home');
  await page.goto(`${BASE_URL}/oidc/auth?client_id=nobody`);
  assert.match(await page.getByRole('main').innerText(), /[0-9A-F]{8}/, 'an error page has a reference number');
  await look(page, 'error-request');
  await page.goto(`${BASE_URL}/nowhere`);
  await look(page, 'error-not-found');
  await page.goto(`${BASE_URL}/oidc/session/end?id_token_hint=nonsense`);
  await page.getByRole('link', { name: /sign out/i }).waitFor();
  await look(page, 'error-sign-out');
  await page.goto(`${BASE_URL}/device`);
  await look(page, 'device');
  await page.goto(`${BASE_URL}/device?user_code=WDJB-MJHT`);
  await page.getByText('WDJB-MJHT').waitFor();
  await look(page, 'device-code');
  await page.goto(`${BASE_URL}/authenticator`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await look(page, 'authenticator-empty');
}

async function cancelledLogin(page) {
  await page.goto(`${BASE_URL}/admin`);
  const field = page.getByRole('textbox', { name: /name|email/i });
  await field.fill('not a name');
  await field.press('Enter');
  await page.getByText(/without spaces/).waitFor();
  await look(page, 'login-error');
  await field.fill('nobody');
  await page.getByRole('button', { name: /continue/i }).click();
  await page.getByRole('button', { name: /cancel/i }).click();
  await page.getByRole('heading', { name: /cancelled/i }).waitFor();
  await look(page, 'ended-cancelled');
  await page.getByRole('button', { name: /try again/i }).click();
  await field.fill('nobody');
  await page.getByRole('button', { name: /continue/i }).click();
  await page.getByText(/wait \d+ seconds?/i).waitFor();
  await look(page, 'error-too-many');
  await page.getByRole('link', { name: /try again/i }).click();
  await field.waitFor();
}

/** Signs in to the console without scripts: the waiting page refreshes itself. */
async function consoleWithoutScripts(page, mobile) {
  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('textbox', { name: /name|email/i }).fill(LOGIN_NAME);
  await page.getByRole('button', { name: /continue/i }).click();
  const number = (await page.locator('#number').textContent()).trim();
  const field = mobile.getByRole('textbox', { name: /number/i });
  await field.waitFor();
  // A wrong number first: the server rejects it, and the user may type it again.
  await field.fill(number === '42' ? '43' : '42');
  await mobile.getByRole('button', { name: /approve/i }).click();
  await mobile
    .getByText(/not the number|wrong/i)
    .first()
    .waitFor();
  await look(mobile, 'request-wrong-number');
  await field.fill(number);
  await mobile.getByRole('button', { name: /approve/i }).click();
  await mobile.getByRole('heading', { name: /approved/i }).waitFor();
  await page.waitForURL(`${BASE_URL}/admin`);
}

/** Completes an application's request with a session: the choice of account, the consent, the posted form. */
async function consentAndFormPost(page) {
  const posted = [];
  // The application does not exist, but the test receives the form posted to it.
  await page.route('https://rp.example/**', (route) => {
    posted.push(route.request().postData());
    return route.fulfill({ contentType: 'text/html', body: '<title>Application</title>' });
  });
  const answered = (count) =>
    page.waitForFunction(() => document.title === 'Application').then(() => assert.equal(posted.length, count));

  await page.goto(`${AUTHORIZE_URL}&prompt=select_account`);
  const goOn = page.getByRole('button', { name: /continue as/i });
  await goOn.waitFor();
  assert.ok(await goOn.evaluate((button) => button === document.activeElement), 'a known user only has to continue');
  assert.equal(await page.locator('.ways .primary').count(), 1, 'one button is the next step');
  await look(page, 'login-choice');
  await goOn.click();
  const allow = page.getByRole('button', { name: /^allow$/i });
  await allow.waitFor();
  await look(page, 'consent-session');
  const policy = page.getByRole('link', { name: 'Privacy policy' });
  assert.equal(await policy.getAttribute('rel'), 'noopener noreferrer');
  for (const host of ['privacy-of-this-application.example', 'terms.example', 'about.example'])
    assert.ok(await page.getByText(host).isVisible(), `the page says that a link leads to ${host}`);
  await allow.click();
  await answered(1);

  // With its script, the page posts the form by itself.
  await page.goto(`${AUTHORIZE_URL}&response_mode=form_post`);
  await answered(2);
  assert.match(posted[1], /^code=ac_/);
  await page.route('**/form_post*.js', (route) => route.abort());
  await page.goto(`${AUTHORIZE_URL}&response_mode=form_post`);
  const go = page.getByRole('button', { name: /continue/i });
  await go.waitFor();
  await look(page, 'form-post');
  await go.click();
  await answered(3);
  assert.match(posted[2], /^code=ac_/);

  const keeps = new URL(AUTHORIZE_URL);
  keeps.searchParams.set('prompt', 'consent');
  keeps.searchParams.set('scope', 'openid profile email offline_access');
  await page.goto(keeps.href);
  await page.getByText(/asked again at each new sign‑in/i).waitFor();
  await look(page, 'consent-offline');
  await page.getByRole('button', { name: /^allow$/i }).click();
  await answered(4);
}

// In the headless shell, a test cannot mock the application that a redirect leads to.
const browser = await launch({}, [], CHROMIUM);
try {
  const desk = await (await desktop(browser)).newPage();
  const mobile = await (await phone(browser)).newPage();
  await signedOutPages(desk);
  await cancelledLogin(desk);
  await enrolDevice(mobile, ENROL_URL);

  const plain = await browser.newContext({
    locale: 'en-GB',
    javaScriptEnabled: false,
    viewport: { width: 1280, height: 800 },
  });
  plain.setDefaultTimeout(PATIENCE);
  await consoleWithoutScripts(await plain.newPage(), mobile);

  // The same session in a window with scripts, because axe-core needs them.
  const signedIn = await desktop(browser);
  await signedIn.addCookies(await plain.cookies());
  const page = await signedIn.newPage();
  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await look(page, 'console');
  await consentAndFormPost(page);
  await page.goto(`${BASE_URL}/consents`);
  await page.getByRole('button', { name: /withdraw/i }).click();
  await page
    .getByRole('status')
    .getByText(/no longer allowed/i)
    .waitFor();
  assert.equal(await page.getByRole('button', { name: /withdraw/i }).count(), 0);
  await look(page, 'portal-withdrawn');
  await page.goto(`${BASE_URL}/oidc/session/end`);
  await page.getByRole('button', { name: /yes, sign out/i }).waitFor();
  await look(page, 'sign-out-question');
  await page.getByRole('button', { name: /no, stay/i }).click();
  await page.getByRole('heading', { name: /hello/i }).waitFor();
  await page.goto(`${BASE_URL}/session/end`);
  await page.getByRole('button', { name: /yes, sign out/i }).click();
  await page.getByRole('heading', { name: /signed out/i }).waitFor();
  await look(page, 'signed-out');
  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('textbox', { name: /name|email/i }).waitFor();
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
}
