// The axis of a chart: its end and its middle are whole numbers.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { axisEnd } = await consoleModule('chart.js');

test('the axis reaches the highest value, and has whole numbers only', () => {
  for (let most = 0; most <= 20_000; most += 1) {
    const end = axisEnd(most);
    assert.ok(end >= most && Number.isInteger(end / 2), `${most}: ${end}`);
  }
});

test('the axis has few sizes', () => {
  for (const [most, end] of [
    [0, 2],
    [1, 2],
    [3, 4],
    [10, 10],
    [11, 20],
    [21, 50],
    [50, 50],
    [51, 100],
    [1001, 2000],
  ])
    assert.equal(axisEnd(most), end);
});
