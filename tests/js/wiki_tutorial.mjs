// The wiki of docs/tutorials/saml-wiki.md: a user enrols, signs in, edits a page, and signs out.
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
const begun = desk.getByRole('heading', { name: 'Sign in to Wiki' });

// Apache may need some time until it listens.
async function open(url) {
  for (;;) {
    try {
      return await desk.goto(url);
    } catch (failure) {
      if (!failure.message.includes('ERR_CONNECTION_REFUSED')) throw failure;
      await desk.waitForTimeout(100);
    }
  }
}

try {
  await enrolDevice(mobile, ENROL_URL);
  await open(APP_URL);
  await begun.waitFor();
  const number = await submitName(desk, 'grace');
  await numberField(mobile).waitFor();
  await approve(mobile, number);
  await confirmApproved(mobile);
  await desk.getByText('Grace Hopper (grace)').waitFor();

  await desk.goto(`${APP_URL}doku.php?do=check`);
  await desk.getByText('You are part of the groups reader, editor').waitFor();
  await desk.getByText('Your current permission for this page is 8').waitFor();

  await desk.goto(`${APP_URL}doku.php?id=hello&do=edit`);
  await desk.locator('textarea[name=wikitext]').fill('A page of Grace');
  await desk.getByRole('button', { name: 'Save' }).click();
  await desk.getByText('A page of Grace').waitFor();

  await desk.getByRole('link', { name: 'Log Out' }).click();
  await begun.waitFor();
} catch (failure) {
  await shot(mobile, 'failed-phone');
  await shot(desk, 'failed-desktop');
  throw failure;
} finally {
  await browser.close();
}
