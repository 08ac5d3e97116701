// The classic scripts of the sign-in pages: forms, the page that posts an answer, the waiting page, the recovery page.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { ClassicPage, element, HTMLButtonElement, storage } from './classic_page.mjs';

function formPage() {
  const buttons = { allow: new HTMLButtonElement(), deny: new HTMLButtonElement(), off: new HTMLButtonElement() };
  buttons.off.disabled = true;
  const states = () => Object.values(buttons).map(({ disabled }) => disabled);
  return { page: new ClassicPage(buttons).run('forms.js'), states };
}

test('a form is sent once, and its button is disabled only after the browser read it', () => {
  const { page, states } = formPage();
  assert.ok(page.submit());
  assert.deepEqual(states(), [false, false, true], 'the browser would leave out a disabled button');
  page.pass(0);
  assert.deepEqual(states(), [true, true, true]);
  assert.ok(!page.submit(), 'the form was sent twice');
  page.pass(9999);
  assert.deepEqual(states(), [true, true, true]);
  page.pass(1);
  assert.deepEqual(states(), [false, false, true], 'no response came');
  assert.ok(page.submit());
});

test('the buttons work again on a page from the back/forward cache', () => {
  const { page, states } = formPage();
  page.submit();
  page.pass(500);
  page.show(false);
  assert.deepEqual(states(), [true, true, true], 'an ordinary load');
  page.show(true);
  assert.deepEqual(states(), [false, false, true]);
  assert.ok(page.submit());
});

/** A page with this answer; `posts` counts how often it was posted. */
function answerPage(answer, { localStorage, state = null }) {
  const posted = element({}, { hidden: true });
  const result = { posts: 0, posted };
  const submit = () => {
    result.posts += 1;
  };
  // The fields of two errors are the same.
  const form = element({}, { action: 'https://rp.example/cb', submit, querySelectorAll: () => [] });
  const elements = { answer: form, posting: element({ 'data-answer': answer }), posted };
  result.page = new ClassicPage(elements, { localStorage });
  result.page.history.state = state;
  result.page.run('form_post.js');
  return result;
}

test('each answer is posted, also if it has the same fields as an earlier one', () => {
  const localStorage = storage();
  for (const answer of ['first', 'second', 'third']) {
    const { posts, posted } = answerPage(answer, { localStorage });
    assert.deepEqual([posts, posted.hidden], [1, true], answer);
  }
});

test('the same answer is posted once', () => {
  const localStorage = storage();
  const first = answerPage('first', { localStorage });
  assert.equal(first.posts, 1);
  first.page.show(true);
  assert.ok(!first.posted.hidden, 'the user came back from the application');
  const again = answerPage('first', { localStorage });
  assert.deepEqual([again.posts, again.posted.hidden], [0, false]);
});

test('without storage the tab knows what it posted', () => {
  const refuse = () => {
    throw new Error('the browser stores nothing');
  };
  const localStorage = { getItem: refuse, setItem: refuse };
  const first = answerPage('first', { localStorage });
  assert.equal(first.posts, 1);
  const { state } = first.page.history;
  assert.equal(answerPage('first', { localStorage, state }).posts, 0);
});

const TEXTS = JSON.stringify({
  'waiting-left': [{ value: 'seconds' }],
  'waiting-left-whole': [{ value: 'minutes' }],
  'waiting-left-minutes': [{ value: 'minutes' }, ':', { value: 'seconds' }],
});

/** The waiting page, with this number of seconds left. Its event stream is silent. */
function waitingPage(seconds) {
  const attributes = {
    'data-seconds': String(seconds),
    'data-texts': TEXTS,
    'data-state': 'waiting',
    'data-ask': 'ask',
  };
  const elements = {
    waiting: element(attributes),
    left: element(),
    say: element(),
    bar: element({}, { max: 120, value: seconds }),
    nothing: element(),
    'nothing-title': element(),
  };
  return new ClassicPage(elements).run('follow_sign_in.js', 'countdown.js', 'waiting.js');
}

test('a waiting page follows the sign-in again if the response to a form does not come', () => {
  const page = waitingPage(120);
  page.pass(6000);
  page.answer('waiting');
  page.submit();
  const before = page.requests.length;
  page.pass(9000);
  assert.equal(page.requests.length, before, 'a reload would cancel the response');
  page.pass(2000);
  assert.equal(page.requests.length, before + 1);
  page.answer('approved');
  assert.equal(page.reloads, 1);
  page.pass(60_000);
  assert.equal(page.reloads, 1);
});

test('a waiting page whose time ended during a lost response is loaded again', () => {
  const page = waitingPage(5);
  page.submit();
  page.pass(9000);
  assert.equal(page.reloads, 0, 'a reload would cancel the response');
  page.pass(1000);
  assert.equal(page.reloads, 1);
});

/** The recovery page. `settle` ends the opening of the database, which some browsers never do. */
function recoveryPage() {
  const requests = [];
  const request = (result) => {
    const one = { result };
    requests.push(one);
    return one;
  };
  class CryptoKey {}
  const key = new CryptoKey();
  const store = { put: () => request(), get: () => request(key) };
  const database = { transaction: () => ({ objectStore: () => store }), close() {} };
  const notice = element({}, { hidden: true });
  const button = new HTMLButtonElement();
  const page = new ClassicPage(
    { 'no-storage': notice, 'use-code': button },
    {
      CryptoKey,
      crypto: { subtle: { generateKey: async () => ({ privateKey: key }) } },
      indexedDB: { open: () => request(database), deleteDatabase() {} },
    },
  ).run('recover.js');
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      for (const one of requests.splice(0)) one.onsuccess();
      await setImmediate();
    }
  };
  return { page, settle, shown: () => ({ notice: !notice.hidden, disabled: button.disabled }) };
}

test('a recovery code is sent only after a key could be stored', async () => {
  const { page, settle, shown } = recoveryPage();
  assert.deepEqual(shown(), { notice: false, disabled: true });
  await settle();
  assert.deepEqual(shown(), { notice: false, disabled: false });
  page.pass(60_000);
  assert.deepEqual(shown(), { notice: false, disabled: false });
});

test('a recovery code is not sent if the browser never opens a database', async () => {
  const { page, settle, shown } = recoveryPage();
  page.pass(9999);
  assert.deepEqual(shown(), { notice: false, disabled: true });
  page.pass(1);
  assert.deepEqual(shown(), { notice: true, disabled: true });
  // It was only slow.
  await settle();
  assert.deepEqual(shown(), { notice: false, disabled: false });
});
