// The texts of the console about a plugin.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { callsOf, purpose } = await consoleModule('pages/plugins.js');

test('a plugin is described by its role and by its grants', () => {
  const of = (role, writes = []) => purpose({ role, grants: { writes } });
  assert.equal(of('claim-mapper', ['account']), 'Adds the claim account to tokens.');
  assert.equal(of('claim-mapper', ['account', 'groups']), 'Adds these claims to tokens: account, groups.');
  assert.equal(
    of('claim-mapper', ['attribute:mail', 'attribute:groups']),
    'Adds these attributes to SAML assertions: mail, groups.',
  );
  assert.equal(
    of('claim-mapper', ['*', 'attribute:*']),
    'Adds claims to tokens. The settings of the plugin name them. ' +
      'Adds attributes to SAML assertions. The settings of the plugin and of each application name them.',
  );
  assert.equal(of('claim-mapper'), 'Decides who may sign in to applications.');
  assert.equal(of('approval-channel'), 'Sends approval requests to devices.');
  assert.equal(of('delegated-approval-channel'), 'Sends approval requests to the authenticators of another vendor.');
});

test('the summary of calls names only outcomes that occurred', () => {
  const none = { calls: 2, denials: 0, faults: 0, rejected: 0, queue_length: 0, suspensions: 0 };
  assert.equal(callsOf(none), '2, no errors');
  assert.equal(callsOf({ ...none, denials: 1 }), '2, 1 denied, no errors');
  assert.equal(callsOf({ ...none, faults: 1, suspensions: 3 }), '2, 1 failed, 3 times suspended');
});
