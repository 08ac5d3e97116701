// The tokens in links, as mail and chat programs, scanners and users change them.
// Run: node --test tests/js/*.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { codeInLink, readLink } from '../../host/server/assets/authenticator/link_token.js';
import { tokenOf } from './tokens.mjs';

const token = tokenOf('en', 1);
const link = `https://id.example.org/authenticator#enrol=${token}`;
const encoded = encodeURIComponent(link);
const halves = (inserted, at = 70) => link.slice(0, at) + inserted + link.slice(at);

const WHOLE = {
  'the link': link,
  'the token only': token,
  'the fragment only': `#enrol=${token}`,
  'a full stop': `${link}.`,
  'a comma and more words': `${link}, and thank you`,
  'a question mark': `${link}?`,
  'round brackets': `(${link})`,
  'angle brackets': `<${link}>`,
  'square brackets': `[${link}]`,
  'straight quotes': `"${link}"`,
  'curly quotes': `\u201c${link}\u201d`,
  'quotes that the browser encoded': `${link}%22`,
  'a Markdown link': `[Set up](${link})`,
  emphasis: `*${link}*`,
  underlines: `_${link}_`,
  'an escaped underscore': link.replace('en_', 'en\\_'),
  'a line break': halves('\n'),
  'a line break of Windows': halves('\r\n'),
  'several line breaks': `${link.slice(0, 50)}\n${link.slice(50, 80)}\n${link.slice(80)}`,
  'a quoted line break': halves('\n> '),
  'a twice quoted line break': halves('\n>> '),
  'quoted-printable': halves('=\r\n'),
  'the equals sign of quoted-printable': link.replace('=', '=3D'),
  'quoted-printable in the source of a message': halves('=\r\n', 60).replace('enrol=', 'enrol=3D'),
  'an encoded line break': halves('%0A'),
  'encoded spaces': `%20${link}%20`,
  'a soft hyphen': halves('\u00ad'),
  'an encoded soft hyphen': halves('%C2%AD'),
  'a zero-width space': halves('\u200b'),
  'a word joiner': halves('\u2060'),
  'a byte order mark': `\ufeff${link}`,
  'a direction mark': `\u200e${link}\u200e`,
  'an ellipsis': `${link}\u2026`,
  'parameters of a campaign': `${link}&utm_source=mail`,
  'an encoded link': encoded,
  'a link encoded twice': encodeURIComponent(encoded),
  'a link encoded three times': encodeURIComponent(encodeURIComponent(encoded)),
  'a scanner of Microsoft': `https://eur01.safelinks.protection.outlook.com/?url=${encoded}&data=05%7C02%7C&reserved=0`,
  'a scanner of Proofpoint, version 2': `https://urldefense.proofpoint.com/v2/url?u=${encoded
    .replaceAll('_', '%5F')
    .replaceAll('%2F', '_')
    .replaceAll('%3A', '-3A')
    .replaceAll('%23', '-23')
    .replaceAll('%3D', '-3D')
    .replaceAll('%5F', '-5F')}&d=DwMFaQ&c=x`,
  'a scanner of Proofpoint, version 3': `https://urldefense.com/v3/__${link.replace('#', '*')}__;Iw!!abc`,
  'a scanner of Barracuda': `https://linkprotect.cudasvc.com/url?a=${encoded}&c=E,1,abc`,
  'a redirection of Google': `https://www.google.com/url?q=${encoded}&source=gmail`,
  'a whole message': `Hello Ada,\n\nopen this link:\n\n${link}\n\nIt works once.\n-- \nExample`,
};

for (const [name, text] of Object.entries(WHOLE)) {
  test(`a link is read with ${name}`, () => assert.deepEqual(readLink(text), { kind: 'enrol', token }));
}

const DAMAGED = {
  'without its last character': link.slice(0, -1),
  'without its last six characters': link.slice(0, -6),
  'without its second half': link.slice(0, 80),
  'without a character in the middle': link.slice(0, 70) + link.slice(71),
  'with two exchanged characters': link.slice(0, 70) + link[71] + link[70] + link.slice(72),
  'in lower case': link.toLowerCase(),
  'in upper case': link.toUpperCase(),
  'without its token': 'https://id.example.org/authenticator#enrol=',
  'with other words': 'https://id.example.org/authenticator#enrol=nonsense',
  'cut by a mail program': `${link.slice(0, 75)}...`,
};

for (const [name, text] of Object.entries(DAMAGED)) {
  test(`a link ${name} is damaged`, () => {
    // The exchanged characters may be the same.
    if (text !== link) assert.deepEqual(readLink(text), { kind: 'enrol', token: null });
  });
}

test('other texts are no links', () => {
  for (const text of ['', 'hello', 'https://id.example.org/authenticator', 'open_window', 'https://x/?token=abc#top'])
    assert.equal(readLink(text), null, text);
});

test('the code of a login page is a link of its own kind', () => {
  const code = tokenOf('lc', 2);
  assert.deepEqual(readLink(`https://id.example.org/authenticator#login=${code}.`), { kind: 'login', token: code });
  assert.deepEqual(readLink(`#login=${code.slice(0, -1)}`), { kind: 'login', token: null });
});

test('the server writes the same text', () => {
  // The value is 48 times 0x5a; `host/model/src/token_text.rs` has the same text.
  const same = 'en_4KEYVtSqL8WuVRhDKT8mAzF1nhVs4Q1dhQa3vH9xoPujcADWm8cgsNaSD4Wy4ZYrFK4rgUgW';
  assert.deepEqual(readLink(same), { kind: 'enrol', token: same });
});

test('the code of a device is found in links of this server only', () => {
  const origin = 'https://id.example';
  for (const [link, code] of [
    ['#device', ''],
    ['#device=WDJB-MJHT', 'WDJB-MJHT'],
    [`${origin}/authenticator#device=wdjb-mjht`, 'wdjb-mjht'],
    [`${origin}/device`, ''],
    [`${origin}/device?user_code=WDJB-MJHT`, 'WDJB-MJHT'],
    ['#devices', null],
    ['#device=<b>', null],
    ['', null],
    [`${origin}.evil.example/device?user_code=WDJB-MJHT`, null],
    ['https://evil.example/device?user_code=WDJB-MJHT', null],
    [`${origin}/device?user_code=WDJB-MJHT&next=x`, null],
  ]) {
    assert.equal(codeInLink(link, origin), code, link);
  }
});
