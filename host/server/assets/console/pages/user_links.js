// The open enrolment links of a user, and the origin of a device.

import { get, remove } from '../api.js';
import { t, translated } from '../language.js';
import { table } from '../lists.js';
import { ask, button, el, moment, say, section } from '../view.js';

/** @import { Child, Schema } from '../types.d.ts' */

/** @type {Record<Schema<'EnrolledBy'>, string>} */
const WAYS = {
  email: 'Sent by email',
  link: 'Handed over by an administrator',
  device: 'Shown on another device',
  recovery_code: 'Created with a recovery code',
};

/**
 * The open links of a user, each with a button that ends it; null if there are none.
 * @param {string} id the user
 * @param {boolean} writes
 * @param {() => Promise<unknown>} reload
 */
export async function openLinks(id, writes, reload) {
  const { items } = await get('/users/{id}/enrolments', { id });
  if (items.length === 0) return null;
  const end = async (/** @type {Schema<'OpenLink'>} */ row) => {
    const about = 'No device can be enrolled with it any more. You can create another one.';
    if (!(await ask('End this link?', about, 'End it'))) return;
    await remove('/users/{id}/enrolments/{enrolment}', { id, enrolment: row.id });
    await reload();
    say('The link ended.');
  };
  const list = table(
    [
      { label: 'Open link', cell: (/** @type {Schema<'OpenLink'>} */ row) => translated(WAYS[row.by]) },
      { label: 'Created', cell: (row) => moment(row.created_at) },
      { label: 'Expires', cell: (row) => moment(row.expires_at, { exact: true }) },
      ...(writes
        ? [
            {
              label: 'Actions',
              cell: (/** @type {Schema<'OpenLink'>} */ row) => button('End', () => end(row), 'danger'),
            },
          ]
        : []),
    ],
    items,
    { caption: 'Open enrolment links' },
  );
  return section(
    'Open links',
    el('p', { class: 'muted' }, 'Anyone with such a link can enrol one device of this user.'),
    list,
  );
}

/**
 * When and how a device was enrolled.
 * @param {Schema<'Device'>} device
 * @returns {Child}
 */
export function enrolledCell({ created_at: at, enrolled_by: by, link_issued_at: issued, enrolled_from: from }) {
  const after = Math.max(0, Math.round((Date.parse(at) - Date.parse(issued)) / 1000));
  /** @type {Child[]} */
  const lines = [
    moment(at),
    el('p', { class: 'small muted' }, translated(WAYS[by])),
    el('p', { class: 'small muted' }, pause(after)),
  ];
  if (from) lines.push(el('p', { class: 'small muted' }, t`From ${from}`));
  return el('div', { class: 'about' }, ...lines);
}

/**
 * The time between a link and its use. A very short one may be a mail scanner, or a user who waited for it.
 * @param {number} seconds
 */
function pause(seconds) {
  if (seconds < 120) return t`${seconds} s after the link`;
  if (seconds < 7_200) return t`${Math.round(seconds / 60)} min after the link`;
  if (seconds < 172_800) return t`${Math.round(seconds / 3_600)} h after the link`;
  return t`${Math.round(seconds / 86_400)} days after the link`;
}
