// Sign-ins where a blocker, a virus scanner or a proxy blocks the event stream, or holds it back, and where it ends
// responses that the server holds.
//
// Environment: BASE_URL, ENROL_URL (of an administrator, `ada`), USER_ID (of a user to delete); CHROMIUM and
// SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import {
  approve,
  beginSignIn,
  confirmApproved,
  desktop,
  enrolDevice,
  launch,
  matchingNumber,
  numberField,
  phone,
  shot,
} from './browser.mjs';

const { BASE_URL, ENROL_URL, USER_ID } = process.env;
assert.ok(BASE_URL && ENROL_URL && USER_ID, 'an environment variable is missing');

/** Less than the two minutes after which a waiting page reloads itself in any case. */
const SOON = { timeout: 60_000 };
const EVENTS = '**/login/*/events';

/**
 * A proxy in front of the server, by the first part of the path: `silent` accepts a stream and sends nothing, `spoken`
 * sends the first event only, `breaks` ends the stream after a second.
 */
const proxy = http.createServer((request, response) => {
  const [, way, path] = /^\/(\w+)(\/.*)$/.exec(request.url);
  if (way === 'silent') {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    return response.flushHeaders();
  }
  const { hostname, port } = new URL(BASE_URL);
  const headers = { ...request.headers, host: new URL(BASE_URL).host };
  const onward = http.request({ hostname, port, path, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    if (way === 'breaks') {
      answer.pipe(response);
      setTimeout(() => request.socket.destroy(), 1000);
    } else {
      answer.once('data', (first) => response.write(first));
    }
  });
  onward.on('error', () => request.socket.destroy());
  request.on('close', () => onward.destroy());
  return onward.end();
});
await new Promise((resolve) => proxy.listen(0, 'localhost', resolve));
const by = (way) => (route) => {
  const { pathname } = new URL(route.request().url());
  return route.continue({ url: `http://localhost:${proxy.address().port}/${way}${pathname}` });
};

/** What happens to the event stream, by name. */
const OBSTACLES = {
  'is blocked': (route) => route.abort('blockedbyclient'),
  'never answers': () => {},
  'is accepted and then silent': by('silent'),
  'is silent after its first event': by('spoken'),
  'breaks again and again': by('breaks'),
  'answers with a page': (route) => route.fulfill({ contentType: 'text/html', body: '<title>Proxy</title>' }),
  'is rejected': (route) => route.fulfill({ status: 429, body: '' }),
};

/** Opens a page whose clock can be put forward. */
async function obstructed(browser, obstacle) {
  const context = await desktop(browser);
  await context.route(EVENTS, obstacle);
  const page = await context.newPage();
  await page.clock.install();
  return { context, page };
}

/** The page notices a change within a minute of its own clock. */
async function soon(page, hasChanged) {
  for (let second = 0; second < 60; second += 5) {
    // The requests of the page take real time.
    for (let tenth = 0; tenth < 5; tenth += 1) {
      if (await hasChanged()) return;
      await sleep(100);
    }
    await page.clock.fastForward(5000);
  }
  assert.fail('the page noticed nothing for a minute');
}

/** A user types the name. The page notices the approval. */
async function typed(browser, mobile, obstacle) {
  const { context, page } = await obstructed(browser, obstacle);
  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('textbox', { name: /name/i }).fill('ada');
  await page.getByRole('button', { name: /continue/i }).click();
  await approve(mobile, await matchingNumber(page));
  await confirmApproved(mobile);
  await soon(page, () => page.url() === `${BASE_URL}/admin`);
  await context.close();
}

/** A user scans the code of the login page. The page notices the scan, and then the approval. */
async function scanned(browser, mobile, obstacle) {
  const { context, page } = await obstructed(browser, obstacle);
  await page.goto(`${BASE_URL}/admin`);
  const code = await page.locator('.scan-here a').getAttribute('href');
  await mobile.goto('about:blank');
  await mobile.goto(`${BASE_URL}${code}`);
  await mobile.getByRole('button', { name: /\(ada\)/ }).click();
  await soon(page, () => page.locator('#number').isVisible());
  await approve(mobile, await matchingNumber(page));
  await confirmApproved(mobile);
  await soon(page, () => page.getByText('(ada)').isVisible());
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL(`${BASE_URL}/admin`);
  await context.close();
}

/** A page whose stream speaks does not ask every five seconds. */
async function unobstructed(browser, mobile) {
  const context = await desktop(browser);
  const page = await context.newPage();
  const asked = [];
  page.on('request', (request) => /\/login\/.*\/state$/.test(request.url()) && asked.push(request.url()));
  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('textbox', { name: /name/i }).fill('ada');
  await page.getByRole('button', { name: /continue/i }).click();
  const number = await matchingNumber(page);
  await page.waitForFunction(() => Number(document.getElementById('bar').value) <= 108);
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.waitForURL(`${BASE_URL}/admin`, SOON);
  // On a slow machine an event may be late.
  assert.ok(asked.length < 2, `${asked.length} questions`);
  return page;
}

/** A browser restores the page that it kept, and the page goes on. */
async function restored(browser, mobile) {
  const context = await desktop(browser);
  await context.route(EVENTS, OBSTACLES['is blocked']);
  const page = await context.newPage();
  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('textbox', { name: /name/i }).fill('ada');
  await page.getByRole('button', { name: /continue/i }).click();
  const number = await matchingNumber(page);
  await page.evaluate(() => {
    document.dispatchEvent(new Event('submit'));
    window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
  });
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.waitForURL(`${BASE_URL}/admin`, SOON);
  await context.close();
}

const isHeld = (url) => /[?&]wait=[1-9]/.test(url.search);
const cut = (route) => setTimeout(() => route.abort('connectionreset').catch(() => {}), 1000);

/** The authenticator, behind a proxy that ends held responses, shows a request and no problem of the connection. */
async function polledWithoutHeldResponses(browser, mobile) {
  await mobile.context().route(isHeld, cut);
  await mobile.reload();
  await mobile.getByRole('heading', { name: 'Nothing to approve' }).waitFor();
  const { page, number } = await beginSignIn(browser, `${BASE_URL}/admin`, 'ada');
  await numberField(mobile).waitFor(SOON);
  assert.equal(await mobile.locator('#connection .notice').count(), 0);
  await approve(mobile, number);
  await confirmApproved(mobile);
  await page.waitForURL(`${BASE_URL}/admin`);
  await page.context().close();
  await mobile.context().unroute(isHeld);
}

/** The console and the portal, behind the same proxy, notice a decision. */
async function decidedWithoutHeldResponses(page, mobile) {
  await page.context().route(isHeld, cut);
  await page.goto(`${BASE_URL}/devices/recovery-codes`);
  await page.getByRole('button', { name: /create/i }).click();
  await approve(mobile, await matchingNumber(page));
  await confirmApproved(mobile);
  await page.getByRole('button', { name: /show/i }).waitFor(SOON);

  await page.goto(`${BASE_URL}/admin`);
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.evaluate((id) => {
    window.deleted = import('/assets/console/api.js').then(({ remove }) => remove('/users/{id}', { id }));
  }, USER_ID);
  const number = page.locator('#approval-number');
  await number.waitFor();
  await approve(mobile, (await number.textContent()).trim());
  await confirmApproved(mobile);
  await number.waitFor({ state: 'detached', ...SOON });
  await page.evaluate(() => window.deleted);
}

const browser = await launch();
const mobile = await (await phone(browser)).newPage();
let tried = '';
try {
  await enrolDevice(mobile, ENROL_URL);
  const page = await unobstructed(browser, mobile);
  for (const [name, obstacle] of Object.entries(OBSTACLES)) {
    tried = name;
    await typed(browser, mobile, obstacle);
    await scanned(browser, mobile, obstacle);
  }
  tried = 'the rest';
  await restored(browser, mobile);
  await polledWithoutHeldResponses(browser, mobile);
  await decidedWithoutHeldResponses(page, mobile);
} catch (failure) {
  console.error(`the stream: ${tried}`);
  await shot(mobile, 'failed-phone');
  throw failure;
} finally {
  await browser.close();
  proxy.closeAllConnections();
  proxy.close();
}
