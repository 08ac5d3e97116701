// The sentences of the audit log: each event of the server has one, in one group.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

const read = (path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');
const model = await read('host/model/src/audit/mod.rs');
const source = await read('host/server/assets/console/pages/audit_events.js');

/** The names of the events in the model: the texts in the macro `events!`. */
const inModel = [...model.matchAll(/^ {4}\w+ = "([a-z.-]+)",$/gm)].map(([, name]) => name);
// Without the document of a browser, only the table is usable, so the imports are removed.
const table = source.replace(/^import .*$/gm, '');
const stubs = "const Node = Object, el = () => '', link = el, code = el, translated = (text) => text;";
const { GROUPS, toneOf, eventOptions, sentenceOf, textOf } = await import(
  `data:text/javascript,${encodeURIComponent(`${stubs}\n${table}`)}`
);

test('each event has a sentence, in one group', () => {
  assert.ok(inModel.length > 50, `${inModel.length} events`);
  const inTable = GROUPS.flatMap(([, events]) => Object.keys(events));
  assert.deepEqual([...inTable].sort(), [...inModel].sort());
});

test('labels and sentences differ', () => {
  const events = GROUPS.flatMap(([, group]) => Object.values(group));
  const names = { who: 'Ada', user: 'Bob', application: 'Wiki', device: 'Pixel', detail: {} };
  const sentences = events.map(([, , sentence]) => textOf(sentence(names)));
  assert.equal(new Set(events.map(([label]) => label)).size, events.length);
  assert.equal(new Set(sentences).size, sentences.length);
  for (const sentence of sentences) assert.match(sentence, /^[A-Z][^.]+[^. ]$/);
});

test('a sentence says what changed', () => {
  const [, applications] = GROUPS.find(([group]) => group === 'Applications');
  const [, , changed] = applications['application.updated'];
  const names = (before, after) => ({ who: 'Ada', application: 'Wiki', detail: { before, after } });
  assert.equal(textOf(changed(names({ name: 'W' }, { name: 'Wiki' }))), 'Ada changed the application Wiki');
  assert.equal(textOf(changed(names({ enabled: true }, { enabled: false }))), 'Ada disabled the application Wiki');
  assert.equal(textOf(changed(names({ enabled: false }, { enabled: true }))), 'Ada enabled the application Wiki');
});

test('a change of a user names the fields', () => {
  const [, users] = GROUPS.find(([group]) => group === 'Users');
  const [, , changed] = users['user.updated'];
  const sentence = (fields, role) =>
    textOf(changed({ who: 'Ada', user: 'Bob', fields, detail: { after: { console_role: role } } }));
  assert.equal(sentence(['console_role'], 'support'), 'Ada changed the role of Bob to Support');
  assert.equal(sentence(['console_role'], null), 'Ada removed the role of Bob');
  assert.equal(sentence(['email', 'name']), 'Ada changed the user Bob: Email address, Full name');
  assert.equal(sentence([]), 'Ada changed the user Bob', 'after an erasure');
});

test('an event unknown to the console is in its own group', () => {
  const groups = eventOptions(['sign-in.denied', 'moon.landed']);
  assert.deepEqual(groups.at(-1), ['Others', [['moon.landed', 'moon.landed']]]);
  assert.equal(toneOf({ event: 'moon.landed' }), 'calm');
  const entry = { event: 'moon.landed', actor: { kind: 'server' }, detail: {}, personal: {} };
  assert.match(textOf(sentenceOf(entry, () => true)), /^The server: /);
});
