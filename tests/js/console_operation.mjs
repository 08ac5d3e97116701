// An administrator operates the instance in the console: plugins, keys, settings, the audit log; and what the other
// roles see of it.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; SUPPORT_URL and AUDITOR_URL, links to enrol phones of
// two users called support and auditor with those roles; PLAIN_URL of a user called plain without one; CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { desktop } from './browser.mjs';
import { Administrator, ASKED, run } from './console.mjs';

const { SUPPORT_URL, AUDITOR_URL, PLAIN_URL } = process.env;

async function operate(admin) {
  await admin.open('/admin', 'Overview');
  await admin.desk.getByText('The figures').first().click();
  await admin.desk.getByRole('row', { name: /Admin API \d+ .* ms/ }).waitFor();
  await admin.look('overview');

  await admin.open('/admin/plugins', 'Plugins');
  await admin.look('plugins');
  await admin.press('Reload');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Reload' }).click();
  await admin.approveAction();
  await admin.said('The plugins were reloaded.');

  await admin.open('/admin/keys', 'Keys');
  await admin.look('keys');
  await admin.press('Rotate');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
  await admin.approveAction();
  await admin.said('The keys were rotated.');
  await admin.desk.getByText('published, signs next').first().waitFor();

  await admin.open('/admin/settings', 'Settings');
  await admin.field('Key').fill('base_url');
  await admin.desk.getByRole('row', { name: new RegExp(`base_url.*${admin.base}`) }).waitFor();
  await admin.look('settings');
  await admin.field('Key').fill('database.url');
  await admin.desk.getByRole('row', { name: /Set, and not shown/ }).waitFor();

  await admin.open('/admin/audit', 'Audit log');
  await admin.choose('By the user', process.env.LOGIN_NAME, new RegExp(process.env.LOGIN_NAME));
  await admin.desk.waitForURL(/actor=[0-9a-f]{32}/);
  await admin.desk.waitForFunction(
    (name) =>
      [...document.querySelectorAll('#console .table > table > tbody > tr')].every((row) =>
        row.textContent.includes(`user ${name}`),
      ),
    process.env.LOGIN_NAME,
  );
  await admin.field('Event').selectOption('signing-key.published');
  const rows = admin.desk.locator('#console .table > table > tbody > tr');
  await admin.desk.waitForFunction(() =>
    [...document.querySelectorAll('#console .table > table > tbody > tr')].every((row) =>
      row.textContent.includes('signing-key.published'),
    ),
  );
  assert.ok((await rows.count()) >= 1);
  await admin.desk.locator('.entry summary').first().click();
  await admin.look('audit');
  await admin.press('Check the hash chain');
  await admin.desk.getByText(/The last \d+ entries are as they were written/).waitFor();
  const [kept] = await Promise.all([admin.desk.waitForEvent('download'), admin.press('Export the results')]);
  const lines = (await (await kept.createReadStream()).toArray())
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.ok(lines.length >= 1 && lines.every(({ event }) => event === 'signing-key.published'));
}

/** Other roles see less, and get an explanation at an address that they may not open. */
async function others(admin, browser) {
  const parts = (one) => one.desk.locator('#parts a').allTextContents();
  const support = await Administrator.signIn(browser, {
    base: admin.base,
    link: SUPPORT_URL,
    name: 'support',
    findings: admin.findings,
  });
  assert.deepEqual(await parts(support), ['Overview', 'Users']);
  await support.look('support');
  await support.open('/admin/keys', 'Your role does not allow this');
  await support.look('not-for-your-role');
  await support.open('/admin/users?q=auditor', 'Users');
  await support.follow('auditor');
  await support.heading('auditor');
  // Support cannot act on users with a role.
  await support.press('Suspend');
  await support.desk.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click();
  await support.desk.locator('.failed', { hasText: /Not allowed/ }).waitFor();
  await support.look('refused');

  const auditor = await Administrator.signIn(browser, {
    base: admin.base,
    link: AUDITOR_URL,
    name: 'auditor',
    findings: admin.findings,
  });
  assert.deepEqual(await parts(auditor), [
    'Overview',
    'Applications',
    'Users',
    'Claims preview',
    'Plugins',
    'Keys',
    'Audit log',
    'Settings',
  ]);
  for (const [path, heading] of [
    ['/admin/users', 'Users'],
    ['/admin/applications', 'Applications'],
    ['/admin/keys', 'Keys'],
    ['/admin/plugins', 'Plugins'],
  ]) {
    await auditor.open(path, heading);
    const writes = auditor.desk.locator('#console').getByRole('button', { name: /rotate|revoke|load them|go back/i });
    assert.equal(await writes.count(), 0, path);
    assert.equal(
      await auditor.desk
        .locator('#console')
        .getByRole('link', { name: /invite|connect an/i })
        .count(),
      0,
      path,
    );
  }
  await auditor.desk.goto(`${admin.base}/admin/users?q=support`);
  await auditor.follow('support');
  await auditor.heading('support');
  assert.ok(await auditor.field('Name at sign-in').isDisabled());
  await auditor.look('auditor');

  const plain = await (await desktop(browser)).newPage();
  await plain.goto(`${admin.base}/admin`);
  const { mobile } = await (async () => {
    const page = await (await desktop(browser)).newPage();
    await page.goto(PLAIN_URL);
    await page.getByRole('button', { name: /enrol this/i }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    return { mobile: page };
  })();
  await new Administrator(admin.base, plain, mobile, admin.findings).identify(plain, 'plain');
  await plain
    .getByRole('heading', { level: 1, name: /not an administrator|no administrator|administrator/i })
    .waitFor();
  assert.equal((await plain.request.get(`${admin.base}/admin/api/v1/users`)).status(), 403);
}

/** A session that ends while the console is open: the sign-in returns to the requested page. */
async function again(admin) {
  await admin.open('/admin/settings?q=base', 'Settings');
  await admin.desk.context().clearCookies();
  await admin.desk.goto(`${admin.base}/admin/audit?event=signing-key.published`);
  await admin.identify(admin.desk, process.env.LOGIN_NAME);
  await admin.heading('Audit log');
  assert.equal(new URL(admin.desk.url()).search, '?event=signing-key.published');
  // With the keyboard alone: to the content, and through the navigation.
  await admin.desk.keyboard.press('Tab');
  await admin.desk.locator('#parts').getByRole('link', { name: 'Keys' }).focus();
  await admin.desk.keyboard.press('Enter');
  await admin.heading('Keys');
  assert.equal(await admin.desk.evaluate(() => document.activeElement.tagName), 'H1');
  await admin.desk.goBack();
  await admin.heading('Audit log');
}

await run(
  async (admin, browser) => {
    await operate(admin);
    await others(admin, browser);
    await again(admin);
  },
  { expected: [ASKED, /status of 401/] },
);
