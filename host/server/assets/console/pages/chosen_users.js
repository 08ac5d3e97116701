// Groups and access for several users at once.

import { get, Problem, post } from '../api.js';
import { FieldError, form } from '../form.js';
import { t } from '../language.js';
import { roleChips } from '../role_chips.js';
import { dialog, el, figure, notice, say } from '../view.js';
import { groupPicker } from './group_picker.js';
import { picker } from './picker.js';

/** @import { Child, Schema } from '../types.d.ts' */

/** @typedef {Schema<'ListedUser'>} User */

/** The maximum number of users that one request adds to a group. */
const MOST = 200;

/**
 * Adds users to a group. `done` is called if they were added.
 * @param {User[]} users
 * @param {() => void} done
 */
export async function toGroup(users, done) {
  const added = await dialog('Add to a group', (/** @type {(answer?: number) => void} */ close) => [
    form([groupPicker('group')], {
      submit: 'Add',
      send: async ({ group }) => {
        if (!group) throw new FieldError('group', 'Choose a group from the list.');
        let count = 0;
        for (let at = 0; at < users.length; at += MOST) {
          const ids = users.slice(at, at + MOST).map(({ id }) => id);
          count += (await post('/groups/{id}/members', { id: group }, { users: ids })).added;
        }
        close(count);
      },
      cancel: () => close(),
    }),
  ]);
  if (added === undefined) return;
  done();
  say(added === 1 ? t`${1} user was added to the group.` : t`${figure(added)} users were added to the group.`);
}

/**
 * Creates an account for each user. `done` is called even if some accounts could not be created; these users are shown.
 * @param {User[]} users
 * @param {() => void} done
 */
export async function giveAccess(users, done) {
  const roles = roleChips('roles', 'Roles');
  const application = picker('application', 'Application', {
    hint: 'The first letters of its name.',
    load: (q) => get('/applications', { q, limit: 8 }),
    label: (/** @type {Schema<'Application'>} */ one) => one.name,
    chosen: async (one) => roles.suggest((await get('/applications/{id}/roles', { id: one.id })).items),
  });
  const failed = await dialog('Give access', (/** @type {(answer?: Child[]) => void} */ close) => [
    form([application, roles], {
      submit: 'Give access',
      send: async ({ application: id, roles: chosen }) => {
        if (!id) throw new FieldError('application', 'Choose an application from the list.');
        close(await accountsFor(users, id, chosen));
      },
      cancel: () => close(),
    }),
  ]);
  if (failed === undefined) return;
  done();
  if (failed.length === 0) {
    say('The users have access.');
    return;
  }
  await dialog('Not all users were given access', (close) => [
    notice('The others have access now.', 'warn', el('ul', {}, ...failed)),
    el('div', { class: 'actions' }, el('button', { class: 'button', onclick: () => close() }, 'Close')),
  ]);
}

/**
 * Creates the accounts one by one. Returns the users without a new account, each with the reason.
 * @param {User[]} users
 * @param {string} id
 * @param {string[]} roles
 */
async function accountsFor(users, id, roles) {
  const failed = [];
  for (const { id: user, name } of users) {
    try {
      await post('/applications/{id}/accounts', { id }, { user_id: user, roles });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      failed.push(el('li', {}, el('bdi', {}, name), `: ${problem.message}`));
    }
  }
  return failed;
}
