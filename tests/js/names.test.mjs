// The order of names in lists, and the search for them, in the portal and the console.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { byName, matcher, searchForm } = await consoleModule('../names.js');
const { inOrder } = await consoleModule('lists.js');
const { fullName } = await consoleModule('pages/user_cell.js');

const root = new URL('../../', import.meta.url);
/** The spellings of the test of the server's function. */
const spellings = JSON.parse(await readFile(new URL('host/model/src/search/spellings.json', root), 'utf8'));

globalThis.document = { documentElement: { lang: 'de' } };

test('all spellings of a name have one search form, as on the server', () => {
  const forms = spellings.map((one) => new Set(one.map(searchForm)));
  for (const [index, found] of forms.entries()) assert.equal(found.size, 1, spellings[index].join(', '));
  assert.equal(new Set(forms.flatMap((found) => [...found])).size, spellings.length);
  assert.equal(searchForm(' ÄRMEL '), 'armel');
  assert.equal(searchForm('Straße'), 'strasse');
});

test('the same marks are removed as on the server', async () => {
  const source = await readFile(new URL('host/model/src/search.rs', root), 'utf8');
  const ranges = [...source.matchAll(/^ {4}\('\\u\{(\w+)\}', '\\u\{(\w+)\}'\),$/gm)].map(([, ...ends]) =>
    ends.map((end) => Number.parseInt(end, 16)),
  );
  assert.ok(ranges.length > 15);
  for (let code = 0; code <= 0x10ffff; code += 1) {
    const mark = String.fromCodePoint(code);
    if (!/\p{M}/u.test(mark)) continue;
    const isRemoved = ranges.some(([first, last]) => first <= code && code <= last);
    assert.equal(searchForm(`a${mark}b`) === 'ab', isRemoved, code.toString(16));
  }
});

test('a search ignores case, accents and width, and finds each word', () => {
  for (const typed of ['armel', 'ARMEL', 'Ärmel', 'A\u0308rmel', 'ａｒｍｅｌ', ' erna armel ', 'mel ern', ''])
    assert.ok(matcher(typed)('Erna Ärmel'), typed);
  for (const typed of ['armer', 'erna x']) assert.ok(!matcher(typed)('Erna Ärmel'), typed);
});

test('names have the order of the language, and numbers that of their values', () => {
  const rows = ['Zoe', 'Raum 10', 'ärmel', 'Arzt', 'Raum 9', 'Öl', 'ada'].map((name) => ({ name }));
  const sorted = () => rows.toSorted(byName(({ name }) => name)).map(({ name }) => name);
  assert.deepEqual(sorted(), ['ada', 'ärmel', 'Arzt', 'Öl', 'Raum 9', 'Raum 10', 'Zoe']);
  document.documentElement.lang = 'sv';
  assert.deepEqual(sorted(), ['ada', 'Arzt', 'Raum 9', 'Raum 10', 'Zoe', 'ärmel', 'Öl']);
  document.documentElement.lang = 'de';
});

test('the console sorts a complete list, and leaves pages in the order of the server', () => {
  const items = ['Zoe', 'Ärmel', 'Bo'];
  const shown = (page, ...more) => inOrder({ items, ...page }, ...more).join(' ');
  const nameOf = (name) => name;
  assert.equal(shown({}, undefined, nameOf), 'Ärmel Bo Zoe');
  assert.equal(shown({}, undefined, nameOf, '-name'), 'Zoe Bo Ärmel');
  for (const inServerOrder of [
    [{ next: 'x' }, undefined, nameOf],
    [{}, 'x', nameOf],
    [{}, undefined, nameOf, '-created'],
    [{}, undefined],
  ])
    assert.equal(shown(...inServerOrder), items.join(' '));
});

test('users are sorted by their full names', () => {
  const items = [
    ['ada', 'Zoe Adams'],
    ['zoe', 'Ärmel'],
    ['bob', undefined],
  ].map(([name, full]) => ({ name, profile: { name: full } }));
  const sorted = inOrder({ items }, undefined, fullName);
  assert.deepEqual(
    sorted.map(({ name }) => name),
    ['zoe', 'bob', 'ada'],
  );
});
