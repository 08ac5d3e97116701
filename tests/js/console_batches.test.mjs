// Requests for many objects, some at a time: no response is lost if a later request fails.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { inBatches } = await consoleModule('batches.js');

/** The users of a list that needs two requests. */
const USERS = Array.from({ length: 26 }, (_, index) => `user-${index + 1}`);

/** Sends two requests of 25 users at most. `answers` are the responses or problems. Returns what happened, in order. */
async function run(answers) {
  const events = [];
  const send = async (part) => {
    events.push(`${part.length} sent`);
    const answer = answers[events.filter((one) => one.endsWith('sent')).length - 1];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const progress = await inBatches(USERS, 25, send, (answer, part) => events.push(`${answer} for ${part.length}`));
  return { events, progress };
}

test('each response is received before the next request', async () => {
  const { events, progress } = await run(['links', 'link']);
  assert.deepEqual(events, ['25 sent', 'links for 25', '1 sent', 'link for 1']);
  assert.deepEqual(progress, { done: 26 });
});

test('a denied second request does not lose the first response', async () => {
  const denied = new Error('It was not approved; nothing was changed.');
  const { events, progress } = await run(['links', denied]);
  assert.deepEqual(events, ['25 sent', 'links for 25', '1 sent']);
  assert.deepEqual(progress, { done: 25, problem: denied });
});

test('a failure of the first request is thrown', async () => {
  await assert.rejects(run([new Error('The server did not respond.')]), { message: 'The server did not respond.' });
});

test('without items there is no request', async () => {
  assert.deepEqual(await inBatches([], 25, assert.fail, assert.fail), { done: 0 });
});
