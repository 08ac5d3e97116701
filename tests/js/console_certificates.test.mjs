// The ends of certificates, which the console shows.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';

import { consoleModule } from './console_module.mjs';

const { endsOf } = await consoleModule('certificates.js');
const pem = await readFile(new URL('../it/snapshots/certificate.pem', import.meta.url), 'utf8');

/** A part of DER. */
const part = (tag, ...content) => {
  const bytes = Buffer.concat(content);
  const length = bytes.length < 0x80 ? [bytes.length] : [0x82, bytes.length >> 8, bytes.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), bytes]);
};

/** A certificate as far as its end. */
function certificate(tag, end, version = [part(0xa0, part(0x02, Buffer.from([2])))]) {
  const [empty, validity] = [
    part(0x30),
    part(0x30, part(0x17, Buffer.from('200101000000Z')), part(tag, Buffer.from(end))),
  ];
  const filler = part(0x30, Buffer.alloc(300));
  const der = part(0x30, part(0x30, ...version, part(0x02, Buffer.from([7])), empty, filler, validity, empty), empty);
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

test('the end of each certificate is read', () => {
  const expected = new Date(new X509Certificate(pem).validTo);
  assert.deepEqual(
    endsOf(pem + pem).map((end) => new Date(end).valueOf()),
    [expected.valueOf(), expected.valueOf()],
  );
});

test('both forms of a time are read, with and without a version', () => {
  const ends = [
    [certificate(0x17, '491231235959Z'), '2049-12-31T23:59:59Z'],
    [certificate(0x17, '500101000000Z'), '1950-01-01T00:00:00Z'],
    [certificate(0x18, '20500101000000Z'), '2050-01-01T00:00:00Z'],
    [certificate(0x17, '300101000000Z', []), '2030-01-01T00:00:00Z'],
  ];
  for (const [text, end] of ends) assert.deepEqual(endsOf(text), [end]);
});

test('a text that is no certificate has no end', () => {
  const der = (bytes) =>
    `-----BEGIN CERTIFICATE-----\n${Buffer.from(bytes).toString('base64')}\n-----END CERTIFICATE-----`;
  for (const bytes of [[], [0x30], [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], [0x30, 2, 0x30, 0]])
    assert.deepEqual(endsOf(der(bytes)), [undefined]);
  assert.deepEqual(endsOf('-----BEGIN CERTIFICATE-----\n%\n-----END CERTIFICATE-----'), [undefined]);
  assert.deepEqual(endsOf(''), []);
});
