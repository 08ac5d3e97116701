// An administrator manages users in the console: invites one, enrols the user's phone, grants and revokes access,
// terminates the user, and confirms the email addresses of others.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; APPLICATION_NAME of an application; PROVIDER_NAME of a
// service provider, in which harriet, ivy, joan and kate have accounts, whose addresses are not confirmed, and of whom
// joan has a device; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { phone } from './browser.mjs';
import { ASKED, run } from './console.mjs';

const { APPLICATION_NAME, PROVIDER_NAME } = process.env;
const MARKUP = '<img src=x onerror="window.hacked=1">';

async function invite(admin, browser) {
  await admin.open('/admin/users', 'Users');
  await admin.follow('Invite a user');
  await admin.press('Invite');
  await admin.desk.locator('.field-error', { hasText: /name/i }).first().waitFor();
  await admin.field('Name at sign-in').fill('grace');
  await admin.field('Email address').fill('grace@example.org');
  await admin.field('Full name').fill(`Grace ${MARKUP}`);
  await admin.look('invite');
  await admin.press('Invite');
  await admin.approveAction();
  const shown = admin.desk.getByRole('dialog', { name: 'A link to enrol a device' });
  await shown.waitFor();
  await admin.look('enrolment-link');
  const link = await shown.locator('code').first().textContent();
  await admin.press('Done');
  await admin.heading(`Grace ${MARKUP}`);

  const theirs = await (await phone(browser)).newPage();
  await theirs.goto(link);
  await theirs.getByLabel(/name/i).first().fill(MARKUP.slice(0, 40));
  await theirs.getByRole('button', { name: /set up this/i }).click();
  await theirs.getByRole('button', { name: 'Done' }).waitFor();
  await admin.desk.reload();
  const device = admin.desk.getByRole('row', { name: /<img/ });
  await device.getByText('No face, finger or PIN').waitFor();
  const excess = await admin.desk
    .locator('#console .table')
    .first()
    .evaluate((table) => table.scrollWidth - table.clientWidth);
  assert.ok(excess <= 0, `the table of devices is ${excess} pixels wider than the page`);
  await admin.look('phones');
}

async function profile(admin) {
  await admin.part('Profile');
  await admin.desk.locator('.about-user').getByRole('link', { name: 'Last sign-in: Never' }).waitFor();
  await admin.desk.locator('.about-user').getByRole('link', { name: '1 device' }).waitFor();
  await admin.look('user');
  // Few users have these fields. They are folded until one of them has a value.
  await admin.field('Birth date').waitFor({ state: 'hidden' });
  await admin.desk.getByText('More attributes').click();
  // The buttons stay on the screen while there are changes.
  const bar = admin.desk.locator('.actions.unsaved');
  await admin.field('Town').fill('Arlington');
  await bar.getByText('Unsaved changes').waitFor();
  await admin.field('Full name').scrollIntoViewIfNeeded();
  assert.ok(await bar.getByRole('button', { name: 'Save' }).isVisible());
  await admin.look('unsaved-bar');
  await admin.press('Discard');
  await bar.waitFor({ state: 'detached' });
  assert.equal(await admin.field('Town').inputValue(), '');
  await admin.desk.getByText('More attributes').click();
  await admin.field('Given name').fill('Grace');
  for (const [text, error] of [
    ['no address', /such as ada@example\.org/],
    ['gr ace@example.net', /character 3 is U\+0020/],
  ]) {
    await admin.field('Email address').fill(text);
    await admin.press('Save');
    await admin.desk.locator('.field-error', { hasText: error }).first().waitFor();
  }
  await admin.field('Email address').fill('grace@example.net');
  await admin.field('Birth date').fill('yesterday');
  await admin.press('Save');
  await admin.desk
    .locator('.field', { hasText: 'Birth date' })
    .locator('.field-error', { hasText: /^Expected a date such as 1815-12-10/ })
    .waitFor();
  await admin.field('Birth date').fill('1906-12-09');
  await admin.press('Save');
  assert.match(await admin.approveAction(), /Change the email address of “grace” to grace@example.net/);
  await admin.said('Saved.');
  assert.equal(await admin.field('Given name').inputValue(), 'Grace');
}

/** Unsaved input survives if the administrator leaves the page, or if another administrator changes the user. */
async function unsaved(admin) {
  const nickname = admin.field('Nickname');
  const prompt = admin.desk.getByRole('dialog', { name: 'Leave without saving?' });
  await nickname.fill('Amazing Grace');
  await admin.desk.locator('#parts').getByRole('link', { name: 'Keys' }).click();
  await prompt.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await nickname.inputValue(), 'Amazing Grace');
  const here = admin.desk.url();
  await admin.desk.goBack();
  await prompt.waitFor();
  await admin.look('unsaved');
  assert.equal(admin.desk.url(), here);
  await prompt.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(await nickname.inputValue(), 'Amazing Grace');

  const other = await admin.desk.context().newPage();
  await other.goto(here);
  await other.getByLabel('Nickname', { exact: true }).fill('Amazing');
  await other.getByLabel('Website', { exact: true }).fill('https://grace.example.org/');
  await other.getByRole('button', { name: 'Save' }).click();
  await other.locator('#said', { hasText: 'Saved.' }).waitFor();
  await other.close();
  await admin.press('Save');
  await admin.look('overtaken');
  await admin.press('Read it again, and keep what I typed');
  await admin.desk.getByText('Another administrator changed nickname too, to: "Amazing"').waitFor();
  assert.equal(await nickname.inputValue(), 'Amazing Grace');
  assert.equal(await admin.field('Website').inputValue(), 'https://grace.example.org/');
  await admin.press('Save');
  await admin.said('Saved.');
  assert.equal(await nickname.inputValue(), 'Amazing Grace');
  assert.equal(await admin.field('Website').inputValue(), 'https://grace.example.org/');

  await nickname.fill('Left behind');
  await admin.desk.goBack();
  await prompt.getByRole('button', { name: 'Leave' }).click();
  await admin.desk.waitForURL((address) => address.href !== here);
  await admin.desk.goForward();
  await admin.desk.waitForURL(here);
  await admin.desk.waitForFunction(() =>
    [...document.querySelectorAll('input')].some((input) => input.value === 'Amazing Grace'),
  );
}

async function access(admin) {
  await admin.part('Access');
  await admin.press('Give access to an application');
  await admin.desk.waitForFunction(() => document.activeElement.matches('dialog input'));
  await admin.choose('Application', APPLICATION_NAME.slice(0, 4), APPLICATION_NAME);
  await admin.field('Roles').fill('reader');
  await admin.field('Roles').press('Enter');
  await admin.field('Roles').fill(MARKUP);
  await admin.press('Give access');
  await admin.said('The account was created.');
  await admin.look('user-accounts');
  await admin.desk.locator('#console tbody td').getByRole('link').first().click();
  await admin.heading('grace');
  await admin.look('account');
  await admin.field('Roles').fill('editor');
  await admin.press('Save');
  await admin.said('Saved.');
  await admin.press('Suspend');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await admin.said('The account is suspended.');
  await admin.press('Activate');
  await admin.said('The account is active.');
  await admin.follow('Preview the claims');
  await admin.desk
    .getByRole('row', { name: /account .*editor/ })
    .first()
    .waitFor();
}

/** On a narrow screen, the tabs are one row, with the current tab visible. */
async function tabsOfPhone(admin) {
  const size = admin.desk.viewportSize();
  await admin.desk.setViewportSize({ width: 360, height: 780 });
  await admin.desk.reload();
  const current = await admin.desk.locator('.tabs [aria-current="page"]').boundingBox();
  assert.ok(current.x >= 0 && current.x + current.width <= 360, `the current tab begins at ${current.x}`);
  const tops = await admin.desk
    .locator('.tabs a')
    .evaluateAll((links) => links.map((link) => link.getBoundingClientRect().top));
  assert.equal(new Set(tops).size, 1, tops.join());
  await admin.desk.setViewportSize(size);
}

async function state(admin) {
  await admin.open('/admin/users?q=nobody-has-this-name', 'Users');
  await admin.desk.getByText('There is no such user.').waitFor();
  await admin.desk.getByText(/^0 of [0-9]+ users$/).waitFor();
  await admin.press('Clear filters');
  await admin.desk.waitForURL((address) => !address.searchParams.has('q'));
  await admin.desk.getByText(/^[0-9]+ users$/).waitFor();
  assert.equal(await admin.desk.getByRole('button', { name: 'Clear filters' }).isVisible(), false);
  await admin.open('/admin/users?q=grace', 'Users');
  await admin.desk.getByText(/^1 of [0-9]+ users$/).waitFor();
  // The table heads sort.
  assert.equal(await admin.field('Sort by').isVisible(), false);
  await admin.look('users');
  // A narrow screen shows the other fields of the search on demand.
  const size = admin.desk.viewportSize();
  await admin.desk.setViewportSize({ width: 360, height: 780 });
  const states = admin.desk.getByLabel('State', { exact: true });
  await states.waitFor({ state: 'hidden' });
  await admin.press('Filter and sort');
  await states.waitFor();
  await admin.field('Sort by').waitFor();
  // Without the table heads, a button selects all rows.
  await admin.desk.getByRole('button', { name: 'Select all shown' }).waitFor();
  assert.equal(await admin.desk.getByRole('checkbox', { name: 'Select all shown' }).isVisible(), false);
  await admin.look('users-filters');
  await admin.press('Filter and sort');
  await states.waitFor({ state: 'hidden' });
  await admin.desk.setViewportSize(size);
  await admin.follow('grace');
  await admin.press('Suspend');
  await admin.look('suspend');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await admin.said('The user is suspended.');
  await admin.press('Lift the suspension');
  await admin.said('The user can sign in again.');

  await admin.desk.getByText('Role in the console').click();
  await admin.field('Role').selectOption('support');
  await admin.press('Change the role');
  assert.match(
    await admin.approveAction(),
    /Make “grace”, a user since [-0-9]+, a support administrator in the console\. “grace” approves with 1 device/,
  );
  await admin.said('The role was changed.');
  await admin.desk.locator('h1 .badge', { hasText: /^Support$/ }).waitFor();

  await admin.part('Sessions and consents');
  await admin.look('sessions');
  await tabsOfPhone(admin);
  await admin.part('Activity');
  const entries = admin.desk.locator('#console article.entry');
  await entries.filter({ hasText: 'lifted the suspension of grace' }).first().waitFor();
  // An entry about a change names the user.
  await entries.filter({ hasText: 'changed the role of grace to Support' }).first().waitFor();
  await entries
    .filter({ hasText: /changed the user grace: .*Email address/ })
    .first()
    .waitFor();
  // The first activation is not a warning.
  const activation = entries.filter({ hasText: 'grace became active' });
  assert.equal(await activation.getAttribute('data-tone'), 'good');
  await admin.look('activity');

  await admin.part('Devices');
  await admin.desk.locator('#console tbody').getByRole('button', { name: 'Remove' }).first().click();
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click();
  await admin.approveAction();
  await admin.said('The device was removed.');

  await admin.part('Profile');
  await admin.press('Terminate');
  await admin.desk.getByRole('textbox', { name: /type grace/ }).fill('grace');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click();
  await admin.approveAction();
  await admin.said('The user is terminated.');
  await admin.desk.getByText('Erase or delete').click();
  assert.equal(await admin.desk.locator('h1 .badge', { hasText: 'Support' }).count(), 0, 'the role has no effect');
  await admin.look('terminated');
  await admin.press('Erase personal data');
  await admin.desk.getByRole('textbox', { name: /type grace/ }).fill('grace');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Erase' }).click();
  await admin.approveAction();
  await admin.said('The personal data were erased.');
  assert.ok(!(await admin.desk.locator('#console').textContent()).includes('Grace'));
}

/** The server does not execute a protected action that is denied on the phone or cancelled here. */
async function dropped(admin) {
  await admin.open('/admin/keys', 'Keys');
  await admin.press('Rotate immediately');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await admin.desk.locator('#approval-number').waitFor();
  const prompt = admin.mobile.getByRole('textbox', { name: /number/i });
  await prompt.waitFor();
  await admin.press('Cancel the action');
  await prompt.waitFor({ state: 'detached' });
  const keys = () => admin.desk.locator('#console tbody :is(code, .badge)').allTextContents();
  const before = await keys();
  await admin.press('Rotate immediately');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await admin.desk.locator('#approval-number').waitFor();
  await admin.mobile.getByRole('button', { name: 'Deny', exact: true }).click();
  await admin.desk.getByRole('dialog', { name: 'Not approved' }).waitFor();
  await admin.look('action-denied');
  await admin.press('Close');
  await admin.desk.reload();
  await admin.heading('Keys');
  assert.deepEqual(await keys(), before);
}

/** Two users at once: suspended, and active again. */
async function bulk(admin) {
  await admin.open('/admin/users', 'Users');
  const row = (name) =>
    admin.desk.getByRole('row').filter({ has: admin.desk.getByRole('link', { name, exact: true }) });
  const select = async (name) => admin.desk.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check();
  await select('linus');
  await admin.desk.getByText('1 user selected').waitFor();
  await select('margaret');
  await admin.desk.getByText('2 users selected').waitFor();
  await admin.look('users-selected');
  // The box in the table head selects all rows, and then none.
  const all = admin.desk.getByRole('columnheader').getByRole('checkbox', { name: 'Select all shown' });
  assert.equal(await all.evaluate((box) => box.indeterminate), true);
  await all.check();
  await admin.desk.getByText('2 users selected').waitFor({ state: 'detached' });
  await all.uncheck();
  await admin.desk.getByRole('region', { name: 'Selected users' }).waitFor({ state: 'hidden' });
  await select('linus');
  await select('margaret');
  // The name is the head of the row, and the box is before it.
  assert.equal(await row('linus').locator(':scope > :first-child').getByRole('checkbox').count(), 1);
  assert.match(await row('linus').getByRole('rowheader').textContent(), /linus/);
  await admin.press('Suspend');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await admin.said('2 users changed');
  for (const name of ['linus', 'margaret']) await row(name).getByText('suspended').waitFor();
  assert.equal(await admin.desk.getByText('2 users selected').isVisible(), false);
  await select('linus');
  await admin.press('Lift the suspension');
  await admin.said('1 user changed');
  await row('linus').getByText('suspended').waitFor({ state: 'detached' });
  await row('margaret').getByText('suspended').waitFor();
  await select('margaret');
  await admin.press('Lift the suspension');
  await row('margaret').getByText('suspended').waitFor({ state: 'detached' });
}

/** Imports a file of users. */
async function files(admin) {
  await admin.open('/admin/users/import', 'Import users');
  const [empty] = await Promise.all([admin.desk.waitForEvent('download'), admin.follow('Download a template (CSV)')]);
  const head = (await (await empty.createReadStream()).toArray()).join('');
  assert.equal(head, 'name,email,display_name,given_name,family_name,groups\n');
  const file = (text) =>
    admin.desk
      .getByLabel('CSV file')
      .setInputFiles({ name: 'users.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
  await file('name,email\nlinus,linus@example.org\nmargaret,not an address\n');
  await admin.press('Check the file');
  await admin.desk.getByRole('row', { name: 'email Expected an address such as ada@example.org.' }).waitFor();
  await admin.desk.getByText(/^1 of 2 rows is not valid, so nothing is imported\. Correct the file/).waitFor();
  await admin.look('import-wrong');
  await file('name,email\nlinus,linus@example.org\nmargaret,margaret@example.org\n');
  await admin.press('Check the file');
  await admin.desk.getByText('Would be created').waitFor();
  await admin.desk.getByRole('button', { name: 'Import', exact: true }).click();
  await admin.press('Cancel the action');
  await admin.desk.getByText('Would be created').waitFor();
  // The phone shows the earlier denial until the app is opened again.
  await admin.mobile.reload();
  await admin.mobile.getByRole('heading', { name: 'Denied' }).waitFor({ state: 'detached' });
  await admin.desk.getByRole('button', { name: 'Import', exact: true }).click();
  await admin.desk.locator('#approval-number').waitFor();
  await admin.look('import-approval');
  assert.match(await admin.approveAction(), /Import 2 users: 2 new, 0 updated/);
  await admin.desk.getByText('The file was imported.').waitFor();
  await admin.desk.getByRole('link', { name: 'To the users, the newest first' }).waitFor();
  await admin.look('import');
  await admin.open('/admin/users', 'Users');
  await admin.desk.getByText(/^[0-9]+ users$/).waitFor();
  await admin.look('users');
  await admin.desk.getByRole('button', { name: /^Created/ }).click();
  await admin.desk.waitForURL(/order=created/);
  await bulk(admin);
  await admin.open('/admin/users?q=margaret', 'Users');
  await admin.desk.getByRole('link', { name: 'margaret', exact: true }).waitFor();
  const more = admin.desk.locator('.menu');
  await more.getByText('More').click();
  await more.getByRole('link', { name: 'Open invitations' }).waitFor();
  await admin.look('users-more');
  await admin.desk.keyboard.press('Escape');
  await more.getByRole('button', { name: 'Export' }).waitFor({ state: 'hidden' });
  await more.getByText('More').click();
  const [kept] = await Promise.all([admin.desk.waitForEvent('download'), admin.press('Export')]);
  const text = (await (await kept.createReadStream()).toArray()).join('');
  assert.match(text, /margaret@example.org/);
  assert.ok(!text.includes('linus'), 'the export contains only the search results');
}

/** Confirms email addresses: of one user, of the selected users, and of the users of a service provider. */
async function confirmAddresses(admin) {
  const unconfirmed = admin.desk.getByText(/^The email address is not confirmed/);
  const userPage = async (name) => {
    await admin.open(`/admin/users?q=${name}`, 'Users');
    await admin.follow(name);
    await admin.heading(name);
  };
  await userPage('harriet');
  assert.match(await unconfirmed.textContent(), /, or when the user opens an invitation that was sent to it\.$/);
  await admin.look('user-unconfirmed');
  await admin.press('Confirm the email address');
  assert.match(await admin.approveAction(), /^Confirm .*harriet@example\.org/);
  await admin.said('1 address was confirmed.');
  await unconfirmed.waitFor({ state: 'detached' });
  // The server sends no invitation to a user who has a device.
  await userPage('joan');
  assert.match(await unconfirmed.textContent(), / It is confirmed when an admin or an owner confirms it\.$/);

  await admin.open('/admin/users?q=kate', 'Users');
  await admin.desk.getByRole('checkbox', { name: 'Select kate', exact: true }).check();
  await admin.press('Confirm email addresses');
  assert.match(await admin.approveAction(), /^Confirm .*kate@example\.org/);
  await admin.said('1 address was confirmed.');

  await admin.open('/admin/applications', 'Applications');
  await admin.follow(PROVIDER_NAME);
  await admin.heading(PROVIDER_NAME);
  await admin.part('Settings');
  const rejected = admin.desk.locator('.notice', { hasText: 'These users cannot sign in to it' });
  assert.deepEqual(await rejected.getByRole('listitem').allTextContents(), [
    'ivy · ivy@example.org',
    'joan · joan@example.org',
  ]);
  await admin.look('application-unconfirmed');
  await admin.press('Confirm 2 addresses');
  assert.match(await admin.approveAction(), /ivy@example\.org.*joan@example\.org|joan@example\.org.*ivy@example\.org/);
  await admin.said('2 addresses were confirmed.');
  await rejected.waitFor({ state: 'detached' });
}

await run(
  async (admin, browser) => {
    await invite(admin, browser);
    await profile(admin);
    await unsaved(admin);
    await access(admin);
    await state(admin);
    await dropped(admin);
    await files(admin);
    await confirmAddresses(admin);
    assert.equal(await admin.desk.evaluate(() => window.hacked), undefined, 'no value is interpreted as markup');
  },
  { expected: [ASKED, /status of 422/, /status of 400/, /status of 404/, /status of 412/] },
);
