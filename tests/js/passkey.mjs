// Approvals that need face, finger or PIN, with Chromium's virtual authenticator in place of the phone's lock.
//
// Environment: BASE_URL, ENROL_URL and SECOND_ENROL_URL (of two administrators); CHROMIUM and SCREENSHOTS as in
// browser.mjs.

import assert from 'node:assert/strict';

import { approve, beginSignIn, complaints, confirmApproved, inspect, launch, phone, shot } from './browser.mjs';

const { BASE_URL, ENROL_URL, SECOND_ENROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL && SECOND_ENROL_URL, 'BASE_URL, ENROL_URL or SECOND_ENROL_URL is missing');

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

/** A phone with a screen lock. `unlocks(yes)` sets whether user verification succeeds. */
async function phoneWithPasskeys(browser) {
  const page = await (await phone(browser)).newPage();
  const session = await page.context().newCDPSession(page);
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
    unlocks: (isUserVerified) => session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
    passkeys: async () => (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
  };
}

async function enrol(page, link) {
  await page.goto(link);
  await page.getByRole('button', { name: /set up this/i }).click();
}

async function done(page) {
  await page.getByRole('heading', { name: /is set up/i }).waitFor();
  await page.getByRole('button', { name: /done/i }).click();
}

/** Completes a sign-in after the approval, and closes its window. */
async function finishSignIn(mobile, desk) {
  await confirmApproved(mobile);
  await desk.waitForURL(`${BASE_URL}/admin`);
  await desk.context().close();
}

async function signIn(browser, mobile) {
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await approve(mobile, number);
  await finishSignIn(mobile, page);
}

async function registeredAtEnrolment(browser, it) {
  const { page } = it;
  await enrol(page, ENROL_URL);
  await page.getByRole('heading', { name: 'Protect approvals' }).waitFor();
  await look(page, 'passkey-offer');
  await page.getByRole('button', { name: /protect \(recommended\)/i }).click();
  await done(page);
  await page.getByText('Each approval needs your face, finger or PIN.').waitFor();
  assert.equal((await it.passkeys()).length, 1);
  await look(page, 'passkey-set');
  await signIn(browser, page);
}

/** An attacker holds the unlocked phone. */
async function deniedWithoutUserVerification(browser, it) {
  const { page } = it;
  const { page: desk, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await it.unlocks(false);
  await approve(page, number);
  await page.locator('.request .field-error', { hasText: 'did not confirm that it is you' }).waitFor();
  await look(page, 'passkey-unconfirmed');
  assert.equal((await desk.locator('#number').textContent()).trim(), number, 'the browser still waits');
  await it.unlocks(true);
  await approve(page, number);
  await finishSignIn(page, desk);

  // A denial needs no passkey.
  await it.unlocks(false);
  const denied = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await page.getByRole('button', { name: /deny/i }).click();
  await page.getByRole('heading', { name: 'Denied' }).waitFor();
  await page.getByRole('button', { name: /done/i }).click();
  await denied.page.getByRole('heading', { name: /denied/i }).waitFor();
}

async function removeAndRegisterAgain(browser, it) {
  const { page } = it;
  const remove = page.getByRole('button', { name: 'Remove this protection' });
  const yes = page.getByRole('dialog').getByRole('button', { name: 'Remove' });
  await remove.click();
  await yes.click();
  await page.locator('.protection', { hasText: 'did not confirm that it is you' }).waitFor();
  await it.unlocks(true);
  await remove.click();
  assert.equal(
    await page.locator('.protection', { hasText: 'did not confirm' }).count(),
    0,
    'a failure of another attempt',
  );
  await look(page, 'passkey-remove');
  await yes.click();
  const add = page.getByRole('button', { name: 'Protect with face, finger or PIN' });
  await add.waitFor();
  await look(page, 'passkey-none');
  await it.unlocks(false);
  await signIn(browser, page);
  await it.unlocks(true);
  await add.click();
  await remove.waitFor();
  // The protection of approvals survives a reload of the page.
  await page.reload();
  await remove.waitFor();
  await signIn(browser, page);
}

async function skipRegistration(browser) {
  const { page } = await phoneWithPasskeys(browser);
  await enrol(page, SECOND_ENROL_URL);
  await page.getByRole('heading', { name: 'Protect approvals' }).waitFor();
  await page.getByRole('button', { name: 'Not now' }).click();
  await done(page);
  await page.getByRole('button', { name: 'Protect with face, finger or PIN' }).waitFor();
  const { page: desk, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'bob');
  await approve(page, number);
  await finishSignIn(page, desk);
}

const browser = await launch();
try {
  const it = await phoneWithPasskeys(browser);
  const collected = complaints(it.page);
  try {
    await registeredAtEnrolment(browser, it);
    await deniedWithoutUserVerification(browser, it);
    await removeAndRegisterAgain(browser, it);
    await skipRegistration(browser);
  } catch (failure) {
    await shot(it.page, 'failed-phone');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
  // The browser itself logs the response that requires the passkey.
  assert.deepEqual(
    collected.filter((line) => !line.includes('409')),
    [],
    'no page logs an error',
  );
} finally {
  await browser.close();
}
