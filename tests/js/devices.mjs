// A user's devices: recovery codes, a second device enrolled with the first, account notifications on the other
// devices, the removal of one, and recovery with a code.
//
// Environment: BASE_URL and ENROL_URL; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { complaints, desktop, inspect, launch, phone, printCodes, shot } from './browser.mjs';

const { BASE_URL, ENROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL, 'BASE_URL or ENROL_URL is missing');

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

async function enrol(page, link) {
  await page.goto(link);
  await page.getByRole('button', { name: /set up this/i }).click();
  await page.getByRole('heading', { name: /is set up/i }).waitFor();
}

/** Creates recovery codes, as the app offers after the enrolment. */
async function makeCodes(mobile) {
  await look(mobile, 'enrolled');
  await mobile.getByRole('button', { name: 'Create recovery codes' }).click();
  await mobile.getByText('You have no codes.').waitFor();
  await look(mobile, 'devices');
  await mobile.getByRole('button', { name: 'Create new codes' }).click();
  await mobile.locator('.codes li').first().waitFor();
  await look(mobile, 'recovery-codes');
  const codes = await mobile.locator('.codes code').allTextContents();
  assert.equal(codes.length, 10);
  const [download] = await Promise.all([
    mobile.waitForEvent('download'),
    mobile.getByRole('link', { name: 'Save as a file' }).click(),
  ]);
  const saved = await (await download.createReadStream()).toArray();
  for (const code of codes) assert.ok(Buffer.concat(saved).includes(code), code);
  await printCodes(mobile);
  await mobile.getByRole('button', { name: 'I have saved them' }).click();
  await mobile.getByText('You have 10 codes left.').waitFor();
  return codes;
}

async function addSecond(mobile, second) {
  await mobile.getByRole('button', { name: 'Set up another device' }).click();
  await mobile.getByRole('img', { name: /QR code/ }).waitFor();
  await look(mobile, 'add-device');
  await mobile.getByRole('button', { name: 'Copy the link' }).click();
  await mobile.getByText('Copied.').waitFor();
  const link = await mobile.evaluate(() => navigator.clipboard.readText());
  await enrol(second, link);
  await mobile.getByText(/“.+ 2” was set up/).waitFor();
  await look(mobile, 'device-added');
  await second.getByRole('button', { name: /done/i }).click();
  await mobile.getByRole('button', { name: /done/i }).click();
  await rename(mobile);
  // Every other screen shows a notice of the account notifications on the home screen.
  await mobile.getByText(/Account notifications for/).waitFor();
  await look(mobile, 'devices-renamed');
  await mobile.getByRole('button', { name: 'Show them' }).click();
  await mobile.getByText(/the device “.+” was set up/).waitFor();
  await look(mobile, 'notifications');
}

async function rename(mobile) {
  const row = mobile.locator('.devices li').last();
  await row.getByText('This device, set up').waitFor();
  await row.getByRole('button', { name: 'Rename' }).click();
  await mobile.getByRole('textbox', { name: 'New name' }).fill('');
  await mobile.getByRole('button', { name: 'Save the name' }).click();
  await mobile.getByRole('alert').getByText('1 to 80 characters').waitFor();
  await look(mobile, 'device-rename');
  await mobile.getByRole('textbox', { name: 'New name' }).fill('My <b>own</b>');
  await mobile.getByRole('button', { name: 'Save the name' }).click();
  await mobile.locator('.devices li').last().getByText('My <b>own</b>').waitFor();
}

/** The first device removes the second, which shows this. */
async function removeSecond(mobile, second) {
  await mobile.getByRole('button', { name: 'It wasn’t me' }).click();
  await mobile.locator('.devices').getByRole('button', { name: 'Remove' }).click();
  await mobile.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await mobile.locator('.devices li').nth(1).waitFor({ state: 'detached' });
  await mobile.getByRole('button', { name: 'Back' }).click();
  await mobile.getByRole('button', { name: 'It was me' }).click();
  await mobile.getByRole('heading', { name: /Account notifications for/ }).waitFor({ state: 'detached' });
  await second.getByText(/was removed from/).waitFor();
  await look(second, 'device-removed');
}

/** The user has lost everything except a code. */
async function recover(browser, code) {
  const desk = await (await desktop(browser)).newPage();
  const complained = complaints(desk);
  await desk.goto(`${BASE_URL}/admin`);
  await desk.getByRole('link', { name: 'Lost your phone?' }).click();
  await look(desk, 'recover');
  await desk.getByRole('textbox', { name: /name/i }).fill('ada');
  await desk.getByRole('textbox', { name: /code/i }).fill('1234');
  await desk.getByRole('button', { name: 'Continue' }).click();
  await desk.getByRole('alert').waitFor();
  await look(desk, 'recover-failed');
  assert.deepEqual(
    complained.filter((one) => !one.includes('422')),
    [],
  );
  const mobile = await (await phone(browser)).newPage();
  await mobile.goto(`${BASE_URL}/recover`);
  await mobile.getByRole('textbox', { name: /name/i }).fill('ada');
  await mobile.getByRole('textbox', { name: /code/i }).fill(code.toLowerCase());
  await mobile.getByRole('button', { name: 'Continue' }).click();
  await mobile.getByRole('heading', { name: 'Code accepted' }).waitFor();
  await look(mobile, 'recovered');
  await mobile.getByRole('link', { name: 'Set up an authenticator' }).click();
  await mobile.getByRole('button', { name: /set up this/i }).click();
  await mobile.getByText(/remove the device that you lost/).waitFor();
  await look(mobile, 'recovered-enrolled');
  await mobile.getByRole('button', { name: 'Check the devices' }).click();
  await mobile.locator('.devices').getByText('My <b>own</b>').waitFor();
}

const browser = await launch();
try {
  const mobile = await (await phone(browser, { permissions: ['clipboard-read', 'clipboard-write'] })).newPage();
  const second = await (await phone(browser)).newPage();
  const collected = complaints(mobile);
  try {
    await enrol(mobile, ENROL_URL);
    const codes = await makeCodes(mobile);
    await addSecond(mobile, second);
    await removeSecond(mobile, second);
    await recover(browser, codes[4]);
    await mobile.getByText(/a recovery code was used/).waitFor();
    await look(mobile, 'notifications-recovered');
    // Chromium itself logs the rejected name.
    const unexpected = collected.filter((one) => !one.includes('422'));
    assert.deepEqual(unexpected, [], 'the app logs no other errors');
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    await shot(second, 'failed-second');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
}
