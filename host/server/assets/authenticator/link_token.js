// The tokens in links, found in texts that the user opened, scanned or pasted. Mail and chat programs break long links,
// add signs to them and wrap them. The check at the end of a token shows damage, so no damaged token is sent to the
// server. `host/model/src/token_text.rs` writes the tokens.

/**
 * A link: its kind, and its token, or null if the token is damaged.
 * @typedef {{ kind: 'enrol' | 'login', token: string | null }} Link
 */

const DIGITS = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
/** The number of digits of the check. */
const CHECK = 6;
/** The beginning of each kind's token, and the number of its digits. */
const KINDS = /** @type {const} */ ([
  { kind: 'enrol', start: 'en_', length: 72 },
  { kind: 'login', start: 'lc_', length: 50 },
]);
/** How often a link can be encoded in other links. */
const WRAPPERS = 3;
/** White space, the marks of quoted and encoded lines, and invisible characters, which programs insert into links. */
const INSERTED = /=\r?\n|[\s>|\\\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]/g;

/** An equals sign in the encoding quoted-printable of emails (RFC 2045 section 6.7). */
const EQUALS_SIGN = /=3d/gi;

/**
 * The CRC-32 of a text of ASCII characters, as in PNG and gzip.
 * @param {string} text
 */
function crc32(text) {
  let crc = -1;
  for (let at = 0; at < text.length; at += 1) {
    crc ^= text.charCodeAt(at);
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/**
 * Whether a token is whole: its end is the check of its beginning.
 * @param {string} token
 */
function isWhole(token) {
  let rest = crc32(token.slice(0, -CHECK));
  let check = '';
  for (let digit = 0; digit < CHECK; digit += 1) {
    check = DIGITS[rest % 58] + check;
    rest = Math.floor(rest / 58);
  }
  return token.endsWith(check);
}

/**
 * The text with its percent-encoded characters. An incomplete code stays.
 * @param {string} text
 */
function decoded(text) {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (codes) => {
    try {
      return decodeURIComponent(codes);
    } catch {
      return codes;
    }
  });
}

/**
 * The forms in which a text may contain a link: itself, without what programs insert, and as wrapped by mail scanners.
 * One of them writes `-` for `%` and `_` for `/`.
 * @param {string} text
 */
function* formsOf(text) {
  let form = text;
  for (let times = 0; times <= WRAPPERS; times += 1) {
    yield form;
    yield form.replaceAll(INSERTED, '').replaceAll(EQUALS_SIGN, '=');
    form = decoded(form);
  }
  yield form.replaceAll('-3D', '=').replaceAll('-5F', '_').replaceAll('-23', '#');
}

/**
 * The link in a text, or null if there is none.
 * @param {string} text
 * @returns {Link | null}
 */
export function readLink(text) {
  let /** @type {Link | null} */ damaged = null;
  for (const form of formsOf(text)) {
    for (const { kind, start, length } of KINDS) {
      for (const { index } of form.matchAll(new RegExp(start, 'g'))) {
        if (/[0-9A-Za-z]/.test(form.charAt(index - 1))) continue;
        const token = form.slice(index, index + start.length + length);
        if (token.length === start.length + length && isWhole(token)) return { kind, token };
        damaged ??= { kind, token: null };
      }
      if (form.toLowerCase().includes(`#${kind}=`)) damaged ??= { kind, token: null };
    }
  }
  return damaged;
}

/** The links to the entry of a device's code: in the address of the app, and of the page to which the device leads. */
const DEVICE = /^(?:(?:\/authenticator\/?)?#device(?:=([a-z-]*))?|\/device(?:\?user_code=([a-z-]*))?)$/i;

/**
 * The code of a device in a link of this server, empty if the link has none. Null for another link.
 * @param {string} link
 * @param {string} origin
 * @returns {string | null}
 */
export function codeInLink(link, origin) {
  const found = DEVICE.exec(link.startsWith(`${origin}/`) ? link.slice(origin.length) : link);
  return found && (found[1] ?? found[2] ?? '');
}
