// A user opens the link of an invitation email, and enrols the phone.
//
// Environment: ENROL_URL; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { complaints, enrolDevice, inspect, launch, phone } from './browser.mjs';

const browser = await launch();
try {
  const mobile = await (await phone(browser)).newPage();
  const collected = complaints(mobile);
  await mobile.goto(process.env.ENROL_URL);
  await mobile
    .getByRole('button', { name: /set up this/i })
    .first()
    .waitFor();
  assert.deepEqual(await inspect(mobile, 'invitation-opened'), []);
  await enrolDevice(mobile, process.env.ENROL_URL);
  assert.deepEqual(collected, []);
} finally {
  await browser.close();
}
