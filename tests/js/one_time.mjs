// Enrolment links in a browser: damaged links, lost responses, and browsers that store nothing. A link is used only
// when the key is safe, and a used link with a lost response can be finished.
//
// Environment: BASE_URL, LINKS (enrolment links, one for each part, as JSON); CHROMIUM and SCREENSHOTS as in
// browser.mjs.

import assert from 'node:assert/strict';

import { inspect, launch, phone } from './browser.mjs';
import { startProxy } from './proxy.mjs';

const { BASE_URL, LINKS } = process.env;
assert.ok(BASE_URL && LINKS, 'BASE_URL or LINKS is missing');
const links = JSON.parse(LINKS);

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

const proxy = await startProxy(BASE_URL);
const through = (link) => link.replace(BASE_URL, proxy.address);
const isEnrolment = ({ method, url }) => method === 'POST' && url === '/authenticator/api/enrolments';

/** A page of a new phone, and the calls that it sends. `prepare` runs in the page before its scripts. */
async function newPhone(browser, prepare) {
  const context = await phone(browser);
  if (prepare) await context.addInitScript(prepare);
  const page = await context.newPage();
  const calls = [];
  page.on('request', (request) => {
    const path = new URL(request.url()).pathname;
    if (path.startsWith('/authenticator/api/'))
      calls.push(`${request.method()} ${path.slice('/authenticator/api'.length)}`);
  });
  return { context, page, calls };
}

const setUp = (page) => page.getByRole('button', { name: 'Set up this device' }).click();
const isSetUp = (page) => page.getByRole('heading', { name: 'This device is set up' }).waitFor();

async function oneLostResponse(browser) {
  const { context, page } = await newPhone(browser);
  let lost = 0;
  proxy.loses = (request) => {
    if (!isEnrolment(request) || lost === 2) return false;
    lost += 1;
    return true;
  };
  await page.goto(through(links.lost));
  await setUp(page);
  // The browser may repeat a request over a reused connection by itself; the app repeats it once more.
  await isSetUp(page);
  assert.equal(lost, 2);
  await context.close();
}

async function everyResponseLost(browser) {
  const { context, page } = await newPhone(browser);
  proxy.loses = isEnrolment;
  await page.goto(through(links.every));
  await page.getByLabel('Name of this device').fill('Pocket');
  await setUp(page);
  await page.getByText('The server could not be reached.').first().waitFor();
  await look(page, 'one-time-lost');
  // The user closes the page, and opens the link again later: the link was used, but by this browser.
  proxy.loses = () => false;
  await page.goto('about:blank');
  await page.goto(through(links.every));
  await isSetUp(page);
  await page.getByText('Pocket').first().waitFor();
  await context.close();
  // Another browser cannot use it.
  const other = await newPhone(browser);
  await other.page.goto(through(links.every));
  await other.page.getByText('This link was already used.').waitFor();
  await look(other.page, 'one-time-used');
  await other.context.close();
}

/** Each way in which a browser refuses to store a key, and the beginning of the advice. */
const REFUSALS = {
  full: [
    () => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('no space', 'QuotaExceededError');
      };
    },
    'This device has no space left to store a key.',
  ],
  keyless: [
    () => {
      IDBObjectStore.prototype.put = () => {
        throw new DOMException('no keys here', 'DataCloneError');
      };
    },
    'This browser stores nothing for this site.',
  ],
  forgetful: [
    () => {
      const { put } = IDBObjectStore.prototype;
      IDBObjectStore.prototype.put = function without(value) {
        return put.call(this, { ...value, privateKey: undefined });
      };
    },
    'This browser stores nothing for this site.',
  ],
};

async function nothingStored(browser) {
  for (const [name, [prepare, advice]] of Object.entries(REFUSALS)) {
    const { context, page, calls } = await newPhone(browser, prepare);
    await page.goto(links.unstored);
    await setUp(page);
    await page.getByText(advice).first().waitFor();
    await page.getByText('Your setup link was not used').first().waitFor();
    assert.ok(!calls.includes('POST /enrolments'), `${name}: ${calls}`);
    if (name === 'full') await look(page, 'one-time-not-stored');
    await context.close();
  }
  // A browser without a database says so at once, and passes the link on.
  const { context, page, calls } = await newPhone(browser, () => {
    IDBFactory.prototype.open = () => {
      throw new DOMException('not permitted', 'SecurityError');
    };
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(links.unstored);
  await page.getByText('This browser stores nothing for this site.').waitFor();
  await look(page, 'one-time-no-database');
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByText('Copied.').waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), links.unstored);
  assert.deepEqual(calls, []);
  await context.close();
  // The link still works elsewhere.
  const other = await newPhone(browser);
  await other.page.goto(links.unstored);
  await setUp(other.page);
  await isSetUp(other.page);
  await other.context.close();
}

async function closedDatabase(browser) {
  const { context, page, calls } = await newPhone(browser);
  await page.goto(links.closed);
  await page.getByLabel('Name of this device').waitFor();
  const beside = await context.newPage();
  await beside.goto(`${BASE_URL}/assets/assent.css`);
  const open = (version) =>
    beside.evaluate(
      (wanted) =>
        new Promise((resolve, reject) => {
          const request = wanted
            ? indexedDB.open('assent-authenticator', wanted)
            : indexedDB.deleteDatabase('assent-authenticator');
          request.onsuccess = () => {
            if (wanted) request.result.close();
            resolve();
          };
          request.onerror = () => reject(request.error);
        }),
      version,
    );
  // A newer version of the app changed the database: this tab cannot store the key, and sends nothing.
  await open(100);
  await setUp(page);
  await page.getByText('A newer version of this app is open in another tab.').first().waitFor();
  assert.ok(!calls.includes('POST /enrolments'), `${calls}`);
  // The browser cleared the database and closed it. The app opens it again.
  await open(undefined);
  await setUp(page);
  await isSetUp(page);
  await context.close();
}

async function damagedLinks(browser) {
  const { context, page, calls } = await newPhone(browser);
  const { damaged } = links;
  for (const link of [damaged.slice(0, -1), damaged.toLowerCase(), damaged.slice(0, 70)]) {
    await page.goto('about:blank');
    await page.goto(link);
    await page.getByText('This link is damaged').waitFor();
  }
  await look(page, 'one-time-damaged');
  assert.deepEqual(calls, [], 'the server is not asked about a damaged link');
  for (const added of ['.', ')', '>', '”', '%22', ',%20thank%20you', '&utm_source=mail', '%C2%AD', '%0A']) {
    await page.goto('about:blank');
    await page.goto(damaged + added);
    await page.getByLabel('Name of this device').waitFor();
  }
  // Pasted with a line break and a quotation mark from a reply.
  await page.goto('about:blank');
  await page.goto(`${BASE_URL}/authenticator`);
  const field = page.getByLabel('Setup link');
  if (!(await field.isVisible())) await page.getByText('Add an account').click();
  await field.fill(damaged.slice(0, -1));
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByText('This link is damaged').waitFor();
  await field.fill(`(${damaged.slice(0, 60)} > ${damaged.slice(60)}).`);
  await page.getByRole('button', { name: 'Continue' }).click();
  await setUp(page);
  await isSetUp(page);
  await context.close();
}

/** A mail scanner loads the page of a link, also with scripts, and presses nothing. */
async function scanners(browser) {
  for (const method of ['HEAD', 'GET', 'POST']) await fetch(links.scanned.split('#')[0], { method });
  const scanner = await newPhone(browser);
  await scanner.page.goto(links.scanned);
  await scanner.page.getByLabel('Name of this device').waitFor();
  assert.deepEqual(scanner.calls, ['POST /enrolments/preview']);
  await scanner.context.close();
  const { context, page } = await newPhone(browser);
  await page.goto(links.scanned);
  await setUp(page);
  await isSetUp(page);
  await context.close();
}

/** The page of recovery codes sends no code in a browser that cannot store the key of the new authenticator. */
async function codeWithoutStorage(browser) {
  const { context, page } = await newPhone(browser, REFUSALS.keyless[0]);
  await page.goto(`${BASE_URL}/recover`);
  await page.getByText('Your code was not used.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Continue' }).isDisabled(), true);
  await look(page, 'one-time-recover-not-stored');
  await context.close();
  const other = await newPhone(browser);
  await other.page.goto(`${BASE_URL}/recover`);
  // The button works after the page has stored a key and read it again.
  await other.page.locator('#use-code:enabled').waitFor();
  assert.equal(await other.page.getByText('Your code was not used.').isVisible(), false);
  await other.context.close();
}

const browser = await launch();
try {
  await scanners(browser);
  await codeWithoutStorage(browser);
  await oneLostResponse(browser);
  await everyResponseLost(browser);
  await nothingStored(browser);
  await closedDatabase(browser);
  await damagedLinks(browser);
} finally {
  await browser.close();
  proxy.close();
}
assert.deepEqual(findings, []);
