// The states of the console between requests: while it loads, without a server, and after a change by keyboard; and
// questions and search results that name the user.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (an owner), GROUP_ID of a group called Engineering, USER_ID of a user
// called maryam with the full name Maryam Mirzakhani, APPLICATION_ID; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { axe, shot } from './browser.mjs';
import { run } from './console.mjs';

const { GROUP_ID, USER_ID, APPLICATION_ID } = process.env;
const API = '**/admin/api/v1';
const NO_ANSWER = 'The server did not respond. Check the connection, then try again.';

/** The names of the elements on the page that have the focus. */
const focused = (page) => page.evaluate(() => document.activeElement?.textContent?.trim());

/** The page shows that it loads, and offers to try again if a module does not arrive. */
async function loading({ desk, base }) {
  let send;
  const held = new Promise((resolve) => {
    send = resolve;
  });
  const main = '**/assets/console/main.js';
  await desk.route(main, async (route) => {
    await held;
    await route.continue();
  });
  await desk.goto(`${base}/admin/users`, { waitUntil: 'commit' });
  await desk.getByText('Loading…', { exact: true }).waitFor();
  // A picture would wait for the end of the loading.
  assert.deepEqual(await axe(desk), []);
  send();
  await desk.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
  assert.equal(await desk.locator('#loading').count(), 0);
  await desk.unroute(main);

  await desk.route('**/assets/console/pages/users.js', (route) => route.abort());
  await desk.goto(`${base}/admin/users`);
  await desk.getByText('The server does not respond. Check the connection.').waitFor();
  await shot(desk, 'console-not-loaded');
  await desk.unroute('**/assets/console/pages/users.js');
  await desk.getByRole('button', { name: 'Try again' }).click();
  await desk.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
}

/** Without a server, a list is unknown and not empty; a page is not shown; both can be tried again. */
async function outage(admin) {
  const { desk } = admin;
  await admin.open('/admin/users', 'Users');
  await desk.getByRole('link', { name: 'maryam', exact: true }).waitFor();
  // The list has the order of the full names, and all other users are called Ada Lovelace.
  const last = desk.locator('#console tbody tr').last();
  assert.equal(await last.locator('.user-cell a').textContent(), 'maryam');
  await desk.route(`${API}/users*`, (route) => route.abort());
  await desk.getByLabel('Name, email address or ID').fill('mary');
  await desk.getByText(NO_ANSWER).waitFor();
  const shown = (text) => desk.getByText(text).locator('visible=true').count();
  assert.equal(await shown('There are no users'), 0);
  assert.equal(await shown('There is no such user'), 0);
  assert.equal(await desk.locator('#console .table:visible').count(), 0);
  await admin.look('list-outage');
  await desk.unroute(`${API}/users*`);
  await desk.locator('#console').getByRole('button', { name: 'Try again' }).click();
  await desk.getByRole('link', { name: 'maryam', exact: true }).waitFor();
  assert.equal(await desk.getByText(NO_ANSWER).count(), 0);

  await desk.route(`${API}/groups*`, (route) => route.abort());
  await desk.locator('#parts').getByRole('link', { name: 'Groups' }).click();
  await desk.getByText(NO_ANSWER).waitFor();
  await desk.unroute(`${API}/groups*`);
  await desk.locator('#console').getByRole('button', { name: 'Try again' }).click();
  await desk.getByRole('link', { name: 'Engineering' }).waitFor();

  await desk.route(`${API}/groups/*`, (route) => route.abort());
  await desk.getByRole('link', { name: 'Engineering' }).click();
  await desk.getByRole('heading', { level: 1, name: 'The request failed' }).waitFor();
  await admin.look('page-outage');
  await desk.unroute(`${API}/groups/*`);
  await desk.locator('#console').getByRole('button', { name: 'Try again' }).click();
  await admin.heading('Engineering');
}

/** The results of a search in a window are all visible, with the full names; after the change the focus stays. */
async function member(admin) {
  const { desk } = admin;
  await admin.open(`/admin/groups/${GROUP_ID}`, 'Engineering');
  for (const size of [
    { width: 360, height: 640 },
    { width: 1280, height: 800 },
  ]) {
    await desk.setViewportSize(size);
    const opener = desk.getByRole('button', { name: 'Add members' });
    await opener.focus();
    await desk.keyboard.press('Enter');
    const window = desk.getByRole('dialog', { name: 'Add members' });
    await window.getByRole('combobox').waitFor();
    await window.getByRole('option').first().waitFor();
    await window.getByRole('combobox').fill('user');
    await window.getByRole('option', { name: 'user-7' }).waitFor();
    const count = await window.getByRole('option').count();
    assert.equal(count, 8, 'all that the server returned');
    const frame = await window.boundingBox();
    for (const index of [0, 3]) {
      const option = await window.getByRole('option').nth(index).boundingBox();
      assert.ok(option.y >= frame.y && option.y + option.height <= frame.y + frame.height, `${index} is visible`);
    }
    const submit = await window.getByRole('button', { name: 'Add to the group' }).boundingBox();
    const list = await window.locator('.found').boundingBox();
    assert.ok(submit.y >= list.y + list.height, 'the buttons are below the results');
    assert.ok(submit.y + submit.height <= size.height, 'the buttons are on the screen');
    await shot(desk, `console-picker-${size.width}`);
    await desk.keyboard.press('Escape');
    await window.getByRole('button', { name: 'Cancel' }).click();
    await window.waitFor({ state: 'detached' });
  }
  await desk.getByRole('button', { name: 'Add members' }).focus();
  await desk.keyboard.press('Enter');
  const window = desk.getByRole('dialog', { name: 'Add members' });
  await window.getByRole('combobox').pressSequentially('Mirza');
  await window.getByRole('option', { name: 'Maryam Mirzakhani (maryam)' }).waitFor();
  await desk.keyboard.press('ArrowDown');
  await desk.keyboard.press('Enter');
  await window.getByRole('button', { name: 'Remove Maryam Mirzakhani (maryam)' }).waitFor();
  await window.getByRole('button', { name: 'Add to the group' }).focus();
  await desk.keyboard.press('Enter');
  await window.waitFor({ state: 'detached' });
  await admin.said('The user is a member.');
  assert.equal(await focused(desk), 'Add members');
  // The button of a removed row is gone; the heading of the page gets the focus.
  await desk.getByRole('button', { name: 'Remove maryam from the group' }).focus();
  await desk.keyboard.press('Enter');
  await admin.said('maryam is no longer a member.');
  assert.equal(await focused(desk), 'Engineering');
}

/** A question about a user names the user. */
async function questions(admin) {
  const { desk } = admin;
  await admin.open(`/admin/users/${USER_ID}`, 'Maryam Mirzakhani');
  await admin.press('Suspend');
  await desk.getByRole('dialog', { name: 'Suspend Maryam Mirzakhani (maryam)?' }).waitFor();
  await admin.press('Cancel');
  await admin.press('Terminate');
  await desk.getByRole('dialog', { name: 'Terminate Maryam Mirzakhani (maryam) permanently?' }).waitFor();
  await admin.press('Cancel');
}

/** At the end of a page, the last section is the current one. */
async function contents(admin) {
  const { desk } = admin;
  await admin.open(`/admin/applications/${encodeURIComponent(APPLICATION_ID)}/settings`, /./);
  const current = desk.locator('.contents [aria-current]');
  const links = desk.locator('.contents a');
  await desk.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  const last = await links.last().textContent();
  await desk.locator('.contents [aria-current]', { hasText: last }).waitFor();
  assert.equal(await current.count(), 1);
  await desk.evaluate(() => scrollTo(0, 0));
  await desk.locator('.contents [aria-current]', { hasText: await links.first().textContent() }).waitFor();
}

await run(
  async (admin) => {
    await loading(admin);
    await outage(admin);
    await member(admin);
    await questions(admin);
    await contents(admin);
  },
  { expected: [/ERR_FAILED/, /net::ERR/] },
);
