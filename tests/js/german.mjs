// A user with German as preferred language opens every page: enrols a phone, signs in, denies, allows, signs out. The
// test checks each page at both widths, light and dark, with axe-core, and looks for English texts. It also checks some
// pages from right to left.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (an administrator), AUTHORIZE_URL (an application's request); CHROMIUM
// and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { CHROMIUM, complaints, desktop, inspect, launch, phone } from './browser.mjs';

const { BASE_URL, ENROL_URL, LOGIN_NAME, AUTHORIZE_URL } = process.env;
assert.ok(
  BASE_URL && ENROL_URL && LOGIN_NAME && AUTHORIZE_URL,
  'BASE_URL, ENROL_URL, LOGIN_NAME or AUTHORIZE_URL is missing',
);

const GERMAN = { locale: 'de-DE' };
// Words of the English texts that are in no German text.
const ENGLISH = /\b(the|you|your|this|sign|approve|deny|again|left|with|phone|account|it)\b/i;

const findings = [];

/** Checks a page, and searches it for English texts. */
async function look(page, name, main = page.locator('body')) {
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'de', name);
  // The user chose the name of the phone that approves in the tests.
  const english = (await main.innerText()).replaceAll('Test phone', '').match(ENGLISH);
  if (english) findings.push(`${name}: “${english[0]}” in ${english.input}`);
  findings.push(...(await inspect(page, `de-${name}`)));
}

/** The page must also work from right to left. */
async function lookFromRightToLeft(page, name) {
  await page.evaluate(() => (document.documentElement.dir = 'rtl'));
  findings.push(...(await inspect(page, `rtl-${name}`)));
  await page.evaluate(() => (document.documentElement.dir = 'ltr'));
}

async function errorPages(page) {
  await page.goto(BASE_URL);
  await page.getByRole('heading', { name: 'Anmelden ohne Passwort' }).waitFor();
  await look(page, 'home');
  await lookFromRightToLeft(page, 'home');
  await page.goto(`${BASE_URL}/oidc/auth?client_id=nobody`);
  await page.getByRole('link', { name: 'hilfe@example.org' }).waitFor();
  await look(page, 'error-request');
  await page.goto(`${BASE_URL}/nowhere`);
  await look(page, 'error-not-found');
  await page.goto(`${BASE_URL}/oidc/session/end?id_token_hint=nonsense`);
  await page.getByRole('link', { name: 'Abmelden' }).waitFor();
  await look(page, 'error-sign-out');
}

async function enrol(page) {
  await page.goto(`${BASE_URL}/authenticator`);
  await page.getByRole('heading', { name: 'Mit diesem Gerät anmelden' }).waitFor();
  await look(page, 'authenticator-empty');
  await page.goto(`${BASE_URL}/authenticator#enrol=nonsense`);
  await page.getByRole('heading', { name: 'Dieser Link funktioniert nicht' }).waitFor();
  await look(page, 'enrol-unusable');
  await page.goto(ENROL_URL);
  const confirm = page.getByRole('button', { name: 'Dieses Gerät einrichten' });
  await confirm.waitFor();
  await look(page, 'enrol');
  await confirm.click();
  await page.getByRole('heading', { name: 'Dieses Gerät ist eingerichtet' }).waitFor();
  await look(page, 'enrolled');
  await page.getByRole('button', { name: 'Fertig' }).click();
  await page.getByRole('heading', { name: 'Nichts zu bestätigen' }).waitFor();
  await look(page, 'authenticator');
  await page.getByRole('button', { name: 'Dieses Gerät entfernen' }).click();
  await page.getByRole('dialog').waitFor();
  await look(page, 'authenticator-remove');
  await page.getByRole('button', { name: 'Abbrechen' }).click();
}

/** From the login page to the number. */
async function ask(page, name) {
  const field = page.getByRole('textbox', { name: 'Kontoname oder E-Mail-Adresse' });
  await field.fill(name);
  await page.getByRole('button', { name: 'Weiter', exact: true }).click();
  await page.getByRole('heading', { name: 'Auf dem Smartphone bestätigen' }).waitFor();
  return (await page.locator('#number').textContent()).trim();
}

async function deniedLogin(page, mobile) {
  await page.goto(AUTHORIZE_URL);
  await look(page, 'login');
  await lookFromRightToLeft(page, 'login');
  await page.getByRole('textbox').fill('kein Name');
  await page.getByRole('button', { name: 'Weiter', exact: true }).click();
  await page.getByText(/ohne Leerzeichen/).waitFor();
  await look(page, 'login-error');
  await ask(page, 'niemand');
  await page
    .getByText(/^noch \d Minuten? \d+ Sekunden?$/)
    .first()
    .waitFor();
  await look(page, 'waiting');
  await lookFromRightToLeft(page, 'waiting');
  await page.getByRole('button', { name: 'Anmeldung abbrechen' }).click();
  await page.getByRole('heading', { name: 'Anmeldung abgebrochen' }).waitFor();
  await look(page, 'ended-cancelled');
  await page.getByRole('button', { name: 'Noch einmal versuchen' }).click();
  await ask(page, LOGIN_NAME);
  await mobile.getByRole('button', { name: 'Ablehnen' }).click();
  await mobile.getByRole('heading', { name: 'Abgelehnt' }).waitFor();
  await look(mobile, 'request-denied');
  await mobile.getByRole('button', { name: 'Fertig' }).click();
  await page.getByRole('heading', { name: 'Anmeldung abgelehnt' }).waitFor();
  // Otherwise the page returns to the application during the check.
  await page.getByRole('link', { name: 'Auf dieser Seite bleiben' }).click();
  await page.getByRole('link', { name: 'Auf dieser Seite bleiben' }).waitFor({ state: 'detached' });
  await look(page, 'ended-denied');
  // The second denial starts a cooldown.
  await page.getByRole('button', { name: 'Noch einmal versuchen' }).click();
  await ask(page, LOGIN_NAME);
  await mobile.getByRole('button', { name: 'Ablehnen' }).click();
  await mobile.getByRole('heading', { name: 'Abgelehnt' }).waitFor();
  await mobile.getByRole('button', { name: 'Fertig' }).click();
  await page.getByRole('heading', { name: 'Anmeldung abgelehnt' }).waitFor();
  await page.getByRole('link', { name: 'Auf dieser Seite bleiben' }).click();
  await page.getByRole('link', { name: 'Auf dieser Seite bleiben' }).waitFor({ state: 'detached' });
  await mobile.getByText(/ sind bis .* angehalten\./).waitFor();
  await look(mobile, 'paused');
  await mobile.getByRole('button', { name: 'Jetzt fortsetzen' }).click();
  await mobile.getByText(/ sind bis .* angehalten\./).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Noch einmal versuchen' }).click();
}

async function approvedLogin(page, mobile) {
  const number = await ask(page, LOGIN_NAME);
  const field = mobile.getByRole('textbox', { name: 'Geben Sie die Zahl von der Anmeldeseite ein' });
  await field.waitFor();
  const said = await mobile.getByRole('article').filter({ has: field }).innerText();
  assert.match(said, /Chrome auf Linux/, 'the phone shows the browser in its own language');
  assert.match(said, /Dieser Computer/);
  await look(mobile, 'request');
  await lookFromRightToLeft(mobile, 'request');
  await field.fill(number === '42' ? '43' : '42');
  await mobile.getByRole('button', { name: 'Bestätigen' }).click();
  await mobile.getByText('Noch 2 Versuche.').waitFor();
  await look(mobile, 'request-wrong-number');
  await field.fill(number);
  await mobile.getByRole('button', { name: 'Bestätigen' }).click();
  await mobile.getByRole('heading', { name: 'Bestätigt' }).waitFor();
  await look(mobile, 'request-approved');
  const allow = page.getByRole('button', { name: 'Erlauben' });
  await allow.waitFor();
  await look(page, 'consent');
  await allow.click();
  await page.waitForFunction(() => document.title === 'Application');
}

async function session(page) {
  await page.goto(`${AUTHORIZE_URL}&prompt=select_account`);
  await page.getByRole('button', { name: /^Weiter als/ }).waitFor();
  await look(page, 'login-choice');
  const keeps = new URL(AUTHORIZE_URL);
  keeps.searchParams.set('prompt', 'consent');
  keeps.searchParams.set('scope', 'openid profile email phone offline_access');
  await page.goto(keeps.href);
  await page.getByText(/bei jeder neuen Anmeldung, die das verlangt/).waitFor();
  await look(page, 'consent-offline');
  await page.getByRole('button', { name: 'Erlauben' }).click();
  await page.waitForFunction(() => document.title === 'Application');
  await page.route('**/form_post*.js', (route) => route.abort());
  await page.goto(`${AUTHORIZE_URL}&response_mode=form_post`);
  await page.getByRole('button', { name: 'Weiter' }).waitFor();
  await look(page, 'form-post');
  await page.goto(BASE_URL);
  await page.getByRole('heading', { name: /^Guten Tag/ }).waitFor();
  await look(page, 'portal-applications');
  await lookFromRightToLeft(page, 'portal-applications');
  for (const part of ['devices', 'sessions', 'requests', 'activity', 'profile']) {
    await page.goto(`${BASE_URL}/${part}`);
    await look(page, `portal-${part}`);
  }
  await page.getByRole('link', { name: /^Was .* sieht$/ }).click();
  await look(page, 'portal-seen');
  await page.goto(`${BASE_URL}/consents`);
  await page.getByText(/^Erlaubt am \d+\. \p{L}+ \d{4}\./u).waitFor();
  await look(page, 'portal-consents');
  await lookFromRightToLeft(page, 'portal-consents');
  await page.getByRole('button', { name: /^Widerrufen/ }).click();
  await page
    .getByRole('status')
    .getByText(/keine Berechtigung mehr/)
    .waitFor();
  await look(page, 'portal-withdrawn');
  await page.goto(`${BASE_URL}/session/end`);
  await page.getByRole('button', { name: 'Ja, abmelden' }).waitFor();
  await look(page, 'sign-out-question');
  await page.getByRole('button', { name: 'Ja, abmelden' }).click();
  await page.getByRole('heading', { name: 'Sie sind abgemeldet' }).waitFor();
  await look(page, 'signed-out');
}

/** Without a network, the app still opens, and speaks German. */
async function offline(page, context) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.reload();
  await context.setOffline(true);
  await page.reload();
  await page.getByText('Sie sind offline.').first().waitFor();
  await look(page, 'authenticator-offline');
}

// In the headless shell, a test cannot mock the application that a redirect leads to.
const browser = await launch({}, [], CHROMIUM);
try {
  const desk = await (await desktop(browser, GERMAN)).newPage();
  const mobileContext = await phone(browser, GERMAN);
  const mobile = await mobileContext.newPage();
  const wrong = complaints(mobile);
  // The application does not exist. Only the redirect to it matters.
  await desk.route('https://rp.example/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<title>Application</title>' }),
  );
  await errorPages(desk);
  await enrol(mobile);
  // Only one complaint, about the rejected link.
  const expected = wrong.splice(0).filter((complaint) => !complaint.includes('410'));
  assert.deepEqual(expected, [], 'the app logs no unexpected errors');
  await deniedLogin(desk, mobile);
  await approvedLogin(desk, mobile);
  await session(desk);
  await offline(mobile, mobileContext);
  assert.deepEqual(findings, [], 'no page has a finding');
} finally {
  await browser.close();
}
