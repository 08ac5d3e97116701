// The people there are; new ones, one by one or from a file.

import { freshKey, get, post, query } from '../api.js';
import { form, group, select, text, toggle } from '../form.js';
import { badge, button, el, facts, figure, link, moment, notice, screen, searched, table, way } from '../view.js';

export const STATES = [
  ['', 'Any'],
  ['active', 'Active'],
  ['invited', 'Invited'],
  ['suspended', 'Suspended'],
  ['terminated', 'Terminated'],
];
export const ROLES = [
  ['', 'None'],
  ['owner', 'Owner: everything'],
  ['admin', 'Admin: everything but roles'],
  ['support', 'Support: users and devices'],
  ['auditor', 'Auditor: reads'],
];

// A large file takes its time.
const LONGEST_MS = 300_000;

export const userAddress = (id) => `/admin/users/${id}`;

/**
 * @param {import('../types.d.ts').Context} context
 */
export async function users({ may }) {
  const controls = [
    text('q', 'Name, e-mail address or id', { type: 'search' }),
    select('state', 'State', STATES, { none: '' }),
    select(
      'role',
      'Role in the console',
      [['', 'Any'], ...ROLES.slice(1).map(([id]) => [id, id[0].toUpperCase() + id.slice(1)])],
      { none: '' },
    ),
  ];
  const list = await searched(
    controls,
    (values, after) => get(`/users${query({ ...values, after })}`),
    [
      { label: 'Name', cell: (row) => link(userAddress(row.id), row.name) },
      { label: 'Person', cell: (row) => row.profile.name ?? '' },
      { label: 'E-mail', cell: (row) => row.email ?? '' },
      { label: 'State', cell: (row) => badge(row.state) },
      { label: 'Role', cell: (row) => (row.console_role ? badge(row.console_role, 'kind') : '') },
      { label: 'Made', cell: (row) => moment(row.created_at) },
    ],
    { empty: 'There is no such user.', caption: 'Users' },
  );
  const kept = el('a', { class: 'button small', download: 'users.csv' }, 'Export');
  const chosen = () => {
    const values = Object.fromEntries(controls.map((control) => [control.name, control.read()]));
    kept.href = `/admin/api/v1/users/export${query(values)}`;
  };
  kept.addEventListener('pointerdown', chosen);
  kept.addEventListener('focus', chosen);
  chosen();
  return screen(
    {
      title: 'Users',
      lead: 'The people who can sign in, and whoever was invited to.',
      actions: [
        may('users:write') && way('/admin/users/new', 'Invite a person', 'primary'),
        may('users:write') && way('/admin/users/import', 'Import'),
        kept,
      ],
    },
    list,
  );
}

const person = () => [
  text('name', 'Name at sign-in', {
    needed: 'expected a name',
    hint: 'What the person types, such as ada. Letters, digits and a few marks.',
  }),
  text('email', 'E-mail address', { type: 'email', hint: 'May be typed at sign-in as well.' }),
  text('full', 'Full name', { hint: 'What applications are told, such as Ada Lovelace.' }),
];

/**
 * @param {import('../types.d.ts').Context} context
 */
export async function newUser({ go, may }) {
  const link = toggle('link', 'Make a link to enrol a phone at once', {
    hint: 'It is shown on the next page, to be given to the person.',
  });
  const made = form([group('The person', null, ...person(), link)], {
    values: { link: true },
    submit: 'Invite',
    cancel: '/admin/users',
    send: async ({ full, link: wanted, ...values }) => {
      const user = await post('/users', { ...values, ...(full && { profile: { name: full } }) });
      await go(`${userAddress(user.id)}/devices`, wanted && may('users:write') ? 'enrol' : undefined);
    },
  });
  return screen(
    {
      title: 'Invite a person',
      lead: 'They are invited until they have a phone to approve with.',
      back: ['/admin/users', 'Users'],
    },
    made,
  );
}

/** A file of comma-separated values: checked first, then imported. */
export function importer(address, about, done) {
  const file = el('input', { type: 'file', id: 'import-file', accept: '.csv,text/csv' });
  const place = el('div', { 'aria-live': 'polite' });
  // One key for each file: it is imported once, however often it is sent.
  let key = freshKey();
  const send = async (dry) => {
    const chosen = file.files?.[0];
    if (!chosen) throw new Error('Choose a file first.');
    return post(`${address}${query({ dry_run: dry ? 'true' : undefined })}`, await chosen.arrayBuffer(), {
      type: 'text/csv',
      limit: LONGEST_MS,
      key: dry ? freshKey() : key,
    });
  };
  const show = (result) =>
    place.replaceChildren(
      // Rows that somebody was quicker than are refused alone.
      ...(result.refused > 0 && result.created + result.changed === 0
        ? [
            notice(
              `${figure(result.refused)} of ${figure(result.rows)} rows can't be taken, so nothing is imported. ` +
                'Mend them in the file, then choose it again.',
              'bad',
            ),
          ]
        : [
            facts([
              ['Rows', figure(result.rows)],
              [result.dry_run ? 'Would be made' : 'Made', figure(result.created)],
              [result.dry_run ? 'Would be changed' : 'Changed', figure(result.changed)],
              ['As they are', figure(result.unchanged)],
              ...(result.refused > 0 ? [['Refused, since somebody was quicker', figure(result.refused)]] : []),
            ]),
          ]),
      ...(result.errors.length > 0
        ? [
            table(
              [
                { label: 'Line', cell: (row) => String(row.line) },
                { label: 'Column', cell: (row) => row.column ?? '' },
                { label: 'What is wrong', cell: (row) => row.detail },
              ],
              result.errors,
              { caption: 'Wrong rows' },
            ),
          ]
        : []),
      result.dry_run && result.refused === 0
        ? el(
            'div',
            { class: 'ways' },
            button(
              'Import',
              async () => {
                const imported = await send(false);
                key = freshKey();
                show(imported);
                if (imported.refused === 0) place.append(notice('The file was imported.', 'calm'), el('p', {}, done));
              },
              'primary',
            ),
          )
        : '',
    );
  file.addEventListener('change', () => {
    key = freshKey();
    place.replaceChildren();
  });
  return el(
    'div',
    { class: 'panel' },
    ...about,
    el('div', { class: 'field' }, el('label', { for: 'import-file' }, 'CSV file'), file),
    el(
      'div',
      { class: 'ways' },
      button('Check the file', async () => show(await send(true))),
    ),
    place,
  );
}

export async function importUsers() {
  return screen(
    { title: 'Import users', back: ['/admin/users', 'Users'] },
    importer(
      '/users/import',
      [
        el(
          'p',
          {},
          'The first line names the columns; an export shows which there are. A row whose id or name is known' +
            ' changes that user, any other makes one, who is invited.',
        ),
        el('p', {}, 'The file is checked first, and nothing is changed while a row is wrong.'),
      ],
      link('/admin/users', 'To the users'),
    ),
  );
}
