// Calls to the server. A failure is a `Failure`; `inWords` describes it for the user.

import { deviceAuthorization } from './canonical.js';
import { put } from './store.js';
import { language, text } from './texts.js';

/**
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 * @typedef {import('./types.d.ts').Method} Method
 * @typedef {import('./types.d.ts').CallOptions} CallOptions
 */

/**
 * @template {Method} Name
 * @typedef {import('./types.d.ts').Route<Name>} Route
 */

/**
 * @template {keyof import('authenticator-api').paths} Path
 * @template {Method} Name
 * @typedef {import('./types.d.ts').Answer<Path, Name>} Answer
 */

/**
 * @template {keyof import('authenticator-api').paths} Path
 * @template {Method} Name
 * @typedef {import('./types.d.ts').RequestBody<Path, Name>} RequestBody
 */

/**
 * @template {keyof import('authenticator-api').paths} Path
 * @template {Method} Name
 * @typedef {import('./types.d.ts').CallRest<Path, Name>} CallRest
 */

const BASE = '/authenticator/api';
// A call that does not respond counts as failed; a long poll has its own, longer limit.
const LIMIT_MS = 15_000;
// A change whose response was lost is sent again after this time, with the same content: the server then returns the
// same result. After a longer silence the user decides.
const REPEAT_AFTER_MS = 700;
const REPEAT_WITHIN_MS = 5_000;

/**
 * A call that failed. `status` is 0 if there was no response; `code` is the `error` of the response's body; the message
 * is for developers.
 */
export class Failure extends Error {
  /**
   * @param {number} status
   * @param {FailedCall['code']} code
   * @param {string} message
   * @param {FailedCall['body']} [body]
   */
  constructor(status, code, message, body = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }

  /** Whether there was no response, or none from Assent itself: a later retry may succeed. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

// The messages of the codes for the user. Codes with a place of their own on a screen are not here.
/** @type {Partial<Record<FailedCall['code'], string>>} */
const WORDS = {
  app: 'app-failure',
  offline: 'app-failure-offline',
  stopped: 'app-failure-offline',
  unreadable: 'app-failure-unreadable',
  invalid_request: 'app-failure',
  link_damaged: 'app-failure-link-damaged',
  link_used: 'app-failure-link-used',
  link_expired: 'app-failure-link-expired',
  link_withdrawn: 'app-failure-link-withdrawn',
  link_not_found: 'app-failure-link',
  invalid_proof: 'app-failure-proof',
  other_browser: 'app-failure-other-browser',
  invalid_name: 'app-failure-name',
  key_in_use: 'app-failure-key-in-use',
  clock_difference: 'app-failure-clock',
  device_not_enrolled: 'app-failure-device',
  request_not_found: 'app-failure-request',
  sign_in_not_found: 'app-failure-sign-in',
  user_code_not_found: 'app-failure-code',
  user_inactive: 'app-failure-user-inactive',
  no_access: 'app-failure-no-access',
  device_not_found: 'app-failure-device-unknown',
  recovery_codes_not_found: 'app-failure-codes',
  too_many_calls: 'app-failure-too-many-calls',
  too_many_devices: 'app-failure-too-many-devices',
  too_many_sign_ins: 'app-failure-too-many-sign-ins',
  too_many_requests: 'app-failure-too-many',
  invalid_subscription: 'app-failure-subscription',
  passkey_unconfirmed: 'app-failure-passkey-unconfirmed',
  invalid_passkey: 'app-failure-passkey-rejected',
  passkey_missing: 'app-failure-passkey-missing',
  passkey_exists: 'app-failure-has-passkey',
  passkeys_unsupported: 'app-passkey-impossible',
};

/**
 * Converts a failure of any kind to a failed call. Its code is `app` if the app itself failed.
 * @param {unknown} cause
 * @returns {FailedCall}
 */
export function failureOf(cause) {
  return cause instanceof Failure ? cause : new Failure(400, 'app', String(cause));
}

/**
 * The message of a failure for the user.
 * @param {unknown} failure
 */
export function inWords(failure) {
  return text(WORDS[failureOf(failure).code] ?? 'app-failure-server');
}

/**
 * Sends a call, and once more if its response was lost.
 * @param {string} path
 * @param {RequestInit} init
 * @param {CallOptions} [options]
 * @returns {Promise<any>} the body of the response; its type depends on the call
 */
async function exchange(path, init, { repeats = init.method !== 'GET', ...options } = {}) {
  const begun = performance.now();
  try {
    return await exchangeOnce(path, init, options);
  } catch (failure) {
    const isLost = failureOf(failure).code === 'offline' && performance.now() - begun < REPEAT_WITHIN_MS;
    if (!repeats || !isLost || !navigator.onLine) throw failure;
    await new Promise((resolve) => setTimeout(resolve, REPEAT_AFTER_MS));
    return exchangeOnce(path, init, options);
  }
}

/**
 * @param {string} path
 * @param {RequestInit} init
 * @param {CallOptions} options
 * @returns {Promise<any>}
 */
async function exchangeOnce(path, init, { signal, limit = LIMIT_MS, credentials = 'omit' }) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limit);
  const stop = () => controller.abort();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  let response;
  let answered;
  try {
    response = await fetch(path, { ...init, signal: controller.signal, cache: 'no-store', credentials });
    answered = await response.text();
  } catch {
    throw new Failure(0, signal?.aborted ? 'stopped' : 'offline', 'no answer');
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
  let /** @type {any} */ body = {};
  try {
    body = answered === '' ? {} : JSON.parse(answered);
  } catch {
    if (response.ok) throw new Failure(502, 'unreadable', 'the answer is no JSON');
  }
  if (response.ok) return body;
  const message = typeof body.message === 'string' ? body.message : `status ${response.status}`;
  throw new Failure(response.status, body.error ?? 'unknown', message, body);
}

/**
 * A call before the device is enrolled.
 * @template {Route<'post'>} Path
 * @param {Path} path
 * @param {RequestBody<Path, 'post'>} value
 * @returns {Promise<Answer<Path, 'post'>>}
 */
function post(path, value) {
  return exchange(BASE + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(value),
  });
}

/**
 * Previews the enrolment link `token`.
 * @param {string} token
 */
export function previewEnrolment(token) {
  return post('/enrolments/preview', { token });
}

/**
 * Enrols this device.
 * @param {RequestBody<'/enrolments', 'post'>} enrolment
 */
export function enrol(enrolment) {
  return post('/enrolments', enrolment);
}

/**
 * Returns a path of the API with the values of its parameters.
 * @param {string} template
 * @param {Record<string, string>} parameters
 */
function filled(template, parameters) {
  return template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(parameters[name]));
}

/**
 * A call that the account's device signs. `path` is a path of the API's document; `rest` has the values of its
 * parameters and the body. If the server reports a wrong clock, the offset is stored, and the call is sent once more.
 * @template {Method} Name
 * @template {Route<Name>} Path
 * @param {Account} account
 * @param {Name} method
 * @param {Path} path
 * @param {CallRest<Path, Name>} rest
 * @returns {Promise<Answer<Path, Name>>}
 */
export async function call(account, method, path, ...rest) {
  const given = /** @type {CallOptions & { parameters?: Record<string, string>, value?: unknown }} */ (rest[0] ?? {});
  const { query = '', parameters = {}, value, ...options } = given;
  const body = value === undefined ? '' : JSON.stringify(value);
  const signedPath = BASE + filled(path, parameters);
  const verb = method.toUpperCase();
  const attempt = async () => {
    const time = Math.floor(Date.now() / 1000) + (account.clockOffset ?? 0);
    const signed = { issuer: account.issuer, device: account.deviceId, time, method: verb, path: signedPath, body };
    // The server returns the summaries of protected actions in the language of this page, not in the browser's
    // preferred language.
    /** @type {Record<string, string>} */
    const headers = {
      Authorization: await deviceAuthorization(account.privateKey, signed),
      'Accept-Language': language,
    };
    if (body !== '') headers['Content-Type'] = 'application/json';
    const init = { method: verb, headers, body: body === '' ? undefined : body };
    // The browser cookie proves which sign-ins are in this browser.
    return exchange(signedPath + query, init, { ...options, credentials: 'same-origin' });
  };
  try {
    return await attempt();
  } catch (failure) {
    const { code, body: answered } = failureOf(failure);
    if (code !== 'clock_difference' || answered.now === undefined || !Number.isFinite(answered.now)) throw failure;
    account.clockOffset = Math.round(answered.now - Date.now() / 1000);
    // Without storage the next call receives the same error and the time again.
    await put(account).catch(() => {});
    return attempt();
  }
}
