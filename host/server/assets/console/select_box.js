// The checkboxes that select rows of a table.

import { t } from './language.js';
import { el } from './view.js';

/**
 * A checkbox for the head of the column, which selects each shown row. A narrow screen shows no heads, so it needs a
 * button.
 * @param {(isChecked: boolean) => void} changed
 */
export function selectAllBox(changed) {
  const box = el('input', { type: 'checkbox', 'aria-label': 'Select all shown' });
  box.addEventListener('change', () => changed(box.checked));
  return { box, head: el('label', { class: 'select select-all' }, box) };
}

/**
 * A checkbox for a row, and what its cell shows: on a narrow screen, where the table has no heads, with its label.
 * @param {string} name the name of what is selected
 */
export function selectBox(name) {
  const box = el('input', { type: 'checkbox', 'aria-label': t`Select ${name}` });
  const label = el('span', { class: 'unsorted', 'aria-hidden': 'true' }, 'Select');
  const cell = el('label', { class: 'select' }, box, label);
  return { box, cell };
}
