// The script of the page that loads the sign-out pages of applications: only a frame with a load event counts as
// opened, and each session of an application is reported separately.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ClassicPage, element } from './classic_page.mjs';

const SECONDS = 5;

/** Returns a page with a frame for each of these keys and addresses, and the address at which it continues. */
function framesPage(addresses) {
  const notes = {};
  const frames = {};
  const items = Object.entries(addresses).map(([key, address]) => {
    notes[key] = element({}, { hidden: true });
    return element(
      { 'data-frame': key, 'data-address': address, 'data-title': 'Signing out' },
      {
        getElementsByTagName: () => [notes[key]],
        appendChild: (frame) => {
          frames[key] = frame;
        },
      },
    );
  });
  const list = element({}, { getElementsByTagName: () => items });
  const main = element({ 'data-seconds': String(SECONDS) }, { getElementsByTagName: () => [list] });
  const result = { notes, next: [] };
  const location = { replace: (address) => result.next.push(address) };
  const page = new ClassicPage({ 'signing-out-frames': main }, { location });
  page.document.createElement = () =>
    Object.assign(new EventTarget(), { contentDocument: null, setAttribute: () => {} });
  page.run('signing_out_frames.js');
  result.page = page;
  result.load = (key, members = {}) => Object.assign(frames[key], members).dispatchEvent(new Event('load'));
  result.block = (blockedURI) =>
    page.document.dispatchEvent(Object.assign(new Event('securitypolicyviolation'), { blockedURI }));
  result.opened = () => Object.keys(notes).filter((key) => !notes[key].hidden);
  return result;
}

const two = { one: 'https://a.example/logout?sid=1', two: 'https://a.example/logout?sid=2' };

test('each session of an application has its own report, and the page continues after the last one', () => {
  const { page, next, load, opened } = framesPage(two);
  load('two');
  assert.deepEqual(opened(), ['two']);
  page.pass(1000);
  assert.deepEqual(next, []);
  load('one');
  page.pass(100);
  assert.deepEqual(next, ['?loaded=one%20two']);
  page.pass(1000 * SECONDS);
  assert.equal(next.length, 1, 'the page continues once');
});

test('a frame without a load event is not reported', () => {
  const { page, next, load } = framesPage(two);
  load('one');
  page.pass(1000 * SECONDS);
  assert.deepEqual(next, ['?loaded=one']);
});

test('a frame that stayed empty is not opened', () => {
  const { page, next, load, opened } = framesPage(two);
  load('one', { contentDocument: { URL: 'about:blank' } });
  load('two');
  assert.deepEqual(opened(), ['two']);
  page.pass(1000 * SECONDS);
  assert.deepEqual(next, ['?loaded=two']);
});

test('a frame that the policy blocked is not opened, whether the report comes before or after the load event', () => {
  for (const isBefore of [true, false]) {
    for (const blocked of ['https://b.example/logout', 'https://b.example']) {
      const { page, next, load, block, opened } = framesPage({ ...two, three: 'https://b.example/logout' });
      load('one');
      load('two');
      if (isBefore) block(blocked);
      load('three');
      if (!isBefore) block(blocked);
      assert.deepEqual(opened(), ['one', 'two']);
      page.pass(100);
      assert.deepEqual(next, ['?loaded=one%20two'], blocked);
    }
  }
});
