// Effective access: the users who can open an application, and the applications that a user can open.

import { get, getFile, getVersion, patch, post, remove } from '../api.js';
import { FieldError, form, select, text } from '../form.js';
import { t, translated } from '../language.js';
import { searched, table, valuesOf } from '../lists.js';
import { roleChips } from '../role_chips.js';
import { ask, badge, button, dialog, el, link, moment, say, sectionWithActions } from '../view.js';
import { exports, giver, totalsLine, useFilter } from './access_parts.js';
import { accountAddress } from './account.js';
import { applicationAddress } from './applications.js';
import { groupAddress } from './groups.js';
import { picker } from './picker.js';
import { foundUser, userAddress, userCell } from './user_cell.js';

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

/**
 * Who gave each of the grants, in their order.
 * @param {Access} row
 * @param {Context['may']} may
 */
function givers({ via }, may) {
  const parts = via.map(({ by }) => giver(by, may));
  return parts.length === 1 ? parts[0] : parts;
}

/**
 * The columns of both lists, after the first one.
 * @param {Context} context
 * @returns {Array<Column<Access>>}
 */
const columnsOf = ({ may, reload }) => [
  { label: 'Access', cell: decision },
  { label: 'By', cell: grants },
  { label: 'Roles', cell: (row) => row.roles.join(', ') || translated('None') },
  { label: 'Since', cell: (row) => moment(row.since) },
  { label: 'Given by', cell: (row) => givers(row, may) },
  { label: 'Last used', cell: (row) => (row.used ? moment(row.used) : translated('Never')) },
  { label: 'Account', cell: accountOf },
  ...(may('accounts:write') ? [{ label: 'Actions', cell: (/** @type {Access} */ row) => actionsOf(row, reload) }] : []),
];

/**
 * Buttons that change the roles of an own account, and that remove it. A group is changed on its own page.
 * @param {Access} row
 * @param {Context['reload']} reload
 */
function actionsOf(row, reload) {
  const { account, via } = row;
  if (!account || !via.some(({ kind }) => kind === 'account')) return '';
  const roles = button('Roles', () => changeRoles(account.id, row, reload));
  roles.setAttribute('aria-label', t`Change the roles of ${row.user_name} in ${row.application_name}`);
  const drop = button('Remove', () => removeOwn(account.id, row, reload), 'danger');
  drop.setAttribute('aria-label', t`Remove the access of ${row.user_name} to ${row.application_name}`);
  return el('div', { class: 'ways' }, roles, drop);
}

/**
 * Asks for the roles of an account. Those of groups and of everyone are not its own.
 * @param {string} id
 * @param {Access} row
 * @param {Context['reload']} reload
 */
async function changeRoles(id, row, reload) {
  const [{ value, version }, { items: known }] = await Promise.all([
    getVersion('/accounts/{id}', { id }),
    get('/applications/{id}/roles', { id: row.application_id }),
  ]);
  const title = t`Roles of ${row.user_name} in ${row.application_name}`;
  const roles = await dialog(title, (/** @type {(answer?: string[]) => void} */ close) => [
    form([roleChips('roles', 'Roles', { known })], {
      values: { roles: value.roles },
      submit: 'Save',
      send: async (values) => close(values.roles),
      cancel: () => close(),
    }),
  ]);
  if (!roles) return;
  await patch('/accounts/{id}', { id }, { roles }, version);
  await reload();
  say('Saved.');
}

/**
 * Removes the access by an own account. The account stays if something else gives access, because the user goes on
 * with it.
 * @param {string} id
 * @param {Access} row
 * @param {Context['reload']} reload
 */
async function removeOwn(id, row, reload) {
  const isOnly = row.via.length === 1;
  const yes = await ask(
    t`Remove the access of ${row.user_name} to ${row.application_name}?`,
    isOnly
      ? 'The account is deleted, and the user is signed out of the application at once. The data there stay.'
      : 'The user keeps the access by groups, or because everyone has access.',
    'Remove',
  );
  if (!yes) return;
  const { version } = await getVersion('/accounts/{id}', { id });
  if (isOnly) await remove('/accounts/{id}', { id }, version);
  else await patch('/accounts/{id}', { id }, { individual: false }, version);
  await reload();
  say('The access was removed.');
}

/**
 * The filter for denied access.
 * @param {string} all the label without the filter
 */
const deniedFilter = (all) =>
  select('denied', 'Show', [
    ['', all],
    ['true', 'Only denied access'],
  ]);

/**
 * The query for the values of the filters.
 * @param {{ denied?: string | null, unused?: 'never' | '90-days' | null, role?: string | null }} values
 */
const conditionsOf = ({ denied, unused, role }) => ({ denied: denied === 'true' || null, unused, role });

/**
 * The users who can open an application.
 * @param {Schema<'Application'>} application
 * @param {string[]} known the known roles of the application
 * @param {Context} context
 * @param {Child} transfer the import and export of accounts
 */
export async function usersWithAccess({ id }, known, context, transfer) {
  const { may, reload } = context;
  /** @type {Array<Column<Access>>} */
  const columns = [
    {
      label: 'User',
      cell: (row) =>
        may('users:read')
          ? userCell({
              id: row.user_id,
              name: row.user_name,
              others: [row.display_name],
              address: `${userAddress(row.user_id)}/accounts`,
            })
          : row.user_name,
    },
    ...columnsOf(context),
  ];
  const give = async () => {
    if (!(await newAccount(id, known))) return;
    await reload();
    say('The account was created.');
  };
  const search = text('q', 'User', {
    type: 'search',
    hint: 'The first letters of the user’s name or email address, or of the account’s name.',
  });
  const controls = [
    search,
    deniedFilter('All users with access'),
    useFilter(),
    select('role', 'Role', [['', 'Any role'], ...known.map((role) => /** @type {[string, string]} */ ([role, role]))]),
  ];
  const totals = totalsLine();
  const list = await searched(
    controls,
    (values, after) => get('/applications/{id}/access', { ...conditionsOf(values), q: values.q, id, after }),
    table(columns, [], {
      empty: 'No one has access yet.',
      unmatched: 'There is no such user with access.',
      caption: 'Users with access',
    }),
    {
      nameOf: (row) => row.display_name || row.user_name,
      total: totals.element,
      onpage: (/** @type {Schema<'AccessPage'>} */ page) => totals.show(page),
    },
  );
  return sectionWithActions(
    'Users with access',
    [
      may('accounts:write') && button('Give a user access', give),
      ...exports('access', (format) =>
        getFile('/applications/{id}/access/export', {
          ...conditionsOf(valuesOf(controls)),
          q: search.read(),
          id,
          format,
        }),
      ),
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
export async function applicationsOfUser({ id }, context) {
  const { may, reload } = context;
  /** @type {Array<Column<Access>>} */
  const columns = [
    {
      label: 'Application',
      cell: (row) =>
        may('applications:read')
          ? link(`${applicationAddress(row.application_id)}/accounts`, el('bdi', {}, row.application_name))
          : row.application_name,
    },
    ...columnsOf(context),
  ];
  const give = async () => {
    if (!(await newAccountOf(id))) return;
    await reload();
    say('The account was created.');
  };
  const controls = [
    useFilter(),
    text('role', 'Role', { type: 'search', hint: 'The whole name of the role.' }),
    deniedFilter('All applications'),
  ];
  const totals = totalsLine();
  const list = await searched(
    controls,
    (values, after) => get('/users/{id}/access', { ...conditionsOf(values), id, after }),
    table(columns, [], {
      empty: 'No access to any application yet.',
      unmatched: 'There is no such access.',
      caption: 'Access to applications',
    }),
    {
      nameOf: (row) => row.application_name,
      total: totals.element,
      onpage: (/** @type {Schema<'AccessPage'>} */ page) => totals.show(page),
    },
  );
  const writes = may('accounts:write') && may('applications:read');
  return [
    sectionWithActions(
      'Access to applications',
      [
        writes && button('Give access to an application', give),
        ...exports('access', (format) =>
          getFile('/users/{id}/access/export', { ...conditionsOf(valuesOf(controls)), id, format }),
        ),
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
