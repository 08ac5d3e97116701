// The audit log: search, and whether it is whole.

import { get, query } from '../api.js';
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
} from '../view.js';
import { applicationAddress } from './applications.js';
import { picker } from './picker.js';

// The ids of users and applications: whoever is gone is found by nothing else.
const isId = (text) => /^[0-9a-f]{32}$|^did:[a-z]+:\S+$/.test(text);

const BAD = /denied|not-me|wrong|refused|revoked|terminated|suspended|deleted|erased|reused|failed/;

function actorOf({ actor }, may) {
  if (actor.kind === 'person' && actor.id)
    return el('span', {}, 'person ', named(`/admin/users/${actor.id}`, actor.name, actor.id, may('users:read')));
  if (actor.kind === 'application' && actor.id)
    return el(
      'span',
      {},
      'application ',
      named(applicationAddress(actor.id), actor.name, actor.id, may('applications:read')),
    );
  return el('span', {}, actor.kind, actor.id && ' ', actor.id && code(actor.id));
}

/** What somebody or something is called; the id where it is gone. */
function named(address, name, id, leads) {
  const shown = name ? el('bdi', { title: id }, name) : code(id);
  return leads && name ? link(address, shown) : shown;
}

/** The protected action that an entry is about, with the current names of what it concerned. */
function protectedAction({ detail, target_user_name: user, target_application_name: application }) {
  const gone = (detail.target_user && !user) || (detail.target_application && !application);
  const targets = gone ? ['deleted since'] : [user, application].filter(Boolean);
  const action = detail.action.replaceAll('-', ' ');
  return el('span', {}, action, targets.length > 0 && ': ', targets.length > 0 && el('bdi', {}, targets.join(', ')));
}

const columns = ({ may }) => [
  { label: 'When', cell: (row) => moment(row.at) },
  {
    label: 'What',
    cell: (row) =>
      el(
        'span',
        { class: 'about' },
        badge(row.event, BAD.test(row.event) ? 'suspended' : 'kind'),
        row.detail.action && protectedAction(row),
      ),
  },
  { label: 'By', cell: (row) => actorOf(row, may) },
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

function details(row) {
  const all = { ...row.detail, ...row.personal };
  const { before, after, ...others } = all;
  const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
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
    el('summary', {}, `No. ${row.seq}`),
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
 * Entries of the log, by pages.
 * @param {any} load
 * @param {import('../types.d.ts').Context} context
 */
export function entries(load, context) {
  return pages(load, columns(context), { empty: 'Nothing happened yet.', caption: 'Entries' });
}

/**
 * @param {import('../types.d.ts').Context} context
 */
export async function audit(context) {
  const { items: events } = await get('/audit/events');
  const { may } = context;
  const person = (name, label) =>
    may('users:read')
      ? picker(name, label, {
          load: (q) => get(`/users${query({ q, limit: 8 })}`),
          label: (user) => [user.name, user.email].filter(Boolean).join(' · '),
          isId,
        })
      : text(name, `${label} (id)`);
  const controls = [
    select('event', 'Event', [['', 'Any'], ...events.map((event) => [event, event])], { none: '' }),
    person('user', 'About the user'),
    may('applications:read')
      ? picker('application', 'About the application', {
          load: (q) => get(`/applications${query({ q, limit: 8 })}`),
          label: (one) => one.name,
          isId,
        })
      : text('application', 'About the application (id)'),
    person('actor', 'By the person'),
    text('since', 'From', { type: 'date' }),
    text('until', 'Before', { type: 'date' }),
  ];
  const list = await searched(
    controls,
    (values, after) => get(`/audit${query({ ...values, after })}`),
    columns(context),
    { empty: 'There is no such entry.', caption: 'Entries' },
  );
  const place = el('div', { 'aria-live': 'polite' });
  const verify = button('Check the chain', async () => {
    const found = await get('/audit/verification');
    place.replaceChildren(
      panel(
        found.good
          ? notice(
              `The last ${figure(found.entries)} entries are as they were written, and none is missing.`,
              'calm',
              el('p', {}, 'On the machine, "assent audit verify" looks at all.'),
            )
          : notice(`It is broken: ${found.broken?.message ?? 'unknown'}`, 'bad'),
        facts([
          ['Entries looked at', figure(found.entries)],
          ['From', found.first && moment(found.first.at)],
          ['To', found.last && moment(found.last.at)],
          ['Digest of the last one', code(found.digest)],
        ]),
      ),
    );
  });
  const exported = button('Export what is found', async () => {
    const values = Object.fromEntries(controls.map((control) => [control.name, control.read()]));
    const found = [];
    let after;
    do {
      const page = await get(`/audit${query({ ...values, after, limit: 200 })}`);
      found.push(...page.items);
      after = page.next;
    } while (after && found.length < 10_000);
    download('audit.jsonl', 'application/jsonl', found.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    if (after)
      place.replaceChildren(
        notice('The first 10,000 were exported. The command "assent audit export" has no such bound.', 'warn'),
      );
  });
  return screen(
    {
      title: 'Audit log',
      lead: 'Every change and every event about security, each chained to the one before.',
      actions: [verify, exported],
    },
    place,
    list,
  );
}
