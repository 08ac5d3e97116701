// A simulated server of the authenticator, and a phone that is enrolled there, for tests in Chromium.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { after, before } from 'node:test';

import { complaints, launch, phone } from './browser.mjs';
import { messages } from './catalogue.mjs';
import { tokenOf } from './tokens.mjs';

const host = new URL('../../host/server/', import.meta.url);
const ISSUER = 'https://id.example.com/oidc';
/** The tokens of enrolment links, and of a login page's code. */
const [FIRST, SECOND] = [1, 2].map((number) => tokenOf('en', number));
export const ANOTHER = tokenOf('en', 3);
export const CODE = tokenOf('lc', 4);

/** Returns the app's module of messages. */
const messagesModule = async () => `export default ${JSON.stringify(await messages(server.language, 'app-'))};`;

/** Returns the app's page from its template, without the parts that the server fills in. */
async function frame() {
  const template = await readFile(new URL('templates/authenticator.html', host), 'utf8');
  const main = template.split('{% block main %}')[1].split('{% endblock %}')[0];
  const body = main.replace('{{ report_cooldown }}', '240').replaceAll(/\{\{.*?\}\}/g, 'Keep');
  const script = '<script type="module" src="/assets/authenticator/main.js"></script>';
  const styles = ['assent', 'authenticator']
    .map((name) => `<link rel="stylesheet" href="/assets/${name}.css">`)
    .join('');
  const size = '<meta name="viewport" content="width=device-width, initial-scale=1">';
  const head = `<meta charset="utf-8">${size}<title>Authenticator</title>${styles}${script}`;
  const bar = '<header class="bar"><span class="brand">Example</span></header>';
  const shown = `<body class="app">${bar}<main>${body}</main></body>`;
  return `<!doctype html><html lang="${server.language}"><head>${head}</head>${shown}</html>`;
}

/** Returns an approval request that started `age` seconds ago. */
export function request(id, more = {}) {
  const now = Math.floor(Date.now() / 1000);
  return {
    id,
    application: { id: `did:key:${id}`, name: `Application ${id}`, logo: null },
    account: 'ada',
    place: 'Zürich',
    browser: 'Firefox on Linux',
    action: null,
    backchannel: null,
    caller_check: null,
    requested_at: now,
    expires_at: now + 120,
    attempts_left: 3,
    ...more,
  };
}

/** The present state of the server. Tests change it. */
export const server = {
  requests: [],
  notifications: [],
  /** The answers to decisions, in order: a status and a body. */
  decisions: [],
  decided: [],
  codesMade: 0,
  /** The number of valid codes, the ids of the confirmed ones, and the answers to confirmations. */
  codesLeft: 0,
  confirmed: [],
  confirmations: [],
  passkey: 'unsupported',
  cooldownUntil: null,
  devices: [],
  deviceName: null,
  languages: new Set(),
  waiting: [],
  /** The language of the app. */
  language: 'en',
};

/** Sends a list of requests to the app at once. */
export function list(...requests) {
  server.requests = requests;
  for (const answer of server.waiting.splice(0)) answer();
}

function pending() {
  return {
    now: Math.floor(Date.now() / 1000),
    account: { name: 'ada', display_name: 'Ada Lovelace', state: 'active' },
    device_name: server.deviceName ?? server.devices[0].name,
    cooldown_until: server.cooldownUntil,
    passkey: server.passkey,
    requests: server.requests,
    notifications: server.notifications,
  };
}

const OFFER = { operator: 'Example', issuer: ISSUER, account: 'ada', display_name: 'Ada Lovelace', link_qr: null };

/** Returns the answer to a call: a status and a body. */
async function answered(method, path, query, body) {
  switch (`${method} ${path}`) {
    case 'POST /enrolments/preview':
      return [200, { ...OFFER, expires_at: Date.now() / 1000 + 600 }];
    case 'POST /enrolments':
      return [
        200,
        {
          ...OFFER,
          device_id: 'd1',
          device_name: body.device_name,
          push_key: null,
          passkey: server.passkey,
          recovered: false,
        },
      ];
    case 'GET /requests': {
      const known = server.requests.map(({ id }) => id).join(',') === query.get('seen');
      if (known && query.get('wait') !== '0') await new Promise((resolve) => server.waiting.push(resolve));
      return [200, pending()];
    }
    case 'GET /devices':
      return [200, { devices: server.devices, recovery_codes: server.codesLeft }];
    case 'PATCH /devices/d1':
      if (body.name === '') return [422, { error: 'invalid_name' }];
      server.devices[0].name = body.name;
      return [200, {}];
    case 'POST /devices/enrolment-links': {
      const now = Math.floor(Date.now() / 1000);
      return [
        200,
        { link: `${base}/authenticator#enrol=${SECOND}`, link_qr: null, created_at: now, expires_at: now + 600 },
      ];
    }
    case 'POST /notifications/read':
      server.notifications = [];
      return [200, {}];
    case 'DELETE /cooldown':
      server.cooldownUntil = null;
      return [200, {}];
    case 'POST /qr-sign-ins/preview':
      return [200, { application: { id: 'x', name: 'Shop' }, place: '', browser: 'Safari', same_browser: false }];
    case 'POST /qr-sign-ins':
      list(request('s1'));
      return [200, { request: 's1', login_page: null }];
    case 'POST /device-authorizations': {
      if (body.user_code.replaceAll(/[ -]/g, '').toUpperCase() !== 'WDJBMJHT') {
        return [410, { error: 'user_code_not_found' }];
      }
      const asked = Math.floor(Date.now() / 1000) - 125;
      const device = { user_code: 'WDJB-MJHT', asked_at: asked, scopes: ['Confirm your identity'] };
      list(request('u1', { browser: '', device_authorization: device }));
      return [200, { request: 'u1' }];
    }
    case 'GET /history': {
      const past = { ...request('h1'), outcome: 'approved', at: Math.floor(Date.now() / 1000) };
      return [200, { items: [past, { ...past, outcome: 'of a newer server' }] }];
    }
    case 'POST /device/passkey':
      return [
        200,
        {
          options: {
            challenge: 'AAAA',
            rp: { id: 'localhost', name: 'Example' },
            user: { id: 'AAAA', name: 'ada', displayName: 'Ada' },
            pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
            authenticatorSelection: { userVerification: 'required' },
          },
        },
      ];
    case 'PUT /device/passkey':
      server.passkey = 'set';
      return [200, {}];
    case 'POST /recovery-codes':
      server.codesMade += 1;
      return [
        201,
        {
          id: `batch${server.codesMade}`,
          codes: ['AAAA-BBBB', 'CCCC-DDDD'],
          expires_at: Math.floor(Date.now() / 1000) + 1800,
        },
      ];
    case 'POST /recovery-codes/batch1/confirm':
    case 'POST /recovery-codes/batch2/confirm': {
      const answer = server.confirmations.shift() ?? [204];
      if (answer[0] === 204) {
        server.confirmed.push(path.split('/')[2]);
        server.codesLeft = 2;
      }
      return answer;
    }
    default: {
      server.decided.push({ path, ...body });
      return server.decisions.shift() ?? [404, { error: 'request_not_found' }];
    }
  }
}

const listener = http.createServer(async (incoming, outgoing) => {
  const { pathname, searchParams } = new URL(incoming.url, 'http://localhost');
  const chunks = await incoming.toArray();
  const reply = (status, type, body) => outgoing.writeHead(status, { 'Content-Type': type }).end(body);
  if (pathname.startsWith('/authenticator/api')) {
    const text = Buffer.concat(chunks).toString();
    const path = pathname.slice('/authenticator/api'.length);
    if (incoming.headers.authorization) server.languages.add(incoming.headers['accept-language']);
    const [status, body] = await answered(incoming.method, path, searchParams, text === '' ? {} : JSON.parse(text));
    return reply(status, 'application/json', body === undefined ? undefined : JSON.stringify(body));
  }
  if (pathname === '/authenticator') return reply(200, 'text/html; charset=utf-8', await frame());
  if (pathname === '/assets/authenticator/messages.js') return reply(200, 'text/javascript', await messagesModule());
  if (/^\/assets\/[a-z_/]+\.js$/.test(pathname)) {
    return reply(200, 'text/javascript; charset=utf-8', await readFile(new URL(`.${pathname}`, host)));
  }
  if (/^\/assets\/[a-z]+\.css$/.test(pathname)) {
    return reply(200, 'text/css; charset=utf-8', await readFile(new URL(`.${pathname}`, host)));
  }
  return reply(404, 'text/plain', '');
});

let browser;
let base;

before(async () => {
  await new Promise((resolve) => listener.listen(0, 'localhost', resolve));
  base = `http://localhost:${listener.address().port}`;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  list();
  listener.closeAllConnections();
  listener.close();
});

/** Enrols a phone, with this state of the server. `prepare` runs before the page opens. */
export async function enrolling(says, prepare = async () => {}) {
  list();
  const now = Math.floor(Date.now() / 1000);
  const own = { id: 'd1', name: 'Phone', enrolled_at: now, used_at: null, is_current: true, has_passkey: false };
  Object.assign(server, { notifications: [], decisions: [], decided: [], codesMade: 0, passkey: 'unsupported' });
  Object.assign(server, { codesLeft: 0, confirmed: [], confirmations: [] });
  Object.assign(server, {
    cooldownUntil: null,
    devices: [own],
    deviceName: null,
    languages: new Set(),
    language: 'en',
  });
  Object.assign(server, says);
  const page = await (await phone(browser, server.language === 'de' ? { locale: 'de-DE' } : {})).newPage();
  await prepare(page);
  await page.goto(`${base}/authenticator#enrol=${FIRST}`);
  await page.getByRole('button', { name: await said('app-enrol-confirm'), exact: true }).click();
  return page;
}

/** Returns a message without values in the language of the app. */
async function said(id) {
  const [text] = (await messages(server.language, 'app-'))[id];
  return text;
}

/** Enrols a phone that has no pending requests or notices, with this state of the server. */
export async function enrolled(prepare = undefined, says = {}) {
  const page = await enrolling(says, prepare);
  const wrong = complaints(page);
  await page.getByRole('button', { name: await said('app-done') }).click();
  await page.getByText(await said('app-nothing')).waitFor();
  return { page, wrong: () => wrong.filter((line) => !/sw\.js|\b(404|410|422)\b/.test(line)) };
}

export const field = (page) => page.getByRole('textbox', { name: /number/i });

export const isFocused = (locator) => locator.evaluate((element) => element === document.activeElement);

/** Waits until the element with the focus matches a selector. */
export const focusIn = (page, selector) =>
  page.waitForFunction((wanted) => document.activeElement?.matches(wanted) ?? false, selector);

/** A summary of several lines. */
export const LONG = `Change redirect URIs of “Expenses” to: https://expenses.example.org/${'callback/'.repeat(12)}`;

/** Asserts that the field and both buttons are between the upper edge of the window and this line. */
export async function assertAbove(page, line, what) {
  const parts = [field(page), ...['Approve', 'Deny'].map((name) => page.getByRole('button', { name, exact: true }))];
  for (const part of parts) {
    const { y, height } = await part.boundingBox();
    assert.ok(y >= 0 && y + height <= line, `${what}: from ${y} to ${y + height}, seen to ${line}`);
  }
}
