// The entry of the code of another device in Chromium, with a simulated server, and the request that follows.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { enrolled, focusIn, server } from './authenticator_server.mjs';
import { inspect } from './browser.mjs';

const codeField = (page) => page.getByRole('textbox', { name: 'Code' });

test('a typed code leads to a request with the application, the place, the age and the code', async () => {
  const { page, wrong } = await enrolled();
  const wrongCode = page.locator('#user-code-error');
  await page.getByRole('button', { name: 'Sign in a device' }).click();
  await focusIn(page, '#user-code');
  assert.deepEqual(await inspect(page, 'device-code-entry'), []);
  await page.getByRole('button', { name: 'Continue' }).click();
  await wrongCode.waitFor();
  await codeField(page).fill('BBBB-BBBB');
  await page.keyboard.press('Enter');
  await wrongCode.waitFor();
  await codeField(page).fill('wdjb mjht');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Sign in to Application u1 on another device?' }).waitFor();
  const card = await page.locator('[data-request="u1"]').innerText();
  for (const shown of ['ada', 'Zürich', 'started 2 minutes ago', 'WDJB-MJHT', 'Confirm your identity']) {
    assert.ok(card.includes(shown), `${shown}: ${card}`);
  }
  assert.ok(card.includes('Never use a code that someone sent you.'), card);
  assert.equal(await page.getByRole('textbox').count(), 0, 'there is no number');
  assert.deepEqual(await inspect(page, 'device-code-request'), []);
  server.decisions = [[200, { outcome: 'approved' }]];
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByText('Go back to your device. It continues by itself.', { exact: true }).waitFor();
  const [decided] = server.decided;
  assert.deepEqual([decided.path, decided.decision, decided.number], ['/requests/u1', 'approve', '']);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a code from a link is shown and compared before it is entered', async () => {
  const { page, wrong } = await enrolled();
  await page.evaluate(() => {
    location.hash = '#device=WDJB-MJHT';
  });
  await page.getByText('Is this the code that your device shows?').waitFor();
  assert.equal(await codeField(page).inputValue(), 'WDJB-MJHT');
  assert.deepEqual(server.requests, [], 'nothing was sent');
  await page.getByRole('button', { name: 'Not now' }).click();
  await page.getByRole('button', { name: 'Sign in a device' }).waitFor();
  assert.deepEqual(server.requests, []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
