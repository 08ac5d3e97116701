// The groups of one user.

import { byName } from '../../names.js';
import { get, post, remove } from '../api.js';
import { FieldError, form } from '../form.js';
import { t } from '../language.js';
import { table } from '../lists.js';
import { button, dialog, el, link, say, sectionWithActions } from '../view.js';
import { groupPicker } from './group_picker.js';
import { groupAddress } from './groups.js';

/** @import { Column, Context, Schema } from '../types.d.ts' */

/**
 * @param {Schema<'User'>} user
 * @param {Context} context
 */
export async function groupsOfUser(user, { may, reload }) {
  const { items } = await get('/users/{id}/groups', { id: user.id });
  items.sort(byName(({ name }) => name));
  /** @type {Array<Column<Schema<'UserGroup'>>>} */
  const columns = [
    { label: 'Group', cell: (row) => link(groupAddress(row.id), el('bdi', {}, row.name)) },
    { label: 'Description', cell: (row) => row.description },
  ];
  if (!may('accounts:write')) return [table(columns, items, { empty: 'The user is in no group.', caption: 'Groups' })];
  const drop = async (/** @type {Schema<'UserGroup'>} */ row) => {
    await remove('/groups/{id}/members/{user}', { id: row.id, user: user.id });
    await reload();
    say(t`The user is no longer a member of ${row.name}.`);
  };
  columns.push({
    label: 'Actions',
    cell: (row) => {
      const press = button('Remove', () => drop(row), 'danger');
      press.setAttribute('aria-label', t`Remove the user from ${row.name}`);
      return press;
    },
  });
  const add = async () => {
    const group = await chosenGroup();
    if (!group) return;
    await post('/groups/{id}/members', { id: group }, { users: [user.id] });
    await reload();
    say('The user is a member.');
  };
  return [
    sectionWithActions(
      'Groups',
      [user.state !== 'terminated' && button('Add to a group', add)],
      table(columns, items, { empty: 'The user is in no group.', caption: 'Groups' }),
    ),
  ];
}

/**
 * Asks for a group. The window closes before the user is added, because the device may have to approve the change.
 * @returns {Promise<string | undefined>}
 */
function chosenGroup() {
  return dialog('Add to a group', (/** @type {(answer?: string) => void} */ close) => [
    form([groupPicker('group')], {
      submit: 'Add',
      send: async ({ group }) => {
        if (!group) throw new FieldError('group', 'Choose a group from the list.');
        close(group);
      },
      cancel: () => close(),
    }),
  ]);
}
