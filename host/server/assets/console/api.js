// Calls of the admin API, which is all that the console uses. A failure is a `Problem` (RFC 9457).

/**
 * @typedef {import('./types.d.ts').CallOptions} CallOptions
 * @typedef {import('./types.d.ts').Schema<'Problem'>} Body
 */

/**
 * What `GET` answers at an address of the API. Of an address with values in it the caller names the type.
 * @template {string} Address
 * @typedef {Address extends keyof import('admin-api').paths ? import('./types.d.ts').Read<Address> : any} Read
 */

const BASE = '/admin/api/v1';
// A call that hangs is as good as none; the state of an action approval waits for the phone.
const LIMIT_MS = 30_000;
const APPROVAL_LIMIT_MS = 40_000;

/** What was refused or failed. `status` is 0 where there was no answer. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {Partial<Omit<Body, 'type'>> & { type?: Body['type'] | 'dropped' }} [body]
   */
  constructor(status, body = {}) {
    super(body.detail ?? `status ${status}`);
    this.status = status;
    this.title = body.title ?? (status === 0 ? 'No answer' : 'That did not work');
    this.kind = (body.type ?? '').split(':').pop();
    this.errors = body.errors ?? [];
    this.actionApproval = body.action_approval;
  }

  /** The person did not approve on the phone, or gave up: nothing was done, and nothing has to be said. */
  get dropped() {
    return this.kind === 'dropped';
  }
}

let csrf = '';
/** @type {(approval: import('./types.d.ts').Schema<'ActionApproval'>) => Promise<boolean>} */
let approve = async () => false;

/** Has `ask(approval)` show a pending action approval until it is decided; it returns whether it was approved. */
export function askWith(ask) {
  approve = ask;
}

/** Reads who is signed in. What changes something needs this first. */
export async function whoAmI() {
  const me = await get('/me');
  csrf = me.csrf_token ?? '';
  return me;
}

/**
 * A path of the API: path`/users/${id}` with each value as one segment.
 * @param {TemplateStringsArray} texts
 * @param {...string} values
 */
export function path(texts, ...values) {
  return String.raw({ raw: texts }, ...values.map(encodeURIComponent));
}

/**
 * `?` and the parameters that say something.
 * @param {Record<string, any>} parameters
 */
export function query(parameters) {
  const said = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return said.length === 0 ? '' : `?${new URLSearchParams(/** @type {string[][]} */ (said))}`;
}

/**
 * Reads JSON.
 * @template {string} Address
 * @param {Address} address
 * @param {CallOptions} [options]
 * @returns {Promise<Read<Address>>}
 */
export async function get(address, options) {
  return (await exchange('GET', address, options)).value;
}

/**
 * Reads something that can be changed, with its version: `{ value, version }`.
 * @param {string} address
 */
export function getVersion(address) {
  return exchange('GET', address);
}

/**
 * Makes something, or has something done.
 * @param {string} address
 * @param {unknown} [body]
 * @param {CallOptions} [options]
 */
export async function post(address, body, { key = freshKey(), ...options } = {}) {
  return (await change('POST', address, { body, headers: { 'Idempotency-Key': key }, ...options })).value;
}

/**
 * Changes something, if it is still at this version. Gives `{ value, version }`.
 * @param {string} address
 * @param {unknown} body
 * @param {string | null} [version]
 */
export function patch(address, body, version) {
  return change('PATCH', address, { body, headers: version ? { 'If-Match': version } : {} });
}

/**
 * Puts something in its place.
 * @param {string} address
 * @param {unknown} body
 * @param {CallOptions} [options]
 */
export async function put(address, body, options) {
  return (await change('PUT', address, { body, ...options })).value;
}

/**
 * Takes something away.
 * @param {string} address
 * @param {string | null} [version]
 */
export async function remove(address, version) {
  await change('DELETE', address, { headers: version ? { 'If-Match': version } : {} });
}

/** Cancels an action approval: the phone does not ask any longer. Lasts though the page is left. */
export function cancelActionApproval(id) {
  return change('DELETE', path`/action-approvals/${id}`, { keepalive: true });
}

/** The state of an action approval: waits up to 25 seconds for the phone. */
export function actionApproval(id, signal) {
  return get(`${path`/action-approvals/${id}`}?wait=25`, { signal, limit: APPROVAL_LIMIT_MS });
}

/**
 * @param {string} method
 * @param {string} address
 * @param {CallOptions} options
 * @returns {Promise<{ value: any, version: string | null }>}
 */
async function change(method, address, options) {
  try {
    return await exchange(method, address, options);
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    // Somebody who signed in again meanwhile, in another tab, has another token.
    if (problem.kind === 'cross-site' && !options.again) {
      await whoAmI();
      return change(method, address, { ...options, again: true });
    }
    const { kind, actionApproval: approval } = problem;
    if (kind !== 'approval-required' || !approval) throw problem;
    if (!(await approve(approval)))
      throw new Problem(403, { type: 'dropped', detail: 'It was not approved; nothing was changed.' });
    return exchange(method, address, {
      ...options,
      headers: { ...options.headers, 'X-Assent-Action-Approval': approval.id },
    });
  }
}

/**
 * @param {string} method
 * @param {string} address
 * @param {CallOptions} [options]
 * @returns {Promise<{ value: any, version: string | null }>}
 */
async function exchange(
  method,
  address,
  { body, type = 'application/json', headers = {}, signal, limit = LIMIT_MS, keepalive } = {},
) {
  /** @type {Record<string, string>} */
  const all = { Accept: 'application/json', ...headers };
  if (method !== 'GET') all['X-Assent-CSRF'] = csrf;
  if (body !== undefined) all['Content-Type'] = type;
  const sent = /** @type {BodyInit | undefined} */ (
    body === undefined || type !== 'application/json' ? body : JSON.stringify(body)
  );
  const signals = [AbortSignal.timeout(limit), ...(signal ? [signal] : [])];
  let answer;
  let text;
  try {
    answer = await fetch(BASE + address, {
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
    throw new Problem(0, { detail: 'Assent did not answer. Check the connection, then try again.' });
  }
  let value = null;
  try {
    if (text !== '') value = JSON.parse(text);
  } catch {
    if (answer.ok) throw new Problem(answer.status, { detail: "The answer can't be read." });
  }
  if (!answer.ok) throw new Problem(answer.status, value ?? {});
  return { value, version: answer.headers.get('etag') };
}

/** Stands for one thing to be done, however often it has to be sent. */
export function freshKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
