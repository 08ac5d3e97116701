// Each known program in the console: the server accepts the filled form, and each value of the program is filled in.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (an owner); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';

import { ASKED, run } from './console.mjs';

const folder = new URL('../../host/server/assets/console/recipes/', import.meta.url);
const files = (await readdir(folder)).toSorted();

/** An address without a scheme gets one, and a text that is no address is rejected at its field. */
async function address(admin) {
  await admin.open('/admin/applications/new?recipe=grafana', 'New: Grafana');
  const field = admin.field('Address of the program');
  await field.fill('graf ana');
  await admin.press('Connect it');
  await admin.desk.getByText('Enter an address, such as https://grafana.example.org.').waitFor();
  assert.equal(await field.getAttribute('aria-invalid'), 'true');
  assert.ok(await field.evaluate((one) => one === document.activeElement));
  assert.equal(await admin.desk.getByText('redirect_uris').count(), 0);
  await admin.look('recipe-no-address');
  await field.fill('grafana.example.org/');
  await admin.press('Connect it');
  await admin.heading('Grafana');
}

/** The guide of the program is there again when the application is opened later. */
async function kept(admin) {
  // The page of the new application has the heading of the form before it.
  await admin.desk.waitForURL(({ pathname, search }) => pathname.includes('/did') && search === '');
  const { pathname } = new URL(admin.desk.url());
  await admin.open('/admin/applications', 'Applications');
  await admin.open(pathname, 'Grafana');
  await admin.desk.getByRole('heading', { name: 'Settings of Grafana' }).waitFor();
  const choice = admin.desk.getByLabel('Which program do you connect?');
  assert.equal(await choice.inputValue(), 'grafana');
  await choice.selectOption('Gitea and Forgejo');
  await admin.desk.getByRole('heading', { name: 'Settings of Gitea and Forgejo' }).waitFor();
  await choice.selectOption('Grafana');
  await admin.desk.getByRole('heading', { name: 'Settings of Grafana' }).waitFor();
  await admin.part('Settings');
  const start = admin.desk.getByLabel('Initiate login URI');
  assert.equal(await start.inputValue(), 'https://grafana.example.org/login/generic_oauth');
  await admin.open(pathname, 'Grafana');
}

/** While the secret is shown, the file of the program contains it; afterwards nothing does. */
async function secret(admin) {
  await admin.press('Create the secret');
  await admin.approveAction();
  const shown = admin.desk.getByRole('dialog', { name: 'The client secret' });
  await shown.waitFor();
  const [value] = await shown.locator('.copyable > code').allTextContents();
  const file = await shown.locator('.named-part pre').textContent();
  assert.ok(value.length > 20, value);
  assert.ok(file.includes(`client_secret = ${value}\n`), file);
  assert.match(file, /^role_attribute_path = contains\(groups/m);
  assert.ok(!file.includes('CLIENT_SECRET'), file);
  await admin.look('secret-in-file');
  await shown.getByRole('button', { name: 'I have stored it' }).click();
  await shown.waitFor({ state: 'detached' });
  await admin.desk.getByText('CLIENT_SECRET stands for the client secret.').waitFor();
  assert.ok(!(await admin.desk.content()).includes(value));
}

await run(
  async (admin) => {
    await admin.open('/admin/applications/new', 'Connect an application');
    await admin.look('programs');
    for (const file of files) {
      const { name, kind, ask, settings } = JSON.parse(await readFile(new URL(file, folder), 'utf8'));
      await admin.open('/admin/applications/new', 'Connect an application');
      await admin.desk.locator('.programs').getByRole('link', { name, exact: true }).click();
      await admin.heading(`New: ${name}`);
      assert.equal(await admin.field('Name').inputValue(), name);
      for (const { label, example } of ask) await admin.field(label.en).fill(example);
      await admin.press('Connect it');
      await admin.heading(name);
      const recipe = admin.desk.locator('.recipe');
      await recipe.getByRole('heading', { name: `Settings of ${name}` }).waitFor();
      assert.equal(await recipe.locator('dt').count(), settings.length, name);
      // The recipe replaces the values for any program, and is after the step for the secret that it contains.
      const [first, second] = await admin.desk.locator('.guide > li > h2').allTextContents();
      assert.equal(kind === 'web' ? second : first, `Settings of ${name}`);
      if (kind === 'web') assert.equal(first, 'Create its secret', name);
      assert.equal(await admin.desk.getByRole('heading', { name: 'Paste this into the application' }).count(), 0, name);
      const shown = await recipe.locator('code').allTextContents();
      assert.deepEqual(
        shown.filter((text) => /(?<!\$)\{[a-z_]+\}/.test(text)),
        [],
        name,
      );
      for (const { label } of settings.filter((one) => one.is_choice))
        assert.equal(await recipe.getByRole('button', { name: `Copy ${label}`, exact: true }).count(), 0, label);
      const own = kind === 'saml' ? '/sso/' : '/oidc';
      assert.ok(
        shown.some((text) => text.includes(own)),
        `${name}: ${shown.join()}`,
      );
      if (['grafana.json', 'keycloak.json', 'zabbix.json'].includes(file))
        await admin.look(`recipe-${file.slice(0, -5)}`);
    }
    // The administrator can also select the program afterwards. A program of the other protocol does not fit.
    await admin.desk.getByLabel('Which program do you connect?').selectOption('Grafana');
    await admin.desk
      .locator('#console:not([aria-busy]) .recipe-choice .notice')
      .or(admin.desk.getByText('API URL'))
      .waitFor();
    await address(admin);
    await kept(admin);
    await secret(admin);
  },
  { expected: [ASKED] },
);
