// The two screens of a tutorial: the phone of a user who enrols, and the desktop with the application.
//
// Environment: ENROL_URL, APP_URL; CHROMIUM and SCREENSHOTS as in browser.mjs. The exit code is 0 if all checks pass.

import assert from 'node:assert/strict';

import { desktop, enrolDevice, launch, numberField, phone, shot, submitName } from './browser.mjs';

const { ENROL_URL, APP_URL } = process.env;
assert.ok(ENROL_URL && APP_URL, 'the environment variables ENROL_URL and APP_URL are missing');

/** Enrols the phone, then calls `check` with both pages and the URL of the application. */
export async function tutorial(check) {
  const browser = await launch();
  const mobile = await (await phone(browser)).newPage();
  const desk = await (await desktop(browser)).newPage();
  try {
    await enrolDevice(mobile, ENROL_URL);
    await check({ mobile, desk, url: APP_URL });
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    await shot(desk, 'failed-desktop');
    throw failure;
  } finally {
    await browser.close();
  }
}

/** Submits the user name at the login page. Returns the number, after the request arrived on the phone. */
export async function nameUser({ mobile, desk }, name) {
  const number = await submitName(desk, name);
  await numberField(mobile).waitFor();
  return number;
}
