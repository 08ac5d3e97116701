// The list of users; new users, one by one or from a file.

import { get, getFile, post } from '../api.js';
import { form, group, select, text, toggle } from '../form.js';
import { importer } from '../importer.js';
import { t, translated } from '../language.js';
import { searched, table, valuesOf } from '../lists.js';
import { order } from '../order.js';
import { badge, el, exportButton, figure, link, menu, moment, nothing, notice, screen, way } from '../view.js';
import { selection } from './bulk.js';
import { FIRST_LINK } from './invitation_link.js';
import { alertMarks } from './reports.js';
import { fullName, userAddress, userCell } from './user_cell.js';

/** @import { ChangeOptions, Child, Column, Context, Schema } from '../types.d.ts' */

/** @type {Array<['' | Schema<'LifecycleState'>, string]>} */
export const STATES = [
  ['', 'Any'],
  ['active', 'Active'],
  ['invited', 'Invited'],
  ['suspended', 'Suspended'],
  ['terminated', 'Terminated'],
];
/** @type {Record<Schema<'ConsoleRole'>, string>} */
const ROLE_NAMES = { owner: 'Owner', admin: 'Admin', support: 'Support', auditor: 'Auditor' };

/**
 * The name of a role in the console.
 * @param {Schema<'ConsoleRole'>} role
 */
export const roleName = (role) => translated(ROLE_NAMES[role] ?? role);

/** @type {Array<[Schema<'ConsoleRole'>, string]>} */
export const ROLES = [
  ['owner', 'Owner: everything'],
  ['admin', 'Admin: everything but roles'],
  ['support', 'Support: users and devices'],
  ['auditor', 'Auditor: reads'],
];

const NO_USERS = 'There are no users yet.';
// An export has many more columns, and each may be missing in an import.
const TEMPLATE = ['name', 'email', 'display_name', 'given_name', 'family_name', 'groups'];

/** @type {Array<Column<Schema<'ListedUser'>>>} */
const COLUMNS = [
  {
    label: 'Name',
    sort: 'name',
    cell: ({ id, name, profile, email }) => userCell({ id, name, others: [profile.name, email] }),
  },
  {
    label: 'State',
    // A terminated user can't use the role.
    cell: (row) =>
      el(
        'span',
        { class: 'badges' },
        badge(row.state),
        row.console_role && row.state !== 'terminated' && badge(roleName(row.console_role), 'kind'),
        ...alertMarks(row),
      ),
  },
  { label: 'Last sign-in', cell: (row) => moment(row.last_sign_in_at) },
  { label: 'Created', sort: 'created', cell: (row) => moment(row.created_at) },
];

/**
 * @param {Context} context
 */
export async function users(context) {
  const { may } = context;
  /** @type {Array<['' | Schema<'ConsoleRole'>, string]>} */
  const roles = [['', 'Any']];
  for (const [id] of ROLES) roles.push([id, ROLE_NAMES[id]]);
  const sorted = order('order', 'name', [
    ['name', 'Name, A to Z'],
    ['-name', 'Name, Z to A'],
    ['-created', 'Newest first'],
    ['created', 'Oldest first'],
  ]);
  const controls = [
    text('q', 'Name, email address or ID', { type: 'search' }),
    select('state', 'State', STATES, { none: '' }),
    select('role', 'Role in the console', roles, { none: '' }),
    sorted,
  ];
  const total = el('p', { class: 'muted total', role: 'status' });
  /** @type {() => Promise<void>} */
  let refill = async () => {};
  const chosen = selection(context, () => refill());
  /** @type {number | undefined} */
  let all;
  const list = await searched(
    controls,
    async ({ order: by = 'name', ...values }, after) => {
      const page = await get('/users', { ...values, order: by, after });
      // Only a list without a filter contains the number of all users.
      if (isFiltered(values)) all ??= (await get('/users', { limit: 1 })).total;
      else all = page.total ?? all;
      return page;
    },
    table([...chosen.columns, ...COLUMNS], [], {
      empty: may('users:write') ? nothing(NO_USERS, '/admin/users/new', 'Invite a user') : NO_USERS,
      unmatched: 'There is no such user.',
      caption: 'Users',
      order: sorted,
    }),
    {
      nameOf: fullName,
      total,
      above: [chosen.bar],
      onpage: (/** @type {Schema<'UserList'>} */ page) => {
        // The list has other rows now.
        chosen.clear();
        total.textContent = isFiltered(valuesOf(controls)) ? countFound(page, all) : countOf(page.total);
      },
    },
  );
  refill = () => list.fill();
  const exported = exportButton('Export', 'users.csv', () => {
    const { q, state, role } = valuesOf(controls);
    return getFile('/users/export', { q, state, role });
  });
  return screen(
    {
      title: 'Users',
      lead: 'All users, whatever their state.',
      actions: [
        may('users:write') && way('/admin/users/new', 'Invite a user', 'primary'),
        menu(
          'More',
          may('users:write') && link('/admin/users/import', 'Import'),
          exported,
          link('/admin/invitations', 'Open invitations'),
        ),
      ],
    },
    list,
  );
}

/**
 * Whether a search excludes some users.
 * @param {{ q?: string, state?: string, role?: string }} search
 */
const isFiltered = ({ q, state, role }) => Boolean(q || state || role);

/**
 * A number of users, in words.
 * @param {number | undefined} count
 */
function countOf(count) {
  if (count === undefined) return '';
  return count === 1 ? t`${figure(count)} user` : t`${figure(count)} users`;
}

/**
 * The number of users that match a search, in words. The server counts them only by their state, so the console counts
 * those of a first page.
 * @param {Schema<'UserList'>} page
 * @param {number} [all] the number of all users
 */
function countFound({ items, next, total }, all) {
  const found = total ?? items.length;
  const isMore = total === undefined && next;
  if (all === undefined || all === 1) return isMore ? t`More than ${figure(found)} users` : countOf(found);
  return isMore ? t`More than ${figure(found)} of ${figure(all)} users` : t`${figure(found)} of ${figure(all)} users`;
}

const userFields = () => [
  text('name', 'Name at sign-in', {
    needed: 'Enter a name.',
    hint: 'What the user types, such as ada. Letters, digits and a few marks.',
  }),
  text('email', 'Email address', { type: 'email', hint: 'May be typed at sign-in as well.' }),
  text('full', 'Full name', { hint: 'What applications receive, such as Ada Lovelace.' }),
];

/**
 * @param {Context} context
 */
export async function newUser({ go, may, me }) {
  const sends = toggle('send', 'Send the invitation by email', { hint: 'To the address above, with a link.' });
  const link = toggle('link', 'Create a link to enrol a device at once', {
    hint: 'The next page shows it. Send it to the user.',
  });
  // The holder of a link becomes the user, so only administrators who may give access receive one.
  const gives = may('accounts:write');
  const offers = [...(me.sends_mail ? [sends] : []), ...(gives ? [link] : [])];
  const made = form([group('The user', null, ...userFields(), ...offers)], {
    values: { link: gives && !me.sends_mail, send: me.sends_mail },
    submit: 'Invite',
    cancel: '/admin/users',
    send: async ({ full, link: wanted, send: byMail, ...values }) => {
      const user = await post('/users', {}, { ...values, ...(full && { profile: { name: full } }) });
      await go(`${userAddress(user.id)}/devices`, {
        enrol: wanted && gives && may('users:write'),
        send: byMail && may('users:write'),
      });
    },
  });
  return screen(
    {
      title: 'Invite a user',
      lead: 'The user is invited until a device is enrolled.',
      back: ['/admin/users', 'Users'],
    },
    offers.length === 0 && notice(FIRST_LINK, 'calm'),
    made,
  );
}

export async function importUsers() {
  return screen(
    { title: 'Import users', back: ['/admin/users', 'Users'] },
    importer(
      (file, parameters, options) => post('/users/import', parameters, file, options),
      [
        el(
          'p',
          {},
          'The first line names the columns, as in an export. A row with a known id or name changes that user. ' +
            'Any other row creates a user, who is invited.',
        ),
        el('p', {}, 'The server checks the file first, and changes nothing while a row is not valid.'),
      ],
      el(
        'span',
        { class: 'ways' },
        way('/admin/invitations?state=no_link', 'Invite the new users', 'primary'),
        link('/admin/users?order=-created', 'To the users, the newest first'),
      ),
      TEMPLATE,
    ),
  );
}
