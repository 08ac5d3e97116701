// Several pending sign-in requests: the device shows the newest, and the way to a list of all, from which the user
// picks one. If the number belongs to another request, the app names that request.
//
// Environment: BASE_URL, ENROL_URL (of an administrator, `ada`), AUTHORIZE_URL (an application's request); CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';

import { beginSignIn, complaints, inspect, launch, numberField, phone, shot } from './browser.mjs';

const { BASE_URL, ENROL_URL, AUTHORIZE_URL } = process.env;
assert.ok(BASE_URL && ENROL_URL && AUTHORIZE_URL, 'BASE_URL, ENROL_URL or AUTHORIZE_URL is missing');

const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
const findings = [];
const look = async (page, name) => findings.push(...(await inspect(page, name)));

const list = (mobile) => mobile.getByRole('region', { name: '2 sign-in requests' });
const pressApprove = (mobile) => mobile.getByRole('button', { name: 'Approve', exact: true }).click();

async function submitOtherNumber(mobile, number) {
  await numberField(mobile).fill(number);
  await pressApprove(mobile);
  await mobile.getByRole('heading', { name: 'Wrong number for this request' }).waitFor();
  const words = await mobile.locator('.card.request .lead').textContent();
  const request = 'Books & <Co> · Firefox on Windows · This computer';
  assert.ok(words.startsWith(`This number belongs to another request: ${request} · started at `), words);
  assert.match(words, /started at .+\. If you didn’t start it, report it\./);
}

async function approveOwnRequest(browser, mobile, other) {
  const own = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await mobile.getByRole('button', { name: 'All 2 requests' }).waitFor();
  assert.equal(await mobile.locator('.card.request').count(), 1, 'the newest request is shown alone');
  await mobile.getByRole('button', { name: 'All 2 requests' }).click();
  await list(mobile).waitFor();
  const picks = mobile.locator('.pick');
  const texts = await picks.allTextContents();
  assert.equal(texts.length, 2);
  assert.match(texts[0], /Chrome on Linux · This computer.*ada.*started at.*left/, 'the newest comes first');
  assert.match(texts[1], /Books & <Co>.*Firefox on Windows · This computer.*ada.*started at.*left/);
  assert.equal(await numberField(mobile).count(), 0, 'a number is typed for a chosen request only');
  await look(mobile, 'requests-several');

  // By keyboard.
  await picks.first().focus();
  await mobile.keyboard.press('Enter');
  await mobile.getByRole('article', { name: /Sign in to/ }).waitFor();
  await look(mobile, 'requests-chosen');
  await submitOtherNumber(mobile, other.number);
  await look(mobile, 'requests-other');
  await mobile.getByRole('button', { name: 'Back', exact: true }).click();
  await mobile.getByText('2 tries left.').waitFor();
  await mobile.getByRole('button', { name: 'All 2 requests' }).click();
  await list(mobile).waitFor();
  await picks.first().click();
  await numberField(mobile).fill(own.number);
  await pressApprove(mobile);
  const ended = mobile.locator('.ended', { hasText: 'Approved' });
  await ended.waitFor();
  await own.page.waitForURL(`${BASE_URL}/admin`);
  assert.equal(await other.page.locator('#number').textContent(), other.number, 'the other request was not approved');
  await ended.locator('summary').click();
  await ended.getByRole('button', { name: 'Done' }).click();
  await own.page.context().close();
}

async function reportOtherRequest(browser, mobile, other) {
  // The app shows a single request at once. A new request does not replace it while the user types its number.
  await numberField(mobile).fill('1');
  const own = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await mobile.getByRole('button', { name: 'All 2 requests' }).waitFor();
  assert.equal(await numberField(mobile).inputValue(), '1');
  await mobile.getByRole('button', { name: 'All 2 requests' }).click();
  await mobile.locator('.pick').first().click();
  await submitOtherNumber(mobile, other.number);
  await mobile.getByRole('button', { name: 'This wasn’t me' }).click();
  await mobile.getByRole('heading', { name: 'Reported' }).waitFor();
  await mobile.getByText(/are paused until/).waitFor();
  await look(mobile, 'requests-other-reported');
  assert.equal(await numberField(mobile).count(), 0, 'no request is pending any more');
  await own.page.context().close();
}

const browser = await launch();
try {
  const mobile = await (await phone(browser)).newPage();
  const collected = complaints(mobile);
  try {
    await mobile.goto(ENROL_URL);
    await mobile.getByRole('button', { name: /set up this/i }).click();
    await mobile.getByRole('heading', { name: /is set up/i }).waitFor();
    await mobile.getByRole('button', { name: /done/i }).click();
    const other = await beginSignIn(browser, AUTHORIZE_URL, 'ada', { userAgent: WINDOWS });
    await mobile.getByRole('article', { name: 'Sign in to Books & <Co>?' }).waitFor();
    await approveOwnRequest(browser, mobile, other);
    await reportOtherRequest(browser, mobile, other);
    // The browser itself logs the responses that reject.
    assert.deepEqual(
      collected.filter((line) => !/\b422\b/.test(line)),
      [],
      'the app logs no errors',
    );
  } catch (failure) {
    await shot(mobile, 'failed-phone');
    throw failure;
  }
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
} finally {
  await browser.close();
}
