// The operator's logo and colours on the pages that show most of them. The logo itself runs none of the scripts in it.
//
// Environment: BASE_URL, AUTHORIZE_URL (an application's request); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { complaints, desktop, inspect, launch } from './browser.mjs';

const { BASE_URL, AUTHORIZE_URL } = process.env;
assert.ok(BASE_URL && AUTHORIZE_URL, 'BASE_URL or AUTHORIZE_URL is missing');

const browser = await launch();
try {
  const findings = [];
  const page = await (await desktop(browser)).newPage();
  const wrong = complaints(page);
  await page.goto(BASE_URL);
  findings.push(...(await inspect(page, 'branding-home')));
  const logo = await page
    .locator('img.logo')
    .evaluate((image) => ({ shown: image.naturalWidth > 0, address: image.src }));
  assert.ok(logo.shown, 'the logo is shown');
  const link = page.getByRole('link', { name: 'Assent' });
  assert.equal(await link.count(), 1, 'the logo has no name beside the operator’s');
  await page.emulateMedia({ colorScheme: 'light' });
  const accent = () => page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--accent'));
  assert.equal(await accent(), '#7a1fa2');
  await page.emulateMedia({ colorScheme: 'dark' });
  assert.equal(await accent(), '#d6a3ee');
  await page.goto(AUTHORIZE_URL);
  findings.push(...(await inspect(page, 'branding-login')));
  await page.getByRole('textbox').fill('nobody');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.locator('#number').waitFor();
  findings.push(...(await inspect(page, 'branding-waiting')));
  assert.deepEqual([findings, wrong], [[], []]);

  await page.goto(logo.address);
  await page.waitForLoadState('load');
  assert.notEqual(await page.title(), 'harm', 'a script in the logo ran');
} finally {
  await browser.close();
}
