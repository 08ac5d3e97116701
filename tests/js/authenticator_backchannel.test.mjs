// The cards of requests without a number: a tap approves the request that the user read, and no other one.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  end,
  isSettling,
  needsNumber,
  noteShown,
  receive,
  shownRequest,
} from '../../host/server/assets/authenticator/requests.js';
import { enrolled, list, request, server } from './authenticator_server.mjs';
import { inspect } from './browser.mjs';

const NOW = 1_000;

/** A request of each kind without a number, and one with a number. */
const KINDS = {
  backchannel: (id) => request(id, { backchannel: { message: `Order ${id}`, scopes: ['See your email address'] } }),
  here: (id) => request(id, { same_browser: true }),
  'action here': (id) => request(id, { action: `Delete ${id}`, same_browser: true }),
  numbered: (id) => request(id),
};

/** The state of an app that shows the home screen. */
function home() {
  return { now: NOW, screen: { name: 'home' }, requests: new Map(), chosen: null, listing: false, appeared: null };
}

/** Receives requests, the oldest first, and notes the card that the user sees then. */
function arrive(state, listed, isInUse = () => false) {
  const dated = listed.map((one, index) => ({ ...one, requested_at: NOW + index, expires_at: NOW + 120 }));
  receive(state, 'd1', dated, 0, isInUse);
  noteShown(state);
  return shownRequest(state)?.request.id;
}

test('no newer card replaces one without a number, whatever the kinds of both', () => {
  for (const [kind, first] of Object.entries(KINDS)) {
    for (const next of Object.values(KINDS)) {
      const state = home();
      assert.equal(arrive(state, [first('a1')]), 'a1');
      let expected = needsNumber(first('a1')) ? 'a2' : 'a1';
      assert.equal(arrive(state, [first('a1'), next('a2')]), expected, kind);
      if (expected === 'a2' && needsNumber(next('a2'))) expected = 'a3';
      assert.equal(arrive(state, [first('a1'), next('a2'), next('a3')]), expected, kind);
    }
  }
});

test('a card with a number is replaced only while it is not in use', () => {
  const state = home();
  arrive(state, [KINDS.numbered('a1')]);
  const both = [KINDS.numbered('a1'), KINDS.backchannel('a2')];
  const shown = arrive(state, both, () => true);
  assert.equal(shown, 'a1');
});

test('a card without a number cannot be approved in its first second, in whatever way it appeared', () => {
  for (const [kind, made] of Object.entries(KINDS)) {
    const state = home();
    arrive(state, [made('a1')]);
    const [item] = state.requests.values();
    const isBare = !needsNumber(item.request);
    assert.equal(isSettling(state, item, NOW + 0.9), isBare, kind);
    assert.equal(isSettling(state, item, NOW + 1), false, kind);
    // The end of the shown card shows the next one in its place.
    arrive(state, [made('a1'), made('a2')]);
    state.now = NOW + 10;
    const shown = shownRequest(state);
    end(state, shown, 'expired');
    assert.equal(noteShown(state), isBare, kind);
    const next = shownRequest(state);
    assert.notEqual(next, shown);
    assert.equal(isSettling(state, next, NOW + 10.5), isBare, kind);
    assert.equal(isSettling(state, next, NOW + 11), false, kind);
    assert.equal(isSettling(state, next, NOW), false, 'the clock was set back');
    // So does the way back from another screen.
    state.screen = { name: 'history' };
    state.now = NOW + 20;
    noteShown(state);
    state.screen = { name: 'home' };
    state.now = NOW + 30;
    assert.equal(noteShown(state), isBare, kind);
    assert.equal(isSettling(state, next, NOW + 30.5), isBare, kind);
    assert.equal(noteShown(state), false, 'it is the same card');
  }
});

/** Requests of applications with these ids, the oldest first. */
function asked(...ids) {
  const now = Math.floor(Date.now() / 1000);
  return ids.map((id, index) => ({ ...KINDS.backchannel(id), requested_at: now + index }));
}

const approve = (page) => page.locator('[data-part="approve"]');

test('a request of an application has its message, its scopes and no number, and stays in place', async () => {
  const { page, wrong } = await enrolled();
  list(...asked('b1'));
  await page.getByText('Order b1').waitFor();
  await page.getByText('See your email address').waitFor();
  assert.equal(await page.locator('[data-part="number"]').count(), 0);
  await page.locator('[data-part="approve"]:enabled').waitFor();
  assert.deepEqual(await inspect(page, 'app-backchannel'), []);
  list(...asked('b1', 'b2'));
  await page.getByRole('button', { name: 'All 2 requests' }).waitFor();
  assert.equal(await page.getByText('Order b1').count(), 1, 'the card stays');
  assert.equal(await page.getByText('Order b2').count(), 0);
  server.decisions.push([200, { outcome: 'approved' }]);
  server.decided.length = 0;
  await approve(page).click();
  await page.getByText('Order b2').waitFor();
  assert.equal(server.decided.length, 1);
  assert.equal(await page.locator('[data-request="b1"] [data-part="title"]').count(), 1, 'the first one was approved');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('neither a tap nor a key approves the card that takes the place of another one', async () => {
  const { page, wrong } = await enrolled();
  list(...asked('c1', 'c2'));
  await page.locator('[data-part="approve"]:enabled').waitFor();
  server.decided.length = 0;
  // The application lets the shown request expire at the moment of a tap.
  const wasDisabled = page.evaluate(
    () =>
      new Promise((resolve) => {
        const observer = new MutationObserver(() => {
          const button = document.querySelector('[data-request="c1"] [data-part="approve"]');
          if (!button) return;
          observer.disconnect();
          resolve(button.disabled);
          button.click();
          button.form.requestSubmit();
        });
        observer.observe(document.body, { childList: true, subtree: true });
      }),
  );
  list(...asked('c1'));
  assert.equal(await wasDisabled, true);
  await page.keyboard.press('Enter');
  await page.locator('[data-part="approve"]:disabled').waitFor();
  assert.deepEqual(server.decided, []);
  await page.locator('[data-part="approve"]:enabled').waitFor();
  server.decisions.push([200, { outcome: 'approved' }]);
  await approve(page).click();
  await page.locator('.card.outcome').waitFor();
  assert.equal(server.decided.length, 1);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
