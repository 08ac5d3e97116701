// The confirmation of many email addresses: an approval names each address of its request.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

globalThis.location = new URL('https://id.example/admin/users');
globalThis.document = { documentElement: { lang: 'en' }, getElementById: () => null };

const { confirmAddresses } = await consoleModule('pages/unconfirmed.js');

/** The users of a complete list. */
const USERS = Array.from({ length: 50 }, (_, index) => `user-${index + 1}`);

/** Answers requests with these statuses, in order. Returns the numbers of users in the requests. */
function server(...statuses) {
  const sizes = [];
  globalThis.fetch = async (_, { body }) => {
    const { users } = JSON.parse(body);
    sizes.push(users.length);
    const status = statuses[sizes.length - 1] ?? 200;
    const answer = status === 200 ? { items: users.map((id) => ({ id })) } : { detail: 'It was not approved.' };
    return new Response(JSON.stringify(answer), { status, headers: { 'Content-Type': 'application/json' } });
  };
  return sizes;
}

test('each request has 14 users at most', async () => {
  const sizes = server();
  assert.deepEqual(await confirmAddresses(USERS), { done: 50 });
  assert.deepEqual(sizes, [14, 14, 14, 8]);
});

test('a denied second request leaves the first one done', async () => {
  const sizes = server(200, 403);
  const { done, problem } = await confirmAddresses(USERS);
  assert.deepEqual([done, problem.status, sizes], [14, 403, [14, 14]]);
});

test('a denied first request is a failure', async () => {
  server(403);
  await assert.rejects(confirmAddresses(USERS), { status: 403 });
});
