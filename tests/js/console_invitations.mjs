// An administrator invites users in the console: one by one, after an import, by email or with a printed sheet. The
// administrator also sends invitations again, and withdraws them.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; WITH_MAIL, empty if the server sends no email; CHROMIUM
// and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { approve, phone } from './browser.mjs';
import { ASKED, run } from './console.mjs';

const hasMail = process.env.WITH_MAIL !== '';

async function inviteOne(admin) {
  await admin.open('/admin/users/new', 'Invite a user');
  await admin.field('Name at sign-in').fill('grace');
  await admin.field('Email address').fill('grace@example.org');
  await admin.field('Full name').fill('Grace Hopper');
  await admin.look(`invite${hasMail ? '-by-mail' : ''}`);
  await admin.press('Invite');
  if (hasMail) {
    await admin.said('The invitation is being sent to grace@example.org.');
    await admin.press('Create a link to enrol a device');
  }
  assert.match(await admin.approveAction(), /Create a link\. The first to open it becomes “grace”/);
  const shown = admin.desk.getByRole('dialog', { name: 'A link to enrol a device' });
  await shown.waitFor();
  await shown.getByRole('img', { name: 'QR code of the link' }).waitFor();
  await admin.look(`invitation-link${hasMail ? '-by-mail' : ''}`);
  const link = await shown.locator('code').first().textContent();
  await shown.getByRole('button', { name: 'Copy a message' }).click();
  assert.ok((await admin.desk.evaluate(() => navigator.clipboard.readText())).includes(link));
  if (hasMail) {
    await shown.getByRole('button', { name: 'Send by email instead' }).click();
    await shown.waitFor({ state: 'detached' });
  } else {
    const address = await shown.getByRole('link', { name: 'Write an email' }).getAttribute('href');
    assert.match(address, /^mailto:grace@example\.org\?subject=Your%20invitation.*&body=/);
    assert.ok(decodeURIComponent(address).includes(link));
    await admin.press('Done');
  }
  return link;
}

/** A replaced or withdrawn link leads to a page that explains it. */
async function ended(admin, browser, link) {
  const theirs = await (await phone(browser)).newPage();
  await theirs.goto(link);
  await theirs.getByText('This link was withdrawn, or replaced by a newer one.').waitFor();
  assert.equal(await theirs.getByRole('button', { name: /set up this/i }).count(), 0);
  await theirs.close();
  await admin.desk.bringToFront();
}

/** Returns the actions for the selected invitations. */
const selection = (admin) => admin.desk.getByRole('region', { name: 'Selected invitations' });

async function importMany(admin) {
  await admin.open('/admin/users/import', 'Import users');
  const text = 'name,email,display_name\nlinus,linus@example.org,Linus\nmargaret,,Margaret\n';
  await admin.desk
    .getByLabel('CSV file')
    .setInputFiles({ name: 'users.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await admin.press('Check the file');
  await admin.desk.getByText('Would be created').waitFor();
  await admin.desk.getByRole('button', { name: 'Import', exact: true }).click();
  await admin.approveAction();
  await admin.desk.getByText('The file was imported.').waitFor();
  await admin.follow('Invite the new users');
  await admin.heading('Open invitations');
  // An invitation without a link has no inviter and no times.
  await admin.desk.getByRole('row', { name: /Margaret .*– – –$/ }).waitFor();
  assert.equal(await admin.desk.getByRole('row', { name: /Grace/ }).count(), 0, 'those without a link');
  await admin.desk.getByText('2 invitations', { exact: true }).waitFor();
  const state = await admin.field('State').boundingBox();
  assert.ok(state.width <= 240, `the filter is ${state.width} pixels wide`);
  assert.equal(await selection(admin).isVisible(), false, 'nothing is selected yet');
  await admin.look('invitations-new');
}

async function printSheet(admin) {
  await admin.desk.evaluate(() => {
    window.print = () => {
      window.printed = true;
    };
  });
  await admin.desk.getByRole('columnheader').getByRole('checkbox', { name: 'Select all shown' }).check();
  await selection(admin).getByText('2 invitations selected').waitFor();
  await admin.look('invitations-selected');
  await admin.press('Create links to print');
  assert.match(await admin.approveAction(), /The first to open one becomes its user: “linus”, “margaret”/);
  const sheet = admin.desk.locator('.sheet');
  await sheet.getByRole('heading', { name: 'Margaret' }).waitFor();
  assert.equal(await sheet.getByRole('img', { name: /^QR code/ }).count(), 2);
  await admin.look('invitations-sheet');
  await sheet.getByRole('button', { name: 'Print' }).click();
  assert.equal(await admin.desk.evaluate(() => window.printed), true);
  await admin.desk.emulateMedia({ media: 'print' });
  assert.equal(await sheet.getByRole('heading', { name: 'Linus' }).isVisible(), true);
  assert.equal(await admin.desk.locator('#parts').isVisible(), false);
  assert.equal(await sheet.getByRole('button', { name: 'Print' }).isVisible(), false);
  await admin.desk.emulateMedia({ media: null });
  // The sheet is in the order of the names.
  assert.deepEqual(await sheet.getByRole('heading', { level: 3 }).allTextContents(), ['Linus', 'Margaret']);
  // A click on another page does not lose the links, which are shown once.
  const leaving = admin.desk.getByRole('dialog').filter({ hasText: 'Leave this page?' });
  await admin.desk.getByRole('link', { name: 'Users', exact: true }).first().click();
  await leaving.getByText('It shows something that is not shown again.').waitFor();
  await admin.look('invitations-sheet-leave');
  await leaving.getByRole('button', { name: 'Cancel' }).click();
  await sheet.getByRole('heading', { name: 'Margaret' }).waitFor();
  await admin.desk.goBack();
  await leaving.getByRole('button', { name: 'Cancel' }).click();
  await sheet.getByRole('heading', { name: 'Margaret' }).waitFor();
  await sheet.getByRole('button', { name: 'I have handed them over' }).click();
  await sheet.waitFor({ state: 'detached' });
}

/** Guests in the order of their full names; 25 fit in one request. Their names at sign-in have the reverse order. */
const GUESTS = Array.from({ length: 27 }, (_, index) => ({ name: `z${50 - index}`, full: `Guest ${index + 1}` }));
const fullNames = (guests) => guests.map(({ full }) => full);

async function importGuests(admin) {
  await admin.open('/admin/users/import', 'Import users');
  const shuffled = GUESTS.map((_, index) => GUESTS[(index * 10) % GUESTS.length]);
  const text = ['name,display_name', ...shuffled.map(({ name, full }) => `${name},${full}`)].join('\n');
  await admin.desk
    .getByLabel('CSV file')
    .setInputFiles({ name: 'users.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await admin.press('Check the file');
  await admin.desk.getByText('Would be created').waitFor();
  await admin.desk.getByRole('button', { name: 'Import', exact: true }).click();
  await admin.approveAction();
  await admin.desk.getByText('The file was imported.').waitFor();
}

/**
 * The links of many users need several requests, each with its own approval. The links of the first request are not
 * lost if the second one is denied.
 */
async function linksInBatches(admin) {
  await importGuests(admin);
  await admin.open('/admin/invitations?state=no_link', 'Open invitations');
  await admin.desk.getByText('27 invitations', { exact: true }).waitFor();
  const list = admin.desk.getByRole('table', { name: 'Open invitations' });
  assert.deepEqual(await list.getByRole('rowheader').allTextContents(), fullNames(GUESTS), 'the order of the list');
  const selectAll = () =>
    admin.desk.getByRole('columnheader').getByRole('checkbox', { name: 'Select all shown' }).check();
  await selectAll();
  await selection(admin).getByText('27 invitations selected').waitFor();
  await admin.press('Create links to print');
  const number = admin.desk.locator('#approval-number');
  await approve(admin.mobile, (await number.textContent()).trim());
  const sheets = admin.desk.locator('.sheet');
  await sheets.locator('li').nth(24).waitFor();
  // The sheet has the links of the first request, while the second one waits for its approval.
  await number.waitFor();
  const namesOn = (sheet) => sheet.locator('h3').allTextContents();
  assert.deepEqual(await namesOn(sheets), fullNames(GUESTS.slice(0, 25)), 'the order of the sheet');
  await admin.mobile.getByRole('button', { name: 'Deny', exact: true }).click();
  await admin.desk.getByRole('dialog', { name: 'Not approved' }).waitFor();
  await admin.press('Close');
  await admin.desk.getByText('Done for 25 of 27 users. Select the others again.', { exact: true }).waitFor();
  assert.equal(await sheets.locator('li').count(), 25);
  await admin.desk.getByText('2 invitations', { exact: true }).waitFor();
  await admin.look('invitations-denied');
  // The phone shows the results until the app is opened again.
  await admin.mobile.reload();
  await admin.mobile.getByRole('heading', { name: 'Denied' }).waitFor({ state: 'detached' });
  await selectAll();
  await admin.press('Create links to print');
  await admin.approveAction();
  await sheets.nth(1).waitFor();
  assert.deepEqual(await namesOn(sheets.first()), fullNames(GUESTS.slice(25)));
  assert.equal(await sheets.nth(1).locator('li').count(), 25, 'the earlier sheet stays');
  await admin.desk.getByText(/^Done for 25 of 27/).waitFor({ state: 'detached' });
  for (const left of [1, 0]) {
    await sheets.first().getByRole('button', { name: 'I have handed them over' }).click();
    await admin.desk.waitForFunction((count) => document.querySelectorAll('.sheet').length === count, left);
  }
}

async function sendMany(admin) {
  await admin.open('/admin/invitations', 'Open invitations');
  await admin.desk.getByLabel('Select linus').check();
  await admin.desk.getByLabel('Select margaret').check();
  await admin.press('Send by email');
  await admin.desk.getByText('margaret was skipped: the user has no email address.').waitFor();
  await admin.said('1 email is being sent.');
  // The selection is empty again.
  await selection(admin).waitFor({ state: 'hidden' });
  await admin.look('invitations-sent');
}

async function withdraw(admin, browser) {
  await admin.open('/admin/users?q=linus', 'Users');
  await admin.follow('linus');
  await admin.part('Devices');
  await admin.press('Create a link to enrol a device');
  await admin.approveAction();
  const shown = admin.desk.getByRole('dialog').locator('code').first();
  const link = await shown.textContent();
  // Neither Escape nor the Back button loses the link, which is shown once.
  for (let times = 0; times < 3; times += 1) await admin.desk.keyboard.press('Escape');
  assert.equal(await shown.textContent(), link);
  await admin.desk.mouse.click(5, 5);
  assert.equal(await shown.isVisible(), true);
  await admin.press('Done');
  await admin.desk.getByRole('row', { name: /Handed over by an administrator/ }).waitFor();
  await admin.look('user-open-link');
  await admin.open('/admin/invitations', 'Open invitations');
  await admin.desk.getByLabel('Select linus').check();
  await admin.press('Withdraw');
  await admin.desk
    .getByRole('dialog')
    .getByText(/^The link ends at once\. The user stays/)
    .waitFor();
  await admin.look('invitations-withdraw');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
  await admin.said('One invitation was withdrawn.');
  await admin.field('State').selectOption('no_link');
  await admin.desk.getByRole('row', { name: /Linus/ }).waitFor();
  await admin.field('State').selectOption('expired');
  await admin.desk.getByText('No invitation fits the filter.').waitFor();
  await ended(admin, browser, link);
}

async function lift(admin) {
  await admin.open('/admin/users?q=margaret', 'Users');
  await admin.follow('margaret');
  await admin.press('Suspend');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await admin.said('The user is suspended.');
  await admin.press('Lift the suspension');
  await admin.said('The user is invited again.');
  await admin.desk.getByText('Invited: the user has no device yet to approve with.').waitFor();
}

/** An open link is visible at its user, and can be ended there. */
async function endOpenLink(admin, browser) {
  await admin.open('/admin/users?q=margaret', 'Users');
  await admin.follow('margaret');
  await admin.part('Devices');
  await admin.press('Create a link to enrol a device');
  await admin.approveAction();
  const link = await admin.desk.getByRole('dialog').locator('code').first().textContent();
  await admin.press('Done');
  const open = admin.desk.getByRole('row', { name: /Handed over by an administrator/ });
  await open.getByRole('button', { name: 'End' }).click();
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'End it' }).click();
  await admin.said('The link ended.');
  await open.waitFor({ state: 'detached' });
  await ended(admin, browser, link);
}

async function settings(admin) {
  await admin.open('/admin/settings', 'Settings');
  await admin.desk.getByText('Preview of the invitation').click();
  await admin.field('Language').selectOption('de');
  await admin.desk.getByText('Guten Tag Ada Lovelace,').first().waitFor();
  if (hasMail) {
    await admin.field('Send a test email to').fill('ada@example.org');
    await admin.press('Send a test email');
    await admin.desk.getByText(/The SMTP server accepted the email: 250/).waitFor();
  } else {
    await admin.desk.getByText('This server sends no email.').first().waitFor();
  }
  await admin.look(`settings-mail${hasMail ? '' : '-off'}`);
}

await run(
  async (admin, browser) => {
    const link = await inviteOne(admin);
    if (hasMail) await ended(admin, browser, link);
    await importMany(admin);
    await printSheet(admin);
    if (hasMail) await sendMany(admin);
    else await linksInBatches(admin);
    await withdraw(admin, browser);
    await lift(admin);
    await endOpenLink(admin, browser);
    await settings(admin);
  },
  { expected: [ASKED] },
);
