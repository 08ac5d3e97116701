// The form of the credentials sends a key only if the administrator changed it, and never a method without the key that
// the form shows as empty.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { credentialChange } = await consoleModule('pages/client_fields.js');

const address = 'https://app.example.org/jwks';
const signed = { token_endpoint_auth_method: 'private_key_jwt' };

test('a method without a key is sent alone', () => {
  const secret = { token_endpoint_auth_method: 'client_secret_post' };
  assert.deepEqual(credentialChange('private_key_jwt', undefined, secret, secret), secret);
});

test('another method is sent with its key', () => {
  const values = { ...signed, jwks_uri: address };
  assert.deepEqual(credentialChange('client_secret_basic', 'jwks_uri', values, signed), values);
});

test('a changed key is sent without the method', () => {
  const values = { ...signed, jwks_uri: address };
  const changed = { jwks_uri: address };
  assert.deepEqual(credentialChange('private_key_jwt', 'jwks_uri', values, changed), changed);
});

test('a key that did not change is not sent', () => {
  const values = { ...signed, jwks_uri: address };
  const error = { name: 'Error', field: 'jwks_uri', message: /has this key already/ };
  assert.throws(() => credentialChange('private_key_jwt', 'jwks_uri', values, {}), error);
});

test('an empty key is an error, and is no removal', () => {
  const error = { field: 'jwks', message: /To remove a key/ };
  for (const current of ['private_key_jwt', 'client_secret_basic'])
    assert.throws(() => credentialChange(current, 'jwks', signed, signed), error);
});
