// The audit log: search, and the check of its hash chain.

import { get } from '../api.js';
import { select, text } from '../form.js';
import {
  badge,
  button,
  code,
  download,
  el,
  facts,
  figure,
  link,
  moment,
  notice,
  pages,
  panel,
  screen,
  searched,
  valuesOf,
} from '../view.js';
import { applicationAddress } from './applications.js';
import { picker } from './picker.js';

/** @import { AuditDetail, Column, Context, Schema } from '../types.d.ts' */

/**
 * Whether a text is the id of a user or an application. Deleted ones can only be found by their id.
 * @param {string} text
 */
const isId = (text) => /^[0-9a-f]{32}$|^did:[a-z]+:\S+$/.test(text);

const BAD = /denied|reported|suspected|failed|rejected|revoked|terminated|suspended|deleted|erased|reused/;

/**
 * @param {Schema<'Actor'>} actor
 * @param {Context['may']} may
 */
function actorShown(actor, may) {
  if (actor.kind === 'user' && actor.id)
    return el('span', {}, 'user ', named(`/admin/users/${actor.id}`, actor.name, actor.id, may('users:read')));
  if (actor.kind === 'application' && actor.id)
    return el(
      'span',
      {},
      'application ',
      named(applicationAddress(actor.id), actor.name, actor.id, may('applications:read')),
    );
  return el('span', {}, actor.kind.replace('_', ' '), actor.id && ' ', actor.id && code(actor.id));
}

/**
 * The name of a user or an application; its id if it was deleted.
 * @param {string} address
 * @param {string | null | undefined} name
 * @param {string} id
 * @param {boolean} leads
 */
function named(address, name, id, leads) {
  const shown = name ? el('bdi', { title: id }, name) : code(id);
  return leads && name ? link(address, shown) : shown;
}

/**
 * The protected action that an entry is about, with the current names of what it concerned; nothing if it is about
 * none.
 * @param {Schema<'AuditEntry'>} entry
 */
function protectedAction({ detail, target_user_name: user, target_application_name: application }) {
  /** @type {AuditDetail} */
  const { action, target_user: userId, target_application: applicationId } = detail;
  if (typeof action !== 'string') return null;
  const gone = (userId && !user) || (applicationId && !application);
  const targets = gone ? 'deleted since' : [user, application].filter(Boolean).join(', ');
  const kind = action.replaceAll('-', ' ');
  return el('span', {}, kind, targets !== '' && ': ', targets !== '' && el('bdi', {}, targets));
}

/**
 * @param {Context} context
 * @returns {Array<Column<Schema<'AuditEntry'>>>}
 */
const columns = ({ may }) => [
  { label: 'When', cell: (row) => moment(row.at) },
  {
    label: 'What',
    cell: (row) => {
      const event = badge(row.event, BAD.test(row.event) ? 'suspended' : 'kind');
      return el('span', { class: 'about' }, event, protectedAction(row));
    },
  },
  { label: 'By', cell: (row) => actorShown(row.actor, may) },
  {
    label: 'About',
    cell: (row) =>
      el(
        'span',
        { class: 'about' },
        row.user_id &&
          el('span', {}, 'user ', named(`/admin/users/${row.user_id}`, row.user_name, row.user_id, may('users:read'))),
        row.application_id &&
          el(
            'span',
            {},
            'application ',
            named(
              applicationAddress(row.application_id),
              row.application_name,
              row.application_id,
              may('applications:read'),
            ),
          ),
      ),
  },
  { label: 'More', cell: details },
];

/**
 * @param {Schema<'AuditEntry'>} row
 */
function details(row) {
  /** @type {AuditDetail} */
  const all = { ...row.detail, ...row.personal };
  const { before, after, ...others } = all;
  const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : JSON.stringify(value));
  const changes = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].map((name) =>
    el(
      'div',
      {},
      el('dt', {}, name),
      el(
        'dd',
        {},
        before?.[name] !== undefined && el('del', {}, text(before[name])),
        before?.[name] !== undefined && after?.[name] !== undefined && ' ',
        after?.[name] !== undefined && el('ins', {}, text(after[name])),
      ),
    ),
  );
  const rest = Object.entries(others).map(([name, value]) =>
    el('div', {}, el('dt', {}, name), el('dd', {}, text(value))),
  );
  return el(
    'details',
    { class: 'entry' },
    el('summary', {}, `No. ${row.lane}:${row.seq}`),
    el(
      'dl',
      { class: 'small-facts' },
      ...changes,
      ...rest,
      row.user_id && el('div', {}, el('dt', {}, 'user'), el('dd', {}, code(row.user_id))),
      row.application_id && el('div', {}, el('dt', {}, 'application'), el('dd', {}, code(row.application_id))),
      row.approval_id && el('div', {}, el('dt', {}, 'approval'), el('dd', {}, code(row.approval_id))),
      el('div', {}, el('dt', {}, 'digest'), el('dd', {}, code(row.digest))),
    ),
  );
}

/**
 * Entries of the log, page by page.
 * @param {(after?: string) => Promise<Schema<'List_AuditEntry'>>} load
 * @param {Context} context
 */
export function entries(load, context) {
  return pages(load, columns(context), { empty: 'No activity yet.', caption: 'Entries' });
}

/**
 * @param {Context} context
 */
export async function audit(context) {
  const { items: events } = await get('/audit/events');
  const { may } = context;
  const user = (/** @type {'user' | 'actor'} */ name, /** @type {string} */ label) =>
    may('users:read')
      ? picker(name, label, {
          load: (q) => get('/users', { q, limit: 8 }),
          label: (one) => [one.name, one.email].filter(Boolean).join(' · '),
          isId,
        })
      : text(name, `${label} (id)`);
  const controls = [
    select(
      'event',
      'Event',
      ['', ...events].map((event) => [event, event || 'Any']),
      { none: '' },
    ),
    user('user', 'About the user'),
    may('applications:read')
      ? picker('application', 'About the application', {
          load: (q) => get('/applications', { q, limit: 8 }),
          label: (one) => one.name,
          isId,
        })
      : text('application', 'About the application (id)'),
    user('actor', 'By the user'),
    text('since', 'From', { type: 'date' }),
    text('until', 'Before', { type: 'date' }),
  ];
  const list = await searched(controls, (values, after) => get('/audit', { ...values, after }), columns(context), {
    empty: 'There is no such entry.',
    caption: 'Entries',
  });
  const place = el('div', { 'aria-live': 'polite' });
  const verify = button('Check the hash chain', async () => {
    const found = await get('/audit/verification');
    place.replaceChildren(
      panel(
        found.valid
          ? notice(
              `The last ${figure(found.entries)} entries are as they were written, and none is missing.`,
              'calm',
              el('p', {}, 'On the server, "assent audit verify" checks all entries.'),
            )
          : notice(`The hash chain is broken: ${found.broken?.message ?? 'unknown'}`, 'bad'),
        facts([
          ['Checked entries', figure(found.entries)],
          ['From', found.first && moment(found.first.at)],
          ['To', found.last && moment(found.last.at)],
          ['Digest of the last one', code(found.digest)],
        ]),
      ),
    );
  });
  const exported = button('Export the results', async () => {
    const values = valuesOf(controls);
    const found = [];
    /** @type {string | undefined} */
    let after;
    do {
      /** @type {Schema<'List_AuditEntry'>} */
      const page = await get('/audit', { ...values, after, limit: 200 });
      found.push(...page.items);
      after = page.next;
    } while (after && found.length < 10_000);
    download('audit.jsonl', 'application/jsonl', found.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    if (after)
      place.replaceChildren(
        notice('The first 10,000 entries were exported. The command "assent audit export" has no such limit.', 'warn'),
      );
  });
  return screen(
    {
      title: 'Audit log',
      lead: 'Every change and every security event, in a hash chain.',
      actions: [verify, exported],
    },
    place,
    list,
  );
}
