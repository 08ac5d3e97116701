// The portal in Chromium: each page at both widths, light and dark, with axe-core. The user renames a device, revokes
// another one after a recent sign-in, ends sessions, and withdraws a consent. Then the test repeats this without
// scripts.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME, AUTHORIZE_URL (an application's request); CHROMIUM and SCREENSHOTS as
// in browser.mjs.

import assert from 'node:assert/strict';

import {
  approve,
  CHROMIUM,
  complaints,
  confirmApproved,
  desktop,
  enrolDevice,
  inspect,
  launch,
  PATIENCE,
  phone,
  printCodes,
  shot,
  submitName,
} from './browser.mjs';

const { BASE_URL, ENROL_URL, LOGIN_NAME, AUTHORIZE_URL } = process.env;
assert.ok(
  BASE_URL && ENROL_URL && LOGIN_NAME && AUTHORIZE_URL,
  'BASE_URL, ENROL_URL, LOGIN_NAME or AUTHORIZE_URL is missing',
);

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

/** Signs in from the login page on: submits the name, and approves on the phone. */
async function signIn(page, mobile) {
  await approve(mobile, await submitName(page, LOGIN_NAME));
  await confirmApproved(mobile);
}

/** Opens a part of the portal by its navigation. */
async function open(page, part) {
  await page.getByRole('navigation').getByRole('link', { name: part, exact: true }).click();
  await page.getByRole('navigation').locator(`[aria-current="page"]:text-is("${part}")`).waitFor();
}

async function applications(page) {
  await page.getByRole('heading', { name: '<b>Books</b> & Co' }).waitFor();
  // The page loads before its pictures. `decode` waits for this one, and fails if the browser cannot show it.
  const width = await page.locator('.application img').evaluate(async (image) => {
    await image.decode();
    return image.naturalWidth;
  });
  assert.ok(width > 0, 'the picture of the application is shown');
  await look(page, 'portal-applications');
  await page.getByRole('link', { name: 'Open <b>Books</b> & Co' }).click();
  await page.waitForURL(`${BASE_URL}/authenticator?iss=*`);
  await page.goto(BASE_URL);
}

/** The user saves the new codes as a file, and prints them without the rest of the page. */
async function keepCodes(page) {
  const codes = await page.locator('#codes code').allTextContents();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Save as a file' }).click(),
  ]);
  const saved = Buffer.concat(await (await download.createReadStream()).toArray());
  for (const code of codes) assert.ok(saved.includes(code), code);
  await page.getByRole('button', { name: 'Copy' }).waitFor();
  await printCodes(page);
}

/** The card about missing recovery codes leads to new ones: approved on the phone, shown once, confirmed. */
async function recoveryCodes(page, mobile) {
  await page.getByText('No recovery codes.').waitFor();
  await page.getByRole('link', { name: 'Create recovery codes' }).click();
  await page.getByRole('heading', { name: 'Recovery codes', level: 1 }).waitFor();
  await look(page, 'portal-codes');
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const number = await page.locator('#number').textContent();
  await page.getByText(/^To create new recovery codes, /).waitFor();
  await page
    .locator('#left')
    .getByText(/ left$/)
    .waitFor();
  await look(page, 'portal-codes-approve');
  await mobile
    .getByText(/^Create new recovery codes for “ada”/)
    .first()
    .waitFor();
  await approve(mobile, number);
  await mobile.getByText('Return to your browser.', { exact: true }).waitFor();
  await confirmApproved(mobile);
  // The page continues by itself.
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  await look(page, 'portal-codes-approved');
  await page.getByRole('button', { name: 'Show my new codes' }).click();
  await page.getByRole('heading', { name: 'Your new recovery codes' }).waitFor();
  assert.equal(await page.locator('#codes code').count(), 10);
  await look(page, 'portal-codes-new');
  await keepCodes(page);
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByRole('status').getByText('Your new recovery codes are valid.').waitFor();
  await page.goto(BASE_URL);
  await page.getByText('10 valid recovery codes').waitFor();
  await look(page, 'portal-security');
}

async function devices(page, mobile) {
  await open(page, 'Devices');
  const moment = await page.locator('time').first().textContent();
  assert.doesNotMatch(moment, /UTC/, 'a script shows the local time');
  assert.ok(await page.locator('dt:text-is("Face, finger or PIN") + dd:text-is("Off")').first().isVisible());
  await look(page, 'portal-devices');
  const card = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Test phone' }) });
  await card.getByText('Rename').click();
  await card.getByRole('textbox', { name: 'New name' }).fill('Pocket');
  await card.getByRole('link', { name: 'Cancel' }).click();
  await card.getByText('Rename').click();
  assert.equal(await card.getByRole('textbox', { name: 'New name' }).inputValue(), 'Test phone');
  await card.getByRole('textbox', { name: 'New name' }).fill('<i>Drawer</i>');
  assert.equal(await card.getByRole('link', { name: /^Remove/ }).isVisible(), false);
  await look(page, 'portal-devices-rename');
  await card.getByRole('button', { name: 'Save the name' }).click();
  await page.getByRole('status').getByText('The device has its new name.').waitFor();
  await page.getByRole('heading', { name: '<i>Drawer</i>' }).waitFor();
  await page.getByRole('link', { name: 'Remove <i>Drawer</i>' }).click();
  await page.getByRole('heading', { name: 'Remove <i>Drawer</i>?' }).waitFor();
  await look(page, 'portal-revoke');
  await page.getByRole('link', { name: 'Keep it' }).click();
  await page.getByRole('link', { name: 'Remove <i>Drawer</i>' }).click();
  await page.getByRole('button', { name: 'Remove it' }).click();
  await page
    .getByRole('status')
    .getByText(/^The device is removed/)
    .waitFor();
  assert.equal(await page.getByRole('heading', { name: '<i>Drawer</i>' }).count(), 0);
  await look(page, 'portal-revoked');
  // The other device is the last one.
  await page.getByRole('link', { name: /^Remove / }).click();
  await page.getByText('This is your last device.').waitFor();
  await look(page, 'portal-revoke-last');
  await page.getByRole('link', { name: 'Keep it' }).click();
  await mobile.getByRole('heading', { name: 'Your account' }).waitFor();
}

async function consents(page) {
  await page.route('https://rp.example/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<title>Application</title>' }),
  );
  await open(page, 'Permissions');
  await look(page, 'portal-consents-none');
  await page.goto(AUTHORIZE_URL);
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForFunction(() => document.title === 'Application');
  await page.goto(`${BASE_URL}/consents`);
  await look(page, 'portal-consents');
  await open(page, 'Requests');
  await page.getByText('No application can ask you without a browser.').waitFor();
  await look(page, 'portal-requests');
}

async function sessions(page, other) {
  await open(page, 'Sessions');
  assert.equal(await page.getByRole('button', { name: 'Sign out there' }).count(), 1);
  assert.equal(await page.locator('dt:text-is("Ends at the latest") + dd time').count(), 2);
  await look(page, 'portal-sessions');
  await page.getByRole('button', { name: 'Sign out there' }).click();
  await page.getByRole('status').getByText('That browser is signed out.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Sign out all others' }).count(), 0);
  await look(page, 'portal-sessions-one');
  await other.goto(BASE_URL);
  await other.getByRole('link', { name: /^Sign in/ }).waitFor();
}

async function rest(page) {
  await open(page, 'Activity');
  await page.getByText('Device renamed: <i>Drawer</i>').waitFor();
  await page.locator('.activity li[data-tone="calm"]', { hasText: 'Other browsers signed out' }).first().waitFor();
  const rows = page.locator('.activity li');
  for (const what of ['Signed in to Assent', 'Recovery codes created']) {
    const row = rows.filter({ hasText: what }).first();
    assert.match(await row.textContent(), /approved on Linux computer/, 'one row for it and its approval');
    assert.equal(await row.locator('time').count(), 1);
  }
  assert.equal(await page.getByText('Sign-in to Assent approved').count(), 0);
  await look(page, 'portal-activity');
  await page.getByRole('link', { name: 'Sign-ins', exact: true }).click();
  await page.locator('.kinds [aria-current]:text-is("Sign-ins")').waitFor();
  assert.equal(await page.getByText('Device renamed: <i>Drawer</i>').count(), 0);
  assert.equal(
    await page.getByText('Approved: Create new recovery codes').count(),
    0,
    'its approval is not of a sign-in',
  );
  await look(page, 'portal-activity-sign-ins');
  await open(page, 'Profile');
  await look(page, 'portal-profile');
  await page.getByRole('link', { name: 'What <b>Books</b> & Co sees' }).click();
  await page.getByText('ada@example.org').waitFor();
  await look(page, 'portal-seen');
  await page.getByRole('link', { name: 'Back to your profile' }).click();
}

/** The portal works without scripts. */
async function withoutScripts(browser, mobile) {
  const context = await browser.newContext({
    locale: 'en-GB',
    javaScriptEnabled: false,
    viewport: { width: 360, height: 740 },
  });
  context.setDefaultTimeout(PATIENCE);
  const page = await context.newPage();
  await page.goto(BASE_URL);
  await page.getByRole('link', { name: /^Sign in/ }).click();
  await signIn(page, mobile);
  await page.getByRole('heading', { name: /^Hello/ }).waitFor();
  await open(page, 'Devices');
  assert.match(await page.locator('time').first().textContent(), /UTC$/, 'without a script the time has its time zone');
  await page.getByText('Rename').click();
  await page.getByRole('textbox', { name: 'New name' }).fill('Pocket');
  await page.getByRole('button', { name: 'Save the name' }).click();
  await page.getByRole('heading', { name: 'Pocket' }).waitFor();
  await open(page, 'Permissions');
  await page.getByRole('button', { name: /withdraw/i }).click();
  await page
    .getByRole('status')
    .getByText(/no longer allowed/)
    .waitFor();
  await open(page, 'Activity');
  await page.getByText('Permission withdrawn').waitFor();
  await open(page, 'Profile');
  await open(page, 'Sessions');
  await page.getByRole('button', { name: 'Sign out everywhere' }).click();
  await page.getByRole('heading', { name: 'You are signed out' }).waitFor();
}

// In the headless shell, a test cannot mock the application that a redirect leads to.
const browser = await launch({}, [], CHROMIUM);
try {
  const mobile = await (await phone(browser)).newPage();
  const desk = await (await desktop(browser)).newPage();
  const other = await (await desktop(browser)).newPage();
  const wrong = complaints(desk);
  try {
    await enrolDevice(mobile, ENROL_URL);
    await other.goto(`${BASE_URL}/sessions`);
    await signIn(other, mobile);
    await other.getByRole('heading', { name: 'Where you are signed in' }).waitFor();
    await desk.goto(BASE_URL);
    await look(desk, 'portal-front');
    await desk.getByRole('link', { name: /^Sign in/ }).click();
    await signIn(desk, mobile);
    await applications(desk);
    await recoveryCodes(desk, mobile);
    await devices(desk, mobile);
    await consents(desk);
    await sessions(desk, other);
    await rest(desk);
    await withoutScripts(browser, mobile);
    await desk.reload();
    await desk.getByRole('textbox', { name: /name|email/i }).waitFor();
    assert.deepEqual(wrong, [], 'no page logs an error');
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    await shot(desk, 'failed-desktop');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has a finding');
} finally {
  await browser.close();
}
