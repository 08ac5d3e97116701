// Each known program in the console: the server accepts the filled form, and each value of the program is filled in.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (an owner); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';

import { run } from './console.mjs';

const folder = new URL('../../host/server/assets/console/recipes/', import.meta.url);
const files = (await readdir(folder)).toSorted();

await run(async (admin) => {
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
});
