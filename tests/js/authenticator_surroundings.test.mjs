// The authenticator in Chromium in unusual surroundings, with a simulated server: data that the browser clears, links
// from the portal, a page that the browser translates.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { enrolled, focusIn, list, request } from './authenticator_server.mjs';
import { inspect } from './browser.mjs';

test('an open app notices that its data was cleared', async () => {
  const { page, wrong } = await enrolled();
  list(request('a1'));
  await page.locator('.card.request').waitFor();
  const session = await page.context().newCDPSession(page);
  const origin = await page.evaluate(() => location.origin);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await page.locator('.card.account', { hasText: 'no longer has the key' }).waitFor();
  assert.equal(await page.locator('.card.request').count(), 0, 'nothing can be approved any more');
  assert.deepEqual(await inspect(page, 'app-cleared'), []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('links of the portal lead to the devices and to the protection of an account', async () => {
  const { page, wrong } = await enrolled();
  const open = async (hash) => {
    await page.goto('about:blank');
    await page.goto(`${base}${hash}`);
  };
  const base = page.url().split('#')[0];
  await open('#devices');
  await page.getByRole('heading', { name: 'Devices of Ada Lovelace' }).waitFor();
  await page.getByRole('button', { name: 'Set up another device' }).waitFor();
  await open('#protection');
  await focusIn(page, '[data-zone="accounts"], [data-part="protect"]');
  assert.equal(new URL(page.url()).hash, '');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a translated page is written again only where its texts change', async () => {
  const { page, wrong } = await enrolled();
  list(request('b1'));
  await focusIn(page, '#request-b1-number');
  await page.evaluate(() => {
    for (const button of document.querySelectorAll('.request button, .request label')) {
      const font = document.createElement('font');
      font.textContent = `[${button.textContent}]`;
      button.replaceChildren(font);
    }
  });
  const before = await page.locator('progress').evaluate((progress) => progress.value);
  await page.waitForFunction((value) => document.querySelector('progress').value !== value, before);
  await page.getByRole('button', { name: '[Approve]' }).waitFor();
  await page.getByText('[Type the number from the sign‑in page]').waitFor();
  assert.equal(await page.locator('.request-account bdi').getAttribute('translate'), 'no');
  list();
  await page.getByRole('heading', { name: 'Sign-in closed' }).waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
