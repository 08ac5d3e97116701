// The texts that the authenticator signs, compared with texts and values from a source other than its code.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify, webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

// Node.js 18 has it, but not yet as a global.
globalThis.crypto ??= webcrypto;

// The browser loads this file as a module by its type, not by its name. So the test loads it from its text.
const source = await readFile(new URL('../../host/server/assets/authenticator/canonical.js', import.meta.url), 'utf8');
const canonical = await import(`data:text/javascript;base64,${Buffer.from(source).toString('base64')}`);

const ISSUER = 'https://id.example.com/oidc';
const REQUEST = {
  id: '018f0000000070008000000000000001',
  application: { id: 'did:key:z6MkApplication', name: 'Pay "Fast"\nnumber: "00"' },
  account: 'ada@example.com',
  place: 'Zürich, Schweiz',
  browser: 'Firefox on Linux',
  requested_at: 1_700_000_000,
  expires_at: 1_700_000_120,
  attempts_left: 3,
};

test('base64url has no padding and no characters with a meaning in a URL', () => {
  assert.equal(canonical.base64url(new Uint8Array([0xfb, 0xff, 0xfe])), '-__-');
  assert.equal(canonical.base64url(new Uint8Array([1])), 'AQ');
  assert.deepEqual(canonical.fromBase64url('-__-'), new Uint8Array([0xfb, 0xff, 0xfe]));
  assert.deepEqual(canonical.fromBase64url('AQ'), new Uint8Array([1]));
});

test('SHA-256 is that of the UTF-8 text, in lower-case hexadecimal', async () => {
  // FIPS 180-2, appendix B.1.
  assert.equal(await canonical.sha256Hex('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  assert.equal(await canonical.sha256Hex(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
});

test('the thumbprint takes only the required members, in their order', async () => {
  const key = { y: 'B-lower', kty: 'EC', x: 'A-lower', crv: 'P-256', ext: true, key_ops: ['verify'] };
  const expected = createHash('sha256')
    .update('{"crv":"P-256","kty":"EC","x":"A-lower","y":"B-lower"}')
    .digest('base64url');
  assert.equal(await canonical.thumbprint(key), expected);
  assert.deepEqual(canonical.publicJwk(key), { kty: 'EC', crv: 'P-256', x: 'A-lower', y: 'B-lower' });
});

test('the enrolment text', async () => {
  const key = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' };
  const text = await canonical.enrolmentText({
    issuer: ISSUER,
    token: 'abc',
    deviceName: 'Ada\u2019s \\ "phone"',
    key,
  });
  assert.equal(
    text,
    [
      'assent-enrolment-v1',
      'issuer: "https://id.example.com/oidc"',
      'token: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"',
      'device-name: "Ada\u2019s \\\\ \\"phone\\""',
      `key: "${await canonical.thumbprint(key)}"`,
    ].join('\n'),
  );
});

test('the text of a call', async () => {
  const call = {
    issuer: ISSUER,
    device: 'd1',
    time: 1_700_000_000,
    method: 'GET',
    path: '/authenticator/api/requests',
    body: '',
  };
  assert.equal(
    await canonical.deviceText(call),
    [
      'assent-device-v1',
      'issuer: "https://id.example.com/oidc"',
      'device: "d1"',
      'time: 1700000000',
      'method: "GET"',
      'path: "/authenticator/api/requests"',
      'body: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"',
    ].join('\n'),
  );
});

test('the approval text contains each displayed value, and no value can add a line', () => {
  const text = canonical.approvalText({
    issuer: ISSUER,
    device: 'd1',
    request: REQUEST,
    decision: 'approve',
    number: '07',
  });
  assert.equal(
    text,
    [
      'assent-approval-v1',
      'issuer: "https://id.example.com/oidc"',
      'request: "018f0000000070008000000000000001"',
      'device: "d1"',
      'application: "did:key:z6MkApplication"',
      'application-name: "Pay \\"Fast\\"\\nnumber: \\"00\\""',
      'account: "ada@example.com"',
      'place: "Zürich, Schweiz"',
      'browser: "Firefox on Linux"',
      'expires: 1700000120',
      'decision: "approve"',
      'number: "07"',
    ].join('\n'),
  );
  assert.equal(text.split('\n').length, 12);
});

test('the text for a protected action differs from that for a sign-in, and contains the summary', () => {
  const request = { ...REQUEST, action: 'Delete "bob"\nnumber: "00"' };
  const text = canonical.approvalText({ issuer: ISSUER, device: 'd1', request, decision: 'approve', number: '07' });
  const signIn = canonical.approvalText({
    issuer: ISSUER,
    device: 'd1',
    request: REQUEST,
    decision: 'approve',
    number: '07',
  });
  const lines = text.split('\n');
  assert.equal(lines[0], 'assent-action-v1');
  assert.equal(lines[10], 'action: "Delete \\"bob\\"\\nnumber: \\"00\\""');
  assert.deepEqual([...lines.slice(1, 10), ...lines.slice(11)], signIn.split('\n').slice(1));
});

test('each authorization detail has a line of its own', () => {
  const details = ['Pay “\u20685.00\u2069” EUR to “\u2068Bob\u2069”', 'a\nnumber: "00"'];
  const shown = { issuer: ISSUER, device: 'd1', request: { ...REQUEST, details } };
  const expected = ['detail: "Pay “\u20685.00\u2069” EUR to “\u2068Bob\u2069”"', 'detail: "a\\nnumber: \\"00\\""'];
  const text = canonical.approvalText({ ...shown, decision: 'approve', number: '07' });
  assert.deepEqual(text.split('\n').slice(10), [...expected, 'decision: "approve"', 'number: "07"']);
  assert.deepEqual(canonical.sameBrowserText(shown).split('\n').slice(10), [...expected, 'decision: "approve"']);
  const plain = { ...shown, request: REQUEST };
  assert.equal(canonical.notMeText(shown), canonical.notMeText(plain));
});

test('a report has its own text, without a decision and a number', () => {
  const text = canonical.notMeText({ issuer: ISSUER, device: 'd1', request: REQUEST });
  assert.equal(
    text,
    [
      'assent-report-v1',
      'issuer: "https://id.example.com/oidc"',
      'request: "018f0000000070008000000000000001"',
      'device: "d1"',
      'application: "did:key:z6MkApplication"',
      'application-name: "Pay \\"Fast\\"\\nnumber: \\"00\\""',
      'account: "ada@example.com"',
      'place: "Zürich, Schweiz"',
      'browser: "Firefox on Linux"',
      'expires: 1700000120',
    ].join('\n'),
  );
});

test('a signature is r and s in 64 bytes, and the private key can’t be read', async () => {
  const pair = await canonical.newKey();
  assert.equal(pair.privateKey.extractable, false);
  const jwk = canonical.publicJwk(await crypto.subtle.exportKey('jwk', pair.publicKey));
  const key = { key: createPublicKey({ key: jwk, format: 'jwk' }), dsaEncoding: 'ieee-p1363' };
  const signature = Buffer.from(await canonical.sign(pair.privateKey, 'Zürich'), 'base64url');
  assert.equal(signature.length, 64);
  assert.ok(verify('sha256', Buffer.from('Zürich'), key, signature));
  assert.ok(!verify('sha256', Buffer.from('Zurich'), key, signature));

  const call = { issuer: ISSUER, device: 'd1', time: 1_700_000_000, method: 'POST', path: '/p', body: '{"a":1}' };
  const [scheme, value] = (await canonical.deviceAuthorization(pair.privateKey, call)).split(' ');
  const [device, time, proof] = value.split('.');
  assert.deepEqual([scheme, device, time], ['Assent-Device', 'd1', '1700000000']);
  assert.ok(verify('sha256', Buffer.from(await canonical.deviceText(call)), key, Buffer.from(proof, 'base64url')));
});

test('the text of a request of an application has its message and each permission', () => {
  const request = {
    ...REQUEST,
    application: { id: 'did:key:z6MkApplication', name: 'Bank' },
    place: '',
    browser: '',
    backchannel: { message: 'Pay 5 EUR\ndecision: "deny"', scopes: ['Confirm your identity', 'See "all"'] },
  };
  const lines = (/** @type {string} */ decision, /** @type {object} */ changes = {}) =>
    canonical
      .approvalText({ issuer: ISSUER, device: 'd1', request: { ...request, ...changes }, decision, number: '' })
      .split('\n');
  const signed = lines('approve');
  assert.equal(signed[0], 'assent-backchannel-v1');
  assert.deepEqual(signed.slice(7), [
    'place: ""',
    'browser: ""',
    'expires: 1700000120',
    'message: "Pay 5 EUR\\ndecision: \\"deny\\""',
    'scope: "Confirm your identity"',
    'scope: "See \\"all\\""',
    'decision: "approve"',
    'number: ""',
  ]);
  const without = lines('deny', { backchannel: { message: null, scopes: [] } });
  assert.deepEqual(without.slice(10), ['message: ""', 'decision: "deny"', 'number: ""']);
});

test('the text of the check of a caller names the administrator and the number', () => {
  const request = {
    ...REQUEST,
    application: { id: ISSUER, name: 'Example' },
    place: '',
    browser: '',
    caller_check: { administrator: 'Grace "Help" Hopper' },
  };
  const answer = { issuer: ISSUER, device: 'd1', request, decision: 'approve', number: '42' };
  const signed = canonical.approvalText(answer).split('\n');
  assert.equal(signed[0], 'assent-caller-check-v1');
  assert.deepEqual(signed.slice(9), [
    'expires: 1700000120',
    'administrator: "Grace \\"Help\\" Hopper"',
    'decision: "approve"',
    'number: "42"',
  ]);
});

test('the text of a sign-in on another device has its code, its time and each permission', () => {
  const request = {
    ...REQUEST,
    browser: '',
    device_authorization: { user_code: 'WDJB-MJHT', asked_at: 1_699_999_940, scopes: ['Confirm your identity'] },
  };
  const signed = canonical
    .approvalText({ issuer: ISSUER, device: 'd1', request, decision: 'approve', number: '' })
    .split('\n');
  assert.equal(signed[0], 'assent-device-authorization-v1');
  assert.deepEqual(signed.slice(8), [
    'browser: ""',
    `expires: ${REQUEST.expires_at}`,
    'code: "WDJB-MJHT"',
    'asked: 1699999940',
    'scope: "Confirm your identity"',
    'decision: "approve"',
    'number: ""',
  ]);
});

test('the text of a second approval names the account for which the application asks', () => {
  const second = { for: 'ada', message: 'Order 42', scopes: ['See your name'], passkey: false };
  const request = { ...REQUEST, account: 'grace', place: '', browser: '', second_approval: second };
  const answer = { issuer: ISSUER, device: 'd1', request, decision: 'approve', number: '' };
  const signed = canonical.approvalText(answer).split('\n');
  assert.equal(signed[0], 'assent-second-approval-v1');
  assert.equal(signed[6], 'account: "grace"');
  assert.deepEqual(signed.slice(9), [
    `expires: ${REQUEST.expires_at}`,
    'for: "ada"',
    'message: "Order 42"',
    'scope: "See your name"',
    'decision: "approve"',
    'number: ""',
  ]);
});
