// The application of docs/tutorials/node-application.md: a user enrols, signs in, signs out, and denies a sign-in.
//
// Environment: ENROL_URL, APP_URL; CHROMIUM and SCREENSHOTS as in browser.mjs. The exit code is 0 if all checks pass.

import assert from 'node:assert/strict';

import {
  approve,
  confirmApproved,
  desktop,
  enrolDevice,
  launch,
  numberField,
  phone,
  shot,
  submitName,
} from './browser.mjs';

const { ENROL_URL, APP_URL } = process.env;
assert.ok(ENROL_URL && APP_URL, 'the environment variables ENROL_URL and APP_URL are missing');

const browser = await launch();
const mobile = await (await phone(browser)).newPage();
const desk = await (await desktop(browser)).newPage();
const signIn = desk.getByRole('link', { name: 'Sign in' });

async function begin() {
  await signIn.click();
  await desk.getByRole('heading', { name: 'Sign in to Expenses' }).waitFor();
  const number = await submitName(desk, 'ada');
  await numberField(mobile).waitFor();
  return number;
}

try {
  await enrolDevice(mobile, ENROL_URL);
  await desk.goto(APP_URL);
  await approve(mobile, await begin());
  await confirmApproved(mobile);
  await desk.getByRole('heading', { name: /Allow Expenses to access your account/ }).waitFor();
  await desk.getByRole('button', { name: 'Allow', exact: true }).click();
  await desk.getByText('Hello, Ada Lovelace. Your roles: approver').waitFor();
  assert.match(await desk.getByRole('table').innerText(), /ada@example\.org/);

  await desk.reload();
  await desk.getByText('Hello, Ada Lovelace.').waitFor();
  await desk.getByRole('button', { name: 'Sign out' }).click();
  await signIn.waitFor();

  await begin();
  await mobile.getByRole('button', { name: 'Deny' }).click();
  await desk.getByRole('button', { name: /back to/i }).click();
  await desk.getByText('You are not signed in: the request was denied in the authenticator').waitFor();
} catch (failure) {
  await shot(mobile, 'failed-phone');
  await shot(desk, 'failed-desktop');
  throw failure;
} finally {
  await browser.close();
}
