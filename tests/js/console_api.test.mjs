// The addresses that the console calls, and the calls that it retries.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { address, askWith, get, post, reloadWith, whoAmI } = await consoleModule('api.js');

test('a parameter replaces its segment of the path, or stands in the query', () => {
  const path = '/applications/{id}/accounts';
  const expected = '/admin/api/v1/applications/did%3Akey%3Aa%2Fb%3F%7Bid%7D/accounts?q=ada+%26+co&limit=8';
  assert.equal(address(path, { id: 'did:key:a/b?{id}', q: 'ada & co', limit: 8 }), expected);
  assert.equal(address('/me'), '/admin/api/v1/me');
});

test('a query parameter without a value is left out', () => {
  const parameters = { q: undefined, state: '', role: null, dry_run: false, wait: 0 };
  assert.equal(address('/users', parameters), '/admin/api/v1/users?dry_run=false&wait=0');
});

/** Answers the calls of `fetch` with these in turn: a status with its `Retry-After`, or an error. Returns the calls. */
function server(t, answers) {
  mock.timers.enable({ apis: ['setTimeout'] });
  const calls = [];
  t.mock.method(globalThis, 'fetch', async (url, { method }) => {
    calls.push(`${method} ${url}`);
    const [status, retryAfter] = answers[calls.length - 1];
    if (status === 0) throw new TypeError('fetch failed');
    return new Response('{}', { status, headers: retryAfter ? { 'retry-after': retryAfter } : {} });
  });
  t.after(() => mock.timers.reset());
  return calls;
}

/** Advances the time by `milliseconds`, once the code under test waits. */
async function pass(milliseconds) {
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  mock.timers.tick(milliseconds);
}

test('a read is repeated while the server is away or busy', async (t) => {
  const calls = server(t, [[0], [503], [429, '3'], [200]]);
  const answer = get('/me');
  await pass(500);
  await pass(1_500);
  await pass(3_999);
  assert.equal(calls.length, 3);
  await pass(1);
  assert.deepEqual(await answer, {});
  assert.deepEqual(calls, Array(4).fill('GET /admin/api/v1/me'));
});

test('a read without a response fails after the last attempt', async (t) => {
  const calls = server(t, [[503], [503], [503], [503]]);
  const failed = assert.rejects(get('/me'), { status: 503 });
  for (const milliseconds of [500, 1_500, 4_000]) await pass(milliseconds);
  await failed;
  assert.equal(calls.length, 4);
});

test('a read is repeated neither after a permanent error nor after a long Retry-After', async (t) => {
  for (const answer of [[404], [500], [429, '31']]) {
    const calls = server(t, [answer]);
    await assert.rejects(get('/me'), { status: answer[0] });
    assert.equal(calls.length, 1);
    t.mock.restoreAll();
    mock.timers.reset();
  }
});

test('a change is not repeated', async (t) => {
  const calls = server(t, [[503]]);
  await assert.rejects(post('/users', {}, {}), { status: 503 });
  assert.equal(calls.length, 1);
});

test('a wait for the next attempt ends when the caller gives up', async (t) => {
  const calls = server(t, [[503]]);
  const stop = new AbortController();
  const failed = assert.rejects(get('/me', {}, { signal: stop.signal }), { name: 'AbortError' });
  await pass(100);
  stop.abort();
  await failed;
  assert.equal(calls.length, 1);
});

/** Answers each call of `fetch` by `respond(url, options)`: a status and a body. Returns the sent calls. */
function serverBy(t, respond) {
  const calls = [];
  t.mock.method(globalThis, 'fetch', async (url, { method, headers }) => {
    calls.push([method, url, headers['X-Assent-User'], headers['X-Assent-CSRF']]);
    const [status, body] = respond(url, method, headers);
    return new Response(JSON.stringify(body), { status });
  });
  return calls;
}

test('each call names the user of the page, and none is repeated as another user', async (t) => {
  let signedIn = { id: 'ada', csrf_token: 'of-ada' };
  const problem = (status, kind) => [status, { type: `urn:assent:problem:${kind}`, detail: kind }];
  const calls = serverBy(t, (url, method, headers) => {
    if (url.endsWith('/me') && method === 'GET' && !headers['X-Assent-User']) return [200, signedIn];
    if (headers['X-Assent-User'] !== signedIn.id) return problem(409, 'other-user');
    if (method !== 'GET' && headers['X-Assent-CSRF'] !== signedIn.csrf_token) return problem(403, 'cross-site');
    return [200, {}];
  });
  let offers = 0;
  reloadWith(() => {
    offers += 1;
  });
  await whoAmI();
  await get('/users');
  await post('/users', {}, {});
  assert.deepEqual(calls.slice(1), [
    ['GET', '/admin/api/v1/users', 'ada', undefined],
    ['POST', '/admin/api/v1/users', 'ada', 'of-ada'],
  ]);
  // The same administrator signed in again in another tab: the change is sent again with the new token.
  signedIn = { id: 'ada', csrf_token: 'of-ada-again' };
  await post('/users', {}, {});
  assert.equal(offers, 0);
  // Another one signed in: nothing is sent as that user, not even after the console asked who is signed in.
  signedIn = { id: 'grace', csrf_token: 'of-grace' };
  calls.length = 0;
  await assert.rejects(post('/users', {}, {}), { status: 409, isOtherUser: true });
  await whoAmI();
  await assert.rejects(post('/users', {}, {}), { status: 409, isOtherUser: true });
  await assert.rejects(get('/users'), { status: 409, isOtherUser: true });
  assert.equal(offers, 3);
  const asGrace = calls.filter(([, , user, token]) => user === 'grace' || token === 'of-grace');
  assert.deepEqual(asGrace, []);
});

/**
 * Answers the calls of `fetch` with these in turn: a status and a body, or an error of the browser. Returns the headers
 * of the calls.
 */
function answering(t, answers) {
  const sent = [];
  t.mock.method(globalThis, 'fetch', async (_url, { headers }) => {
    sent.push(headers);
    const [status, body] = answers[sent.length - 1];
    if (status === 0) throw body ?? new TypeError('fetch failed');
    return new Response(JSON.stringify(body ?? {}), { status });
  });
  return sent;
}

test('a request without a response is sent again with the same key', async (t) => {
  const sent = answering(t, [[0], [503], [201, { link: 'x' }], [201], [422], [201]]);
  const create = () => post('/users/{id}/enrolments', { id: 'ada' });
  await assert.rejects(create(), { status: 0 });
  await assert.rejects(create(), { status: 503 });
  assert.deepEqual(await create(), { link: 'x' });
  // After a response, and for another request, the key is another one.
  await create();
  await assert.rejects(create(), { status: 422 });
  await create();
  const keys = sent.map((headers) => headers['Idempotency-Key']);
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.equal(new Set(keys).size, 4);
});

test('a request is sent again with the same key after the timeout of the console', async (t) => {
  const timeout = new DOMException('The operation timed out.', 'TimeoutError');
  const inProgress = { type: 'urn:assent:problem:in-progress' };
  const sent = answering(t, [[0, timeout], [409, inProgress], [201, { link: 'x' }], [201]]);
  const create = () => post('/users/{id}/enrolments', { id: 'grace' });
  await assert.rejects(create(), { status: 0, kind: 'timeout' });
  // The server still executes the first request.
  await assert.rejects(create(), { status: 409, kind: 'in-progress' });
  assert.deepEqual(await create(), { link: 'x' });
  await create();
  const keys = sent.map((headers) => headers['Idempotency-Key']);
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.equal(new Set(keys).size, 2);
});

test('a protected request without a response is sent again with its approval', async (t) => {
  askWith(async () => true);
  const approval = { type: 'urn:assent:problem:approval-required', action_approval: { id: 'approval-1' } };
  const sent = answering(t, [[403, approval], [0], [201, { link: 'x' }]]);
  const create = () => post('/users/{id}/enrolments', { id: 'owner' });
  await assert.rejects(create(), { status: 0 });
  assert.deepEqual(await create(), { link: 'x' });
  assert.equal(new Set(sent.map((headers) => headers['Idempotency-Key'])).size, 1);
  const approvals = sent.map((headers) => headers['X-Assent-Action-Approval']);
  assert.deepEqual(approvals, [undefined, 'approval-1', 'approval-1']);
});

test('a request without a response is kept without the storage of the browser', async (t) => {
  askWith(async () => true);
  const get = () => {
    throw new DOMException('denied', 'SecurityError');
  };
  for (const name of ['localStorage', 'sessionStorage', 'indexedDB', 'caches']) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { configurable: true, get });
    t.after(() => (before ? Object.defineProperty(globalThis, name, before) : delete globalThis[name]));
  }
  const approval = { type: 'urn:assent:problem:approval-required', action_approval: { id: 'approval-2' } };
  const sent = answering(t, [[0], [403, approval], [0], [201, { link: 'x' }]]);
  const create = () => post('/users/{id}/enrolments', { id: 'linus' });
  for (let lost = 0; lost < 2; lost += 1) await assert.rejects(create(), { status: 0 });
  assert.deepEqual(await create(), { link: 'x' });
  assert.equal(new Set(sent.map((headers) => headers['Idempotency-Key'])).size, 1);
});
