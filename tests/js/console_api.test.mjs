// The addresses that the console calls.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

// The browser loads it as a module by its type, not by its name, so it is loaded here from its text.
const source = await readFile(new URL('../../host/server/assets/console/api.js', import.meta.url), 'utf8');
const { address } = await import(`data:text/javascript;base64,${Buffer.from(source).toString('base64')}`);

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
