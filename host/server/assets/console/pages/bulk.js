// Several users at once: a column with a check box in each row, and the actions for the chosen ones.

import { patch } from '../api.js';
import { t } from '../language.js';
import { selectAllBox, selectBox } from '../select_box.js';
import { ask, button, el, explain, figure, say } from '../view.js';
import { giveAccess, toGroup } from './chosen_users.js';

/** @import { Column, Context, Schema } from '../types.d.ts' */

/** @typedef {Schema<'ListedUser'>} User */

/**
 * The column of check boxes, none where this administrator may do nothing with several users, and the actions.
 * `reload` reads the list again.
 * @param {Context} context
 * @param {() => unknown} reload
 */
export function selection({ may }, reload) {
  /** @type {Map<string, { user: User, box: HTMLInputElement }>} */
  const chosen = new Map();
  const users = () => [...chosen.values()].map(({ user }) => user);
  const count = el('p', { role: 'status' });
  const failures = el('div', {});
  const update = () => {
    bar.hidden = chosen.size === 0;
    // They are of the action before this selection.
    if (chosen.size > 0) failures.replaceChildren();
    count.textContent = chosen.size === 1 ? t`${1} user selected` : t`${figure(chosen.size)} users selected`;
    const boxes = shown.filter(({ box }) => box.isConnected);
    all.box.checked = chosen.size > 0 && chosen.size === boxes.length;
    all.box.indeterminate = chosen.size > 0 && !all.box.checked;
  };
  const clear = () => {
    for (const { box } of chosen.values()) box.checked = false;
    chosen.clear();
    update();
  };
  /**
   * Changes the state of each chosen user who is in one of these states.
   * @param {'active' | 'suspended'} state
   * @param {Array<Schema<'LifecycleState'>>} from
   */
  const change = async (state, from) => {
    const concerned = users().filter((user) => from.includes(user.state));
    /** @type {Array<{ user: User, problem: unknown }>} */
    const failed = [];
    for (const user of concerned) {
      try {
        await patch('/users/{id}', { id: user.id }, { state });
      } catch (problem) {
        failed.push({ user, problem });
      }
    }
    clear();
    await reload();
    failures.replaceChildren(
      ...failed.map(({ user, problem }) =>
        el('div', { class: 'notice bad', role: 'alert' }, el('bdi', {}, user.name), ...explain(problem)),
      ),
    );
    const done = concerned.length - failed.length;
    say(done === 1 ? t`${1} user changed` : t`${figure(done)} users changed`);
  };
  const suspend = async () => {
    const yes = await ask(
      'Suspend the selected users?',
      'Their sessions, tokens and open invitation links end at once. Applications are notified. ' +
        'You can lift it again.',
      'Suspend',
    );
    if (yes) await change('suspended', ['active', 'invited']);
  };
  const bar = el(
    'div',
    { class: 'panel bulk', hidden: true, role: 'region', 'aria-label': 'Selected users' },
    count,
    el(
      'div',
      { class: 'ways' },
      ...(may('accounts:write')
        ? [
            button('Add to a group', () => toGroup(users(), clear), 'primary'),
            button('Give access', () => giveAccess(users(), clear)),
          ]
        : []),
      ...(may('users:write')
        ? [button('Suspend', suspend), button('Lift the suspension', () => change('active', ['suspended']))]
        : []),
      button('Select none', clear, 'quiet'),
    ),
  );
  /**
   * The users of the page.
   * @type {Array<{ user: User, box: HTMLInputElement }>}
   */
  const shown = [];
  const selectAll = () => {
    for (const one of shown.filter(({ box }) => box.isConnected)) {
      one.box.checked = true;
      chosen.set(one.user.id, one);
    }
    update();
  };
  const all = selectAllBox((isChecked) => (isChecked ? selectAll() : clear()));
  /** @type {Column<User>} */
  const column = {
    label: 'Select',
    box: true,
    head: all.head,
    cell: (user) => {
      // None of the actions is for them.
      if (user.state === 'terminated') return '';
      const { box, cell } = selectBox(user.name);
      shown.push({ user, box });
      box.addEventListener('change', () => {
        if (box.checked) chosen.set(user.id, { user, box });
        else chosen.delete(user.id);
        update();
      });
      return cell;
    },
  };
  const columns = may('users:write') || may('accounts:write') ? [column] : [];
  const press = columns.length > 0 && button('Select all shown', selectAll, 'unsorted');
  return { columns, bar: el('div', {}, press, bar, failures), clear };
}
