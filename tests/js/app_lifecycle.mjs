// The lifecycle of the app. It can be installed, opens without a network, takes a newer version, and keeps its keys
// through the update and through a restart of the browser. It also explains a lost key.
//
// Environment: BASE_URL, ENROL_URL (of an administrator); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { approve, beginSignIn, confirmApproved, enrolDevice, inspect, keptPhone, launch, shot } from './browser.mjs';
import { startProxy } from './proxy.mjs';

const { BASE_URL, ENROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL, 'BASE_URL or ENROL_URL is missing');

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

const proxy = await startProxy(BASE_URL);
const app = `${proxy.address}/authenticator`;

/** Signs Ada in in a fresh browser, with an approval by this phone. */
async function signIn(browser, mobile) {
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.waitForURL(`${BASE_URL}/admin`);
  await page.context().close();
}

/** Waits until the app's service worker serves this page. */
async function served(page) {
  await page.evaluate(() => navigator.serviceWorker.ready);
  await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
}

async function installable(page) {
  const session = await page.context().newCDPSession(page);
  const manifest = await session.send('Page.getAppManifest');
  assert.deepEqual(manifest.errors, []);
  assert.equal(manifest.url, `${app}/manifest.webmanifest`);
  const { installabilityErrors } = await session.send('Page.getInstallabilityErrors');
  assert.deepEqual(installabilityErrors, []);
  await session.detach();
}

async function withoutNetwork(page) {
  proxy.offline = true;
  await page.context().setOffline(true);
  await page.reload();
  const connection = (words) => page.locator('#connection', { hasText: words });
  await connection('You are offline').waitFor();
  await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor();
  await look(page, 'offline');
  await page.evaluate(() => (window.same = true));
  // First only the network returns, then the server too.
  await page.context().setOffline(false);
  await connection('The server can’t be reached just now').waitFor();
  proxy.offline = false;
  await connection('The server can’t be reached just now').waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => window.same), true, 'the page returned without a reload');
}

/** The network accepts requests and never answers: the app opens from its cache. */
async function hangingNetwork(page) {
  proxy.hangs = true;
  await page.reload({ waitUntil: 'commit' });
  await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor({ timeout: 60_000 });
  assert.ok(await page.locator('.card.account').evaluate((card) => getComputedStyle(card).display === 'grid'));
  proxy.hangs = false;
  proxy.drop();
}

/** Describes how far the browser is with an update of the app. */
async function updateState() {
  const { installing, waiting, active } = await navigator.serviceWorker.getRegistration('/authenticator');
  const states = [installing, waiting, active, navigator.serviceWorker.controller].map((worker) => worker?.state);
  const page = { hidden: document.hidden, text: document.body.innerText };
  return JSON.stringify({ states, caches: await caches.keys(), page });
}

async function newerVersion(browser, page) {
  assert.equal(await page.evaluate(() => document.documentElement.dataset.version), undefined);
  proxy.newer = true;
  // The user returns to the app, which then checks for a newer version. A check that the browser had begun before does
  // not find it, and takes the place of the app's check: the user returns again. A check without an answer keeps the
  // browser from each later one, until the network changes.
  const ready = page.getByText('A new version of this app is ready.');
  for (let returned = 0; returned < 30 && !(await ready.isVisible()); returned += 1) {
    if (returned > 0) proxy.drop();
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await ready.waitFor({ timeout: 2_000 }).catch(() => {});
  }
  assert.ok(await ready.isVisible(), `no newer version: ${await page.evaluate(updateState)}`);
  await look(page, 'update-ready');
  await page.getByRole('button', { name: 'Reload' }).click();
  await page.waitForFunction(() => document.documentElement.dataset.version === 'newer');
  await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor();
  assert.deepEqual(
    await page.evaluate(() => caches.keys()),
    ['assent-authenticator-newer'],
    'the cache of the old version is deleted',
  );
  await signIn(browser, page);
}

async function pastSignIns(page) {
  await page.getByText('Last sign-ins').click();
  // Three requests were approved by now.
  await page.locator('.past', { hasText: 'Approved' }).nth(2).waitFor();
  await look(page, 'history');
}

/** The browser loses the key and keeps the rest. Then it loses everything. */
async function lostKey(page) {
  await page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const opened = indexedDB.open('assent-authenticator');
        opened.onsuccess = () => {
          const accounts = opened.result.transaction('accounts', 'readwrite').objectStore('accounts');
          accounts.getAll().onsuccess = ({ target }) => {
            const written = accounts.put({ ...target.result[0], privateKey: null });
            written.onsuccess = resolve;
            written.onerror = reject;
          };
        };
      }),
  );
  await page.reload();
  await page.getByText('This browser no longer has the key of this account.').waitFor();
  await look(page, 'lost-key');
  await page.getByRole('button', { name: 'Forget this account' }).click();
  await page.getByText('If you used this device before, its data was cleared.').waitFor();
  await look(page, 'lost-everything');
}

const folder = mkdtempSync(path.join(tmpdir(), 'phone-'));
const browser = await launch();
let mobile = await keptPhone(folder);
let page = await mobile.newPage();
try {
  await enrolDevice(page, ENROL_URL.replace(BASE_URL, proxy.address));
  await served(page);
  await installable(page);
  await withoutNetwork(page);
  await hangingNetwork(page);
  await signIn(browser, page);
  await newerVersion(browser, page);

  await mobile.close();
  mobile = await keptPhone(folder);
  page = await mobile.newPage();
  await page.goto(app);
  await page.getByRole('heading', { name: 'Ada Lovelace' }).waitFor();
  await signIn(browser, page);
  await pastSignIns(page);
  await lostKey(page);
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} catch (failure) {
  await shot(page, 'failed-phone');
  throw failure;
} finally {
  await mobile.close();
  await browser.close();
  proxy.close();
  rmSync(folder, { recursive: true, force: true });
}
