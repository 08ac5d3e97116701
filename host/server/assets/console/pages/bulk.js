// Several users at once: a column with a check box in each row, and the actions for the chosen ones.

import { patch } from '../api.js';
import { t } from '../language.js';
import { rowSelection } from '../select_box.js';
import { ask, button, el, explain, figure, say } from '../view.js';
import { giveAccess, toGroup } from './chosen_users.js';
import { confirmAddresses, unfinished } from './unconfirmed.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** @typedef {Schema<'ListedUser'>} User */

/**
 * The column of check boxes, and the actions. There is no column if this administrator has no actions for several
 * users. `reload` reads the list again.
 * @param {Context} context
 * @param {() => unknown} reload
 */
export function selection({ may }, reload) {
  const count = el('p', { role: 'status' });
  const failures = el('div', {});
  const chosen = rowSelection({
    // None of the actions is for a terminated user.
    nameOf: (/** @type {User} */ user) => (user.state === 'terminated' ? undefined : user.name),
    changed: (number) => {
      bar.hidden = number === 0;
      // The failures belong to the action before this selection.
      if (number > 0) failures.replaceChildren();
      count.textContent = number === 1 ? t`${1} user selected` : t`${figure(number)} users selected`;
    },
  });
  const { clear, selected: users } = chosen;
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
  const confirm = async () => {
    const ids = users().map((user) => user.id);
    const progress = await confirmAddresses(ids);
    clear();
    await reload();
    failures.replaceChildren(...unfinished(progress, ids.length));
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
      ...(may('users:manage') ? [button('Confirm email addresses', confirm)] : []),
      button('Select none', clear, 'quiet'),
    ),
  );
  const canSelect = may('users:write') || may('accounts:write');
  return {
    columns: canSelect ? [chosen.column] : [],
    bar: el('div', {}, canSelect && chosen.press, bar, failures),
    clear,
  };
}
