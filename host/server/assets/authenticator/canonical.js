// The texts that the authenticator signs, and their signatures: pure functions over WebCrypto, without a page or
// storage.
//
// Each signed text begins with its name and version, followed by one line for each value, `name: value`. Line feeds
// join the lines, with none at the end. A string is written as JSON, so that no value can contain a line of its own.

/**
 * @typedef {import('./types.d.ts').ApprovalRequest} ApprovalRequest
 * @typedef {{ kty?: string, crv?: string, x?: string, y?: string }} PublicKey
 * @typedef {{ issuer: string, device: string, request: ApprovalRequest }} Shown
 * @typedef {{ issuer: string, device: string, time: number, method: string, path: string, body: string }} Call
 */

const encoder = new TextEncoder();

/**
 * The bytes as base64url without padding (RFC 4648 section 5).
 * @param {ArrayBuffer | Uint8Array} bytes
 */
export function base64url(bytes) {
  let text = '';
  for (const byte of new Uint8Array(bytes)) text += String.fromCharCode(byte);
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

/**
 * The bytes of a base64url text. Throws if the text is not base64url.
 * @param {string} text
 */
export function fromBase64url(text) {
  const plain = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

/**
 * The SHA-256 of a text's UTF-8, in lower-case hexadecimal.
 * @param {string} text
 */
export async function sha256Hex(text) {
  const digest = await crypto.subtle.digest('SHA-256', encoder.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The members of a P-256 public key that its JWK needs, and no others.
 * @param {PublicKey} key
 */
export function publicJwk({ kty = '', crv = '', x = '', y = '' }) {
  return { kty, crv, x, y };
}

/**
 * The key's thumbprint (RFC 7638): members in alphabetical order, no white space.
 * @param {PublicKey} key
 */
export async function thumbprint({ crv, kty, x, y }) {
  return base64url(await crypto.subtle.digest('SHA-256', encoder.encode(JSON.stringify({ crv, kty, x, y }))));
}

/**
 * The text that a new device signs to enrol.
 * @param {{ issuer: string, token: string, deviceName: string, key: PublicKey }} enrolment
 */
export async function enrolmentText({ issuer, token, deviceName, key }) {
  return [
    'assent-enrolment-v1',
    `issuer: ${JSON.stringify(issuer)}`,
    `token: ${JSON.stringify(await sha256Hex(token))}`,
    `device-name: ${JSON.stringify(deviceName)}`,
    `key: ${JSON.stringify(await thumbprint(key))}`,
  ].join('\n');
}

/**
 * The text that a device signs with each call.
 * `time` is in Unix seconds, `path` has no query, `body` is '' for none.
 * @param {Call} call
 */
export async function deviceText({ issuer, device, time, method, path, body }) {
  return [
    'assent-device-v1',
    `issuer: ${JSON.stringify(issuer)}`,
    `device: ${JSON.stringify(device)}`,
    `time: ${time}`,
    `method: ${JSON.stringify(method)}`,
    `path: ${JSON.stringify(path)}`,
    `body: ${JSON.stringify(await sha256Hex(body))}`,
  ].join('\n');
}

/**
 * All values of a request that the user saw, one line each.
 * @param {Shown} shown
 */
function shownLines({ issuer, device, request }) {
  return [
    `issuer: ${JSON.stringify(issuer)}`,
    `request: ${JSON.stringify(request.id)}`,
    `device: ${JSON.stringify(device)}`,
    `application: ${JSON.stringify(request.application.id)}`,
    `application-name: ${JSON.stringify(request.application.name)}`,
    `account: ${JSON.stringify(request.account)}`,
    `place: ${JSON.stringify(request.place)}`,
    `browser: ${JSON.stringify(request.browser)}`,
    `expires: ${request.expires_at}`,
  ];
}

/**
 * The purpose of a request, and its further lines.
 * @param {ApprovalRequest} request
 * @returns {[purpose: string, lines: string[]]}
 */
function purposeOf({ action, backchannel, caller_check: check, device_authorization: other, second_approval: second }) {
  if (check) return ['assent-caller-check-v1', [`administrator: ${JSON.stringify(check.administrator)}`]];
  if (second) return ['assent-second-approval-v1', secondLines(second)];
  if (action) return ['assent-action-v1', [`action: ${JSON.stringify(action)}`]];
  const scopes = (backchannel ?? other)?.scopes.map((scope) => `scope: ${JSON.stringify(scope)}`) ?? [];
  if (other) {
    const lines = [`code: ${JSON.stringify(other.user_code)}`, `asked: ${other.asked_at}`];
    return ['assent-device-authorization-v1', [...lines, ...scopes]];
  }
  if (!backchannel) return ['assent-approval-v1', []];
  return ['assent-backchannel-v1', [`message: ${JSON.stringify(backchannel.message ?? '')}`, ...scopes]];
}

/**
 * The further lines of a second approval.
 * @param {NonNullable<ApprovalRequest['second_approval']>} second
 */
function secondLines({ for: first, message, scopes }) {
  const lines = [`for: ${JSON.stringify(first)}`, `message: ${JSON.stringify(message ?? '')}`];
  return [...lines, ...scopes.map((scope) => `scope: ${JSON.stringify(scope)}`)];
}

/**
 * The authorization details of a request that the user saw, one line each.
 * @param {ApprovalRequest} request
 */
function detailLines({ details = [] }) {
  return details.map((detail) => `detail: ${JSON.stringify(detail)}`);
}

/**
 * The text that a device signs to approve or deny: all values that the user saw, and the decision.
 * @param {Shown & { decision: string, number: string }} answer
 */
export function approvalText({ issuer, device, request, decision, number }) {
  const [purpose, lines] = purposeOf(request);
  return [
    purpose,
    ...shownLines({ issuer, device, request }),
    ...lines,
    ...detailLines(request),
    `decision: ${JSON.stringify(decision)}`,
    `number: ${JSON.stringify(number)}`,
  ].join('\n');
}

/**
 * The text that a device signs to approve a sign-in in its own browser. It has no number.
 * @param {Shown} shown
 */
export function sameBrowserText({ issuer, device, request }) {
  return [
    'assent-same-browser-v1',
    ...shownLines({ issuer, device, request }),
    ...detailLines(request),
    'decision: "approve"',
  ].join('\n');
}

/**
 * The text that a device signs to report a request. Its purpose states the decision; it has no number.
 * @param {Shown} shown
 */
export function notMeText({ issuer, device, request }) {
  return ['assent-report-v1', ...shownLines({ issuer, device, request })].join('\n');
}

/** A new signing key for ES256 (RFC 7518 section 3.4). Its private half can't leave this browser. */
export function newKey() {
  return crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign', 'verify']);
}

/**
 * The key's ES256 signature of a text: r and s, 64 bytes, as base64url.
 * @param {CryptoKey} privateKey
 * @param {string} text
 */
export async function sign(privateKey, text) {
  return base64url(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, encoder.encode(text)));
}

/**
 * The `Authorization` header of a device's call.
 * @param {CryptoKey} privateKey
 * @param {Call} call
 */
export async function deviceAuthorization(privateKey, call) {
  return `Assent-Device ${call.device}.${call.time}.${await sign(privateKey, await deviceText(call))}`;
}
