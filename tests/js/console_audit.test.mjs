// The details of an audit entry in the console.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { labelOf, timeOf } = await consoleModule('pages/audit_entry.js');

/** The part of a document that an element needs. */
globalThis.document = {
  createElement: () => ({
    attributes: {},
    setAttribute(name, value) {
      this.attributes[name] = value;
    },
    append() {},
  }),
};

test('a label has the words of the name', () => {
  assert.equal(labelOf('signs_from'), 'Signs from');
  assert.equal(labelOf('ip_address'), 'IP address');
});

test('seconds since 1970 are shown as a time', () => {
  assert.equal(timeOf('signs_from', 1_795_776_030).attributes.datetime, '2026-11-27T10:40:30.000Z');
  assert.equal(timeOf('until', 0).attributes.datetime, '1970-01-01T00:00:00.000Z');
});

test('other values stay as they are', () => {
  assert.equal(timeOf('count', 3), undefined);
  assert.equal(timeOf('format', 3), undefined);
  assert.equal(timeOf('expires_at', 'never'), undefined);
});
