// Calls to the server. A failure is a `Failure`; `inWords` tells a person of it.

import { deviceAuthorization } from './canonical.js';
import { put } from './store.js';
import { text } from './texts.js';

/**
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 * @typedef {{ signal?: AbortSignal, limit?: number }} Options
 */

const BASE = '/authenticator/api';
// A call that hangs is as good as none; a long poll has its own, longer limit.
const LIMIT_MS = 15_000;

/**
 * A call that failed. `status` is 0 where there was no answer at all; `code` is the `error` of the answer's body; the
 * message is for developers.
 */
export class Failure extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {any} [body]
   */
  constructor(status, code, message, body = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.body = body;
  }

  /** No answer, or none that came from Assent itself: trying again later may help. */
  get passing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

// What the person is told of each code. Those that a screen has a place of its own for are not here.
/** @type {Record<string, string>} */
const WORDS = {
  app: 'app-failure',
  offline: 'app-failure-offline',
  stopped: 'app-failure-offline',
  unreadable: 'app-failure-unreadable',
  invalid_request: 'app-failure',
  no_such_link: 'app-failure-link',
  bad_proof: 'app-failure-proof',
  bad_name: 'app-failure-name',
  key_taken: 'app-failure-key',
  clock: 'app-failure-clock',
  unknown_device: 'app-failure-device',
  unknown_request: 'app-failure-request',
  no_such_login: 'app-failure-login',
  closed: 'app-failure-closed',
  unknown_device_id: 'app-failure-device-unknown',
  temporarily_unavailable: 'app-failure-server',
  too_many_waiting: 'app-failure-often',
  too_many_calls: 'app-failure-often',
  too_many_devices: 'app-failure-devices',
  too_many_sign_ins: 'app-failure-scans',
  too_many_requests: 'app-failure-too-many',
  bad_subscription: 'app-failure-subscription',
  passkey_unconfirmed: 'app-failure-passkey-unconfirmed',
  passkey_refused: 'app-failure-passkey-refused',
  has_passkey: 'app-failure-has-passkey',
  passkeys_impossible: 'app-passkey-impossible',
};

/**
 * A failure of any kind as that of a call. Its code is `app` where the app itself failed.
 * @param {unknown} cause
 * @returns {FailedCall}
 */
export function failureOf(cause) {
  return cause instanceof Failure ? cause : new Failure(400, 'app', String(cause));
}

/**
 * What to tell the person of a failure.
 * @param {unknown} failure
 */
export function inWords(failure) {
  return text(WORDS[failureOf(failure).code] ?? 'app-failure-server');
}

/**
 * @param {string} path
 * @param {RequestInit} init
 * @param {Options} [options]
 * @returns {Promise<any>} the answer's body, whose type is that of the call
 */
async function exchange(path, init, { signal, limit = LIMIT_MS } = {}) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), limit);
  const stop = () => controller.abort();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  let response;
  let answered;
  try {
    response = await fetch(path, { ...init, signal: controller.signal, cache: 'no-store', credentials: 'omit' });
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
 * @param {string} path
 * @param {object} value
 */
function post(path, value) {
  return exchange(BASE + path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(value),
  });
}

/**
 * What the enrolment link `token` is for.
 * @param {string} token
 */
export function lookAtEnrolment(token) {
  return post('/enrolments/preview', { token });
}

/**
 * Enrols this device.
 * @param {{ token: string, device_name: string, public_key: object, signature: string }} enrolment
 */
export function enrol(enrolment) {
  return post('/enrolments', enrolment);
}

/**
 * A call that the account's device signs. `path` is below the API's base and has no query.
 * Where the server finds our clock wrong, its offset is remembered and the call made once more.
 * @param {Account} account
 * @param {string} method
 * @param {string} path
 * @param {Options & { query?: string, value?: object }} [options]
 */
export async function call(account, method, path, { query = '', value, ...options } = {}) {
  const body = value === undefined ? '' : JSON.stringify(value);
  const attempt = async () => {
    const time = Math.floor(Date.now() / 1000) + (account.clockOffset ?? 0);
    const signed = { issuer: account.issuer, device: account.deviceId, time, method, path: BASE + path, body };
    /** @type {Record<string, string>} */
    const headers = { Authorization: await deviceAuthorization(account.privateKey, signed) };
    if (body !== '') headers['Content-Type'] = 'application/json';
    return exchange(BASE + path + query, { method, headers, body: body === '' ? undefined : body }, options);
  };
  try {
    return await attempt();
  } catch (failure) {
    const { code, body: answered } = failureOf(failure);
    if (code !== 'clock' || !Number.isFinite(answered.now)) throw failure;
    account.clockOffset = Math.round(answered.now - Date.now() / 1000);
    await put(account);
    return attempt();
  }
}
