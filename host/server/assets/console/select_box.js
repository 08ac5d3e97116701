// The checkboxes that select rows of a table.

import { t } from './language.js';
import { button, el } from './view.js';

/** @import { Column } from './types.d.ts' */

/**
 * A checkbox for the head of the column, which selects each shown row. A narrow screen shows no heads, so it needs a
 * button.
 * @param {(isChecked: boolean) => void} changed
 */
function selectAllBox(changed) {
  const box = el('input', { type: 'checkbox', 'aria-label': 'Select all shown' });
  box.addEventListener('change', () => changed(box.checked));
  return { box, head: el('label', { class: 'select select-all' }, box) };
}

/**
 * A checkbox for a row, and the content of its cell: on a narrow screen, where the table has no heads, with its label.
 * @param {string} name the name of the row
 */
function selectBox(name) {
  const box = el('input', { type: 'checkbox', 'aria-label': t`Select ${name}` });
  const label = el('span', { class: 'unsorted', 'aria-hidden': 'true' }, 'Select');
  const cell = el('label', { class: 'select' }, box, label);
  return { box, cell };
}

/**
 * The selection of rows: the column of their checkboxes, and a button that selects all of them. `changed` receives the
 * number of selected rows.
 * @template Row
 * @param {object} options
 * @param {(row: Row) => string | undefined} options.nameOf the name of a row; undefined if it can't be selected
 * @param {(count: number) => void} options.changed
 */
export function rowSelection({ nameOf, changed }) {
  /** @type {Array<{ row: Row, box: HTMLInputElement }>} */
  let rows = [];
  // The list removes rows when it is filled again.
  const shown = () => rows.filter(({ box }) => box.closest('tbody') !== null);
  const selected = () => shown().filter(({ box }) => box.checked);
  const update = () => {
    const count = selected().length;
    all.box.checked = count > 0 && count === shown().length;
    all.box.indeterminate = count > 0 && !all.box.checked;
    press.hidden = shown().length === 0;
    changed(count);
  };
  const setAll = (/** @type {boolean} */ isChecked) => {
    rows = shown();
    for (const { box } of rows) box.checked = isChecked;
    update();
  };
  const all = selectAllBox(setAll);
  const press = button('Select all shown', () => setAll(true), 'unsorted');
  /** @type {Column<Row>} */
  const column = {
    label: 'Select',
    box: true,
    head: all.head,
    cell: (row) => {
      const name = nameOf(row);
      if (name === undefined) return '';
      const { box, cell } = selectBox(name);
      rows.push({ row, box });
      box.addEventListener('change', update);
      return cell;
    },
  };
  return { column, press, clear: () => setAll(false), selected: () => selected().map(({ row }) => row) };
}
