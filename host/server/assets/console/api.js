// Calls of the admin API, the only API that the console uses. A failure is a `Problem` (RFC 9457).

import { apiSentence, apiText } from './api_texts.js';
import { language, t } from './language.js';

/**
 * @import {
 *   ApiRequest, ChangeOptions, GetArguments, Parameters, Read, RequestBody, Result, Route, Schema, Versioned
 * } from './types.d.ts'
 */

/**
 * @typedef {Schema<'ActionApproval'>} ActionApproval
 * @typedef {Schema<'Problem'>} ProblemDocument
 */

const BASE = '/admin/api/v1';
const LIMIT_MS = 30_000;
// A table with all users.
const FILE_LIMIT_MS = 240_000;
// The time for which the server holds a response while nothing changes, and the time in which it must then arrive.
const HOLD_S = 25;
const GRACE_MS = 5_000;
// If a proxy ends or holds back such responses, the state is read at this interval, as long as this number of reads in
// succession does not fail.
const INTERVAL_MS = 5_000;
const MOST_FAILURES = 24;
// A read that fails for a transient reason is sent again after these times, or later if the server says so.
const RETRY_AFTER_MS = [500, 1_500, 4_000];
const LONGEST_RETRY_MS = 30_000;
// No response, too many requests, and a server or a proxy that cannot respond now (RFC 9110, 15.6; RFC 6585, 4).
const TRANSIENT = [0, 429, 502, 503, 504];
// No response, and a proxy that did not wait for it.
const CUT = [0, 502, 504];

/**
 * The server rejected or failed a request. Its texts are in the language of the console. `status` is 0 if there was no
 * response.
 */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {Partial<Omit<ProblemDocument, 'type'>> & { type?: ProblemDocument['type'] | 'dropped' | 'timeout' }} [body]
   * @param {string | null} [retryAfter] The value of `Retry-After`.
   */
  constructor(status, body = {}, retryAfter = null) {
    super(apiSentence(body.detail ?? t`Status ${status}`));
    this.status = status;
    this.retryAfterMs = 1000 * (Number(retryAfter) || 0);
    this.title = apiText(body.title ?? (status === 0 ? 'No answer' : 'That did not work'));
    this.kind = (body.type ?? '').split(':').pop();
    this.errors = (body.errors ?? []).map(({ pointer, detail }) => ({ pointer, detail: apiSentence(detail) }));
    this.actionApproval = body.action_approval;
    /** The headers of a request with an action approval. @type {Record<string, string> | undefined} */
    this.sent = undefined;
  }

  /** Whether a retry may succeed soon. After the console's own timeout it would take as long again. */
  get isTransient() {
    return TRANSIENT.includes(this.status) && this.kind !== 'timeout';
  }

  /**
   * Whether the server may have executed the request, or still executes it. The next attempt gets the same result by
   * its idempotency key, also after the console's own timeout.
   */
  get isUnanswered() {
    return TRANSIENT.includes(this.status) || this.kind === 'in-progress';
  }

  /** Another user is signed in in this browser now. Nothing was read or changed. */
  get isOtherUser() {
    return this.kind === 'other-user';
  }

  /** The administrator denied or cancelled the action: nothing was changed, and no message is needed. */
  get dropped() {
    return this.kind === 'dropped';
  }
}

/**
 * The problem of a request without a response.
 * @param {'timeout'} [type]
 */
export const noAnswer = (type) =>
  new Problem(0, { type, detail: 'The server did not respond. Check the connection, then try again.' });

let csrf = '';
// The administrator for whom this page was rendered. The server rejects requests of the page after another one signed
// in in this browser.
let user = '';
/** @type {(approval: ActionApproval) => Promise<boolean>} */
let approve = async () => false;

/**
 * Sets the function that shows a pending action approval until it is decided. It returns whether it was approved.
 * @param {(approval: ActionApproval) => Promise<boolean>} ask
 */
export function askWith(ask) {
  approve = ask;
}

/** @type {() => Promise<boolean>} */
let renew = async () => false;

/**
 * Sets the function that has the administrator sign in again after the session ended. It returns whether the same
 * administrator is signed in. The failed request is then sent again, so that typed input is not lost.
 * @param {() => Promise<boolean>} signIn
 */
export function renewWith(signIn) {
  renew = signIn;
}

let offerReload = () => {};

/**
 * Sets the function that offers to load the page again, because another user is signed in in this browser now.
 * @param {() => void} offer
 */
export function reloadWith(offer) {
  offerReload = offer;
}

/**
 * Reads the signed-in user. All other calls need this call first: the page belongs to the user of the first response,
 * and changes need the CSRF token. It is the only call that another user's session answers.
 */
export async function whoAmI() {
  const { value } = /** @type {Versioned<Schema<'Me'>>} */ (await repeated(address('/me'), { asksWho: true }));
  user ||= value.id ?? '';
  if (value.id === user) csrf = value.csrf_token ?? '';
  return value;
}

/**
 * Sends a request again if the session had ended and the administrator signed in again.
 * @template Sent
 * @param {() => Promise<Sent>} send
 * @returns {Promise<Sent>}
 */
async function signedIn(send) {
  try {
    return await send();
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 401 || !(await renew())) throw problem;
    return send();
  }
}

/**
 * A URL of the API: each parameter replaces its `{name}` in the path, or is in the query. A query parameter without a
 * value is left out.
 * @param {string} path
 * @param {object} [parameters]
 */
export function address(path, parameters = {}) {
  const query = new URLSearchParams();
  let filled = path;
  for (const [name, value] of Object.entries(parameters)) {
    if (path.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, () => encodeURIComponent(String(value)));
    else if (value !== undefined && value !== null && value !== '') query.append(name, String(value));
  }
  return BASE + filled + (query.size > 0 ? `?${query}` : '');
}

/**
 * Reads JSON.
 * @template {Route<'get'>} Path
 * @param {Path} path
 * @param {GetArguments<Path>} rest
 * @returns {Promise<Read<Path>>}
 */
export async function get(path, ...[parameters, options]) {
  return (await read(address(path, parameters), options)).value;
}

/**
 * Reads a table as text (CSV).
 * @template {Route<'get'>} Path
 * @param {Path} path
 * @param {Parameters<Path, 'get'>} parameters
 * @returns {Promise<string>}
 */
export async function getFile(path, parameters) {
  return (await read(address(path, parameters), { isFile: true, limit: FILE_LIMIT_MS })).value;
}

/**
 * Reads a resource that can be changed, with its version: `{ value, version }`.
 * @template {Route<'get'>} Path
 * @param {Path} path
 * @param {Parameters<Path, 'get'>} parameters
 * @returns {Promise<Versioned<Read<Path>>>}
 */
export function getVersion(path, parameters) {
  return read(address(path, parameters));
}

/**
 * Creates a resource, or runs an operation.
 * @template {Route<'post'>} Path
 * @param {Path} path
 * @param {Parameters<Path, 'post'>} parameters
 * @param {RequestBody<Path, 'post'>} [body]
 * @param {ChangeOptions} [options]
 * @returns {Promise<Result<Path, 'post'>>}
 */
export async function post(path, parameters, body, { key, ...options } = {}) {
  const url = address(path, parameters);
  const request = `${url}\n${key ?? JSON.stringify(body)}`;
  const headers = unanswered.get(request) ?? { 'Idempotency-Key': key ?? freshKey() };
  unanswered.delete(request);
  try {
    return (await change('POST', url, { body, headers, ...options })).value;
  } catch (problem) {
    if (problem instanceof Problem && problem.isUnanswered) unanswered.set(request, problem.sent ?? headers);
    throw problem;
  }
}

/** The headers of requests that got no response, by address and body. @type {Map<string, Record<string, string>>} */
const unanswered = new Map();

/**
 * Changes a resource, if it still has this version. Returns `{ value, version }`.
 * @template {Route<'patch'>} Path
 * @param {Path} path
 * @param {Parameters<Path, 'patch'>} parameters
 * @param {RequestBody<Path, 'patch'>} body
 * @param {string | null} [version]
 * @returns {Promise<Versioned<Result<Path, 'patch'>>>}
 */
export function patch(path, parameters, body, version) {
  return change('PATCH', address(path, parameters), { body, headers: version ? { 'If-Match': version } : {} });
}

/**
 * Creates or replaces a resource.
 * @template {Route<'put'>} Path
 * @param {Path} path
 * @param {Parameters<Path, 'put'>} parameters
 * @param {RequestBody<Path, 'put'>} body
 * @param {ChangeOptions} [options]
 * @returns {Promise<Result<Path, 'put'>>}
 */
export async function put(path, parameters, body, options) {
  return (await change('PUT', address(path, parameters), { body, ...options })).value;
}

/**
 * Deletes a resource, if it still has this version.
 * @template {Route<'delete'>} Path
 * @param {Path} path
 * @param {Parameters<Path, 'delete'>} parameters
 * @param {string | null} [version]
 */
export async function remove(path, parameters, version) {
  await change('DELETE', address(path, parameters), { headers: version ? { 'If-Match': version } : {} });
}

/**
 * Cancels an action approval: it disappears from the device. The request continues when the page is left.
 * @param {string} id
 */
export function cancelActionApproval(id) {
  return change('DELETE', address('/action-approvals/{id}', { id }), { keepalive: true });
}

/**
 * Reads a resource again and again. The server holds each response until the resource changes.
 * @template {'/action-approvals/{id}' | '/caller-checks/{id}' | '/test-sign-ins/{id}'} Path
 * @param {Path} path
 * @param {string} id
 * @param {{ signal?: AbortSignal, isShown?: boolean }} [options] `isShown`: the current state is known, so that the
 * first response may be held too.
 * @returns {AsyncGenerator<Read<Path>, void>}
 */
export async function* followed(path, id, { signal, isShown = false } = {}) {
  let longest = HOLD_S;
  let wait = isShown ? longest : 0;
  let failures = 0;
  for (;;) {
    const url = address(path, { id, wait });
    const limit = wait > 0 ? wait * 1000 + GRACE_MS : LIMIT_MS;
    /** @type {Versioned<Read<Path>> | undefined} */
    let found;
    try {
      found = await signedIn(() => exchange('GET', url, { signal, limit }));
    } catch (problem) {
      if (!(problem instanceof Problem) || !TRANSIENT.includes(problem.status)) throw problem;
      failures += 1;
      if (failures > MOST_FAILURES) throw problem;
      // The next read shows whether only responses that are held are lost.
      const isCut = wait > 0 && CUT.includes(problem.status);
      wait = 0;
      if (isCut) longest = 0;
      else await delay(INTERVAL_MS, signal);
    }
    if (found) {
      failures = 0;
      yield found.value;
      wait = longest;
      if (longest === 0) await delay(INTERVAL_MS, signal);
    }
  }
}

/**
 * Reads a resource.
 * @template Body
 * @param {string} url
 * @param {ApiRequest} [request]
 * @returns {Promise<Versioned<Body>>}
 */
function read(url, request) {
  return signedIn(() => repeated(url, request));
}

/**
 * Reads a resource, and retries a request that failed for a transient reason, so that no page must be reloaded because
 * the server was restarted or busy.
 * @template Body
 * @param {string} url
 * @param {ApiRequest} [request]
 * @returns {Promise<Versioned<Body>>}
 */
async function repeated(url, request) {
  for (const pause of RETRY_AFTER_MS) {
    try {
      return await exchange('GET', url, request);
    } catch (problem) {
      if (!(problem instanceof Problem) || !problem.isTransient) throw problem;
      const named = problem.retryAfterMs;
      if (named > LONGEST_RETRY_MS) throw problem;
      await delay(Math.max(named, pause), request?.signal);
    }
  }
  return exchange('GET', url, request);
}

/**
 * Waits for some milliseconds.
 * @param {number} milliseconds
 * @param {AbortSignal} [signal] It ends the wait with its reason.
 * @returns {Promise<void>}
 */
function delay(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const aborted = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', aborted);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', aborted, { once: true });
    if (signal?.aborted) aborted();
  });
}

/**
 * Sends a change, and has the administrator approve it if the server requires that.
 * @template Body
 * @param {string} method
 * @param {string} url
 * @param {ApiRequest} request
 * @param {boolean} [isRepeated]
 * @returns {Promise<Versioned<Body>>}
 */
async function change(method, url, request, isRepeated = false) {
  try {
    return await signedIn(() => exchange(method, url, request));
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    // After a new sign-in of the same administrator in another tab the CSRF token differs. If another one signed in,
    // the token stays, and the server rejects the user of this page.
    if (problem.kind === 'cross-site' && !isRepeated) {
      await whoAmI();
      return change(method, url, request, true);
    }
    const { kind, actionApproval: approval } = problem;
    if (kind !== 'approval-required' || !approval) throw problem;
    if (!(await approve(approval)))
      throw new Problem(403, { type: 'dropped', detail: 'It was not approved; nothing was changed.' });
    const headers = { ...request.headers, 'X-Assent-Action-Approval': approval.id };
    try {
      return await exchange(method, url, { ...request, headers });
    } catch (failure) {
      if (failure instanceof Problem) failure.sent = headers;
      throw failure;
    }
  }
}

/**
 * Sends a request and reads the response. The OpenAPI document defines its JSON; a test checks the server against it.
 * @template Body
 * @param {string} method
 * @param {string} url
 * @param {ApiRequest} [request]
 * @returns {Promise<Versioned<Body>>}
 */
async function exchange(
  method,
  url,
  {
    body,
    type = 'application/json',
    headers = {},
    signal,
    limit = LIMIT_MS,
    keepalive,
    asksWho = false,
    isFile = false,
  } = {},
) {
  /** @type {Record<string, string>} */
  const all = { Accept: isFile ? '*/*' : 'application/json', 'Accept-Language': language(), ...headers };
  if (!asksWho) all['X-Assent-User'] = user;
  if (method !== 'GET') all['X-Assent-CSRF'] = csrf;
  if (body !== undefined) all['Content-Type'] = type;
  const sent = /** @type {BodyInit | undefined} */ (
    body === undefined || type !== 'application/json' ? body : JSON.stringify(body)
  );
  const signals = [AbortSignal.timeout(limit), ...(signal ? [signal] : [])];
  let answer;
  let text;
  try {
    answer = await fetch(url, {
      method,
      headers: all,
      body: sent,
      signal: AbortSignal.any(signals),
      cache: 'no-store',
      redirect: 'error',
      keepalive,
    });
    text = await answer.text();
  } catch (cause) {
    if (signal?.aborted) throw cause;
    const type = cause instanceof DOMException && cause.name === 'TimeoutError' ? 'timeout' : undefined;
    throw noAnswer(type);
  }
  if (isFile && answer.ok) return { value: /** @type {Body} */ (text), version: null };
  let value = null;
  try {
    if (text !== '') value = JSON.parse(text);
  } catch {
    if (answer.ok) throw new Problem(answer.status, { detail: 'The response can’t be read.' });
  }
  if (!answer.ok) {
    const problem = new Problem(answer.status, value ?? {}, answer.headers.get('retry-after'));
    if (problem.isOtherUser) offerReload();
    throw problem;
  }
  return { value, version: answer.headers.get('etag') };
}

/** A new idempotency key: the server executes requests with the same key once. */
export function freshKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
