// The authenticator in Chromium with a simulated server: the state that survives a new rendering.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { after, before, test } from 'node:test';

import { axe, complaints, inspect, launch, phone } from './browser.mjs';
import { tokenOf } from './tokens.mjs';

const host = new URL('../../host/server/', import.meta.url);
const ISSUER = 'https://id.example.com/oidc';
/** The tokens of enrolment links, and of a login page's code. */
const [FIRST, SECOND, ANOTHER] = [1, 2, 3].map((number) => tokenOf('en', number));
const CODE = tokenOf('lc', 4);

/** Returns the messages of the catalogue, each on one line as a list of parts. A message with plurals is its id. */
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
  return `<!doctype html><html lang="en"><head>${head}</head>${shown}</html>`;
}

/** Returns an approval request that started `age` seconds ago. */
function request(id, more = {}) {
  const now = Math.floor(Date.now() / 1000);
  return {
    id,
    application: { id: `did:key:${id}`, name: `Application ${id}`, logo: null },
    account: 'ada',
    place: 'Zürich',
    browser: 'Firefox on Linux',
    action: null,
    requested_at: now,
    expires_at: now + 120,
    attempts_left: 3,
    ...more,
  };
}

/** The present state of the server. Tests change it. */
const server = {
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
};

/** Sends a list of requests to the app at once. */
function list(...requests) {
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
  if (pathname === '/assets/authenticator/messages.js') return reply(200, 'text/javascript', await messages());
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
async function enrolling(says, prepare = async () => {}) {
  list();
  const now = Math.floor(Date.now() / 1000);
  const own = { id: 'd1', name: 'Phone', enrolled_at: now, used_at: null, is_current: true, has_passkey: false };
  Object.assign(server, { notifications: [], decisions: [], decided: [], codesMade: 0, passkey: 'unsupported' });
  Object.assign(server, { codesLeft: 0, confirmed: [], confirmations: [] });
  Object.assign(server, { cooldownUntil: null, devices: [own], deviceName: null, languages: new Set(), ...says });
  const page = await (await phone(browser)).newPage();
  await prepare(page);
  await page.goto(`${base}/authenticator#enrol=${FIRST}`);
  await page.getByRole('button', { name: /set up this/i }).click();
  return page;
}

/** Enrols a phone that has no pending requests or notices. */
async function enrolled() {
  const page = await enrolling({});
  const wrong = complaints(page);
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
  const before = await page.locator('progress').evaluate((progress) => progress.value);
  await page.waitForFunction((value) => document.querySelector('progress').value !== value, before);
  // Another request must not replace the request that the user is answering.
  list(request('a1'), request('b2'));
  await page.getByRole('button', { name: /requests/ }).waitFor();
  const kept = await page.evaluate(() => {
    const { activeElement: focused } = document;
    return { same: focused === window.typedIn, value: focused.value, caret: focused.selectionStart };
  });
  assert.deepEqual(kept, { same: true, value: '4', caret: 0 });
  // The caret is still at the same place.
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

test('text in another field stays when a request arrives', async () => {
  const { page, wrong } = await enrolled();
  await page.locator('summary', { hasText: /another|add/i }).click();
  await page.locator('#link').pressSequentially('https://');
  list(request('c3'));
  await field(page).waitFor();
  assert.equal(await page.locator('#link').inputValue(), 'https://');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'link');
  assert.equal(
    await page.locator('details.card', { has: page.locator('#link') }).evaluate((details) => details.open),
    true,
  );
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a wrong number empties the field and keeps the focus; that of another request says which', async () => {
  const { page, wrong } = await enrolled();
  list(request('d4'));
  await field(page).fill('11');
  server.decisions.push([422, { error: 'number_mismatch', attempts_left: 2 }]);
  await page.keyboard.press('Enter');
  await page.locator('#loud', { hasText: /./ }).waitFor();
  await page.waitForFunction(() => document.activeElement.id === 'request-d4-number');
  assert.equal(await field(page).inputValue(), '');
  assert.equal(await field(page).getAttribute('aria-invalid'), 'true');
  const other = { ...request('e5'), state: 'pending' };
  server.decisions.push([422, { error: 'number_mismatch', attempts_left: 1, other_request: other }]);
  await field(page).fill('22');
  assert.equal(await field(page).getAttribute('aria-invalid'), null);
  await page.keyboard.press('Enter');
  const heading = page.getByRole('heading', { name: 'Wrong number for this request' });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement));
  // The request vanishes behind this screen. The app shows its end only after the user has gone back.
  list();
  await page.getByRole('button', { name: 'Back', exact: true }).waitFor();
  server.decisions.push([200, { outcome: 'reported' }]);
  await page.getByRole('button', { name: 'This wasn’t me' }).click();
  await page.getByRole('heading', { name: 'Reported' }).waitFor();
  assert.deepEqual(
    server.decided.map(({ path, decision }) => [path, decision]),
    [
      ['/requests/d4', 'approve'],
      ['/requests/d4', 'approve'],
      ['/requests/e5', 'report'],
    ],
  );
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the user leaves codes that are shown once only after a confirmation', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const code = page.getByText('AAAA-BBBB');
  await code.waitFor();
  const dialog = page.getByRole('dialog');
  const keep = dialog.getByRole('button', { name: 'Keep' });
  list(request('f6'));
  await page.getByRole('button', { name: 'Show it' }).click();
  await keep.click();
  await page.evaluate((token) => {
    location.hash = `#enrol=${token}`;
  }, ANOTHER);
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

test('new codes replace the current ones when the user confirms that they are saved, and not before', async () => {
  const { page, wrong } = await enrolled();
  server.codesLeft = 5;
  await page.getByRole('button', { name: /devices/i }).click();
  const create = page.getByRole('button', { name: 'Create new codes' });
  await create.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Your current codes stay valid until you confirm the new ones.').waitFor();
  await dialog.getByRole('button', { name: 'Create new codes' }).click();
  const code = page.getByText('AAAA-BBBB');
  await code.waitFor();
  await page.getByText('your current codes stay valid until then').waitFor();

  // A user who leaves keeps the current codes.
  await page.getByRole('button', { name: 'Discard them' }).click();
  await dialog.getByText('Your current codes stay valid.').waitFor();
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await page.getByText('app-recovery-left', { exact: true }).waitFor();
  assert.deepEqual(server.confirmed, []);

  // If the answer does not arrive, the codes stay, so that the user can confirm them again.
  await create.click();
  await dialog.getByRole('button', { name: 'Create new codes' }).click();
  await code.waitFor();
  server.confirmations.push([503, { error: 'temporarily_unavailable' }]);
  const confirm = page.getByRole('button', { name: 'I have saved them' });
  await confirm.click();
  await page.locator('#loud', { hasText: /./ }).waitFor();
  assert.ok(await code.isVisible());
  assert.ok(await confirm.evaluate((button) => button === document.activeElement));
  await confirm.click();
  await page.getByRole('heading', { name: 'Devices of Ada Lovelace' }).waitFor();
  assert.deepEqual(server.confirmed, ['batch2']);
  assert.equal(await page.locator('#say').textContent(), 'Your new recovery codes are valid.');
  assert.deepEqual(
    wrong().filter((line) => !line.includes('503')),
    [],
  );
  await page.context().close();
});

test('codes that can no longer be confirmed are not shown any more', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  await page.getByText('AAAA-BBBB').waitFor();
  server.confirmations.push([410, { error: 'recovery_codes_not_found' }]);
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByText('These codes can’t be confirmed any more').waitFor();
  assert.equal(await page.getByText('AAAA-BBBB').count(), 0);
  assert.deepEqual(await inspect(page, 'app-codes-expired'), []);
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('AAAA-BBBB').waitFor();
  await page.getByRole('button', { name: 'I have saved them' }).click();
  await page.getByRole('heading', { name: 'Devices of Ada Lovelace' }).waitFor();
  assert.deepEqual(server.confirmed, ['batch2']);
  assert.deepEqual(
    wrong().filter((line) => !line.includes('410')),
    [],
  );
  await page.context().close();
});

test('a button is replaced and not reused for another action', async () => {
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

test('a device is renamed in its row, which keeps an invalid name', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Rename' }).click();
  const name = page.getByRole('textbox', { name: 'New name' });
  assert.equal(await page.evaluate(() => getSelection().toString() || document.activeElement.value), 'Phone');
  await page.keyboard.press('Delete');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText(/./).first().waitFor();
  assert.ok(await name.evaluate((input) => input === document.activeElement));
  await name.fill('My <b>own</b>');
  await page.keyboard.press('Enter');
  await page.locator('.devices').getByText('My <b>own</b>').waitFor();
  assert.deepEqual(await axe(page), []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the screen of a link says which device it enrolled, and the home screen has the notifications', async () => {
  const { page, wrong } = await enrolled();
  await page.getByRole('button', { name: /devices/i }).click();
  await page.getByRole('button', { name: 'Set up another device' }).click();
  await page.getByRole('button', { name: 'Copy the link' }).waitFor();
  server.notifications = [{ id: 'n1', event: 'device.enrolled', name: 'Tablet', at: Math.ceil(Date.now() / 1000) }];
  list();
  await page.getByText(/“Tablet” was set up/).waitFor();
  await page.getByRole('button', { name: 'Show them' }).click();
  await page.getByText(/the device “Tablet” was set up/).waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zone), 'notifications');
  assert.equal(await page.getByText('Nothing to approve').count(), 0, 'a notification counts as content');
  await page.getByRole('button', { name: 'It wasn’t me' }).waitFor();
  assert.equal(await page.locator('[data-zone="notifications"] .primary').count(), 0, 'neither answer stands out');
  await page.getByRole('button', { name: 'It was me' }).click();
  await page.getByRole('heading', { name: /Account notifications for/ }).waitFor({ state: 'detached' });
  await page.getByText('Nothing to approve').waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a scanned code shows a preview, and the cooldown of its account is ended beside the request', async () => {
  const { page, wrong } = await enrolled();
  server.cooldownUntil = Math.floor(Date.now() / 1000) + 600;
  await page.evaluate((token) => {
    location.hash = `#login=${token}`;
  }, CODE);
  const heading = page.getByRole('heading', { name: /Sign in to .*Shop/ });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement));
  assert.deepEqual(await axe(page), []);
  await page.getByRole('button', { name: /\(ada\)/ }).click();
  await field(page).fill('1');
  await page.getByRole('button', { name: 'Resume now' }).click();
  await page.getByText(/are paused until/).waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zone), 'cooldowns');
  assert.equal(await field(page).inputValue(), '1');
  assert.deepEqual(await axe(page), []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the history is requested when it is opened', async () => {
  const { page, wrong } = await enrolled();
  await page.getByText('Last sign-ins').click();
  await page.locator('.past', { hasText: 'Approved' }).waitFor();
  assert.equal(await page.locator('.past').count(), 1, 'an outcome without words is left out');
  assert.match(await page.locator('.past h4').innerText(), / · Approved$/);
  assert.equal(await page.locator('.past .sign').count(), 1, 'the outcome has a mark');
  assert.equal(await page.locator('.past p').count(), 1, 'browser, place and time are one line');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a device with a screen lock is offered a passkey after the enrolment', async () => {
  const page = await enrolling({ passkey: 'none' }, async (made) => {
    const session = await made.context().newCDPSession(made);
    await session.send('WebAuthn.enable');
    await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
  });
  // First the app reports the enrolment, then it makes the offer.
  const heading = page.getByRole('heading', { name: 'This device is set up' });
  await heading.waitFor();
  assert.ok(await heading.evaluate((element) => element === document.activeElement));
  const headings = await page.locator('.card.outcome').getByRole('heading').allTextContents();
  assert.deepEqual(headings, ['This device is set up', 'Protect approvals']);
  assert.equal(await page.getByRole('button', { name: 'Done' }).count(), 0);
  assert.deepEqual(await inspect(page, 'app-enrolled-offer'), []);
  await page.getByRole('button', { name: /protect \(recommended\)/i }).click();
  await page.getByText('Set up a backup now, in case you lose this device.').waitFor();
  assert.deepEqual(await inspect(page, 'app-enrolled-backup'), []);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByText('Each approval needs your face, finger or PIN.').waitFor();
  assert.deepEqual(await axe(page), []);
  await page.context().close();
});

const isFocused = (locator) => locator.evaluate((element) => element === document.activeElement);

/** Waits until the element with the focus matches a selector. */
const focusIn = (page, selector) =>
  page.waitForFunction((wanted) => document.activeElement?.matches(wanted) ?? false, selector);

test('the only request has two lines of facts and the focus in its field', async () => {
  const { page, wrong } = await enrolled();
  list(request('i1'));
  await field(page).waitFor();
  assert.ok(await isFocused(field(page)));
  const lines = await page.locator('.request-facts p').allTextContents();
  assert.match(lines[0], /^Firefox on Linux ·\u00a0Zürich ·\u00a0\d\d:\d\d$/);
  assert.deepEqual(lines.slice(1), ['for ada']);
  assert.match(await field(page).getAttribute('aria-describedby'), /request-i1-facts/);
  await page.getByText(/^Not you\? Tap “This wasn’t me”\./).waitFor();
  assert.deepEqual(await inspect(page, 'app-request'), []);
  // Focus that the user did not request does not keep a request open: the user sees the list.
  list(request('i1'), request('j2'));
  await focusIn(page, '#requests-title');
  list(request('j2'));
  await focusIn(page, '#request-j2-number');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('after an approval the phone sends the user back and does not claim a sign-in', async () => {
  const { page, wrong } = await enrolled();
  list(request('k1'));
  await field(page).fill('42');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  const card = page.getByRole('article', { name: 'Approved' });
  await card.getByText('Return to your browser.', { exact: true }).waitFor();
  assert.equal(await card.getByText(/signed in/i).count(), 0);
  assert.deepEqual(await inspect(page, 'app-request-approved'), []);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

/** A summary of several lines. */
const LONG = `Change redirect URIs of “Expenses” to: https://expenses.example.org/${'callback/'.repeat(12)}`;

/** Asserts that the field and both buttons are between the upper edge of the window and this line. */
async function assertAbove(page, line, what) {
  const parts = [field(page), ...['Approve', 'Deny'].map((name) => page.getByRole('button', { name, exact: true }))];
  for (const part of parts) {
    const { y, height } = await part.boundingBox();
    assert.ok(y >= 0 && y + height <= line, `${what}: from ${y} to ${y + height}, seen to ${line}`);
  }
}

test('the whole card of a request is visible when it gets the focus below an earlier result', async () => {
  const { page, wrong } = await enrolled();
  await page.setViewportSize({ width: 390, height: 680 });
  list(request('k1'));
  await focusIn(page, '#request-k1-number');
  server.decisions.push([200, { outcome: 'approved' }]);
  await field(page).fill('42');
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  list(request('k2', { action: 'Create a client secret of “Expenses”' }));
  await focusIn(page, '#request-k2-number');
  const { y, height } = await page.locator('[data-request="k2"]').boundingBox();
  assert.ok(y >= 0 && y + height <= 680, `from ${y} to ${y + height}`);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the buttons of a request are visible above a keyboard that shrinks the window', async () => {
  const { page, wrong } = await enrolled();
  await page.setViewportSize({ width: 360, height: 450 });
  for (const [id, action] of [
    ['l1', null],
    ['m2', LONG],
  ]) {
    list(
      request(id, { action, application: { id: 'x', name: 'A name of an application with many words', logo: null } }),
    );
    await focusIn(page, `#request-${id}-number`);
    await assertAbove(page, 450, id);
    list();
    await page.getByRole('button', { name: 'Done' }).click();
  }
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('the buttons of a request are visible above a keyboard that covers the window', async () => {
  const page = await enrolling({}, (made) =>
    // The values of a browser that does not resize the window, such as Safari.
    made.addInitScript(() => {
      const view = Object.assign(new EventTarget(), { height: 740, offsetTop: 0, scale: 1 });
      Object.defineProperty(window, 'visualViewport', { value: view });
      window.cover = (height) => {
        view.height = height;
        view.dispatchEvent(new Event('resize'));
      };
    }),
  );
  await page.getByRole('button', { name: 'Done' }).click();
  server.cooldownUntil = Math.floor(Date.now() / 1000) + 600;
  list(request('n1', { action: LONG }));
  await focusIn(page, '#request-n1-number');
  await page.evaluate(() => window.scrollTo(0, 0));
  const { y, height } = await page.getByRole('button', { name: 'Approve', exact: true }).boundingBox();
  assert.ok(y + height > 450, 'without scrolling the keyboard would cover it');
  await page.evaluate(() => window.cover(450));
  await assertAbove(page, 450, 'covered');
  await page.context().close();
});

test('the card has a keypad in browsers with that setting', async () => {
  const { page, wrong } = await enrolled();
  const keypad = page.getByRole('group', { name: 'Keypad' });
  const press = (name) => keypad.getByRole('button', { name, exact: true }).click();
  list(request('o1'));
  await field(page).waitFor();
  assert.equal(await keypad.count(), 0);
  assert.equal(await field(page).getAttribute('inputmode'), 'numeric');
  await page.getByText('Settings of this device').click();
  await page.getByRole('checkbox', { name: 'Show a keypad in requests' }).check();
  await keypad.waitFor();
  assert.equal(await field(page).getAttribute('inputmode'), 'none', 'the system shows no keyboard');
  for (const key of await keypad.getByRole('button').all()) {
    const { width, height } = await key.boundingBox();
    assert.ok(width >= 44 && height >= 44, `${width} x ${height}`);
  }
  assert.deepEqual(await inspect(page, 'app-request-keypad'), []);
  await page.reload();
  await keypad.waitFor();
  assert.ok(await isFocused(field(page)));
  for (const digit of ['4', '0', '9']) await press(digit);
  assert.equal(await field(page).inputValue(), '40', 'a third digit is ignored');
  await press('Delete the last digit');
  await press('7');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.getByRole('button', { name: 'Approve', exact: true }).click();
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  assert.equal(server.decided[0].number, '47');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a later result replaces an earlier one, but a denial only after an answer', async () => {
  const { page, wrong } = await enrolled();
  const results = page.locator('.card.outcome h2');
  const deny = async (id) => {
    list(request(id));
    await page.locator(`#request-${id}-number`).waitFor();
    server.decisions.push([200, { outcome: 'denied' }]);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.locator(`[data-request="${id}"].outcome`).waitFor();
  };
  await deny('p1');
  await deny('q2');
  assert.deepEqual(await results.allTextContents(), ['Denied']);
  list(request('r3'));
  await page.locator('#request-r3-number').waitFor();
  list();
  await page.locator('[data-request="r3"].outcome').waitFor();
  assert.deepEqual(await results.allTextContents(), ['Denied', 'Sign-in closed'], 'the denial can still be reported');
  list(request('s4'));
  await page.locator('#request-s4-number').fill('42');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Approved' }).waitFor();
  assert.deepEqual(await results.allTextContents(), ['Approved']);
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('Back goes to the previous screen, and asks before it leaves new codes', async () => {
  const { page, wrong } = await enrolled();
  const back = () => page.evaluate(() => history.back());
  const home = page.getByRole('heading', { name: 'Nothing to approve' });
  const devices = page.getByRole('heading', { name: 'Devices of Ada Lovelace' });
  await page.getByRole('button', { name: /devices/i }).click();
  await devices.waitFor();
  await back();
  await home.waitFor();
  assert.equal(await page.evaluate(() => document.activeElement.dataset.zone), 'accounts');

  await page.evaluate(() => history.forward());
  await devices.waitFor();
  await page.reload();
  await devices.waitFor();
  await page.getByRole('button', { name: 'Create new codes' }).click();
  const code = page.getByText('AAAA-BBBB');
  await code.waitFor();
  await back();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: 'Leave without confirming?' }).waitFor();
  assert.deepEqual(await inspect(page, 'app-codes-leave'), []);
  await dialog.getByRole('button', { name: 'Keep' }).click();
  await dialog.waitFor({ state: 'hidden' });
  assert.ok(await code.isVisible());
  // The dialog is hidden before the app processes its answer. Until then, Back belongs to the dialog.
  await page.waitForFunction(() => history.state.name === 'codes');
  await back();
  await dialog.getByRole('button', { name: 'Leave' }).click();
  await devices.waitFor();
  assert.equal(await code.count(), 0);
  assert.equal(server.codesMade, 1);
  assert.deepEqual(server.confirmed, []);

  // The buttons of the app leave no entries in the history that Back would have to pass.
  await page.getByRole('button', { name: 'Set up another device' }).click();
  await page.getByRole('button', { name: 'Copy the link' }).waitFor();
  await page.getByRole('button', { name: 'Done' }).click();
  await devices.waitFor();
  await back();
  await home.waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('Back goes from a picked request to the list, and from a link to where it was opened', async () => {
  const { page, wrong } = await enrolled();
  list(request('t1'), request('u2'));
  await page.locator('.pick').first().click();
  await field(page).waitFor();
  await page.evaluate(() => history.back());
  await focusIn(page, '#requests-title');
  list();
  await page.evaluate((token) => {
    location.hash = `#enrol=${token}`;
  }, ANOTHER);
  await page.getByRole('button', { name: 'Set up this device' }).waitFor();
  await page.evaluate(() => history.back());
  await page.getByRole('button', { name: 'Set up this device' }).waitFor({ state: 'detached' });
  await page.waitForFunction(() => location.hash === '');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a link is opened during a change of the screen', async () => {
  const { page, wrong } = await enrolled();
  await page.evaluate((token) => {
    location.hash = `#enrol=${token}`;
    // The screen is rendered before the event of the link.
    window.dispatchEvent(new Event('offline'));
  }, ANOTHER);
  await page.getByRole('button', { name: 'Set up this device' }).waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a device that was renamed elsewhere shows its new name', async () => {
  const { page, wrong } = await enrolled();
  server.deviceName = 'Pixel 8';
  list();
  const line = page.locator('.account-head').getByText('This device: Pixel 8');
  await line.waitFor();
  server.deviceName = 'Pixel 9';
  server.devices[0].name = 'Pixel 9';
  await page.getByRole('button', { name: /devices/i }).click();
  await page.locator('.devices').getByText('Pixel 9').waitFor();
  await page.getByRole('button', { name: 'Back' }).click();
  await page.locator('.account-head').getByText('This device: Pixel 9').waitFor();
  assert.deepEqual(wrong(), []);
  await page.context().close();
});

test('a protected action has its own texts', async () => {
  const { page, wrong } = await enrolled();
  const action = (id) => request(id, { action: 'Delete the user “bob”' });
  list(action('v1'));
  await page.getByRole('article', { name: 'Delete the user “bob”' }).waitFor();
  await page.getByText(/^An action in your browser needs your approval\./).waitFor();
  await page.getByText('as ada at Application v1').waitFor();
  await page.getByText(/That session then ends/).waitFor();
  assert.deepEqual(await inspect(page, 'app-action'), []);
  await page.getByRole('textbox', { name: 'Type the number shown in your browser' }).fill('42');
  server.decisions.push([200, { outcome: 'approved' }]);
  await page.keyboard.press('Enter');
  await page.getByText('Return to your browser.', { exact: true }).waitFor();
  await page.getByRole('button', { name: /devices/i }).click();
  list(action('w2'));
  await page.getByText('An action in your browser is waiting for your approval.').waitFor();
  await page.getByRole('button', { name: 'Show it' }).click();
  await focusIn(page, '#request-w2-number');
  server.decisions.push([200, { outcome: 'reported' }]);
  await page.getByRole('button', { name: 'This wasn’t me' }).click();
  await page
    .getByRole('article', { name: 'Reported' })
    .getByText(/The session ended/)
    .waitFor();
  assert.deepEqual([...server.languages], ['en'], 'the server writes in the language of the page');
  assert.deepEqual(wrong(), []);
  await page.context().close();
});
