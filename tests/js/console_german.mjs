// The console in German: the choice of the language is kept, and no page shows an English text of the console.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (an owner), APPLICATION (the id of a web application), USER (the id of a
// user); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { run } from './console.mjs';

const source = new URL('../../host/server/assets/console/german.json', import.meta.url);
const catalogue = JSON.parse(await readFile(source, 'utf8'));
const different = Object.entries(catalogue).filter(([english, german]) => english !== german);
/** English texts that are not the German text of another one. */
const germans = new Set(Object.values(catalogue));
const english = different.map(([text]) => text.trim()).filter((text) => text.length > 3 && !germans.has(text));

/** The English texts of the console that the page shows. */
async function leftovers(page) {
  const shown = await page.evaluate(() => {
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.parentElement.closest('bdi, code, pre, noscript, script, option[lang], .setting'))
        texts.push(node.data.trim());
    }
    for (const one of document.querySelectorAll('[aria-label]')) texts.push(one.getAttribute('aria-label'));
    return texts;
  });
  return shown.filter((text) => english.includes(text));
}

const { BASE_URL, APPLICATION, USER } = process.env;
const application = `/admin/applications/${encodeURIComponent(APPLICATION)}`;
const user = `/admin/users/${USER}`;
const PAGES = [
  ['/admin', 'Überblick'],
  ['/admin/applications', 'Anwendungen'],
  ['/admin/applications/new', 'Anwendung verbinden'],
  ['/admin/applications/new?kind=web', /./],
  [application, /Books/],
  [`${application}/settings`, /Books/],
  [`${application}/credentials`, /Books/],
  [`${application}/accounts`, /Books/],
  [`${application}/claims`, /Books/],
  [`${application}/try`, /Books/],
  [`${application}/delete`, /Books/],
  ['/admin/users', 'Benutzer'],
  ['/admin/users/new', 'Benutzer einladen'],
  ['/admin/users/import', 'Benutzer importieren'],
  [user, /./],
  [`${user}/accounts`, /./],
  [`${user}/devices`, /./],
  [`${user}/sessions`, /./],
  [`${user}/groups`, /./],
  [`${user}/activity`, /./],
  ['/admin/invitations', 'Offene Einladungen'],
  ['/admin/groups', 'Gruppen'],
  ['/admin/groups/new', 'Gruppe anlegen'],
  ['/admin/claims', 'Claims-Vorschau'],
  ['/admin/plugins', 'Plugins'],
  ['/admin/keys', 'Schlüssel'],
  ['/admin/audit', 'Audit-Log'],
  ['/admin/settings', 'Einstellungen'],
];

/** The pages with the longest texts. */
const LOOKED_AT = new Set([
  '/admin',
  '/admin/applications/new',
  `${application}/settings`,
  '/admin/users',
  '/admin/audit',
]);

await run(async (admin) => {
  await admin.heading('Overview');
  await admin.desk.getByLabel('Language (Sprache)').selectOption('Deutsch');
  await admin.heading('Überblick');
  const found = [];
  for (const [path, heading] of PAGES) {
    await admin.desk.goto(`${BASE_URL}${path}`);
    await admin.heading(heading);
    assert.equal(await admin.desk.locator('html').getAttribute('lang'), 'de', path);
    found.push(...(await leftovers(admin.desk)).map((text) => `${path}: ${text}`));
    if (LOOKED_AT.has(path)) await admin.look(`german${path.replaceAll(/[^a-z]+/g, '-')}`);
  }
  assert.deepEqual(found, [], 'no page shows an English text');
  // A sentence of the audit log, with the names where German has them.
  await admin.open('/admin/audit', 'Audit-Log');
  await admin.desk
    .getByText(/meldete sich an bei/)
    .first()
    .waitFor();
  await admin.desk.getByRole('button', { name: 'Abmelden' }).waitFor();
  await admin.desk.getByLabel('Sprache (Language)').selectOption('English');
  await admin.heading('Audit log');
  assert.equal(await admin.desk.locator('html').getAttribute('lang'), 'en');
});
