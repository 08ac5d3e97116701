// An administrator gives a group access to an application in the console. The test covers the group, its members by
// hand and from the list of users, the assignment with suggested roles, and its end. It counts the clicks and
// keystrokes for giving access.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; APPLICATION_NAME of an application in which an account
// has the role editor; users called bob and eve; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { ASKED, run } from './console.mjs';

const { APPLICATION_NAME } = process.env;
const MARKUP = '<img src=x onerror="window.hacked=1">';

/** Counts the clicks and the keystrokes on a page until `stop` is called. */
async function counted(page) {
  await page.evaluate(() => {
    window.counted = { clicks: 0, keys: 0 };
    document.addEventListener('click', ({ isTrusted }) => isTrusted && window.counted.clicks++, true);
    document.addEventListener('keydown', ({ isTrusted }) => isTrusted && window.counted.keys++, true);
  });
  return () => page.evaluate(() => window.counted);
}

async function create(admin) {
  await admin.desk.locator('#parts').getByRole('link', { name: 'Groups' }).click();
  await admin.heading('Groups');
  await admin.desk.getByText('There are no groups yet.').waitFor();
  const first = await admin.desk.locator('.empty').getByRole('link', { name: 'Create a group' }).boundingBox();
  assert.ok(first.width < 400, `the button is ${first.width} pixels wide`);
  await admin.look('groups-empty');
  await admin.field('Name').fill('nobody');
  await admin.desk.getByText('There is no such group.').waitFor();
  assert.equal(await admin.desk.getByText('There are no groups yet.').count(), 0);
  await admin.field('Name').fill('');
  await admin.desk.getByText('There are no groups yet.').waitFor();
  await admin.follow('Create a group');
  await admin.press('Create');
  await admin.desk.locator('.field-error', { hasText: 'Enter a name.' }).waitFor();
  await admin.field('Name').fill(`Staff ${MARKUP}`);
  await admin.field('Description').fill('Everybody who works here');
  await admin.look('group-new');
  await admin.press('Create');
  await admin.heading(`Staff ${MARKUP}`);
  await admin.press('Add members');
  await admin.choose('User', 'bo', /bob/);
  await admin.look('group-member');
  await admin.press('Add to the group');
  await admin.said('The user is a member.');
  await admin.desk.getByRole('row', { name: /bob/ }).waitFor();
  const [members, transfer] = await Promise.all([
    admin.desk.getByRole('table', { name: 'Members' }).boundingBox(),
    admin.desk.getByText('Import and export').boundingBox(),
  ]);
  assert.ok(members.y < transfer.y, 'the members come first');
  await admin.look('group');
}

/** Checks the list: the number of groups, and their order. */
async function list(admin) {
  await admin.open('/admin/groups', 'Groups');
  await admin.desk.getByText('1 group', { exact: true }).waitFor();
  await admin.desk.getByRole('button', { name: /^Name/ }).click();
  await admin.desk.waitForURL(/order=-name/);
  await admin.desk.getByRole('row', { name: /Staff/ }).waitFor();
  await admin.look('groups');
}

/** Adds several users at once. */
async function several(admin) {
  await admin.open('/admin/users', 'Users');
  await admin.desk.getByLabel('Select eve').check();
  await admin.desk.getByLabel('Select bob').check();
  await admin.desk.getByText('2 users selected').waitFor();
  await admin.look('users-selected');
  await admin.press('Add to a group');
  await admin.choose('Group', 'sta', /Staff/);
  await admin.look('users-to-group');
  const [add, cancel] = await Promise.all(
    ['Add', 'Cancel'].map((name) => admin.desk.getByRole('dialog').getByRole('button', { name }).boundingBox()),
  );
  assert.ok(Math.abs(add.width - cancel.width) < 2 && add.y === cancel.y, 'two equal buttons beside each other');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
  await admin.said('1 user was added to the group.');
  await admin.desk.getByLabel('Select eve').check();
  await admin.press('Give access');
  await admin.choose('Application', APPLICATION_NAME.slice(0, 4), APPLICATION_NAME);
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Add editor' }).click();
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Give access' }).click();
  await admin.said('The users have access.');
}

/** The counted flow: from the list of applications to the approval. */
async function assign(admin) {
  await admin.open('/admin/applications', 'Applications');
  const stop = await counted(admin.desk);
  await admin.follow(APPLICATION_NAME);
  await admin.part('Access');
  await admin.desk.getByText('Give a group access').click();
  await admin.field('Group').pressSequentially('sta');
  await admin.desk.locator('.found').getByRole('option', { name: /Staff/ }).click();
  const form = admin.desk.locator('form', { has: admin.desk.getByLabel('Roles of the members', { exact: true }) });
  await form.getByRole('button', { name: 'Add editor' }).click();
  // In a dialog, above the list.
  assert.equal(await admin.desk.getByRole('dialog', { name: 'Give a group access' }).locator('form').count(), 1);
  await admin.look('assign');
  await form.getByRole('button', { name: 'Give access' }).click();
  const count = await stop();
  const words = await admin.approveAction();
  assert.match(
    words,
    /^Give the members of the group “Staff <img.*” access to the application .* roles there: “editor”\. The id of/,
  );
  await admin.said('The group has access.');
  console.log(`Giving a group access: ${count.clicks} clicks, ${count.keys} keystrokes, and the approval`);
  assert.ok(count.clicks <= 6, `${count.clicks} clicks`);
  await admin.desk.getByRole('row', { name: /^Staff .*editor/ }).waitFor();
  const [row, roles] = await Promise.all([
    admin.desk.getByRole('row', { name: /^Staff .*editor/ }).boundingBox(),
    admin.desk.getByRole('button', { name: /^Change the roles of Staff/ }).boundingBox(),
  ]);
  assert.ok(roles.y - row.y >= 14, `the button is ${roles.y - row.y} pixels below the line of its row`);
  await admin.look('assignments');
}

/** A group without access gets access on its own page. */
async function giveAccess(admin) {
  await admin.press('Give access to an application');
  await admin.desk.waitForFunction(() => document.activeElement.matches('dialog input'));
  await admin.choose('Application', APPLICATION_NAME.slice(0, 4), APPLICATION_NAME);
  await admin.desk.getByRole('button', { name: 'Add editor' }).click();
  await admin.press('Give access');
  assert.match(await admin.approveAction(), /^Give the members of the group “Staff <img.*” access .*: “editor”\. /);
  await admin.said('The group has access.');
  await admin.desk.getByRole('row', { name: /editor/ }).waitFor();
}

/** A narrow screen shows the current tab when the page opens, and when the width changes. */
async function presentTabShown(admin) {
  const wide = admin.desk.viewportSize();
  const isShown = () => {
    const [tab, row] = ['.tabs [aria-current]', '.tabs ul'].map((part) =>
      document.querySelector(`#console ${part}`).getBoundingClientRect(),
    );
    return tab.left >= row.left && tab.right <= row.right && scrollY === 0;
  };
  await admin.desk.setViewportSize({ width: 360, height: 740 });
  await admin.desk.waitForFunction(isShown);
  await admin.desk.reload();
  await admin.desk.getByText('The user is in no group.').waitFor();
  await admin.desk.waitForFunction(isShown);
  await admin.desk.setViewportSize(wide);
}

async function end(admin) {
  await admin.desk.getByRole('button', { name: /^Change the roles of Staff/ }).click();
  await admin.desk.getByRole('dialog').getByLabel('Roles', { exact: true }).fill('approver');
  await admin.look('assignment-roles');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  assert.match(
    await admin.approveAction(),
    /roles there: “editor”, “approver”\. Before they had: “editor”\. The id of/,
  );
  await admin.desk.getByRole('row', { name: /^Staff .*editor, approver/ }).waitFor();
  await admin.desk.getByRole('button', { name: /^Remove the access of Staff/ }).click();
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  assert.match(await admin.approveAction(), /^Remove the access of the group “Staff/);
  await admin.said('The access was removed.');
  await admin.desk.getByText('No groups have access, and access for everyone is off.').waitFor();

  await admin.open('/admin/groups', 'Groups');
  await admin.look('groups');
  await admin.follow(`Staff ${MARKUP}`);
  await admin.part('Applications');
  await admin.look('group-applications');
  await giveAccess(admin);
  await admin.part('Settings');
  await admin.field('Description').fill('Nobody');
  await admin.press('Save');
  await admin.said('Saved.');
  const [form, card] = await Promise.all(
    ['form.form', '.column > .panel'].map((part) => admin.desk.locator(`#console ${part}`).boundingBox()),
  );
  assert.equal(card.width, form.width, 'the card below the form is as wide as the form');
  await admin.look('group-settings');
  await admin.press('Delete this group');
  await admin.desk.getByRole('textbox', { name: /type Staff/ }).fill(`Staff ${MARKUP}`);
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Delete it' }).click();
  await admin.approveAction();
  await admin.heading('Groups');
  await admin.open('/admin/users?q=bob', 'Users');
  await admin.follow('bob');
  await admin.part('Groups');
  await admin.desk.getByText('The user is in no group.').waitFor();
  await presentTabShown(admin);
  await admin.look('user-groups');
  assert.equal(await admin.desk.evaluate(() => window.hacked), undefined);
}

await run(
  async (admin) => {
    await create(admin);
    await list(admin);
    await several(admin);
    await assign(admin);
    await end(admin);
  },
  { expected: [ASKED] },
);
