// Requests on more than one phone: without notifications, with a pushed request, answered on two phones at once, too
// late.
//
// Environment: BASE_URL, ENROL_URL and SECOND_ENROL_URL (of one administrator), CONTROL_URL (the test's control server:
// `/push` receives messages of the server's push sender, `/pushed` returns the next message, `/advance` advances the
// server's clock by this number of seconds); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import {
  beginSignIn,
  complaints,
  confirmApproved,
  enrolDevice,
  inspect,
  keptPhone,
  launch,
  numberField,
  PATIENCE,
  shot,
} from './browser.mjs';

const { BASE_URL, ENROL_URL, SECOND_ENROL_URL, CONTROL_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL && SECOND_ENROL_URL && CONTROL_URL, 'an environment variable is missing');

const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

const pressApprove = (mobile) => mobile.getByRole('button', { name: 'Approve', exact: true }).click();
const done = (mobile) => mobile.getByRole('button', { name: /done/i }).click();

async function approved(mobile, desk) {
  await confirmApproved(mobile);
  await desk.waitForURL(`${BASE_URL}/admin`);
  await desk.context().close();
}

/** Returns the badges that the app set since the last call: numbers, or `none`. */
const badges = (page) => page.evaluate(() => window.badges.splice(0));

async function withoutNotifications(browser, context) {
  const page = await context.newPage();
  const session = (await context.browser()?.newBrowserCDPSession()) ?? (await context.newCDPSession(page));
  await session.send('Browser.setPermission', {
    origin: BASE_URL,
    permission: { name: 'notifications' },
    setting: 'denied',
  });
  await enrolDevice(page, ENROL_URL);
  await page.getByText('Notifications are blocked for this site').waitFor();
  await look(page, 'push-refused');
  await badges(page);
  const { page: desk, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await numberField(page).fill(number);
  assert.deepEqual((await badges(page)).at(-1), 1);
  await pressApprove(page);
  await approved(page, desk);
  assert.deepEqual((await badges(page)).at(-1), 'none');
  return page;
}

/** Returns the keys of a push subscription, with the private key that only a browser has (RFC 8291). */
function subscription() {
  const pair = createECDH('prime256v1');
  return { pair, p256dh: pair.generateKeys(), auth: randomBytes(16) };
}

/** Decrypts a pushed message as a browser does (RFC 8291 section 3.4, RFC 8188 section 2). */
function decrypted({ pair, p256dh, auth }, body) {
  const [salt, length] = [body.subarray(0, 16), body[20]];
  const [sender, sealed] = [body.subarray(21, 21 + length), body.subarray(21 + length)];
  const derive = (key, salted, info, size) => Buffer.from(hkdfSync('sha256', key, salted, info, size));
  const key = derive(
    pair.computeSecret(sender),
    auth,
    Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, sender]),
    32,
  );
  const decipher = createDecipheriv(
    'aes-128-gcm',
    derive(key, salt, 'Content-Encoding: aes128gcm\0', 16),
    derive(key, salt, 'Content-Encoding: nonce\0', 12),
  );
  decipher.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
  return padded.subarray(0, padded.lastIndexOf(2)).toString();
}

/** The push service ends the subscription while the app is closed: the service worker sends the new one. */
async function renew(context) {
  const keys = subscription();
  const json = {
    endpoint: `${CONTROL_URL}/push`,
    keys: { p256dh: keys.p256dh.toString('base64url'), auth: keys.auth.toString('base64url') },
  };
  const [worker] = context.serviceWorkers();
  // A test cannot dispatch the event, because only the browser's own events may extend the life of a worker.
  await worker.evaluate((given) => renewSubscription({ toJSON: () => given }), json);
  return keys;
}

/**
 * A request that is pushed. Chromium has no push service here, so the test plays it: the app subscribes at its address,
 * the server sends the message there, and the test delivers it to the service worker as the browser would.
 */
async function pushed(browser, context, first) {
  const keys = subscription();
  const page = await context.newPage();
  const json = {
    endpoint: `${CONTROL_URL}/push`,
    keys: { p256dh: keys.p256dh.toString('base64url'), auth: keys.auth.toString('base64url') },
  };
  await page.addInitScript((given) => {
    let subscribed = null;
    PushManager.prototype.getSubscription = async () => subscribed;
    PushManager.prototype.subscribe = async () => (subscribed = { toJSON: () => given, unsubscribe: async () => true });
  }, json);
  await context.grantPermissions(['notifications'], { origin: BASE_URL });
  const session = await context.newCDPSession(page);
  const registered = new Promise((resolve) => {
    session.on(
      'ServiceWorker.workerRegistrationUpdated',
      ({ registrations }) => registrations[0] && resolve(registrations[0].registrationId),
    );
  });
  await session.send('ServiceWorker.enable');
  await enrolDevice(page, SECOND_ENROL_URL);
  await page.getByRole('button', { name: 'Turn on notifications' }).click();
  await page.getByRole('button', { name: 'Turn on notifications' }).waitFor({ state: 'detached' });
  await page.evaluate(() => navigator.serviceWorker.ready);
  const renewed = await renew(context);

  const { page: desk, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  const body = Buffer.from(await (await fetch(`${CONTROL_URL}/pushed`)).arrayBuffer());
  const message = decrypted(renewed, body);
  assert.ok(JSON.parse(message).request, 'the message names the request');
  assert.ok(!message.includes(`"${number}"`), 'the message does not contain the number');
  // The user has put the phone away, so the app is not on the screen.
  await numberField(page).waitFor();
  await page.goto(`${BASE_URL}/assets/icons/icon.svg`);
  await session.send('ServiceWorker.deliverPushMessage', {
    origin: BASE_URL,
    registrationId: await registered,
    data: message,
  });
  const other = await context.newPage();
  await other.goto(`${BASE_URL}/assets/icons/icon.svg`);
  const shown = () =>
    other.evaluate(async () => {
      const registration = await navigator.serviceWorker.getRegistration('/authenticator');
      return (await registration.getNotifications()).map(({ title, body }) => ({ title, body }));
    });
  for (const until = Date.now() + PATIENCE; (await shown()).length === 0 && Date.now() < until; )
    await other.waitForTimeout(50);
  const notifications = await shown();
  assert.equal(notifications.length, 1);
  assert.equal(notifications[0].title, 'Sign-in request');
  assert.ok(!JSON.stringify(notifications).includes('ada'), 'a locked device shows no personal data');
  await other.close();
  // When the app opens again, it removes the notification and shows the request itself.
  await page.goto(`${BASE_URL}/authenticator`);
  await numberField(page).fill(number);
  await page.waitForFunction(async () => {
    const registration = await navigator.serviceWorker.getRegistration('/authenticator');
    return (await registration.getNotifications()).length === 0;
  });
  await pressApprove(page);
  await approved(page, desk);
  // The other phone is notified that no request is pending.
  await first.getByRole('heading', { name: 'Sign-in closed' }).waitFor();
  await done(first);
  return page;
}

/** One phone approves while the other denies. Only one decision counts, and the other phone shows it. */
async function bothAtOnce(browser, first, second) {
  const { page: desk, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await numberField(first).fill(number);
  await numberField(second).waitFor();
  // The decision of one phone removes the button of the other, maybe while it is pressed.
  const buttons = [
    first.getByRole('button', { name: 'Approve', exact: true }),
    second.getByRole('button', { name: 'Deny', exact: true }),
  ];
  const held = await Promise.all(buttons.map((button) => button.elementHandle()));
  await Promise.all(held.map((button) => button.evaluate((element) => element.click())));
  const said = (mobile) => mobile.locator('.card.outcome h2').textContent();
  const outcomes = [await said(first), await said(second)];
  const rejections = ['Already answered', 'Sign-in closed'];
  if (outcomes[0] === 'Approved') {
    assert.ok(rejections.includes(outcomes[1]), outcomes[1]);
    await desk.waitForURL(`${BASE_URL}/admin`);
  } else {
    assert.ok(rejections.includes(outcomes[0]), outcomes[0]);
    assert.equal(outcomes[1], 'Denied');
    await desk.getByRole('heading', { name: /denied/i }).waitFor();
  }
  await look(outcomes[0] === 'Approved' ? second : first, 'answered-elsewhere');
  await Promise.all([done(first), done(second)]);
  await desk.context().close();
}

async function tooLate(browser, first, second) {
  const { page: desk } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await Promise.all([numberField(first).waitFor(), numberField(second).waitFor()]);
  await fetch(`${CONTROL_URL}/advance`, { method: 'POST', body: '121' });
  await Promise.all([first, second].map((mobile) => mobile.getByRole('heading', { name: 'Too late' }).waitFor()));
  await look(first, 'expired');
  await desk.getByRole('heading', { name: /time|late|expired/i }).waitFor();
  await desk.context().close();
}

const folders = [0, 1].map(() => mkdtempSync(path.join(tmpdir(), 'phone-')));
const browser = await launch();
const phones = [];
try {
  for (const folder of folders) {
    const context = await keptPhone(folder);
    await context.addInitScript(() => {
      window.badges = [];
      navigator.setAppBadge = async (count) => void window.badges.push(count);
      navigator.clearAppBadge = async () => void window.badges.push('none');
    });
    phones.push(context);
  }
  try {
    const first = await withoutNotifications(browser, phones[0]);
    const second = await pushed(browser, phones[1], first);
    const collected = [first, second].map(complaints);
    await bothAtOnce(browser, first, second);
    await tooLate(browser, first, second);
    // The browser itself logs the responses that reject.
    const worst = collected.flat().filter((line) => !/\b(401|409|410)\b/.test(line));
    assert.deepEqual(worst, [], 'no page logs an error');
  } catch (failure) {
    for (const [index, context] of phones.entries()) await shot(context.pages().at(-1), `failed-phone-${index}`);
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  for (const context of phones) await context.close();
  await browser.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}
