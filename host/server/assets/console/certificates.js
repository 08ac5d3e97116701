// The ends of certificates in PEM form (X.509, RFC 5280 section 4.1).

/** The tags of DER (X.690) that this needs. */
const VERSION = 0xa0;
const UTC_TIME = 0x17;

/**
 * @typedef {{ tag: number, start: number, end: number }} Part the tag, and the place of the content
 */

/**
 * The part of a DER text at a place.
 * @param {Uint8Array} bytes
 * @param {number} at
 * @returns {Part}
 */
function partAt(bytes, at) {
  const byte = (/** @type {number} */ place) => bytes[place] ?? Number.NaN;
  let length = byte(at + 1);
  let start = at + 2;
  if (length >= 0x80) {
    const count = length - 0x80;
    length = 0;
    for (let index = 0; index < count; index += 1) length = length * 256 + byte(start + index);
    start += count;
  }
  const end = start + length;
  if (!(end <= bytes.length)) throw new RangeError();
  return { tag: byte(at), start, end };
}

/**
 * The parts inside a part.
 * @param {Uint8Array} bytes
 * @param {Part} outer
 */
function partsOf(bytes, { start, end }) {
  const found = [];
  for (let at = start; at < end; ) {
    const part = partAt(bytes, at);
    found.push(part);
    at = part.end;
  }
  return found;
}

/**
 * The time after which a certificate is not valid any more.
 * @param {string} base64 its DER form
 * @returns {string | undefined} undefined if it can’t be read
 */
function endOf(base64) {
  try {
    const bytes = Uint8Array.from(atob(base64.replaceAll(/\s/g, '')), (character) => character.charCodeAt(0));
    const [content] = partsOf(bytes, partAt(bytes, 0));
    const members = content ? partsOf(bytes, content) : [];
    const [, , , validity] = members.filter(({ tag }) => tag !== VERSION);
    const end = validity && partsOf(bytes, validity)[1];
    if (!end) return undefined;
    const text = String.fromCharCode(...bytes.subarray(end.start, end.end));
    // Two digits of a year stand for 1950 to 2049.
    const century = Number(text.slice(0, 2)) < 50 ? '20' : '19';
    const [, year, month, day, hour, minute, second] =
      /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(end.tag === UTC_TIME ? century + text : text) ?? [];
    return year && `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
  } catch {
    return undefined;
  }
}

/**
 * The ends of all certificates in a text.
 * @param {string} pem
 */
export function endsOf(pem) {
  const found = pem.matchAll(/-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/g);
  return Array.from(found, ([, base64 = '']) => endOf(base64));
}
