// Groups: the list, a new one, and one group with its members and applications.

import { byName } from '../../names.js';
import { get, getFile, getVersion, patch, post, put, remove } from '../api.js';
import { FieldError, fieldPanel, form, text } from '../form.js';
import { importer } from '../importer.js';
import { t, translated } from '../language.js';
import { searched, table } from '../lists.js';
import { order } from '../order.js';
import { roleChips } from '../role_chips.js';
import {
  ask,
  badge,
  button,
  dialog,
  el,
  exportButton,
  figure,
  link,
  moment,
  more,
  nothing,
  panel,
  say,
  screen,
  sectionWithActions,
  tabs,
  way,
} from '../view.js';
import { exports, giver, totalsLine, useFilter } from './access_parts.js';
import { applicationAddress } from './applications.js';
import { managementNotice } from './management.js';
import { picker } from './picker.js';
import { chosenUsers } from './several_users.js';
import { userAddress, userCell } from './user_cell.js';

/** @import { Child, Column, Context, PageFunction, Schema } from '../types.d.ts' */

/** @param {string} id */
export const groupAddress = (id) => `/admin/groups/${id}`;

/**
 * The number of members in words.
 * @param {Schema<'Group'>} group
 */
export const membersOf = (group) => (group.more_members ? translated('More than 1,000') : figure(group.members));

const NO_GROUPS = 'There are no groups yet.';

/** @type {Array<Column<Schema<'Group'>>>} */
const COLUMNS = [
  { label: 'Name', sort: 'name', cell: (row) => link(groupAddress(row.id), el('bdi', {}, row.name)) },
  { label: 'Description', cell: (row) => row.description },
  { label: 'Members', figure: true, cell: membersOf },
  { label: 'Applications', figure: true, cell: (row) => figure(row.applications) },
  { label: 'Created', cell: (row) => moment(row.created_at) },
];

/**
 * @param {Context} context
 */
export async function groups({ may }) {
  const sorted = order('order', 'name', [
    ['name', 'Name, A to Z'],
    ['-name', 'Name, Z to A'],
  ]);
  const total = el('p', { class: 'muted total', role: 'status' });
  const list = await searched(
    [text('q', 'Name', { type: 'search' }), sorted],
    (values, after) => get('/groups', { ...values, after }),
    table(COLUMNS, [], {
      empty: may('accounts:write') ? nothing(NO_GROUPS, '/admin/groups/new', 'Create a group') : NO_GROUPS,
      unmatched: 'There is no such group.',
      caption: 'Groups',
      order: sorted,
    }),
    {
      nameOf: (row) => row.name,
      total,
      onpage: (/** @type {Schema<'GroupList'>} */ { total: count }) => {
        total.textContent =
          count === undefined ? '' : count === 1 ? t`${figure(count)} group` : t`${figure(count)} groups`;
      },
    },
  );
  return screen(
    {
      title: 'Groups',
      lead: 'A group grants its members access to applications, with roles.',
      actions: [may('accounts:write') && way('/admin/groups/new', 'Create a group', 'primary')],
    },
    list,
  );
}

/** @param {boolean} isNew */
const groupFields = (isNew) => [
  text('name', 'Name', {
    needed: 'Enter a name.',
    hint: isNew
      ? 'Applications receive it in the claim groups.'
      : 'Applications receive it in the claim groups. Another name may change what members may do there.',
  }),
  text('description', 'Description', { none: '', hint: 'What the group is for.' }),
];

/**
 * @param {Context} context
 */
export async function newGroup({ go }) {
  const made = form([fieldPanel(...groupFields(true))], {
    submit: 'Create',
    cancel: '/admin/groups',
    send: async ({ name = '', description }) => {
      const created = await post('/groups', {}, { name: name ?? '', description });
      await go(groupAddress(created.id));
    },
  });
  return screen({ title: 'Create a group', back: ['/admin/groups', 'Groups'] }, made);
}

/**
 * A page about one group, below the name and the links to the other pages.
 * @param {(group: Schema<'Group'>, version: string | null, context: Context) => Child[] | Promise<Child[]>} content
 * @returns {PageFunction}
 */
function page(content) {
  return async (context, { id }) => {
    const { value: group, version } = await getVersion('/groups/{id}', { id });
    const at = groupAddress(group.id);
    return screen(
      {
        title: group.name,
        isName: true,
        lead: group.description ? el('bdi', {}, group.description) : 'Group',
        back: ['/admin/groups', 'Groups'],
      },
      tabs('Parts of the group', [
        [at, 'Members'],
        [`${at}/applications`, 'Applications'],
        [`${at}/settings`, 'Settings', context.may('accounts:write')],
      ]),
      managementNotice(group.managed_by),
      ...(await content(group, version, context)),
    );
  };
}

/**
 * @param {Schema<'Group'>} group
 * @param {Context} context
 */
async function members(group, { may, reload }) {
  const id = group.id;
  const drop = async (/** @type {Schema<'GroupAccess'>} */ row) => {
    await remove('/groups/{id}/members/{user}', { id, user: row.user_id });
    await reload();
    say(t`${row.user_name} is no longer a member.`);
  };
  /** @type {Array<Column<Schema<'GroupAccess'>>>} */
  const columns = [
    {
      label: 'User',
      cell: (row) =>
        userCell({
          id: row.user_id,
          name: row.user_name,
          others: [row.display_name],
          address: `${userAddress(row.user_id)}/accounts`,
        }),
    },
    { label: 'State', cell: (row) => badge(row.user_state) },
    { label: 'Added', cell: (row) => moment(row.since) },
    { label: 'Added by', cell: (row) => giver(row.by, may) },
    { label: 'Last used', cell: (row) => (row.used ? moment(row.used) : translated('Never')) },
  ];
  if (may('accounts:write'))
    columns.push({
      label: 'Actions',
      cell: (row) => {
        const press = button('Remove', () => drop(row), 'danger');
        press.setAttribute('aria-label', t`Remove ${row.user_name} from the group`);
        return press;
      },
    });
  const filter = useFilter();
  const totals = totalsLine();
  const list = await searched(
    [filter],
    ({ unused }, after) => get('/groups/{id}/access', { unused, id, after }),
    table(columns, [], {
      empty: 'The group has no members yet.',
      unmatched: 'There is no such member.',
      caption: 'Members',
    }),
    {
      nameOf: (row) => row.display_name || row.user_name,
      total: totals.element,
      onpage: (/** @type {Schema<'GroupAccessPage'>} */ page) => totals.show(page),
    },
  );
  const add = async () => {
    const chosen = await newMembers();
    if (!chosen) return;
    const { added } = await post('/groups/{id}/members', { id }, { users: chosen });
    await reload();
    say(addedWords(added, chosen.length));
  };
  const writes = may('accounts:write');
  return [
    sectionWithActions(
      'Members',
      [
        writes && button('Add members', add),
        ...exports('group-access', (format) =>
          getFile('/groups/{id}/access/export', { unused: filter.read(), id, format }),
        ),
      ],
      el('p', { class: 'muted' }, 'Last used is the last sign-in to one of the applications of the group.'),
      list,
      writes && transfer(group, reload),
    ),
  ];
}

/**
 * @param {number} added
 * @param {number} chosen
 */
function addedWords(added, chosen) {
  if (chosen === 1) return added > 0 ? 'The user is a member.' : 'The user was a member already.';
  return added === 1 ? t`${1} user was added to the group.` : t`${figure(added)} users were added to the group.`;
}

/**
 * Asks for users. The window closes before they are added, because the device may have to approve the change.
 * @returns {Promise<string[] | undefined>}
 */
function newMembers() {
  const users = chosenUsers();
  return dialog('Add members', (/** @type {(answer?: string[]) => void} */ close) => [
    form([users], {
      submit: 'Add to the group',
      send: async ({ users: chosen }) => {
        if (chosen.length === 0) throw new FieldError('users', 'Choose a user from the list.');
        close(chosen);
      },
      cancel: () => close(),
    }),
  ]);
}

/**
 * @param {Schema<'Group'>} group
 * @param {Context['reload']} reload
 */
function transfer(group, reload) {
  const exported = exportButton('Export all members', 'members.csv', () =>
    getFile('/groups/{id}/members/export', { id: group.id }),
  );
  return more(
    'Import and export',
    el('div', { class: 'ways' }, exported),
    importer(
      (file, parameters, options) =>
        post('/groups/{id}/members/import', { id: group.id, ...parameters }, file, options),
      [
        el(
          'p',
          {},
          'The first line names the columns; only user is needed: a name, an email address or an id. ' +
            'The import adds members and removes none. The server checks the file first.',
        ),
      ],
      button('Show the members', reload),
      ['user'],
    ),
  );
}

/**
 * @param {Schema<'Group'>} group
 * @param {Context} context
 */
async function applicationsOf(group, { may, reload }) {
  const writes = may('accounts:write') && may('applications:read');
  const { items } = await get('/groups/{id}/applications', { id: group.id });
  items.sort(byName((row) => row.application_name ?? row.application_id));
  /** @type {Array<Column<Schema<'AssignedApplication'>>>} */
  const columns = [
    {
      label: 'Application',
      cell: (row) =>
        may('applications:read')
          ? link(
              `${applicationAddress(row.application_id)}/accounts`,
              el('bdi', {}, row.application_name ?? row.application_id),
            )
          : (row.application_name ?? row.application_id),
    },
    { label: 'Roles of the members', cell: (row) => row.roles.join(', ') || translated('None') },
    { label: 'Since', cell: (row) => moment(row.since) },
    { label: 'Given by', cell: (row) => giver(row.by, may) },
  ];
  if (writes)
    columns.push({
      label: 'Actions',
      cell: (row) =>
        el('div', { class: 'ways' }, rolesButton(group, row, reload), removeAccessButton(group, row, reload)),
    });
  const give = async () => {
    const given = await newAccess();
    if (!given) return;
    const { application, roles } = given;
    await put('/applications/{id}/groups/{group}', { id: application, group: group.id }, { roles });
    await reload();
    say('The group has access.');
  };
  return [
    table(columns, items, { empty: 'The group grants access to no application yet.', caption: 'Applications' }),
    writes && el('div', { class: 'ways' }, button('Give access to an application', give)),
  ];
}

/**
 * A button that changes the roles of the group in an application.
 * @param {Schema<'Group'>} group
 * @param {Schema<'AssignedApplication'>} row
 * @param {Context['reload']} reload
 */
function rolesButton(group, { application_id: id, application_name: name, roles: given }, reload) {
  const edit = async () => {
    const { items: known } = await get('/applications/{id}/roles', { id });
    const roles = await dialog(t`Roles in ${name ?? id}`, (/** @type {(answer?: string[]) => void} */ close) => [
      form([roleChips('roles', 'Roles of the members', { known })], {
        values: { roles: given },
        submit: 'Save',
        send: async (values) => close(values.roles),
        cancel: () => close(),
      }),
    ]);
    if (!roles) return;
    await put('/applications/{id}/groups/{group}', { id, group: group.id }, { roles });
    await reload();
    say('Saved.');
  };
  const press = button('Roles', edit);
  press.setAttribute('aria-label', t`Change the roles in ${name ?? id}`);
  return press;
}

/**
 * A button that ends the access of the group to an application.
 * @param {Schema<'Group'>} group
 * @param {Schema<'AssignedApplication'>} row
 * @param {Context['reload']} reload
 */
function removeAccessButton(group, { application_id: id, application_name: name }, reload) {
  const drop = async () => {
    const yes = await ask(
      t`Remove the access of ${group.name} to ${name ?? id}?`,
      'Members who have access to it only by this group lose it at once, and are signed out of it.',
      'Remove',
    );
    if (!yes) return;
    await remove('/applications/{id}/groups/{group}', { id, group: group.id });
    await reload();
    say('The access was removed.');
  };
  const press = button('Remove', drop, 'danger');
  press.setAttribute('aria-label', t`Remove the access to ${name ?? id}`);
  return press;
}

/**
 * Asks for an application and the roles there. The window closes before they are sent, because the device may have to
 * approve the change.
 * @returns {Promise<{ application: string, roles: string[] } | undefined>}
 */
function newAccess() {
  const roles = roleChips('roles', 'Roles of the members');
  const application = picker('application', 'Application', {
    hint: 'The first letters of its name.',
    load: (q) => get('/applications', { q, limit: 8 }),
    label: (/** @type {Schema<'Application'>} */ one) => one.name,
    chosen: async (one) => roles.suggest((await get('/applications/{id}/roles', { id: one.id })).items),
  });
  return dialog(
    'Give access to an application',
    (/** @type {(answer?: { application: string, roles: string[] }) => void} */ close) => [
      form([application, roles], {
        submit: 'Give access',
        send: async ({ application: id, roles: chosen }) => {
          if (!id) throw new FieldError('application', 'Choose an application from the list.');
          close({ application: id, roles: chosen });
        },
        cancel: () => close(),
      }),
    ],
  );
}

/**
 * @param {Schema<'Group'>} group
 * @param {string | null} version
 * @param {Context} context
 */
function settings(group, version, { go, reload }) {
  const made = form([fieldPanel(...groupFields(false))], {
    values: group,
    version,
    reread: () => getVersion('/groups/{id}', { id: group.id }),
    submit: 'Save',
    send: async (_values, changed, newest) => {
      const { name, description } = changed;
      if (Object.keys(changed).length > 0)
        await patch('/groups/{id}', { id: group.id }, { ...(name && { name }), description }, newest);
      await reload();
      say('Saved.');
    },
  });
  const drop = async () => {
    const yes = await ask(
      t`Delete ${group.name}?`,
      'Members who have access to an application only by this group lose it at once.',
      'Delete it',
      group.name,
    );
    if (!yes) return;
    await remove('/groups/{id}', { id: group.id }, version);
    await go('/admin/groups');
    say('The group was deleted.');
  };
  return [
    el(
      'div',
      { class: 'column' },
      made,
      panel(
        el('h2', {}, 'Delete it'),
        el('p', {}, 'The users stay. Their access by this group ends.'),
        el('div', { class: 'ways' }, button('Delete this group', drop, 'danger')),
      ),
    ),
  ];
}

export const groupPages = {
  members: page((group, _version, context) => members(group, context)),
  applications: page((group, _version, context) => applicationsOf(group, context)),
  settings: page(settings),
};
