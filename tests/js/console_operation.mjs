// An administrator operates the instance in the console: plugins, keys, settings, the audit log. Then the test checks
// the pages that the other roles see.
//
// Environment: BASE_URL, ENROL_URL and LOGIN_NAME of an owner; SUPPORT_URL and AUDITOR_URL, links to enrol phones of
// two users called support and auditor with those roles; PLAIN_URL of a user called plain without one; CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { desktop } from './browser.mjs';
import { Administrator, ASKED, run } from './console.mjs';

const { SUPPORT_URL, AUDITOR_URL, PLAIN_URL } = process.env;

/** The list of first steps shows the completed ones, keeps the administrator's ticks, and disappears once dismissed. */
async function takeFirstSteps(admin) {
  const list = admin.desk.locator('.started');
  const count = async () => {
    const [, done] = /^(\d) of 6 done$/.exec(await list.getByRole('status').innerText());
    return Number(done);
  };
  const isDone = (label) => list.getByRole('listitem').filter({ hasText: label }).getAttribute('data-done');
  const done = await list.locator('li[data-done=true]').count();
  assert.equal(await count(), done);
  assert.equal(await isDone('Invite a user'), 'true');
  assert.equal(await isDone('Add a second device of your own'), 'false');
  assert.equal(await isDone('Appoint a second owner'), 'false');
  await list.getByRole('checkbox').check();
  assert.equal(await count(), done + 1);
  await admin.open('/admin', 'Overview');
  await list.waitFor();
  assert.equal(await count(), done + 1);
  await admin.press('Do not show this list again');
  await list.waitFor({ state: 'detached' });
  await admin.open('/admin', 'Overview');
  await admin.desk.getByText('The figures').first().waitFor();
  assert.equal(await list.count(), 0);
}

/** Each group of settings is folded, and the address contains the name of the open group. */
async function settingGroups(admin) {
  const group = admin.desk.locator('#settings-rate_limits');
  const isOpen = () => group.evaluate(({ open }) => open);
  const title = group.locator('summary').first();
  assert.match(await title.innerText(), /^Rate limits\s+\d+ settings(\s+\d+ changed)?$/);
  // The file or the environment always has the URL of the server.
  assert.match(await admin.desk.locator('#settings-general summary').first().innerText(), /\s\d+ changed$/);
  assert.equal(await isOpen(), false);
  await title.click();
  assert.ok(await isOpen());
  await admin.look('settings-rate-limits');
  await admin.desk.reload();
  await admin.heading('Settings');
  assert.ok(await isOpen(), 'the URL names the section');
  assert.equal(await admin.desk.locator('#settings-keys').evaluate(({ open }) => open), false);
}

async function operate(admin) {
  await admin.open('/admin', 'Overview');
  await admin.desk.getByText('The figures').first().click();
  await admin.desk.getByRole('row', { name: /Admin API \d+ .* ms/ }).waitFor();
  await admin.desk.getByText('without a decision', { exact: true }).waitFor();
  await admin.look('overview');
  await takeFirstSteps(admin);

  await admin.open('/admin/plugins', 'Plugins');
  await admin.desk.getByText('Adds the claim account to tokens.', { exact: true }).waitFor();
  await admin.desk.getByText(/^Adds attributes to SAML assertions\. /).waitFor();
  await admin.look('plugins');
  await admin.press('Reload');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Reload' }).click();
  await admin.approveAction();
  await admin.said('The plugins were reloaded.');

  await admin.open('/admin/keys', 'Keys');
  await admin.look('keys');
  await admin.desk.getByText(/^Next rotation: \S/).waitFor();
  await admin.desk
    .getByText(/^It signs after \d+ (hours?|days?), the value of the setting keys\.publish_ahead/)
    .waitFor();
  await admin.desk.getByText(/^Only if a key may be compromised/).waitFor();
  await admin.press('Publish the next key');
  await admin.desk.getByRole('dialog').getByRole('button', { name: 'Publish' }).click();
  await admin.approveAction();
  await admin.said('The next key is published.');
  await admin.desk.getByText('published, signs next').first().waitFor();
  const id = admin.desk.locator('#console tbody th').first();
  const short = (await id.locator('code').textContent()).replace('…', '');
  await id.getByRole('button', { name: `Copy the key ID ${short}` }).click();
  await admin.said('The key ID was copied.');
  const whole = await admin.desk.evaluate(() => navigator.clipboard.readText());
  assert.ok(whole.startsWith(short) && whole.length > short.length, whole);

  await admin.open('/admin/settings', 'Settings');
  const settings = admin.field('Name or description');
  await admin.look('settings');
  await settingGroups(admin);
  const rows = admin.desk.locator('#console tbody tr');
  const every = await rows.count();
  await admin.field('Only changed').check();
  await admin.desk.waitForURL(/changed=true/);
  await admin.desk.waitForFunction((count) => document.querySelectorAll('#console tbody tr').length < count, every);
  assert.equal(await rows.filter({ has: admin.desk.getByText('default', { exact: true }) }).count(), 0);
  await admin.field('Only changed').uncheck();
  await admin.desk.waitForURL((url) => !url.searchParams.has('changed'));
  await settings.fill('issuer is this');
  await admin.desk.getByRole('row', { name: new RegExp(`base_url The URL by which .*${admin.base}`) }).waitFor();
  await settings.fill('sign_ins_per_user_name.burst');
  await admin.desk.getByRole('row', { name: /sign_ins_per_user_name\.burst .* 600 at once/ }).waitFor();
  await settings.fill('lifetimes.approval');
  await admin.desk.getByRole('row', { name: /2 minutes|120 seconds/ }).waitFor();
  await settings.fill('approvals.denial_cooldowns');
  await admin.desk.getByRole('row', { name: /denial_cooldowns .* \d+ minutes/ }).waitFor();
  await settings.fill('database.url');
  await admin.desk.getByRole('row', { name: /Set, and not shown/ }).waitFor();

  await admin.open('/admin/audit', 'Audit log');
  await admin.choose('By the user', process.env.LOGIN_NAME, new RegExp(process.env.LOGIN_NAME));
  await admin.desk.waitForURL(/actor=[0-9a-f]{32}/);
  const entries = admin.desk.locator('#console article.entry');
  /** Waits until there are entries, and all of them are of these events. */
  const only = (...events) =>
    admin.desk.waitForFunction((expected) => {
      const shown = [...document.querySelectorAll('#console article.entry')];
      return shown.length > 0 && shown.every(({ dataset }) => expected.includes(dataset.event));
    }, events);
  await admin.desk.waitForFunction(
    (name) => [...document.querySelectorAll('#console article.entry')].every((row) => row.textContent.includes(name)),
    process.env.LOGIN_NAME,
  );
  await admin.look('audit-sentences');
  await admin.field('Event').selectOption('signing-key.published');
  await only('signing-key.published');
  await entries
    .filter({ hasText: `${process.env.LOGIN_NAME} published the next signing key` })
    .first()
    .waitFor();
  await entries.first().getByRole('button', { name: 'Details' }).click();
  await entries.first().getByRole('button', { name: 'Copy as JSON' }).click();
  await admin.said('The entry was copied.');
  const copied = JSON.parse(await admin.desk.evaluate(() => navigator.clipboard.readText()));
  assert.equal(copied.event, 'signing-key.published');
  // A time, not the seconds since 1970.
  const signsFrom = entries.first().locator('dt', { hasText: 'Signs from' });
  await signsFrom.locator('xpath=following-sibling::dd').locator('time').waitFor();
  // The key, as on the page Keys.
  const keyId = entries.first().locator('dt', { hasText: 'Key ID' }).locator('xpath=following-sibling::dd');
  assert.match(await keyId.innerText(), /^[\w-]{43}$/);
  await admin.look('audit');
  // A chip removes its filter. The presets set the days.
  await admin.desk.getByRole('button', { name: /^Remove the filter Event/ }).click();
  await admin.desk.waitForURL((url) => !url.searchParams.has('event'));
  await admin.press('Today');
  await admin.desk.waitForURL(/since=\d{4}-\d\d-\d\d/);
  // The chip writes a day in the same way as the entries.
  await admin.desk.locator('.chip', { hasText: /^From: \d{1,2} \w+ \d{4}/ }).waitFor();
  // The button that removes all filters is behind their chips.
  await admin.desk.locator('.chips').getByRole('button', { name: 'Clear filters' }).waitFor();
  await admin.field('Text').fill('ROLLED plugins');
  await admin.desk.getByText('There is no such entry.').waitFor();
  await admin.field('Text').fill('RELOADED plugins');
  await only('plugins.reloaded');
  await admin.desk.getByText(/^Looked through \d+ entries/).waitFor();
  await admin.field('Text').fill('');
  await admin.desk.waitForURL((url) => !url.searchParams.has('text'));
  await admin.field('Event').selectOption('signing-key.published');
  await only('signing-key.published');
  await admin.press('Check the hash chain');
  await admin.desk.getByText(/The last \d+ entries are intact/).waitFor();
  const [kept] = await Promise.all([admin.desk.waitForEvent('download'), admin.press('Export the results')]);
  const lines = (await (await kept.createReadStream()).toArray())
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.ok(lines.length >= 1 && lines.every(({ event }) => event === 'signing-key.published'));
  // The reference number of an error page leads to its cause.
  const failed = await admin.desk.context().newPage();
  await failed.goto(`${admin.base}/oidc/auth?client_id=nobody`);
  const reference = (await failed.locator('code').first().textContent()).trim();
  await failed.close();
  await admin.desk.getByText('Look up the reference number of an error page').click();
  await admin.field('Reference number').fill('00000000');
  await admin.press('Look it up');
  await admin.desk.getByText(/knows no error page with the reference/).waitFor();
  await admin.field('Reference number').fill(reference);
  await admin.press('Look it up');
  await admin.desk.getByText(/no application has the client_id/).waitFor();
  await admin.look('audit-reference');
}

/** Other roles see less, and get an explanation at an address that they may not open. */
async function others(admin, browser) {
  const parts = (one) => one.desk.locator('#parts ul a').allTextContents();
  const support = await Administrator.signIn(browser, {
    base: admin.base,
    link: SUPPORT_URL,
    name: 'support',
    findings: admin.findings,
  });
  assert.deepEqual(await parts(support), ['Overview', 'Users', 'Groups']);
  await support.look('support');
  await support.open('/admin/keys', 'Your role does not allow this');
  await support.look('not-for-your-role');
  await support.follow('To the overview');
  await support.heading('Overview');
  await support.open('/admin/users?q=auditor', 'Users');
  await support.follow('auditor');
  await support.heading('auditor');
  // Support cannot act on users with a role.
  await support.desk.getByText('This user has a role in the console. Only an owner or an admin may change').waitFor();
  assert.equal(
    await support.desk
      .locator('#console')
      .getByRole('button', { name: /Suspend|Save/ })
      .count(),
    0,
  );
  await support.look('refused');

  // Without email, support can only create links for users who had a device. The page says who can create the first.
  const advice = support.desk.getByText(/^This server sends no email, and only an owner or an admin may create the/);
  await support.open('/admin/users/new', 'Invite a user');
  await advice.waitFor();
  await support.look('support-invites');
  await support.field('Name at sign-in').fill('newcomer');
  await support.press('Invite');
  await support.heading('newcomer');
  await advice.waitFor();
  assert.equal(await support.desk.getByRole('button', { name: /^Create a link/ }).count(), 0);
  await support.look('support-invited');
  await support.open('/admin/invitations', 'Open invitations');
  await advice.waitFor();

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
    'Groups',
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
  await auditor.desk.getByText('Your role, Auditor, can read this but not change it.').waitFor();
  assert.equal(await auditor.desk.getByRole('button', { name: 'Save' }).count(), 0);
  await auditor.look('auditor');

  const plain = await (await desktop(browser)).newPage();
  await plain.goto(`${admin.base}/admin`);
  const { mobile } = await (async () => {
    const page = await (await desktop(browser)).newPage();
    await page.goto(PLAIN_URL);
    await page.getByRole('button', { name: /set up this/i }).click();
    await page.getByRole('button', { name: 'Done' }).click();
    return { mobile: page };
  })();
  await new Administrator(admin.base, plain, mobile, admin.findings).identify(plain, 'plain');
  await plain
    .getByRole('heading', { level: 1, name: /not an administrator|no administrator|administrator/i })
    .waitFor();
  assert.equal((await plain.request.get(`${admin.base}/admin/api/v1/me`)).status(), 403);
  await lostDevice(support);
}

/** Support removes the only device of an active user, who lost it, and creates a link for another one. */
async function lostDevice(support) {
  await support.open('/admin/users?q=plain', 'Users');
  await support.follow('plain');
  await support.heading('Ada Lovelace');
  await support.part('Devices');
  await support.desk.locator('#console tbody').getByRole('button', { name: 'Remove' }).click();
  await support.desk.getByRole('dialog').getByRole('button', { name: 'Remove it' }).click();
  await support.said('The device was removed.');
  await support.press('Create a link to enrol a device');
  assert.match(await support.approveAction(), /plain/);
  await support.desk.getByRole('dialog', { name: 'A link to enrol a device' }).waitFor();
  await support.press('Done');
}

/** A session that ends while the console is open: the sign-in returns to the requested page. */
async function again(admin) {
  await admin.open('/admin/settings?q=base', 'Settings');
  await admin.desk.context().clearCookies();
  await admin.desk.goto(`${admin.base}/admin/audit?event=signing-key.published`);
  await admin.identify(admin.desk, process.env.LOGIN_NAME);
  await admin.heading('Audit log');
  assert.equal(new URL(admin.desk.url()).search, '?event=signing-key.published');
  // With only the keyboard: to the content, and through the navigation.
  await admin.desk.keyboard.press('Tab');
  await admin.desk.locator('#parts').getByRole('link', { name: 'Keys' }).focus();
  await admin.desk.keyboard.press('Enter');
  await admin.heading('Keys');
  assert.equal(await admin.desk.evaluate(() => document.activeElement.tagName), 'H1');
  await admin.desk.goBack();
  await admin.heading('Audit log');
}

/**
 * The input of a form survives the end of the session: the administrator signs in in another tab, and the console sends
 * the request again.
 */
async function expired(admin) {
  await admin.open('/admin/users/new', 'Invite a user');
  await admin.field('Name at sign-in').fill('latecomer');
  await admin.field('Create a link to enrol a device at once').uncheck();
  await admin.desk.context().clearCookies();
  await admin.press('Invite');
  const question = admin.desk.getByRole('dialog', { name: 'Your session expired' });
  await question.waitFor();
  await admin.look('session-expired');
  await admin.press('I have signed in');
  await question.getByText('You are not signed in yet.').waitFor();
  const [other] = await Promise.all([
    admin.desk.context().waitForEvent('page'),
    question.getByRole('link', { name: 'Sign in' }).click(),
  ]);
  await admin.identify(other, process.env.LOGIN_NAME);
  await other.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  // The other tab reports the sign-in, and the console sends the request again.
  await admin.heading('latecomer');
  await other.close();
}

/** The search in the whole console, with the keyboard: pages, users and settings. */
async function search(admin) {
  await admin.open('/admin/keys', 'Keys');
  await admin.desk.keyboard.press('/');
  const window = admin.desk.getByRole('dialog', { name: 'Search' });
  await window.getByRole('searchbox').fill('audit');
  await window.getByRole('link', { name: 'Audit log' }).waitFor();
  await window.getByRole('link', { name: 'auditor' }).waitFor();
  await window.getByRole('link', { name: 'audit.retention' }).waitFor();
  await admin.look('search');
  await window.getByRole('link', { name: 'auditor' }).click();
  await admin.heading('auditor');
  assert.equal(await window.count(), 0);
  // Enter opens the first result.
  await admin.desk.keyboard.press('Control+k');
  await window.getByRole('searchbox').fill('plugins');
  await window.getByRole('link', { name: 'Plugins', exact: true }).waitFor();
  await admin.desk.keyboard.press('Enter');
  await admin.heading('Plugins');
  // A reference number leads to the log entries of its error page.
  await admin.desk.getByRole('button', { name: 'Search' }).click();
  await window.getByRole('searchbox').fill('0a1b2c3d');
  await window.getByRole('link', { name: '0A1B2C3D' }).click();
  await admin.heading('Audit log');
  await admin.desk.locator('#console [role="alert"]').first().waitFor();
  assert.equal(await admin.field('Reference number').inputValue(), '0A1B2C3D');
  // A letter that is typed into a field stays in the field.
  await admin.field('Reference number').fill('');
  await admin.field('Reference number').press('/');
  assert.equal(await admin.field('Reference number').inputValue(), '/');
  assert.equal(await window.count(), 0);
}

/** The console remembers the administrator's theme, and a link leads to the portal. */
async function frame(admin) {
  await admin.open('/admin/settings', 'Settings');
  const ground = () => admin.desk.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await ground();
  await admin.desk.getByLabel('Theme').selectOption('dark');
  const dark = await ground();
  assert.notEqual(dark, before);
  await admin.desk.reload();
  await admin.heading('Settings');
  assert.equal(await ground(), dark);
  await admin.desk.getByLabel('Theme').selectOption('system');
  assert.equal(await ground(), before);
  await admin.desk.locator('#parts').getByRole('link', { name: 'My account' }).click();
  await admin.desk.waitForURL(`${admin.base}/`);
}

await run(
  async (admin, browser) => {
    await operate(admin);
    await others(admin, browser);
    await again(admin);
    await expired(admin);
    await search(admin);
    await frame(admin);
  },
  { expected: [ASKED, /status of 401/, /status of 404/] },
);
