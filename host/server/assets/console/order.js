// The order of a table: a field of its search, and buttons in its heads.

import { select } from './form.js';
import { el } from './view.js';

/** @import { Order } from './types.d.ts' */

/**
 * A field with the orders of a table. A press on a head sorts by it, a second one reverses the direction. Each value is
 * the name of an order, with `-` before it for the descending one. The first option is the order without a value.
 * @template {string} Name
 * @template {string} const Option
 * @param {Name} name
 * @param {Option} first the initial order
 * @param {ReadonlyArray<readonly [Option, string]>} options
 * @returns {import('./types.d.ts').ControlField<HTMLSelectElement, Name, Option | undefined, string | null> & Order}
 */
export function order(name, first, options) {
  const field = select(name, 'Sort by', options);
  // If the heads are visible, they sort.
  field.element.classList.add('sort-by');
  const current = () => field.input.value || first;
  /** @type {Array<() => void>} */
  const updates = [];
  const update = () => {
    for (const one of updates) one();
  };
  field.input.addEventListener('input', update);
  return {
    ...field,
    read: () => (current() === first ? undefined : /** @type {Option} */ (current())),
    write: (value) => {
      field.write(value || first);
      update();
    },
    head(place, label, sort) {
      const mark = el('span', { 'aria-hidden': 'true' });
      const press = () => {
        field.write(current() === sort ? `-${sort}` : sort);
        field.input.dispatchEvent(new Event('input', { bubbles: true }));
      };
      updates.push(() => {
        const direction = current() === sort ? 'ascending' : current() === `-${sort}` ? 'descending' : 'none';
        place.setAttribute('aria-sort', direction);
        mark.textContent = { ascending: '\u2191', descending: '\u2193', none: '\u2195' }[direction];
      });
      // The heads of a narrow screen are for screen readers only, and the field sorts.
      place.append(
        el('span', { class: 'unsorted' }, label),
        el('button', { type: 'button', class: 'sort', onclick: press }, `${label} `, mark),
      );
      update();
    },
  };
}
