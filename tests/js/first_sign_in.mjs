// The first sign-in of a user, in two browser windows: a phone becomes an authenticator, a desktop signs in to the demo
// application, and the phone approves. Then the desktop signs in again, and the phone denies.
//
// Environment: ENROL_URL, DEMO_URL, LOGIN_NAME; CHROMIUM and SCREENSHOTS as in browser.mjs. The exit code is 0 if all
// checks pass.

import assert from 'node:assert/strict';

import { complaints, desktop, inspect, launch, phone, shot } from './browser.mjs';

const { ENROL_URL, DEMO_URL, LOGIN_NAME = 'admin' } = process.env;
assert.ok(ENROL_URL && DEMO_URL, 'the environment variables ENROL_URL and DEMO_URL are missing');

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

async function enrol(page) {
  await page.goto(ENROL_URL);
  const confirm = page.getByRole('button', { name: /set up this/i });
  await confirm.waitFor();
  await look(page, 'enrol');
  await confirm.click();
  await page.getByRole('heading', { name: /is set up/i }).waitFor();
  await look(page, 'enrolled');
  assert.ok(!page.url().includes('enrol='), 'the one-time link must not stay in the address bar');
  await page.getByRole('button', { name: /done/i }).click();
}

/** From the login page to the number. `name` is the name of the pictures. */
async function askForApproval(page, name) {
  const field = page.getByRole('textbox', { name: /name|email/i });
  await field.waitFor();
  if (name) await look(page, `${name}login`);
  await field.fill(LOGIN_NAME);
  // By keyboard, like many users.
  await field.press('Enter');
  const number = page.locator('#number');
  await number.waitFor();
  if (name) await look(page, `${name}waiting`);
  const shown = (await number.textContent()).trim();
  assert.match(shown, /^\d{2}$/, 'the number has two digits');
  return shown;
}

/** Checks the request on the phone, which must show all facts before a decision. */
async function requestOn(page) {
  const field = page.getByRole('textbox', { name: /number/i });
  await field.waitFor();
  const request = page.getByRole('article').filter({ has: field });
  const said = await request.innerText();
  assert.match(said, /demo/i, 'the request names the application');
  assert.match(said, /chrom/i, 'the request names its browser');
  return { field, request };
}

async function claimsOn(page) {
  const rows = await page.locator('tr[data-claim]').all();
  const pairs = await Promise.all(
    rows.map(async (row) => [await row.getAttribute('data-claim'), await row.locator('.value').textContent()]),
  );
  return Object.fromEntries(pairs);
}

function checkClaims(claims) {
  for (const name of ['iss', 'aud', 'sub', 'exp', 'iat', 'auth_time', 'nonce', 'sid']) {
    assert.ok(claims[name], `the ID token has the claim ${name}`);
  }
  const { roles } = JSON.parse(claims.account);
  assert.ok(Array.isArray(roles) && roles.length > 0, 'the claim `account` contains the roles');
  const amr = JSON.parse(claims.amr);
  assert.ok(
    amr.some((method) => ['swk', 'hwk'].includes(method)),
    `amr names a proof of possession: ${claims.amr}`,
  );
}

async function approvedLogin(desk, mobile) {
  await desk.goto(DEMO_URL);
  await look(desk, 'demo-start');
  await desk.getByRole('link', { name: /sign in/i }).click();
  const number = await askForApproval(desk, 'desktop-');
  const { field } = await requestOn(mobile);
  await look(mobile, 'request');
  await field.fill(number);
  await mobile.getByRole('button', { name: /approve/i }).click();
  await mobile.getByRole('heading', { name: /approved/i }).waitFor();
  await look(mobile, 'approved');
  await mobile.getByRole('button', { name: /done/i }).click();

  const allow = desk.getByRole('button', { name: /^allow$/i });
  await allow.waitFor();
  await look(desk, 'consent');
  await allow.click();
  await desk.waitForURL((url) => url.href.startsWith(DEMO_URL));
  await desk.getByRole('heading', { name: /hello/i }).waitFor();
  checkClaims(await claimsOn(desk));
  await look(desk, 'demo-signed-in');
}

async function deniedLogin(desk, mobile) {
  await desk.getByRole('link', { name: /sign in again/i }).click();
  await askForApproval(desk);
  await requestOn(mobile);
  await mobile.getByRole('button', { name: /deny/i }).click();
  await mobile.getByRole('heading', { name: /denied/i }).waitFor();
  await desk.getByRole('heading', { name: /denied/i }).waitFor();
  // Otherwise the page returns to the application during the check.
  await desk.getByRole('link', { name: /stay on this page/i }).click();
  await desk.getByRole('link', { name: /stay on this page/i }).waitFor({ state: 'detached' });
  await look(mobile, 'denied');
  assert.match(await desk.getByRole('main').innerText(), /no one was signed in/i);
  await look(desk, 'ended-denied');
  await desk.getByRole('button', { name: /back to/i }).click();
  await desk.getByRole('heading', { name: /you were not signed in/i }).waitFor();
  assert.equal(await desk.locator('#error').textContent(), 'access_denied');
  await look(desk, 'demo-denied');
}

// The session at the provider still exists, and ends for all applications.
async function signedOutEverywhere(desk) {
  await desk.getByRole('link', { name: /try again/i }).click();
  // The demo application is a native one, which gets no code for a session without a page.
  await desk.getByRole('button', { name: /continue as|allow/i }).click();
  await desk.getByRole('heading', { name: /hello/i }).waitFor();
  await desk.getByRole('button', { name: /sign out everywhere/i }).click();
  await desk.getByRole('heading', { name: /you are signed out/i }).waitFor();
  assert.ok(desk.url().startsWith(DEMO_URL), desk.url());
  await look(desk, 'demo-signed-out');
  await desk.getByRole('link', { name: /sign in again/i }).click();
  await desk.getByLabel(/account name/i).waitFor();
}

const browser = await launch();
try {
  const mobile = await (await phone(browser)).newPage();
  const desk = await (await desktop(browser)).newPage();
  const collected = [mobile, desk].map(complaints);
  try {
    await enrol(mobile);
    await approvedLogin(desk, mobile);
    await deniedLogin(desk, mobile);
    await signedOutEverywhere(desk);
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    await shot(desk, 'failed-desktop');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
  assert.deepEqual(collected.flat(), [], 'no page logs an error');
} finally {
  await browser.close();
}
