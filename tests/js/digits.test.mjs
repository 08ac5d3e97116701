// Numbers as users type them: the digits of any script and width, and the compositions of input methods.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { digits } from '../../host/server/assets/authenticator/requests.js';
import { enrolled, field, focusIn, list, request, server } from './authenticator_server.mjs';

test('digits of each numbering system have their values', () => {
  const systems = Intl.supportedValuesOf('numberingSystem');
  const written = systems.map((system) => [
    system,
    new Intl.NumberFormat(`en-u-nu-${system}`, { useGrouping: false }).format(1234567890),
  ]);
  // Some systems are algorithmic, or have ideographs in place of digits.
  const positional = written.filter(([, text]) => /^\p{Nd}+$/u.test(text));
  assert.ok(positional.length > 60, String(positional.length));
  for (const [system, text] of positional) assert.equal(digits(text), '1234567890', system);
  assert.equal(digits('４３'), '43');
  assert.equal(digits(' ٤x٣ '), '43');
  assert.equal(digits('四三'), '');
});

test('an input method composes a number undisturbed, and its digits count', async () => {
  const { page, wrong } = await enrolled();
  const session = await page.context().newCDPSession(page);
  list(request('a1'));
  await focusIn(page, '#request-a1-number');
  const compose = (text) =>
    session.send('Input.imeSetComposition', { text, selectionStart: text.length, selectionEnd: text.length });
  await compose('４');
  await compose('４３');
  const before = await page.locator('progress').evaluate((progress) => progress.value);
  await page.waitForFunction((value) => document.querySelector('progress').value !== value, before);
  assert.equal(await field(page).inputValue(), '４３', 'the composition stays while the page is rendered');
  await session.send('Input.insertText', { text: '４３' });
  await page.waitForFunction(() => document.activeElement.value === '43');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  assert.equal(server.decided[0].number, '43');
  for (const [id, typed] of [
    ['b2', '٤٣'],
    ['c3', '۴۳'],
    ['d4', '४३'],
  ]) {
    list(request(id));
    await focusIn(page, `#request-${id}-number`);
    await page.keyboard.insertText(typed);
    assert.equal(await field(page).inputValue(), '43', typed);
    list();
    await page.getByRole('heading', { name: 'Sign-in closed' }).waitFor();
  }
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
