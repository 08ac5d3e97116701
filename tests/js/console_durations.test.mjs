// Durations in the console.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { durationMs, durationText, timeLeft } = await consoleModule('durations.js');

test('a duration of the settings is shown in words', () => {
  assert.equal(durationText('1d'), '1 day');
  assert.equal(durationText('90s'), '90 seconds');
  assert.equal(durationMs('90d'), 90 * 24 * 3600 * 1000);
  assert.equal(durationMs('0s'), 0);
  for (const other of ['', 'file', '2 minutes', 90, null]) {
    assert.equal(durationText(other), undefined);
    assert.equal(durationMs(other), undefined);
  }
});

test('the remaining time has minutes only if there are any', () => {
  assert.equal(timeLeft(118), '1 minute 58 seconds left');
  assert.equal(timeLeft(120), '2 minutes left');
  assert.equal(timeLeft(61), '1 minute 1 second left');
  assert.equal(timeLeft(59), '59 seconds left');
  assert.equal(timeLeft(0), '0 seconds left');
});
