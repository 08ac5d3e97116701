// Two administrators in one browser: a tab shows the console of the first, and the second signs in in another tab. The
// first tab does nothing as the second administrator, and offers to load the page again.
//
// Environment: BASE_URL, ENROL_URL of an owner called LOGIN_NAME, OTHER_URL of an owner called grace; CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { enrolDevice, matchingNumber, phone } from './browser.mjs';
import { Administrator, run } from './console.mjs';

const offer = (admin) => admin.desk.getByRole('dialog', { name: 'Another user is signed in' });

/** Closes the offer, and waits until it is gone. */
async function decline(admin) {
  await offer(admin).getByRole('button', { name: 'Not now' }).click();
  await offer(admin).waitFor({ state: 'detached' });
}

/** Loads the portal of another user in a second tab, which does not notify the tabs of the console. */
async function signInBeside(admin, browser) {
  const mobile = await (await phone(browser)).newPage();
  await enrolDevice(mobile, process.env.OTHER_URL);
  const tab = await admin.desk.context().newPage();
  await tab.goto(`${admin.base}/sign-in`);
  const other = new Administrator(admin.base, tab, mobile, admin.findings);
  // The page offers to continue as the first administrator, too.
  await tab.getByRole('textbox', { name: /name/i }).fill('grace');
  await tab.getByRole('button', { name: 'Continue', exact: true }).click();
  await other.approve(await matchingNumber(tab));
  await tab.waitForURL(({ pathname }) => pathname === '/');
  await tab.goto(`${admin.base}/profile`);
  await tab.getByText('grace').first().waitFor();
  return other;
}

/** Returns the id of the signed-in user. */
const signedIn = (page) => page.evaluate(async () => (await (await fetch('/admin/api/v1/me')).json()).id);

/** Counts the users with a name, as the second administrator. */
async function count(other, name) {
  await other.open(`/admin/users?q=${name}`, 'Users');
  return other.desk.locator('#console').getByRole('link', { name, exact: true }).count();
}

await run(
  async (admin, browser) => {
    await admin.open('/admin/users/new', 'Invite a user');
    await admin.field('Name at sign-in').fill('eve');
    const first = await signedIn(admin.desk);
    const other = await signInBeside(admin, browser);

    // A change: the CSRF token of the first session is not valid any more, and that of the second one is of no use.
    await admin.press('Invite');
    await offer(admin).waitFor();
    await admin.look('other-user');
    await decline(admin);
    assert.equal(await admin.field('Name at sign-in').inputValue(), 'eve', 'what was typed stays');

    // A read: the page shows nothing of the second administrator's.
    await admin.desk.locator('#parts').getByRole('link', { name: 'Audit log' }).click();
    await admin.desk.getByRole('button', { name: 'Leave' }).click();
    await offer(admin).waitFor();
    assert.equal(await admin.desk.locator('#console table').count(), 0);

    // The second administrator opens the console. The first tab learns of it without a request.
    await decline(admin);
    assert.equal(await count(other, 'eve'), 0, 'nothing was executed');
    await offer(admin).waitFor();

    await Promise.all([
      admin.desk.waitForEvent('load'),
      offer(admin).getByRole('button', { name: 'Load the page again' }).click(),
    ]);
    await admin.heading('Audit log');
    assert.notEqual(await signedIn(admin.desk), first, 'the page is that of the second administrator now');
    assert.equal(await offer(admin).count(), 0);
  },
  { expected: [/409/] },
);
