// Sign-ins in a browser that stores nothing, in a second tab, and with the authenticator in two tabs.
//
// Environment: BASE_URL, ENROL_URL (of an administrator, `ada`); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import {
  approve,
  beginSignIn,
  complaints,
  confirmApproved,
  desktop,
  enrolDevice,
  launch,
  numberField,
  phone,
  shot,
  submitName,
} from './browser.mjs';

const { BASE_URL, ENROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL, 'BASE_URL or ENROL_URL is missing');

/** Makes a browser like one that stores nothing for this site, apart from cookies. */
function withoutStorage(context) {
  return context.addInitScript(() => {
    const denied = {
      get: () => {
        throw new DOMException('denied', 'SecurityError');
      },
    };
    for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches']) {
      Object.defineProperty(window, name, denied);
    }
    Object.defineProperty(Navigator.prototype, 'serviceWorker', { value: undefined });
    delete window.Notification;
  });
}

async function storesNothing(browser, mobile) {
  const context = await desktop(browser);
  await withoutStorage(context);
  const page = await context.newPage();
  const complained = complaints(page);
  await page.goto(`${BASE_URL}/admin`);
  const number = await submitName(page, 'ada');
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.waitForURL(`${BASE_URL}/admin`);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  for (const path of ['/', '/devices', '/devices/add', '/devices/recovery-codes', '/activity', '/sessions']) {
    await page.goto(BASE_URL + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
  }
  assert.deepEqual(complained, []);
  // The authenticator says why it does not work there.
  await page.goto(`${BASE_URL}/authenticator`);
  await page.getByRole('heading', { name: 'This does not work here' }).waitFor();
  await context.close();
}

/** The same sign-in in two tabs: after the approval neither stays at its number. */
async function secondTab(browser, mobile) {
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  const other = await page.context().newPage();
  await other.goto(page.url());
  assert.equal((await other.locator('#number').textContent()).trim(), number);
  await approve(mobile, number);
  await confirmApproved(mobile);
  for (const tab of [page, other]) await tab.locator('#number').waitFor({ state: 'detached', timeout: 60_000 });
  await page.context().close();
}

/** The authenticator in two tabs: each shows the request, and the one that did not answer shows its end. */
async function twoAuthenticators(browser, mobile) {
  const other = await mobile.context().newPage();
  await other.goto(`${BASE_URL}/authenticator`);
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await Promise.all([numberField(mobile).waitFor(), numberField(other).waitFor()]);
  await approve(other, number);
  await confirmApproved(other);
  await mobile.getByRole('heading', { name: 'Sign-in closed' }).waitFor();
  await mobile.getByRole('button', { name: /done/i }).click();
  await page.waitForURL(`${BASE_URL}/admin`);
  await page.context().close();
  await other.close();
}

/** On a PC the portal leads to the authenticator on the phone, with a code for exactly that place. */
async function fromPortal(browser, mobile) {
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/sign-in`, 'ada');
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.getByRole('heading', { level: 1, name: /hello/i }).waitFor();
  for (const [link, title] of [
    [/set up another device/i, 'Set up another device'],
    [/turn it on|open the authenticator/i, 'Face, finger or PIN'],
  ]) {
    await page.goto(`${BASE_URL}/`);
    await page.getByRole('link', { name: link }).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    await page.getByRole('img', { name: /code/i }).waitFor();
    const here = await page.getByRole('link', { name: 'Open it in this browser' }).getAttribute('href');
    await mobile.goto('about:blank');
    await mobile.goto(BASE_URL + here);
    if (title === 'Set up another device') {
      await mobile.getByRole('heading', { name: /Devices of/ }).waitFor();
    } else {
      await mobile.waitForFunction(() => document.activeElement?.dataset.zone === 'accounts');
    }
    // In the browser of the PC the app says where to go, and does not speak of cleared data.
    await page.getByRole('link', { name: 'Open it in this browser' }).click();
    await page.getByText('The authenticator of your account is on another device.').waitFor();
    assert.equal(await page.getByText('its data was cleared').count(), 0);
  }
  await page.context().close();
}

const browser = await launch();
const mobile = await (await phone(browser)).newPage();
try {
  await enrolDevice(mobile, ENROL_URL);
  await storesNothing(browser, mobile);
  await secondTab(browser, mobile);
  await twoAuthenticators(browser, mobile);
  await fromPortal(browser, mobile);
} catch (failure) {
  await shot(mobile, 'failed-phone');
  throw failure;
} finally {
  await browser.close();
}
