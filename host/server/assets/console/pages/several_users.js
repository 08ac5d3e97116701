// A field that finds several users: each chosen one is a chip.

import { get } from '../api.js';
import { t, translated } from '../language.js';
import { el } from '../view.js';
import { picker } from './picker.js';
import { foundUser } from './user_cell.js';

/** @import { Field } from '../types.d.ts' */

/** The maximum number of users that one request adds to a group. */
const MOST = 200;

/**
 * The value is the ids of the chosen users, and of the one that the field shows.
 * @returns {Field<'users', string[]>}
 */
export function chosenUsers() {
  /** @type {Map<string, string>} */
  const chosen = new Map();
  const chips = el('ul', { class: 'chips', 'aria-label': 'Chosen users' });
  const user = picker('user', 'User', {
    hint: 'The first letters of the name or the email address. Choose one user after the other.',
    load: async (q) => {
      const { items } = await get('/users', { q, limit: 8 });
      return { items: items.filter(({ id }) => !chosen.has(id)) };
    },
    label: (one) => foundUser(one),
    chosen: (one) => {
      if (chosen.size < MOST) chosen.set(one.id, foundUser(one));
      user.write(undefined);
      show();
      user.focus();
    },
  });
  const show = () => {
    chips.hidden = chosen.size === 0;
    chips.replaceChildren(
      ...[...chosen].map(([id, name]) =>
        el(
          'li',
          {},
          el(
            'button',
            { type: 'button', class: 'chip', 'aria-label': t`Remove ${name}`, onclick: () => drop(id) },
            el('bdi', {}, name),
            el('span', { 'aria-hidden': 'true' }, '×'),
          ),
        ),
      ),
    );
    element.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const drop = (/** @type {string} */ id) => {
    chosen.delete(id);
    show();
    // The button disappears, and the focus must not disappear with it.
    user.focus();
  };
  const element = el('div', { class: 'several' }, user.element, chips);
  chips.hidden = true;
  return {
    name: 'users',
    element,
    fail: (message) => user.fail(message && translated(message)),
    focus: () => user.focus(),
    read: () => [...chosen.keys()],
    write: (ids) => {
      chosen.clear();
      for (const id of ids ?? []) chosen.set(id, id);
      show();
    },
  };
}
