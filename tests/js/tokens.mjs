// Tokens of links, as the server writes them, for tests with a simulated server.

import { crc32 } from 'node:zlib';

const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const LENGTHS = { en: 66, lc: 44 };

/** Returns a whole token of a kind. The number makes it distinct. */
export function tokenOf(prefix, number) {
  const digits = Array.from({ length: LENGTHS[prefix] }, (_, at) => DIGITS[(number * 7 + at * 11) % 58]);
  const body = `${prefix}_${digits.join('')}`;
  let rest = crc32(body);
  const check = [];
  for (let at = 0; at < 6; at += 1) {
    check.unshift(DIGITS[rest % 58]);
    rest = Math.floor(rest / 58);
  }
  return body + check.join('');
}
