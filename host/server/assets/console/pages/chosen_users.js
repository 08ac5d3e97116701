// What is done with several users at once.

import { get, Problem, post } from '../api.js';
import { FieldError, form } from '../form.js';
import { roleChips } from '../role_chips.js';
import { button, dialog, el, figure, notice, say } from '../view.js';
import { groupPicker } from './groups.js';
import { picker } from './picker.js';

/** @import { Child, Column, Context, Schema } from '../types.d.ts' */

/** How many users one request adds to a group. */
const MOST = 200;

/**
 * The choice of several users of a list: its column, and the bar with what can be done with them.
 * @param {Context} context
 */
export function chosenUsers({ may }) {
  /** @type {Map<string, string>} */
  const chosen = new Map();
  const bar = el('div', { class: 'panel chosen', hidden: true, role: 'region', 'aria-label': 'Selected users' });
  const boxes = () => /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[data-choice]'));
  const clear = () => {
    chosen.clear();
    for (const box of boxes()) box.checked = false;
    show();
  };
  const show = () => {
    bar.hidden = chosen.size === 0;
    const count = `${figure(chosen.size)} ${chosen.size === 1 ? 'user' : 'users'} selected`;
    bar.replaceChildren(
      el('p', { role: 'status' }, count),
      el(
        'div',
        { class: 'ways' },
        button('Add to a group', () => toGroup([...chosen.keys()], clear), 'primary'),
        button('Give access', () => toApplication(chosen, clear)),
        button('Clear the selection', clear, 'quiet'),
      ),
    );
  };
  const choose = (/** @type {Schema<'ListedUser'>} */ row, /** @type {boolean} */ isChosen) => {
    if (isChosen && chosen.size < MOST) chosen.set(row.id, row.name);
    else chosen.delete(row.id);
    show();
  };
  /** @type {Column<Schema<'ListedUser'>>} */
  const column = {
    label: 'Select',
    cell: (row) => {
      const box = el('input', { type: 'checkbox', 'data-choice': true, 'aria-label': `Select ${row.name}` });
      box.addEventListener('change', () => choose(row, box.checked));
      box.checked = chosen.has(row.id);
      return el('div', { class: 'choice' }, box);
    },
  };
  return { bar, columns: may('accounts:write') ? [column] : [] };
}

/**
 * @param {string[]} users
 * @param {() => void} done
 */
async function toGroup(users, done) {
  const added = await dialog('Add to a group', (/** @type {(answer?: number) => void} */ close) => [
    form([groupPicker('group')], {
      submit: 'Add',
      send: async ({ group }) => {
        if (!group) throw new FieldError('group', 'Choose a group from the list.');
        close((await post('/groups/{id}/members', { id: group }, { users })).added);
      },
    }),
    cancel(close),
  ]);
  if (added === undefined) return;
  done();
  say(`${figure(added)} ${added === 1 ? 'user was' : 'users were'} added to the group.`);
}

/**
 * Gives each user an account of their own.
 * @param {Map<string, string>} users
 * @param {() => void} done
 */
async function toApplication(users, done) {
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
    }),
    cancel(close),
  ]);
  if (failed === undefined) return;
  if (failed.length === 0) {
    done();
    say('The users have access.');
    return;
  }
  await dialog('Not all users were given access', (close) => [
    notice('The others have access now.', 'warn', el('ul', {}, ...failed)),
    el('div', { class: 'actions' }, el('button', { class: 'button', onclick: () => close() }, 'Close')),
  ]);
}

/**
 * Creates the accounts one by one. Returns the users who got none, each with the reason.
 * @param {Map<string, string>} users
 * @param {string} id
 * @param {string[]} roles
 */
async function accountsFor(users, id, roles) {
  const failed = [];
  for (const [user, name] of users) {
    try {
      await post('/applications/{id}/accounts', { id }, { user_id: user, roles });
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      failed.push(el('li', {}, el('bdi', {}, name), `: ${problem.message}`));
    }
  }
  return failed;
}

/** @param {(answer?: never) => void} close */
function cancel(close) {
  return el(
    'div',
    { class: 'actions' },
    el('button', { type: 'button', class: 'button', onclick: () => close() }, 'Cancel'),
  );
}
