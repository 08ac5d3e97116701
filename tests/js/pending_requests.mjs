// Several pending sign-in requests: the device lists all of them, the user picks one, and the app names the request of
// another number.
//
// Environment: BASE_URL, ENROL_URL (of an administrator, `ada`), AUTHORIZE_URL (an application's request); CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { complaints, desktop, inspect, launch, phone, shot } from './browser.mjs';

const { BASE_URL, ENROL_URL, AUTHORIZE_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL && AUTHORIZE_URL, 'BASE_URL, ENROL_URL or AUTHORIZE_URL is missing');

const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

async function asks(browser, address, options = {}) {
  const page = await (await desktop(browser, options)).newPage();
  await page.goto(address);
  await page.getByRole('textbox', { name: /name/i }).fill('ada');
  await page.getByRole('button', { name: /continue/i }).click();
  await page.locator('#number').waitFor();
  return { page, number: (await page.locator('#number').textContent()).trim() };
}

const list = (mobile) => mobile.getByRole('region', { name: '2 sign-in requests' });
const numberOn = (mobile) => mobile.getByRole('textbox', { name: /number/i });
const approve = (mobile) => mobile.getByRole('button', { name: 'Approve', exact: true }).click();

async function otherNumber(mobile, number) {
  await numberOn(mobile).fill(number);
  await approve(mobile);
  await mobile.getByRole('heading', { name: 'Wrong number for this request' }).waitFor();
  const words = await mobile.locator('.card.request .lead').textContent();
  const request = 'Books & <Co>, Firefox on Windows, This computer';
  assert.ok(words.startsWith(`This number belongs to another sign-in request: ${request}, started at `), words);
  assert.match(words, /started at .+\. If you did not start it, report it\./);
}

async function picksTheRightOne(browser, mobile, other) {
  const own = await asks(browser, `${BASE_URL}/admin`);
  await list(mobile).waitFor();
  const picks = mobile.locator('.pick');
  const texts = await picks.allTextContents();
  assert.equal(texts.length, 2);
  assert.match(texts[0], /Chrome on Linux, This computer.*ada.*started at.*left/, 'the newest comes first');
  assert.match(texts[1], /Books & <Co>.*Firefox on Windows, This computer.*ada.*started at.*left/);
  assert.equal(await numberOn(mobile).count(), 0, 'a number is typed for a chosen request only');
  await look(mobile, 'requests-several');

  // By keyboard.
  await picks.first().focus();
  await mobile.keyboard.press('Enter');
  await mobile.getByRole('article', { name: /Sign in to/ }).waitFor();
  await look(mobile, 'requests-chosen');
  await otherNumber(mobile, other.number);
  await look(mobile, 'requests-other');
  await mobile.getByRole('button', { name: 'Back', exact: true }).click();
  await mobile.getByText('2 tries left.').waitFor();
  await mobile.getByRole('button', { name: 'All 2 requests' }).click();
  await list(mobile).waitFor();
  await picks.first().click();
  await numberOn(mobile).fill(own.number);
  await approve(mobile);
  await mobile.getByRole('heading', { name: 'Approved' }).waitFor();
  await own.page.waitForURL(`${BASE_URL}/admin`);
  assert.equal(await other.page.locator('#number').textContent(), other.number, 'the other one was not approved');
  await mobile.getByRole('button', { name: 'Done' }).click();
  await own.page.context().close();
}

async function reportsTheOther(browser, mobile, other) {
  // The only one is shown at once; while its number is typed, a new one does not take its place.
  await numberOn(mobile).fill('1');
  const own = await asks(browser, `${BASE_URL}/admin`);
  await mobile.getByRole('button', { name: 'All 2 requests' }).waitFor();
  assert.equal(await numberOn(mobile).inputValue(), '1');
  await mobile.getByRole('button', { name: 'All 2 requests' }).click();
  await mobile.locator('.pick').first().click();
  await otherNumber(mobile, other.number);
  await mobile.getByRole('button', { name: 'This was not me' }).click();
  await mobile.getByRole('heading', { name: 'Stopped' }).waitFor();
  await mobile.getByText(/are paused until/).waitFor();
  await look(mobile, 'requests-other-reported');
  assert.equal(await numberOn(mobile).count(), 0, 'no request waits any more');
  await own.page.context().close();
}

const browser = await launch();
try {
  const mobile = await (await phone(browser)).newPage();
  const collected = complaints(mobile);
  try {
    await mobile.goto(ENROL_URL);
    await mobile.getByRole('button', { name: /enrol/i }).click();
    await mobile.getByRole('heading', { name: /enrolled/i }).waitFor();
    await mobile.getByRole('button', { name: /done/i }).click();
    const other = await asks(browser, AUTHORIZE_URL, { userAgent: WINDOWS });
    await mobile.getByRole('article', { name: 'Sign in to Books & <Co>?' }).waitFor();
    await picksTheRightOne(browser, mobile, other);
    await reportsTheOther(browser, mobile, other);
    // The browser itself notes the answers that refuse.
    assert.deepEqual(
      collected.filter((line) => !/\b422\b/.test(line)),
      [],
      'the app complains of nothing on its console',
    );
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
}
