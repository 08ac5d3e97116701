// Effective access: the users who can open an application, and the applications that a user can open.

import { get, getFile, post } from '../api.js';
import { FieldError, form, select, text } from '../form.js';
import { t, translated } from '../language.js';
import { pages, searched, table } from '../lists.js';
import { roleChips } from '../role_chips.js';
import { badge, button, dialog, el, exportButton, link, moment, say, sectionWithActions } from '../view.js';
import { accountAddress } from './account.js';
import { applicationAddress } from './applications.js';
import { groupAddress } from './groups.js';
import { picker } from './picker.js';
import { foundUser, userCell } from './user_cell.js';

/** @import { Child, Column, Context, Schema } from '../types.d.ts' */

/** @typedef {Schema<'Access'>} Access */

/** @type {Record<Schema<'AccessDenial'>, string>} */
const DENIED = {
  user_suspended: 'the user is suspended',
  user_terminated: 'the user is terminated',
  account_suspended: 'the account is suspended',
  account_terminated: 'the account is terminated',
};

/**
 * The state that denies access, in words.
 * @param {Schema<'AccessDenial'>} denial
 */
export const deniedBecause = (denial) => translated(DENIED[denial]);

/**
 * Whether the user has access; if not, why not, although something grants it.
 * @param {Access} row
 */
function decision({ granted, denied, user_state: state, application_enabled: isEnabled, via }) {
  const badges = [
    granted ? badge('Has access', 'active') : badge('Denied', 'terminated'),
    granted && state === 'invited' && badge('No device yet', 'invited'),
    !isEnabled && badge('Application disabled', 'suspended'),
  ];
  const groups = via.flatMap(({ name }) => name ?? []);
  const reason = denied && deniedBecause(denied);
  const why =
    reason &&
    (groups.length > 0 ? t`Denied: ${reason}, although a member of ${groups.join(', ')}` : t`Denied: ${reason}`);
  return el(
    'span',
    { class: 'user-cell' },
    el('span', { class: 'badges' }, ...badges),
    why && el('span', { class: 'muted' }, why),
  );
}

/**
 * What grants access.
 * @param {Access} row
 */
function grants({ via, account }) {
  const parts = via.map(({ kind, id, name }) => {
    if (kind === 'group' && id) return link(groupAddress(id), el('bdi', {}, name ?? id));
    if (kind === 'everyone') return translated('Everyone');
    return account ? link(accountAddress(account.id), 'Own account') : translated('Own account');
  });
  return parts.length === 1 ? parts[0] : parts;
}

/**
 * The account of the user, which the first sign-in creates.
 * @param {Access} row
 */
const accountOf = ({ account }) =>
  account ? link(accountAddress(account.id), el('bdi', {}, account.name)) : translated('None yet');

/** @type {Array<Column<Access>>} */
const COLUMNS = [
  { label: 'Access', cell: decision },
  { label: 'By', cell: grants },
  { label: 'Roles', cell: (row) => row.roles.join(', ') || translated('None') },
  { label: 'Since', cell: (row) => moment(row.since) },
  { label: 'Last used', cell: (row) => (row.used ? moment(row.used) : translated('Never')) },
  { label: 'Account', cell: accountOf },
];

/**
 * A button that saves the list as a file.
 * @param {() => Promise<string>} read
 */
const exported = (read) => exportButton('Export the list', 'access.csv', read);

/**
 * The users who can open an application.
 * @param {Schema<'Application'>} application
 * @param {string[]} known the known roles of the application
 * @param {Context} context
 * @param {Child} transfer the import and export of accounts
 */
export async function usersWithAccess({ id }, known, { may, reload }, transfer) {
  /** @type {Array<Column<Access>>} */
  const columns = [
    {
      label: 'User',
      cell: (row) =>
        may('users:read')
          ? userCell({ id: row.user_id, name: row.user_name, others: [row.display_name] })
          : row.user_name,
    },
    ...COLUMNS,
  ];
  const give = async () => {
    if (!(await newAccount(id, known))) return;
    await reload();
    say('The account was created.');
  };
  const list = await searched(
    [
      text('q', 'User', {
        type: 'search',
        hint: 'The first letters of the user’s name or email address, or of the account’s name.',
      }),
      select('denied', 'Show', [
        ['', 'All users with access'],
        ['true', 'Only denied access'],
      ]),
    ],
    ({ q, denied }, after) => get('/applications/{id}/access', { q, denied: denied === 'true' || null, id, after }),
    table(columns, [], {
      empty: 'No one has access yet.',
      unmatched: 'There is no such user with access.',
      caption: 'Users with access',
    }),
    { nameOf: (row) => row.display_name || row.user_name },
  );
  return sectionWithActions(
    'Users with access',
    [
      may('accounts:write') && button('Give a user access', give),
      exported(() => getFile('/applications/{id}/access/export', { id })),
    ],
    el('p', { class: 'muted' }, 'By an own account, by a group, or because everyone has access; used or not.'),
    list,
    transfer,
  );
}

/**
 * Asks for a user, and creates the account. Returns whether it was created.
 * @param {string} application
 * @param {string[]} known
 */
function newAccount(application, known) {
  const userField = picker('user_id', 'User', {
    hint: 'The first letters of the name or the email address.',
    load: (q) => get('/users', { q, limit: 8 }),
    label: (one) => foundUser(one),
  });
  const name = text('name', 'Account name', {
    hint: 'The name of the user in the application. If empty, the user’s own name.',
  });
  return dialog('Give a user access', (/** @type {(isCreated?: boolean) => void} */ close) => [
    form([userField, name, roleChips('roles', 'Roles', { known })], {
      submit: 'Give access',
      send: async ({ user_id: user, ...values }) => {
        if (!user) throw new FieldError('user_id', 'Choose a user from the list.');
        await post('/applications/{id}/accounts', { id: application }, { ...values, user_id: user });
        close(true);
      },
      cancel: () => close(),
    }),
  ]);
}

/**
 * The applications that a user can open.
 * @param {Schema<'User'>} user
 * @param {Context} context
 */
export async function applicationsOfUser(user, { may, reload }) {
  const { id } = user;
  /** @type {Array<Column<Access>>} */
  const columns = [
    {
      label: 'Application',
      cell: (row) =>
        may('applications:read')
          ? link(`${applicationAddress(row.application_id)}/accounts`, el('bdi', {}, row.application_name))
          : row.application_name,
    },
    ...COLUMNS,
  ];
  const give = async () => {
    if (!(await newAccountOf(id))) return;
    await reload();
    say('The account was created.');
  };
  const list = await pages(
    (after) => get('/users/{id}/access', { id, after }),
    table(columns, [], { empty: 'No access to any application yet.', caption: 'Access to applications' }),
    (row) => row.application_name,
  );
  const writes = may('accounts:write') && may('applications:read');
  return [
    sectionWithActions(
      'Access to applications',
      [
        writes && button('Give access to an application', give),
        exported(() => getFile('/users/{id}/access/export', { id })),
      ],
      el('p', { class: 'muted' }, 'By an own account, by a group, or because everyone has access; used or not.'),
      list,
    ),
  ];
}

/**
 * Asks for an application, and creates the user's account there. Returns whether it was created.
 * @param {string} user
 */
function newAccountOf(user) {
  const roles = roleChips('roles', 'Roles');
  const application = picker('application', 'Application', {
    load: (q) => get('/applications', { q, limit: 8 }),
    label: (one) => one.name,
    chosen: async (one) => roles.suggest((await get('/applications/{id}/roles', { id: one.id })).items),
  });
  const name = text('name', 'Account name', { hint: 'If empty, the user’s own name.' });
  return dialog('Give access to an application', (/** @type {(isCreated?: boolean) => void} */ close) => [
    form([application, name, roles], {
      submit: 'Give access',
      send: async ({ application: chosen, ...values }) => {
        if (!chosen) throw new FieldError('application', 'Choose an application from the list.');
        await post('/applications/{id}/accounts', { id: chosen }, { ...values, user_id: user });
        close(true);
      },
      cancel: () => close(),
    }),
  ]);
}
