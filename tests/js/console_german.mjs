// The console in German: it remembers the language, and no page shows an English text of the console.
//
// Environment: BASE_URL, ENROL_URL, LOGIN_NAME (an owner), APPLICATION (the id of a web application), USER (the id of a
// user); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

import { numberField, submitName } from './browser.mjs';
import { ASKED, run } from './console.mjs';
import { consoleModule } from './console_module.mjs';

const { apiSentence } = await consoleModule('api_texts.js');

const root = new URL('../../host/server/assets/console/', import.meta.url);
const catalogueOf = async (file) => Object.entries(JSON.parse(await readFile(new URL(file, root), 'utf8')));
const settings = await catalogueOf('german_settings.json');
const all = [...(await catalogueOf('german.json')), ...(await catalogueOf('german_messages.json')), ...settings];
const different = all.filter(([english, german]) => english !== german);
/** The German texts. An English text that is also one of them is not a finding. */
const germans = new Set(all.map(([, german]) => german));
const isEnglish = (text) => text.length > 3 && !germans.has(text);
const english = new Set(different.flatMap(([text]) => [text.trim(), apiSentence(text)]).filter(isEnglish));
/** Returns a description of a setting in the form that the page shows. */
const plain = (text) => text.replaceAll('`', '');
const descriptions = new Set(settings.map(([text]) => plain(text)));

/** Returns the English texts of the console and of the API that the page shows. */
async function leftovers(page) {
  const [texts, about] = await page.evaluate(() => {
    const texts = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.parentElement.closest('bdi, code, pre, noscript, script, option[lang]')) texts.push(node.data.trim());
    }
    for (const one of document.querySelectorAll('[aria-label]')) texts.push(one.getAttribute('aria-label'));
    return [texts, Array.from(document.querySelectorAll('.setting p'), (one) => one.textContent)];
  });
  return [...texts.filter((text) => english.has(text)), ...about.filter((text) => descriptions.has(text))];
}

const { BASE_URL, APPLICATION, USER } = process.env;
const application = `/admin/applications/${encodeURIComponent(APPLICATION)}`;
const user = `/admin/users/${USER}`;
const PAGES = [
  ['/admin', 'Überblick'],
  ['/admin/applications', 'Anwendungen'],
  ['/admin/applications/new', 'Anwendung verbinden'],
  ['/admin/applications/new?kind=web', /./],
  ['/admin/applications/registration-tokens', 'Registrierungstoken'],
  ['/admin/applications/registration-tokens/new', 'Registrierungstoken erstellen'],
  [application, /Books/],
  [`${application}/settings`, /Books/],
  [`${application}/credentials`, /Books/],
  [`${application}/security`, /Books/],
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

/** Visits each page, and returns the English texts that it shows. */
async function visited(admin) {
  const found = [];
  for (const [path, heading] of PAGES) {
    await admin.desk.goto(`${BASE_URL}${path}`);
    await admin.heading(heading);
    assert.equal(await admin.desk.locator('html').getAttribute('lang'), 'de', path);
    found.push(...(await leftovers(admin.desk)).map((text) => `${path}: ${text}`));
    if (LOOKED_AT.has(path)) await admin.look(`german${path.replaceAll(/[^a-z]+/g, '-')}`);
  }
  return found;
}

/** The server rejects the value of a field, and a page that does not exist. */
async function rejections(admin) {
  await admin.open('/admin/groups/new', 'Gruppe anlegen');
  await admin.field('Name').fill('x'.repeat(129));
  await admin.press('Anlegen');
  await admin.desk.getByText('Verwenden Sie 1 bis 128 Zeichen ohne Steuerzeichen.', { exact: true }).waitFor();
  await admin.look('german-rejected');
  await admin.open('/admin/groups/0', 'Nicht gefunden');
  await admin.desk.getByText('Nicht gefunden: Gruppe.', { exact: true }).waitFor();
}

/** The search finds the descriptions of settings by their German words. */
async function describedSettings(admin) {
  await admin.open('/admin/settings', 'Einstellungen');
  await admin.field('Name oder Beschreibung').fill('Autorisierungscode');
  await admin.desk.getByText('Ein Autorisierungscode.', { exact: true }).waitFor();
  await admin.desk.getByText('lifetimes.access_token', { exact: true }).waitFor({ state: 'detached' });
  await admin.desk.getByText('lifetimes.authorization_code', { exact: true }).waitFor();
  await admin.desk.keyboard.press('Control+k');
  await admin.desk.locator('dialog #search').fill('Autorisierungscode');
  await admin.desk.locator('dialog').getByRole('link', { name: 'lifetimes.authorization_code' }).waitFor();
  await admin.desk.keyboard.press('Escape');
}

/** A protected action that waits for the phone. The phone shows it in its own language. */
async function pendingAction(admin) {
  await admin.open(`${application}/delete`, /Books/);
  await admin.press('Diese Anwendung löschen');
  await admin.desk.locator('#typed').fill('Books & <Co>');
  await admin.desk.locator('dialog').getByRole('button', { name: 'Löschen' }).click();
  const dialog = admin.desk.getByRole('dialog', { name: 'Auf dem Smartphone bestätigen' });
  await dialog.getByText('Anwendung „Books & <Co>“ löschen', { exact: true }).waitFor();
  await admin.mobile.getByRole('heading', { name: 'Delete the application “Books & <Co>”' }).waitFor();
  await admin.look('german-approval');
  await dialog.getByRole('button', { name: 'Aktion abbrechen' }).click();
  await dialog.waitFor({ state: 'detached' });
  await numberField(admin.mobile).waitFor({ state: 'detached' });
}

/** Checks each step of a test sign-in. */
async function testSignIn(admin) {
  await admin.open(`${application}/try`, /Books/);
  const opened = admin.desk.context().waitForEvent('page');
  await admin.press('Testanmeldung');
  const tab = await opened;
  await admin.approve(await submitName(tab, 'ada'));
  const done = tab.getByRole('heading', { name: 'Done: the sign-in works' });
  const allow = tab.getByRole('button', { name: /^allow/i });
  await done.or(allow).first().waitFor();
  if (await allow.isVisible()) await allow.click();
  await done.waitFor();
  await tab.close();
  const { desk } = admin;
  await desk.getByText('Es hat geklappt: die Anwendung hätte Sie angemeldet.', { exact: true }).waitFor();
  const steps = desk.locator('.test-sign-in > li');
  assert.deepEqual(await steps.locator('strong').allTextContents(), [
    'Anfrage',
    'Prüfung der Anfrage',
    'Angabe des Namens',
    'Anfrage an das Gerät',
    'Entscheidung auf dem Gerät',
    'Konto',
    'Einwilligung',
    'Claims',
    'Antwort',
    'Tausch gegen Tokens',
    'UserInfo',
  ]);
  await desk.getByText('Bestätigt, und der Nachweis wurde geprüft.', { exact: true }).waitFor();
  await admin.look('german-test-sign-in');
  return (await leftovers(desk)).map((text) => `test sign-in: ${text}`);
}

await run(
  async (admin) => {
    await admin.heading('Overview');
    await admin.desk.getByLabel('Language (Sprache)').selectOption('Deutsch');
    await admin.heading('Überblick');
    const found = await visited(admin);
    await rejections(admin);
    await describedSettings(admin);
    await pendingAction(admin);
    found.push(...(await testSignIn(admin)));
    // A sentence of the audit log, with its names in German order, and the details of an entry.
    await admin.open('/admin/audit', 'Audit-Log');
    await admin.desk
      .getByText(/meldete sich an bei/)
      .first()
      .waitFor();
    for (const details of await admin.desk.getByRole('button', { name: 'Einzelheiten' }).all()) await details.click();
    found.push(...(await leftovers(admin.desk)).map((text) => `details of the audit log: ${text}`));
    assert.deepEqual(found, [], 'no page shows an English text');
    await admin.desk.getByRole('button', { name: 'Abmelden' }).waitFor();
    await admin.desk.getByLabel('Sprache (Language)').selectOption('English');
    await admin.heading('Audit log');
    assert.equal(await admin.desk.locator('html').getAttribute('lang'), 'en');
  },
  // The browser's complaints about the two rejections, and about the pending action.
  { expected: [ASKED, /status of 422/, /status of 404/] },
);
