// The card of a request in Chromium, with a simulated server: its place on a small screen, and what may not displace
// it.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { enrolled, field, focusIn, list, request, server } from './authenticator_server.mjs';
import { axe, inspect } from './browser.mjs';

/** A picture of an application. */
const LOGO = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')}`;

/** A request with texts of a usual length. */
function usual(id, more = {}) {
  return request(id, {
    application: { id: 'did:key:x', name: 'Company wiki (Confluence)', logo: LOGO },
    account: 'ada.lovelace@example.org',
    place: 'Zürich, Switzerland (203.0.113.77)',
    browser: 'Chrome on Windows',
    ...more,
  });
}

/** The parts of a request that the user needs for the decision. */
const PARTS = [
  '.request-head :is(.picture, .initial)',
  '.request-head h2',
  '.request-account',
  '.request-facts p:last-child',
  '[data-part="number"]',
  '.request .actions button:first-child',
  '.request .actions button:last-child',
];

/** Asserts that these parts are completely visible, in a window that is not scrolled. */
async function assertVisible(page, height, selectors, what) {
  assert.equal(await page.evaluate(() => window.scrollY), 0, `${what}: nothing is scrolled`);
  for (const selector of selectors) {
    for (const part of await page.locator(selector).all()) {
      const { x, y, width, height: size } = await part.boundingBox();
      const edges = `${what}: ${selector} from ${Math.round(y)} to ${Math.round(y + size)}, visible to ${height}`;
      assert.ok(y >= 0 && y + size <= height && x >= 0 && x + width <= 360 && size > 0, edges);
    }
  }
}

async function turnOnKeypad(page) {
  await page.getByText('Settings of this device').click();
  await page.getByRole('checkbox', { name: 'Show a keypad in requests' }).check();
  await page.evaluate(() => document.activeElement.blur());
  await page.evaluate(() => window.scrollTo(0, 0));
}

test('a request fits on a small phone: with its keypad, and above the keyboard of the system', async () => {
  const { page, wrong } = await enrolled();
  await turnOnKeypad(page);
  await page.setViewportSize({ width: 360, height: 640 });
  list(usual('a1'));
  await focusIn(page, '#request-a1-number');
  await assertVisible(page, 640, [...PARTS, '.keypad button'], 'with the keypad');
  for (const key of await page.locator('.keypad button').all()) {
    const { width, height } = await key.boundingBox();
    assert.ok(width >= 44 && height >= 44, `${width} x ${height}`);
  }
  assert.deepEqual(await inspect(page, 'app-request-small'), []);
  const size = (selector) =>
    page.locator(selector).evaluate((element) => Number.parseFloat(getComputedStyle(element).fontSize));
  assert.ok((await size('.request-account bdi')) >= 18, 'the account is large');

  await page.getByRole('checkbox', { name: 'Show a keypad in requests' }).uncheck();
  await page.setViewportSize({ width: 360, height: 380 });
  await page.evaluate(() => window.scrollTo(0, 0));
  await field(page).focus();
  await assertVisible(page, 380, PARTS, 'above the keyboard');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a request with a warning fits above the keyboard of the system, in both languages', async () => {
  for (const [language, approve, used] of [
    ['en', 'Approve', /a recovery code was used/],
    ['de', 'Bestätigen', /Ein Wiederherstellungscode wurde verwendet/],
  ]) {
    const { page, wrong } = await enrolled(undefined, { language });
    await page.setViewportSize({ width: 360, height: 380 });
    server.notifications = [{ id: 'n1', event: 'recovery.code-used', name: null, at: Math.floor(Date.now() / 1000) }];
    list(usual('f1'));
    await focusIn(page, '#request-f1-number');
    await page.getByRole('button', { name: used }).waitFor();
    await page.getByRole('button', { name: approve, exact: true }).waitFor();
    await page.evaluate(() => window.scrollTo(0, 0));
    await page.locator('[data-part="number"]').focus();
    await assertVisible(page, 380, [...PARTS, '.warning'], language);
    assert.deepEqual(await inspect(page, `app-request-warning-${language}`), []);
    assert.deepEqual(wrong(), []);
    await page.context().close();
  }
});

test('a keyboard that covers the window leaves the request visible', async () => {
  const { page, wrong } = await enrolled((made) =>
    made.addInitScript(() => {
      const view = Object.assign(new EventTarget(), { height: 740, offsetTop: 0, scale: 1 });
      Object.defineProperty(window, 'visualViewport', { value: view });
      window.cover = (height) => {
        view.height = height;
        view.dispatchEvent(new Event('resize'));
      };
    }),
  );
  list(usual('b1'));
  await focusIn(page, '#request-b1-number');
  await page.evaluate(() => window.cover(380));
  await assertVisible(page, 380, PARTS, 'covered');
  await page.evaluate(() => window.cover(740));
  await page.locator('.bar').waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('results, notifications, cooldowns and an earlier request do not displace a request', async () => {
  const { page, wrong } = await enrolled();
  await turnOnKeypad(page);
  await page.setViewportSize({ width: 360, height: 640 });
  // An abandoned sign-in, which the user has not closed.
  list(usual('c1'));
  await focusIn(page, '#request-c1-number');
  list();
  await page.getByRole('heading', { name: 'Sign-in closed' }).waitFor();
  server.notifications = [{ id: 'n1', event: 'recovery.code-used', name: null, at: Math.floor(Date.now() / 1000) }];
  server.cooldownUntil = Math.floor(Date.now() / 1000) + 600;
  list(usual('c2'));
  await focusIn(page, '#request-c2-number');
  const warning = page.getByRole('button', { name: /a recovery code was used/ });
  await warning.waitFor();
  await assertVisible(page, 640, [...PARTS, '.keypad button', '.warning'], 'with news');
  const ended = page.locator('.card.ended');
  assert.ok((await ended.boundingBox()).height <= 60, 'an ended request is one line');
  assert.match(await ended.locator('summary').innerText(), /Sign-in closed\s+Company wiki/);
  assert.deepEqual(await inspect(page, 'app-request-news'), []);

  // Only the newest request, with a way to the other.
  list(usual('c2'), usual('c3', { application: { id: 'y', name: 'Payroll', logo: null } }));
  await focusIn(page, '#request-c3-number');
  assert.equal(await page.locator('.card.request').count(), 1);
  await assertVisible(page, 640, [...PARTS, '.keypad button', '[data-zone="requests"] > .button'], 'the newest of two');
  assert.deepEqual(await inspect(page, 'app-request-newest'), []);

  await warning.click();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zone), 'notifications');
  await ended.locator('summary').click();
  await ended.getByRole('button', { name: 'This wasn’t me' }).waitFor();
  assert.deepEqual(await axe(page), []);
  await ended.getByRole('button', { name: 'Done' }).click();
  await ended.waitFor({ state: 'detached' });
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the end of a protected action names the action, in both languages', async () => {
  for (const [language, title, about] of [
    ['en', 'Action closed', /^It can no longer be approved: \W*Delete the user bob\W*\. If it was yours, /],
    ['de', 'Aktion geschlossen', /^Das kann nicht mehr bestätigt werden: \W*Delete the user bob\W*\. War es /],
  ]) {
    const { page, wrong } = await enrolled(undefined, { language });
    list(usual('g1', { action: 'Delete the user bob. The user loses all access.' }));
    await focusIn(page, '#request-g1-number');
    list();
    await page.getByRole('heading', { name: title }).waitFor();
    assert.match(await page.locator('.card.outcome .lead').textContent(), about);
    assert.deepEqual(await axe(page), []);
    assert.deepEqual(wrong(), []);
    await page.context().close();
  }
});

test('a newer request does not replace the one that the user answers or selected', async () => {
  const { page, wrong } = await enrolled();
  list(usual('d1'));
  await field(page).fill('4');
  list(usual('d1'), usual('d2'));
  await page.getByRole('button', { name: 'All 2 requests' }).waitFor();
  assert.equal(await field(page).inputValue(), '4');
  await page.getByRole('button', { name: 'All 2 requests' }).click();
  const picks = page.locator('.pick');
  assert.equal(await picks.count(), 2);
  assert.deepEqual(await inspect(page, 'app-requests'), []);
  await picks.first().click();
  await page.locator('#request-d2-number').waitFor();
  list(usual('d1'), usual('d2'), usual('d3'));
  await page.getByRole('button', { name: 'All 3 requests' }).waitFor();
  assert.equal(await page.locator('#request-d2-number').count(), 1, 'the selected request stays');
  // The end of the selected one shows the newest.
  list(usual('d1'), usual('d3'));
  await page.locator('#request-d3-number').waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
