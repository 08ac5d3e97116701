// The authenticator in Chromium against a server that this test plays: what the page keeps while it is rendered again.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { complaints, launch, phone } from './browser.mjs';

const host = new URL('../../host/server/', import.meta.url);
const ISSUER = 'https://id.example.com/oidc';

/** The messages of the catalogue, each on one line as a list of parts; one with plurals is its id. */
async function messages() {
  const catalogue = await readFile(new URL('messages/en.ftl', host), 'utf8');
  const found = catalogue.matchAll(/^(app-[a-z0-9-]+) =(.*)$/gm);
  const parts = Array.from(found, ([, id, words]) => [
    id,
    words.trim() === '' || words.includes('->')
      ? [id]
      : words
          .trim()
          .split(/\{ \$([a-z]+) \}/)
          .map((part, index) => (index % 2 === 1 ? { value: part } : part)),
  ]);
  return `export default ${JSON.stringify(Object.fromEntries(parts))};`;
}

/** The app's page, of its template, without what the server fills in. */
async function frame() {
  const template = await readFile(new URL('templates/authenticator.html', host), 'utf8');
  const main = template.split('{% block main %}')[1].split('{% endblock %}')[0];
  const body = main.replaceAll(/\{\{.*?\}\}/g, 'Keep');
  const script = '<script type="module" src="/assets/authenticator/main.js"></script>';
  const head = `<meta charset="utf-8"><title>Authenticator</title>${script}`;
  return `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`;
}

/** An approval request, begun `age` seconds ago. */
function request(id, more = {}) {
  const now = Math.floor(Date.now() / 1000);
  return {
    id,
    application: { id: `did:key:${id}`, name: `Application ${id}`, logo: null },
    account: 'ada',
    place: 'Zürich',
    browser: 'Firefox on Linux',
    step: null,
    requested_at: now,
    expires_at: now + 120,
    attempts_left: 3,
    ...more,
  };
}

/** What the server says now; tests change it. */
const server = {
  requests: [],
  news: [],
  /** The answers to decisions, in their order: a status and a body. */
  decisions: [],
  decided: [],
  codesMade: 0,
  waiting: [],
};

/** Shows a list of requests to the app at once. */
function list(...requests) {
  server.requests = requests;
  for (const answer of server.waiting.splice(0)) answer();
}

function pending() {
  return {
    now: Math.floor(Date.now() / 1000),
    account: { name: 'ada', display_name: 'Ada Lovelace', state: 'active' },
    paused_until: null,
    passkey: 'impossible',
    requests: server.requests,
    news: server.news,
  };
}

const OFFER = { operator: 'Example', issuer: ISSUER, account: 'ada', display_name: 'Ada Lovelace', link_qr: null };

/** The answer to a call: a status and a body. */
async function answered(method, path, query, body) {
  switch (`${method} ${path}`) {
    case 'POST /enrolments/look':
      return [200, { ...OFFER, expires_at: Date.now() / 1000 + 600 }];
    case 'POST /enrolments':
      return [
        200,
        {
          ...OFFER,
          device_id: 'd1',
          device_name: body.device_name,
          push_key: null,
          passkey: 'impossible',
          recovered: false,
        },
      ];
    case 'GET /requests': {
      const known = server.requests.map(({ id }) => id).join(',') === query.get('seen');
      if (known && query.get('wait') !== '0') await new Promise((resolve) => server.waiting.push(resolve));
      return [200, pending()];
    }
    case 'GET /devices':
      return [200, { devices: [], recovery_codes: 0 }];
    case 'POST /recovery-codes':
      server.codesMade += 1;
      return [200, { codes: ['AAAA-BBBB', 'CCCC-DDDD'] }];
    default: {
      server.decided.push({ path, ...body });
      return server.decisions.shift() ?? [404, { error: 'unknown_request' }];
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
    const [status, body] = await answered(incoming.method, path, searchParams, text === '' ? {} : JSON.parse(text));
    return reply(status, 'application/json', JSON.stringify(body));
  }
  if (pathname === '/authenticator') return reply(200, 'text/html; charset=utf-8', await frame());
  if (pathname === '/assets/authenticator/messages.js') return reply(200, 'text/javascript', await messages());
  if (/^\/assets\/[a-z_/]+\.js$/.test(pathname)) {
    return reply(200, 'text/javascript; charset=utf-8', await readFile(new URL(`.${pathname}`, host)));
  }
  return reply(404, 'text/plain', '');
});

let browser;
let base;

before(async () => {
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${listener.address().port}`;
  browser = await launch();
});

after(async () => {
  await browser?.close();
  list();
  listener.closeAllConnections();
  listener.close();
});

/** A phone that is enrolled, with nothing that waits. */
async function enrolled() {
  list();
  Object.assign(server, { news: [], decisions: [], decided: [], codesMade: 0 });
  const page = await (await phone(browser)).newPage();
  const wrong = complaints(page);
  await page.goto(`${base}/authenticator#enrol=token`);
  await page.getByRole('button', { name: /enrol/i }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('Nothing to approve').waitFor();
  return { page, wrong: () => wrong.filter((line) => !/sw\.js|\b(404|422)\b/.test(line)) };
}

const field = (page) => page.getByRole('textbox', { name: /number/i });

test('the number, its caret and the focus stay while the page is rendered again', async () => {
  const { page, wrong } = await enrolled();
  list(request('a1'));
  await field(page).waitFor();
  await field(page).click();
  await page.keyboard.type('x4');
  await page.keyboard.press('ArrowLeft');
  await page.evaluate(() => {
    window.typedIn = document.activeElement;
  });
  const left = page.getByRole('timer');
  const before = await left.textContent();
  await page.waitForFunction((text) => document.querySelector('[role=timer]').textContent !== text, before);
  // Another request must not take the place of the one that is being answered.
  list(request('a1'), request('b2'));
  await page.getByRole('button', { name: /requests/ }).waitFor();
  const kept = await page.evaluate(() => {
    const { activeElement: focused } = document;
    return { same: focused === window.typedIn, value: focused.value, caret: focused.selectionStart };
  });
  assert.deepEqual(kept, { same: true, value: '4', caret: 0 });
  // The keyboard goes on where it was.
  await page.keyboard.type('2');
  assert.equal(await field(page).inputValue(), '24');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  assert.equal(server.decided[0].path, '/requests/a1');
  assert.equal(server.decided[0].number, '24');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Approved');
  assert.match(await page.locator('#say').textContent(), /^Approved\. /);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('what is typed elsewhere stays when a request comes', async () => {
  const { page, wrong } = await enrolled();
  await page.locator('summary', { hasText: /another|add/i }).click();
  await page.locator('#link').pressSequentially('https://');
  list(request('c3'));
  await field(page).waitFor();
  assert.equal(await page.locator('#link').inputValue(), 'https://');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'link');
  assert.equal(await page.locator('details.card').evaluate((details) => details.open), true);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a wrong number empties the field and keeps the focus; that of another request says which', async () => {
  const { page, wrong } = await enrolled();
  list(request('d4'));
  await field(page).fill('11');
  server.decisions.push([422, { error: 'wrong_number', attempts_left: 2 }]);
  await page.keyboard.press('Enter');
  await page.locator('#loud', { hasText: /./ }).waitFor();
  await page.waitForFunction(() => document.activeElement.id === 'request-d4-number');
  assert.equal(await field(page).inputValue(), '');
  assert.equal(await field(page).getAttribute('aria-invalid'), 'true');
  const other = { ...request('e5'), state: 'pending' };
  server.decisions.push([422, { error: 'wrong_number', attempts_left: 1, other_request: other }]);
  await field(page).fill('22');
  assert.equal(await field(page).getAttribute('aria-invalid'), null);
  await page.keyboard.press('Enter');
  const heading = page.getByRole('heading', { name: 'Wrong number for this request' });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement));
  // The request vanishes behind it; its end is shown only on the way back.
  list();
  await page.getByRole('button', { name: 'Back', exact: true }).waitFor();
  server.decisions.push([200, { outcome: 'not_me' }]);
  await page.getByRole('button', { name: 'This was not me' }).click();
  await page.getByRole('heading', { name: 'Stopped' }).waitFor();
  assert.deepEqual(
    server.decided.map(({ path, decision }) => [path, decision]),
    [
      ['/requests/d4', 'approve'],
      ['/requests/d4', 'approve'],
      ['/requests/e5', 'not_me'],
    ],
  );
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('codes that are shown once are lost neither to a tap nor to a link', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Make new codes' }).click();
  const code = page.getByText('AAAA-BBBB');
  await code.waitFor();
  const dialog = page.getByRole('dialog');
  const keep = dialog.getByRole('button', { name: 'Keep' });
  list(request('f6'));
  await page.getByRole('button', { name: 'Show it' }).click();
  await keep.click();
  await page.evaluate(() => {
    location.hash = '#enrol=another';
  });
  await keep.click();
  await page.waitForFunction(() => location.hash === '');
  await code.waitFor();
  assert.equal(server.codesMade, 1);
  await page.getByRole('button', { name: 'Show it' }).click();
  await dialog.getByRole('button').first().click();
  await field(page).waitFor();
  assert.equal(await code.count(), 0);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('no button becomes another one under a finger', async () => {
  const { page, wrong } = await enrolled();
  list(request('g7'));
  await field(page).waitFor();
  await page.getByRole('button', { name: 'Deny' }).evaluate((button) => {
    window.denied = button;
  });
  server.decisions.push([200, { outcome: 'denied' }]);
  await page.getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('heading', { name: 'Denied' }).waitFor();
  assert.equal(await page.evaluate(() => window.denied.isConnected), false);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
