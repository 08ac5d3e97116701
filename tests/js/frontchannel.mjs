// Front-channel logout in Chromium: two applications of another site receive the end of the session in hidden frames,
// and a third one never answers. The page says which frames were loaded, and continues.
//
// Environment: ENROL_URL, BASE_URL, LOGIN_NAME, USER_ID, ADMIN_TOKEN; CHROMIUM and SCREENSHOTS as in browser.mjs.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';

import {
  approve,
  complaints,
  confirmApproved,
  desktop,
  enrolDevice,
  inspect,
  launch,
  PATIENCE,
  phone,
  submitName,
} from './browser.mjs';

const { BASE_URL, ENROL_URL, LOGIN_NAME, USER_ID, ADMIN_TOKEN } = process.env;
assert.ok(BASE_URL && ENROL_URL && LOGIN_NAME && USER_ID && ADMIN_TOKEN, 'a variable is missing');

async function admin(method, path, body) {
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' };
  const answer = await fetch(`${BASE_URL}/admin/api/v1${path}`, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`);
  return answer.json();
}

// The applications, each at an origin of its own.
const applications = {};
const servers = [];

async function provide(name, silent = false) {
  const known = { logouts: [] };
  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://127.0.0.1');
    const html = (text) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><title>${name}</title>${text}`);
    if (url.pathname !== '/logout') return html(`<h1>Service ${name}</h1>`);
    known.logouts.push({ query: url.searchParams, site: request.headers['sec-fetch-site'] });
    return silent ? undefined : html('<p>Signed out</p>');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  servers.push(server);
  known.base = `http://127.0.0.1:${server.address().port}`;
  const application = await admin('POST', '/applications', {
    name: `Service ${name}`,
    application_type: 'web',
    redirect_uris: [`${known.base}/callback`],
    post_logout_redirect_uris: [`${known.base}/bye`],
    frontchannel_logout_uri: `${known.base}/logout?from=${name}`,
    frontchannel_logout_session_required: true,
    consent: 'implied',
  });
  await admin('POST', `/applications/${application.id}/accounts`, { user_id: USER_ID });
  known.id = application.id;
  const parameters = {
    client_id: known.id,
    redirect_uri: `${known.base}/callback`,
    response_type: 'code',
    scope: 'openid',
  };
  known.signIn = `${BASE_URL}/oidc/auth?${new URLSearchParams(parameters)}`;
  applications[name] = known;
}

const welcome = (page, name) => page.getByRole('heading', { name: `Service ${name}`, exact: true }).waitFor();
const names = async (page, list) => (await page.locator(`[data-list="${list}"] li`).allInnerTexts()).sort();

/** Signs in to the first application with the phone, and then to the others with the session. */
async function signIn(page, mobile, [first, ...others]) {
  await page.goto(applications[first].signIn);
  await approve(mobile, await submitName(page, LOGIN_NAME));
  await welcome(page, first);
  await confirmApproved(mobile);
  for (const name of others) {
    await page.goto(applications[name].signIn);
    await welcome(page, name);
  }
}

async function signOut(page) {
  await page.goto(BASE_URL);
  await page.getByRole('button', { name: /sign out/i }).click();
}

/** The user signs out here. One application never answers, so the page waits until the time has expired. */
async function atThisServer(page) {
  await signOut(page);
  for (const name of ['alpha', 'beta']) {
    const item = page.locator('#signing-out-frames li').filter({ hasText: `Service ${name}` });
    await item.getByText('opened').waitFor();
  }
  const findings = await inspect(page, 'signing-out-frames');
  await page.getByRole('heading', { name: /signed out/i }).waitFor();
  assert.deepEqual(await names(page, 'loaded'), ['Service alpha', 'Service beta']);
  assert.deepEqual(await names(page, 'unconfirmed'), ['Service gamma']);
  assert.match(await page.getByRole('main').innerText(), /browsers often block the cookies/);
  findings.push(...(await inspect(page, 'signed-out-frames')));
  assert.deepEqual(findings, [], 'no page has an accessibility finding');
  const sids = new Set();
  for (const [name, { logouts }] of Object.entries(applications)) {
    assert.equal(logouts.length, 1, `${name} is loaded once`);
    const [{ query, site }] = logouts;
    assert.deepEqual([query.get('from'), query.get('iss')], [name, `${BASE_URL}/oidc`]);
    assert.equal(site, 'cross-site');
    sids.add(query.get('sid'));
  }
  assert.equal(sids.size, 1, 'all applications receive the same session');
}

/** An application begins. All frames are loaded, so the browser returns at once. */
async function atAnApplication(page) {
  const { id, base } = applications.alpha;
  const parameters = { client_id: id, post_logout_redirect_uri: `${base}/bye`, state: 's&t' };
  await page.goto(`${BASE_URL}/oidc/session/end?${new URLSearchParams(parameters)}`);
  await page.getByRole('button', { name: /yes, sign out/i }).click();
  await page.waitForURL(`${base}/bye?state=s%26t`);
  assert.deepEqual([applications.alpha.logouts.length, applications.beta.logouts.length], [2, 2]);
}

/** Without scripts, the page loads the frames too. It reloads itself when the time has expired. */
async function withoutScripts(signedIn) {
  const plain = await browser.newContext({ locale: 'en-GB', javaScriptEnabled: false });
  plain.setDefaultTimeout(PATIENCE);
  await plain.addCookies(await signedIn.cookies());
  const page = await plain.newPage();
  const loads = ['alpha', 'beta'].map((name) =>
    page.waitForResponse((response) => response.url().startsWith(`${applications[name].base}/logout?`)),
  );
  await signOut(page);
  await Promise.all(loads);
  assert.match(await page.locator('head').innerHTML(), /http-equiv="refresh" content="60"/);
  await plain.close();
}

const browser = await launch();
try {
  await provide('alpha');
  await provide('beta');
  await provide('gamma', true);
  const mobile = await (await phone(browser)).newPage();
  await enrolDevice(mobile, ENROL_URL);
  const page = await (await desktop(browser)).newPage();
  const wrong = complaints(page);
  await signIn(page, mobile, ['alpha', 'beta', 'gamma']);
  await atThisServer(page);
  await signIn(page, mobile, ['alpha', 'beta']);
  await atAnApplication(page);
  await signIn(page, mobile, ['beta', 'alpha']);
  await withoutScripts(page.context());
  const ours = wrong.filter((complaint) => complaint.startsWith(BASE_URL));
  assert.deepEqual(ours, [], 'the pages log no errors');
} finally {
  await browser.close();
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
}
