// An entry of the audit log: a sentence, and its details on demand.

import { get } from '../api.js';
import { icon } from '../icons.js';
import { button, code, copyButton, download, el, moment } from '../view.js';
import { sentenceOf, toneOf } from './audit_events.js';

/** @import { AuditDetail, Child, Context, Schema } from '../types.d.ts' */

/** @typedef {Schema<'AuditEntry'>} Entry */

/** The text of the icon for screen readers. */
const TONES = { calm: null, good: null, warn: 'Warning: ', bad: 'Serious: ' };

let created = 0;

/**
 * @param {Entry} entry
 * @param {Context} context
 */
export function auditEntry(entry, { may }) {
  created += 1;
  const id = `entry-${created}`;
  const tone = toneOf(entry);
  const place = el('div', { class: 'entry-details', id, hidden: true });
  const toggle = el(
    'button',
    { type: 'button', class: 'button small', 'aria-expanded': 'false', 'aria-controls': id },
    'Details',
  );
  toggle.addEventListener('click', () => {
    if (place.childElementCount === 0) place.append(details(entry, may('receipts:read')));
    place.hidden = !place.hidden;
    toggle.setAttribute('aria-expanded', String(!place.hidden));
  });
  return el(
    'article',
    { class: 'entry', 'data-tone': tone, 'data-event': entry.event },
    icon(tone),
    el(
      'div',
      { class: 'entry-text' },
      el('p', {}, TONES[tone] && el('span', { class: 'hidden-text' }, TONES[tone]), ...sentenceOf(entry, may)),
      el('p', { class: 'muted small' }, moment(entry.at, { exact: true }), ...originOf(entry)),
    ),
    toggle,
    place,
  );
}

/**
 * The origin of the entry: the address with its location, and the browser.
 * @param {Entry} entry
 * @returns {Child[]}
 */
function originOf({ personal, place, browser }) {
  const address = typeof personal.ip_address === 'string' ? personal.ip_address : '';
  return [
    address && ' · from ',
    address && el('bdi', {}, address),
    place && ' (',
    place && el('bdi', {}, place),
    place && ')',
    browser && ' · ',
    browser && el('bdi', {}, browser),
  ];
}

/**
 * The labels that differ from the words of a name.
 * @type {Record<string, string>}
 */
const LABELS = { ip_address: 'IP address', kid: 'Key ID' };

/**
 * The name of a member of an entry, as a label.
 * @param {string} name
 */
export const labelOf = (name) => LABELS[name] ?? name[0].toUpperCase() + name.slice(1).replaceAll('_', ' ');

/**
 * A time, which an entry contains in seconds since 1970; undefined for any other value.
 * @param {string} name
 * @param {unknown} value
 */
export function timeOf(name, value) {
  if (typeof value !== 'number' || !/(^|_)(at|from|until)$/.test(name)) return undefined;
  return moment(new Date(value * 1000).toISOString(), { exact: true });
}

/**
 * A button that saves the receipt of an answer to an approval request, if the entry is about one.
 * @param {Entry} row
 */
function receiptButton({ detail: { receipt, request } }) {
  if (typeof receipt !== 'string' || typeof request !== 'string') return false;
  return button('Download the receipt', async () => {
    const found = await get('/receipts/{id}', { id: request });
    download(`receipt-${request}.jws`, 'application/jose', found.receipt);
  });
}

/**
 * All details of an entry.
 * @param {Entry} row
 * @param {boolean} mayReadReceipts
 */
function details(row, mayReadReceipts) {
  /** @type {AuditDetail} */
  const all = { ...row.detail, ...row.personal };
  const { before, after, ...others } = all;
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : JSON.stringify(value));
  const fact = (/** @type {string} */ name, /** @type {Child[]} */ ...value) =>
    el('div', {}, el('dt', {}, labelOf(name)), el('dd', {}, ...value));
  const was = members(before, 'state');
  const is = members(after, 'state');
  const changes = [...new Set([...Object.keys(was), ...Object.keys(is)])].map((name) =>
    fact(
      name,
      was[name] !== undefined && el('del', {}, text(was[name])),
      was[name] !== undefined && is[name] !== undefined && ' ',
      is[name] !== undefined && el('ins', {}, text(is[name])),
    ),
  );
  return el(
    'div',
    { class: 'stack' },
    el(
      'dl',
      { class: 'small-facts' },
      fact('Event', code(row.event)),
      fact('Number', code(`${row.lane}:${row.seq}`)),
      fact('Actor', row.actor.kind.replaceAll('_', ' '), row.actor.id && ' ', row.actor.id && code(row.actor.id)),
      row.user_id && fact('User', code(row.user_id)),
      row.application_id && fact('Application', code(row.application_id)),
      row.approval_id && fact('Approval', code(row.approval_id)),
      ...changes,
      ...Object.entries(others).map(([name, value]) => fact(name, timeOf(name, value) ?? text(value))),
      fact('Digest', code(row.digest)),
    ),
    el(
      'div',
      { class: 'ways' },
      copyButton('Copy as JSON', 'the entry', () => JSON.stringify(row, null, 2)),
      mayReadReceipts && receiptButton(row),
    ),
  );
}

/**
 * The members of a state before or after a change. A state that is a text is a single member.
 * @param {unknown} state
 * @param {string} name
 * @returns {Record<string, unknown>}
 */
function members(state, name) {
  if (state === undefined || state === null) return {};
  return typeof state === 'object' ? { ...state } : { [name]: state };
}
