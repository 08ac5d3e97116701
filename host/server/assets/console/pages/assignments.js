// The access to an application by groups, or because it is assigned to everyone.

import { byName } from '../../names.js';
import { get, put, remove } from '../api.js';
import { FieldError, form } from '../form.js';
import { t, translated } from '../language.js';
import { table } from '../lists.js';
import { roleChips } from '../role_chips.js';
import { ask, button, dialog, el, link, more, say, sectionWithActions } from '../view.js';
import { groupPicker } from './group_picker.js';
import { groupAddress, membersOf } from './groups.js';

/** @import { Column, Context, Schema } from '../types.d.ts' */

/**
 * One assignment: to a group, or to everyone.
 * @typedef {{ group: Schema<'Group'> | null, roles: string[] }} Assigned
 */

/**
 * The assignments of an application, and forms that change them.
 * @param {Schema<'Application'>} application
 * @param {string[]} known the known roles of the application
 * @param {Context} context
 */
export async function assignments(application, known, { may, reload }) {
  const id = application.id;
  const { everyone, items } = await get('/applications/{id}/groups', { id });
  items.sort(byName(({ group }) => group.name));
  /** @type {Assigned[]} */
  const rows = everyone ? [{ group: null, roles: everyone }, ...items] : items;
  const set = async (/** @type {Schema<'Group'> | { id: string } | null} */ group, /** @type {string[]} */ roles) => {
    if (group) await put('/applications/{id}/groups/{group}', { id, group: group.id }, { roles });
    else await put('/applications/{id}/everyone', { id }, { roles });
    await reload();
  };
  /** @type {Array<Column<Assigned>>} */
  const columns = [
    {
      label: 'Who',
      cell: ({ group }) => (group ? link(groupAddress(group.id), el('bdi', {}, group.name)) : translated('Everyone')),
    },
    {
      label: 'Members',
      figure: true,
      cell: ({ group }) => (group ? membersOf(group) : translated('All active users')),
    },
    { label: 'Roles', cell: ({ roles }) => roles.join(', ') || translated('None') },
  ];
  if (may('accounts:write'))
    columns.push({
      label: 'Actions',
      cell: (row) => el('div', { class: 'ways' }, editButton(row, known, set), removeButton(application, row, reload)),
    });
  const list = table(columns, rows, {
    empty: 'No groups have access, and access for everyone is off.',
    caption: 'Access by groups',
  });
  const writes = may('accounts:write');
  const give = async () => {
    const given = await newAssignment(known);
    if (!given) return;
    await set({ id: given.group }, given.roles);
    say('The group has access.');
  };
  return sectionWithActions(
    'Groups and everyone',
    [writes && button('Give a group access', give)],
    list,
    writes &&
      !everyone &&
      more(
        'Give everyone access',
        forEveryone(known, (roles) => set(null, roles)),
      ),
  );
}

/**
 * Asks for a group and its roles. The window closes before they are sent, because the device may have to approve the
 * change.
 * @param {string[]} known
 * @returns {Promise<{ group: string, roles: string[] } | undefined>}
 */
function newAssignment(known) {
  return dialog('Give a group access', (/** @type {(answer?: { group: string, roles: string[] }) => void} */ close) => [
    form([groupPicker('group'), roleChips('roles', 'Roles of the members', { known })], {
      submit: 'Give access',
      send: async ({ group, roles }) => {
        if (!group) throw new FieldError('group', 'Choose a group from the list.');
        close({ group, roles });
      },
      cancel: () => close(),
    }),
  ]);
}

/**
 * @param {string[]} known
 * @param {(roles: string[]) => Promise<void>} give
 */
function forEveryone(known, give) {
  return form([roleChips('roles', 'Roles of everyone', { known })], {
    submit: 'Give everyone access',
    send: async ({ roles }) => {
      await give(roles);
      say('Everyone has access.');
    },
  });
}

/**
 * The name of the group, or everyone.
 * @param {Assigned} row
 */
const nameOf = ({ group }) => (group ? group.name : translated('everyone'));

/**
 * @param {Assigned} row
 * @param {string[]} known
 * @param {(group: Schema<'Group'> | null, roles: string[]) => Promise<void>} set
 */
function editButton(row, known, set) {
  const edit = async () => {
    const chips = roleChips('roles', 'Roles', { known });
    const roles = await dialog(t`Roles of ${nameOf(row)}`, (/** @type {(answer?: string[]) => void} */ close) => [
      form([chips], {
        values: { roles: row.roles },
        submit: 'Save',
        send: async (values) => close(values.roles),
        cancel: () => close(),
      }),
    ]);
    if (roles) {
      await set(row.group, roles);
      say('Saved.');
    }
  };
  const press = button('Roles', edit);
  press.setAttribute('aria-label', t`Change the roles of ${nameOf(row)}`);
  return press;
}

/**
 * @param {Schema<'Application'>} application
 * @param {Assigned} row
 * @param {Context['reload']} reload
 */
function removeButton(application, row, reload) {
  const drop = async () => {
    const yes = await ask(
      t`Remove the access of ${nameOf(row)}?`,
      t`Users who have access to ${application.name} only by this lose it at once, and are signed out of it.`,
      'Remove',
    );
    if (!yes) return;
    const { id } = application;
    if (row.group) await remove('/applications/{id}/groups/{group}', { id, group: row.group.id });
    else await remove('/applications/{id}/everyone', { id });
    await reload();
    say('The access was removed.');
  };
  const press = button('Remove', drop, 'danger');
  press.setAttribute('aria-label', t`Remove the access of ${nameOf(row)}`);
  return press;
}
