// The end of a sign-in on a slow network: two clicks on "Allow", and a response that never arrives. The application
// gets one usable code, and the browser stays signed in. With JavaScript the button works only once; without it the
// server answers both requests alike.
//
// Environment: BASE_URL, ENROL_URL, CLIENT_ID (of a native application); CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { approve, beginSignIn, confirmApproved, enrolDevice, inspect, launch, phone } from './browser.mjs';

const { BASE_URL, ENROL_URL, CLIENT_ID } = process.env;
assert.ok(BASE_URL && ENROL_URL && CLIENT_ID, 'BASE_URL, ENROL_URL or CLIENT_ID is missing');

/** The PKCE verifier of RFC 7636 appendix B, and its challenge. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const LATENCY = 300;

/** The number of forms that the application has received. */
let forms = 0;
const app = http.createServer((request, response) => {
  if (request.method === 'POST') forms += 1;
  response.writeHead(200, { 'content-type': 'text/html' });
  response.end('<!doctype html><title>App</title><h1>Signed in to the app</h1>');
});
await new Promise((resolve) => app.listen(0, '127.0.0.1', resolve));
const callback = `http://127.0.0.1:${app.address().port}/callback`;

/** The network: a forward proxy that delays each request of a form, and loses responses on demand. */
const network = { posts: [], loses: 0 };
const proxy = http.createServer(async (request, response) => {
  const target = new URL(request.url);
  const parts = [];
  for await (const part of request) parts.push(part);
  const isDecision = target.pathname.endsWith('/consent');
  if (isDecision) {
    network.posts.push(target.pathname);
    await sleep(LATENCY / 2);
  }
  const headers = { ...request.headers, 'content-length': Buffer.concat(parts).length };
  const onward = http.request(target, { method: request.method, headers }, async (answer) => {
    if (isDecision && network.loses > 0) {
      // The server has answered, and the browser learns nothing of it.
      network.loses -= 1;
      answer.resume();
      answer.on('end', () => request.socket.resetAndDestroy());
      return;
    }
    if (isDecision) await sleep(LATENCY / 2);
    response.writeHead(answer.statusCode, answer.rawHeaders);
    answer.pipe(response);
  });
  onward.on('error', () => request.socket.destroy());
  response.on('close', () => response.writableFinished || onward.destroy());
  onward.end(Buffer.concat(parts));
});
await new Promise((resolve) => proxy.listen(0, '127.0.0.1', resolve));
const browser = await launch({}, [
  `--proxy-server=http://127.0.0.1:${proxy.address().port}`,
  '--proxy-bypass-list=<-loopback>',
]);

function address(changes = {}) {
  const parameters = {
    client_id: CLIENT_ID,
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid',
    state: 'state',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    ...changes,
  };
  return `${BASE_URL}/oidc/auth?${new URLSearchParams(parameters)}`;
}

async function exchange(code) {
  const form = {
    grant_type: 'authorization_code',
    client_id: CLIENT_ID,
    redirect_uri: callback,
    code_verifier: VERIFIER,
    code,
  };
  const response = await fetch(`${BASE_URL}/oidc/token`, { method: 'POST', body: new URLSearchParams(form) });
  assert.equal(response.status, 200, await response.text());
}

/** Returns the code in the address of the application that the browser shows. */
async function arrived(page) {
  // The navigation of the second click may abort that of the first, which is an error for `waitForURL`.
  const isThere = () => page.url().startsWith(`${callback}?`);
  for (let waited = 0; !isThere() && waited < 600; waited += 1) await sleep(50);
  await page.waitForURL(`${callback}?**`);
  return new URL(page.url()).searchParams.get('code');
}

async function isSignedIn(page) {
  await page.goto(`${BASE_URL}/devices`);
  assert.equal(new URL(page.url()).pathname, '/devices');
}

const allow = (page) => page.getByRole('button', { name: 'Allow', exact: true });

/** Two clicks at the same place, 120 ms apart. */
async function clickTwice(page, button) {
  const { x, y, width, height } = await button.boundingBox();
  network.posts = [];
  await page.mouse.click(x + width / 2, y + height / 2);
  await sleep(120);
  await page.mouse.click(x + width / 2, y + height / 2);
}

/** A page that posts the answer does so once, also if the user comes back to it or loads it again. */
async function postsOnce(page) {
  await page.goto(address({ prompt: 'consent', response_mode: 'form_post' }));
  await allow(page).waitFor();
  const login = page.url();
  await allow(page).click();
  await page.waitForURL(callback);
  assert.equal(forms, 1);
  const already = page.getByRole('heading', { name: 'You are signed in' });
  await page.goto(login);
  await already.waitFor();
  await page.reload();
  await already.waitFor();
  await page.goto(BASE_URL);
  await page.goBack();
  await already.waitFor();
  assert.equal(forms, 1, 'the answer was posted again');
}

/** Two errors have the same fields. The application gets both. */
async function postsEachError(page) {
  for (let count = 1; count <= 2; count += 1) {
    const before = forms;
    await page.goto(address({ scope: 'profile', response_mode: 'form_post' })).catch(() => {});
    for (let waited = 0; forms === before && waited < 100; waited += 1) await sleep(50);
    assert.equal(forms, before + 1, 'the application waits for its answer');
  }
}

try {
  const mobile = await (await phone(browser)).newPage();
  await enrolDevice(mobile, ENROL_URL);
  for (const javaScriptEnabled of [true, false]) {
    const { page, number } = await beginSignIn(browser, address({ prompt: 'consent' }), 'ada', { javaScriptEnabled });
    await approve(mobile, number);
    await confirmApproved(mobile);
    await allow(page).waitFor();
    const login = page.url();
    await clickTwice(page, allow(page));
    const code = await arrived(page);
    assert.equal(network.posts.length, javaScriptEnabled ? 1 : 2, `${network.posts.length} requests`);
    await exchange(code);
    // A restored tab does not send the code again, because the application has used it.
    await page.goto(login);
    await page.getByRole('heading', { name: 'You are signed in' }).waitFor();
    if (javaScriptEnabled) assert.deepEqual(await inspect(page, 'already-signed-in'), []);
    assert.equal(await page.getByRole('link', { name: /open/i }).getAttribute('href'), new URL('/', callback).href);
    await isSignedIn(page);

    // The response is lost. The user reloads the page of the sign-in.
    await page.goto(address({ prompt: 'consent' }));
    await allow(page).waitFor();
    const second = page.url();
    network.loses = 1;
    await allow(page).click({ noWaitAfter: true });
    while (network.loses > 0) await sleep(50);
    await page.waitForURL(/^chrome-error:/, { timeout: 3000 }).catch(() => {});
    await page.goto(second).catch(() => {});
    await exchange(await arrived(page));
    await isSignedIn(page);
    if (javaScriptEnabled) {
      await postsOnce(page);
      await postsEachError(page);
    }
    await page.context().close();
  }
} finally {
  await browser.close();
  proxy.closeAllConnections();
  proxy.close();
  app.closeAllConnections();
  app.close();
}
