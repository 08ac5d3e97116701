// An administrator answers "who has access?" in the console, and settles a user's report. The test covers the lists of
// an application and of a user, the count, the choice of users in the claims preview, the group's access and members,
// the banner of reports, the marks of the user, the role Support, the figures of the overview, and the warning before a
// test sign-in.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; SUPPORT_URL of a user called support with that role; an
// application called Grafana, to which the group Engineering is assigned with the role editor; its members maryam, who
// reported a request, and grace; users called bob and eve; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { Administrator, ASKED, run } from './console.mjs';

const { SUPPORT_URL } = process.env;

/** The report is a banner on the overview, and a mark at the user. */
async function report(admin) {
  await admin.open('/admin', 'Overview');
  const banner = admin.desk.getByRole('region', { name: 'Reports' });
  await banner.getByRole('heading', { name: '1 report: “This wasn’t me”' }).waitFor();
  await banner.getByText('maryam').waitFor();
  const [first, figures] = await Promise.all([banner.boundingBox(), admin.desk.locator('.figures').boundingBox()]);
  assert.ok(first.y < figures.y, 'the banner is above the figures');
  await admin.desk.getByRole('table', { name: 'Paused users' }).getByText('maryam').waitFor();
  await admin.look('overview-report');
  await admin.open('/admin/users?q=maryam', 'Users');
  await admin.desk
    .getByRole('row', { name: /maryam/ })
    .getByText('Reported a request')
    .waitFor();
  await admin.follow('maryam');
  await admin.desk.locator('h1').getByText('Reported a request').waitFor();
  await admin.desk
    .locator('h1')
    .getByText(/Paused, ends in/)
    .waitFor();
  await admin.desk.getByRole('region', { name: 'Reports' }).waitFor();
  await admin.look('user-report');
}

/** A member who never opened the application has access, on each page. */
async function access(admin) {
  await admin.part('Access');
  await admin.desk.getByRole('row', { name: /Grafana .*Has access.*Engineering.*editor.*Never/ }).waitFor();
  await admin.look('user-access');
  await admin.follow('Grafana');
  await admin.heading('Grafana');
  await admin.part('Access');
  const rows = admin.desk.getByRole('table', { name: 'Users with access' }).locator('tbody tr');
  await rows.nth(1).waitFor();
  assert.equal(await rows.count(), 2);
  await admin.desk.getByRole('row', { name: /grace .*Has access.*Engineering.*editor.*Never/ }).waitFor();
  const [download] = await Promise.all([
    admin.desk.waitForEvent('download'),
    admin.desk.getByRole('button', { name: 'Export as CSV' }).click(),
  ]);
  assert.equal(download.suggestedFilename(), 'access.csv');
  const [list] = await Promise.all([
    admin.desk.waitForEvent('download'),
    admin.desk.getByRole('button', { name: 'Export as JSON' }).click(),
  ]);
  assert.equal(list.suggestedFilename(), 'access.json');
  await admin.desk.getByText('2 in all: 0 denied, 2 never used, 2 not used for 90 days').waitFor();
  await admin.look('application-access');
  await admin.field('User').fill('mar');
  await rows.nth(1).waitFor({ state: 'detached' });
  await admin.desk.getByRole('row', { name: /maryam/ }).waitFor();
  await admin.field('User').fill('');
  await admin.field('Show').selectOption({ label: 'Only denied access' });
  await admin.desk.getByText('There is no such user with access.').waitFor();
  await admin.field('Show').selectOption({ label: 'All users with access' });
  await admin.field('Last used').selectOption({ label: 'Never' });
  await rows.nth(1).waitFor();
  await admin.field('Role').selectOption({ label: 'editor' });
  await rows.nth(1).waitFor();
  await admin.part('Claims');
  await admin.field('Account').fill('grace');
  await admin.desk
    .locator('.found')
    .getByRole('option', { name: /grace .*no account yet/ })
    .waitFor();
  await admin.open('/admin/applications', 'Applications');
  assert.equal(
    await admin.desk
      .getByRole('row', { name: /Grafana/ })
      .locator('[data-label="Users"]')
      .textContent(),
    '2',
  );
}

/** The group has its members with their last use. Each list leads to the others. */
async function use(admin) {
  await admin.open('/admin/groups', 'Groups');
  await admin.follow('Engineering');
  await admin.desk.getByRole('row', { name: /grace .*Never/ }).waitFor();
  await admin.desk.getByText('2 in all: 0 denied, 2 never used, 2 not used for 90 days').waitFor();
  await admin.look('group-use');
  await admin.field('Last used').selectOption({ label: 'Not for 90 days' });
  await admin.desk.getByRole('row', { name: /maryam .*Never/ }).waitFor();
  await admin.follow('maryam');
  await admin.desk.getByRole('row', { name: /Grafana .*Engineering.*editor/ }).waitFor();
}

/** The page of the test sign-in warns an administrator without access, also if an own account denies it. */
async function testSignIn(admin) {
  const tryIt = async () => {
    await admin.open('/admin/applications', 'Applications');
    await admin.follow('Grafana');
    await admin.heading('Grafana');
    await admin.part('Test sign-in');
  };
  const warning = admin.desk.getByText(/^You have no access to this application, so the test sign-in will fail/);
  await tryIt();
  await warning.waitFor();
  await admin.press('Create an account for me');
  await admin.said('You have an account, without roles.');
  await warning.waitFor({ state: 'detached' });
  await admin.part('Access');
  await admin.follow('Own account');
  await admin.heading(process.env.LOGIN_NAME);
  await admin.press('Suspend');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await admin.said('The account is suspended.');
  await tryIt();
  assert.match(await warning.textContent(), /: the account is suspended\.$/);
  await admin.look('test-sign-in-denied');
  await admin.follow('Open my account');
  await admin.heading(process.env.LOGIN_NAME);
}

/** The group changes and removes its access, and adds several members at once. */
async function group(admin) {
  await admin.open('/admin/groups', 'Groups');
  await admin.follow('Engineering');
  await admin.press('Add members');
  await admin.choose('User', 'bob', /bob/);
  await admin.choose('User', 'eve', /eve/);
  assert.equal(await admin.desk.getByRole('list', { name: 'Chosen users' }).getByRole('listitem').count(), 2);
  await admin.look('group-add-members');
  await admin.press('Add to the group');
  await admin.said('2 users were added to the group.');
  await admin.part('Applications');
  await admin.desk.getByRole('button', { name: 'Change the roles in Grafana' }).click();
  await admin.desk.getByRole('dialog').getByLabel('Roles of the members', { exact: true }).fill('viewer');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  assert.match(await admin.approveAction(), /roles there: “editor”, “viewer”\. Before they had: “editor”\. The id of/);
  await admin.desk.getByRole('row', { name: /Grafana .*editor, viewer/ }).waitFor();
  await admin.look('group-access');
  await admin.desk.getByRole('button', { name: 'Remove the access to Grafana' }).click();
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  assert.match(await admin.approveAction(), /^Remove the access of the group “Engineering/);
  await admin.said('The access was removed.');
  await admin.open('/admin/users?q=maryam', 'Users');
  await admin.follow('maryam');
  await admin.part('Access');
  await admin.desk.getByText('No access to any application yet.').waitFor();
}

/** Support sees the report and the paused user, and does not settle it. */
async function support(browser, { base, findings }) {
  const helper = await Administrator.signIn(browser, { base, link: SUPPORT_URL, name: 'support', findings });
  await helper.desk.getByRole('region', { name: 'Reports' }).getByText('maryam').waitFor();
  await helper.desk.getByRole('table', { name: 'Paused users' }).getByText('maryam').waitFor();
  assert.equal(await helper.desk.getByRole('button', { name: /^Settle/ }).count(), 0);
  await helper.look('overview-support');
}

/** The figure of reports opens exactly the counted entry. */
async function figures(admin) {
  await admin.open('/admin', 'Overview');
  await admin.desk.locator('.figures').getByRole('link', { name: '1 reported' }).click();
  await admin.heading('Audit log');
  const entries = admin.desk.getByRole('list', { name: 'Entries' }).getByRole('listitem');
  await entries.first().waitFor();
  assert.equal(await entries.count(), 1);
  await admin.desk.getByText('reported a sign-in to').waitFor();
}

async function settle(admin) {
  await admin.open('/admin', 'Overview');
  await admin.desk.getByRole('button', { name: 'Settle the report of maryam' }).click();
  const dialog = admin.desk.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Settle the report' }).click();
  await dialog.getByText('Write what you found out.').waitFor();
  await dialog.getByLabel('Note', { exact: true }).fill('Maryam called: it was her colleague.');
  await dialog.getByLabel('End the pause of the user’s sign-in requests').check();
  await admin.look('settle-report');
  await dialog.getByRole('button', { name: 'Settle the report' }).click();
  await admin.said('The report is settled.');
  assert.equal(await admin.desk.getByRole('region', { name: 'Reports' }).count(), 0);
  assert.equal(await admin.desk.getByRole('table', { name: 'Paused users' }).count(), 0);
  await admin.open('/admin/audit?event=report.settled', 'Audit log');
  await admin.desk.getByText('; ended the pause').waitFor();
}

await run(
  async (admin, browser) => {
    await report(admin);
    await access(admin);
    await use(admin);
    await testSignIn(admin);
    await group(admin);
    await figures(admin);
    await support(browser, admin);
    await settle(admin);
  },
  { expected: [ASKED] },
);
