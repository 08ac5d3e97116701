// Lists: tables with rows that are loaded page by page, searched and sorted.

import { byName } from '../names.js';
import { locale, t, translated } from './language.js';
import { button, el, explain, shown } from './view.js';

/**
 * @import {
 *   Column, Field, List, ListElement, SearchOptions, TableElement, TableOptions, Values
 * } from './types.d.ts'
 */

/**
 * A table; on a narrow screen a list. Of each column: `label`, `cell(row)` and, for figures, `figure: true`. The first
 * column without check boxes names the row. A column with `sort` has a button in its head, if the list has an `order`.
 * @template Row
 * @param {Array<Column<Row>>} columns
 * @param {Row[]} rows
 * @param {TableOptions} [options]
 * @returns {TableElement<Row>}
 */
export function table(columns, rows, { empty = 'None.', unmatched, caption, order } = {}) {
  const body = el('tbody', { role: 'rowgroup' });
  const heads = columns.map(({ label, figure: isFigure, box, sort, head: control }) => {
    const head = el('th', { role: 'columnheader', scope: 'col', class: classOf(isFigure, box) });
    if (sort && order) order.head(head, label, sort);
    else if (control) head.append(el('span', { class: 'hidden-text' }, label), control);
    else head.append(translated(label));
    return head;
  });
  const element = el(
    'table',
    { role: 'table' },
    caption && el('caption', { class: 'hidden-text' }, caption),
    el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads)),
    body,
  );
  const none = emptyState(empty);
  const whole = el('div', { class: 'table' }, element, none);
  const add = (/** @type {Row[]} */ more) => {
    body.append(...more.map((row) => tableRow(columns, row)));
    element.hidden = body.childElementCount === 0;
    none.hidden = !element.hidden;
  };
  add(rows);
  const filter = (/** @type {boolean} */ isInUse) => {
    if (unmatched === undefined) return;
    const text = isInUse ? unmatched : empty;
    none.replaceChildren(typeof text === 'string' ? translated(text) : text);
  };
  return Object.assign(whole, { add, filter, clear: () => body.replaceChildren() });
}

/**
 * The class of the cells of a column.
 * @param {boolean} [isFigure]
 * @param {boolean} [hasBox]
 */
const classOf = (isFigure, hasBox) => (isFigure ? 'figure' : hasBox && 'box');

/**
 * The element that replaces a list without rows.
 * @param {string | Node} empty
 */
const emptyState = (empty) => el('div', { class: 'empty' }, empty);

/**
 * @template Row
 * @param {Array<Column<Row>>} columns
 * @param {Row} row
 */
function tableRow(columns, row) {
  const named = columns.find(({ box }) => !box);
  return el(
    'tr',
    { role: 'row' },
    ...columns.map((column) => {
      const { label, cell, figure: isFigure, box } = column;
      if (column === named) return el('th', { role: 'rowheader', scope: 'row' }, shown(cell(row)));
      const attributes = { role: 'cell', 'data-label': label, class: classOf(isFigure, box) };
      return el('td', attributes, shown(cell(row) ?? ''));
    }),
  );
}

/**
 * A list of elements, one for each row.
 * @template Row
 * @param {(row: Row) => Node} made
 * @param {{ empty: string, label: string }} options
 * @returns {ListElement<Row>}
 */
export function rowList(made, { empty, label }) {
  const list = el('ul', { class: 'entries', 'aria-label': label });
  const none = emptyState(empty);
  const add = (/** @type {Row[]} */ more) => {
    list.append(...more.map((row) => el('li', {}, made(row))));
    list.hidden = list.childElementCount === 0;
    none.hidden = !list.hidden;
  };
  add([]);
  return Object.assign(el('div', { class: 'entries-list' }, list, none), { add, clear: () => list.replaceChildren() });
}

/**
 * The rows of a page. A complete list is sorted by the names that it shows, in the language of the page. The server
 * sorts a list of several pages.
 * @template Row
 * @param {List<Row>} page
 * @param {string | undefined} after
 * @param {(row: Row) => string} [nameOf]
 * @param {string} [order] that of the server
 */
export function inOrder({ items, next }, after, nameOf, order = 'name') {
  if (after || next || !nameOf || !/^-?name$/.test(order)) return items;
  const sorted = [...items].sort(byName(nameOf));
  return order === 'name' ? sorted : sorted.reverse();
}

/**
 * A list that is loaded page by page: `load(after)` returns `{ items, next }`.
 * @template Row
 * @param {(after?: string) => Promise<List<Row>>} load
 * @param {ListElement<Row>} rows
 * @param {(row: Row) => string} [nameOf] the shown name of a row, by which a complete list is sorted
 */
export async function pages(load, rows, nameOf) {
  const rest = el('div', { class: 'ways more' });
  const more = async (/** @type {string | undefined} */ after = undefined) => {
    const page = await load(after);
    const { next } = page;
    rows.add(inOrder(page, after, nameOf));
    rest.replaceChildren(...(next ? [button('Show more', () => more(next))] : []));
  };
  await more();
  return el('div', {}, rows, rest);
}

/**
 * A list with a search: its fields are the controls, `load(values, after)` returns `{ items, next }`. The address of
 * the page stores the search, so that going back shows it again.
 * @template {Field} Control
 * @template Row
 * @param {Control[]} controls
 * @param {(values: Values<Control>, after?: string) => Promise<List<Row>>} load
 * @param {ListElement<Row>} rows
 * @param {SearchOptions<List<Row>>} [options]
 */
export async function searched(controls, load, rows, { nameOf, chips = false, total, above = [], onpage } = {}) {
  const rest = el('div', { class: 'ways more' });
  const status = el('p', { class: 'hidden-text', role: 'status' });
  const problem = el('div', {});
  const active = el('ul', { class: 'chips', 'aria-label': 'Active filters' });
  const fields = controls.map((control) => control.element);
  // An order is not a filter.
  const filters = controls.filter((control) => !('head' in control));
  const clear = clearButton(filters);
  const address = new URL(location.href);
  for (const control of controls) control.write(address.searchParams.get(control.name) ?? '');
  let round = 0;
  const fill = async (/** @type {string | undefined} */ after = undefined) => {
    const mine = ++round;
    const isFiltered = filters.some((control) => control.read());
    clear.hidden = !isFiltered || filters.length < 2;
    if (chips) showChips(active, controls, clear);
    rows.setAttribute('aria-busy', 'true');
    try {
      const page = await load(valuesOf(controls), after);
      if (mine !== round) return;
      const { items, next } = page;
      rows.removeAttribute('aria-busy');
      rows.hidden = false;
      rows.filter?.(isFiltered);
      if (!after) rows.clear();
      const order = controls.find((control) => 'head' in control)?.read();
      rows.add(inOrder(page, after, nameOf, /** @type {string | undefined} */ (order)));
      rest.replaceChildren(...(next ? [button('Show more', () => fill(next))] : []));
      status.textContent =
        items.length === 0
          ? translated('Nothing found.')
          : t`${items.length} shown${next ? translated(', and there are more') : ''}.`;
      problem.replaceChildren();
      if (!after) onpage?.(page);
    } catch (failure) {
      if (mine !== round) return;
      rows.removeAttribute('aria-busy');
      // Without a response the list is unknown, and not empty. Rows that are shown already stay.
      if (!after) {
        rows.clear();
        rows.hidden = true;
      }
      status.textContent = '';
      rest.replaceChildren();
      const again = button('Try again', () => fill(after));
      problem.replaceChildren(
        el('div', { class: 'notice bad', role: 'alert' }, ...explain(failure), el('div', { class: 'ways' }, again)),
      );
    }
  };
  /** @type {number | undefined} */
  let timer;
  const changed = () => {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const here = new URL(location.href);
      for (const control of controls) {
        const value = control.read();
        if (value) here.searchParams.set(control.name, String(value));
        else here.searchParams.delete(control.name);
      }
      history.replaceState(history.state, '', here);
      fill();
    }, 200);
  };
  for (const field of fields) field.addEventListener('input', changed);
  await fill();
  const form = el(
    'form',
    {
      class: 'search',
      role: 'search',
      onsubmit: (event) => {
        event.preventDefault();
        changed();
      },
    },
    ...withFilters(controls),
  );
  const summary = el('div', { class: 'search-summary' }, total, !chips && clear);
  const parts = [form, summary, ...above, chips && active, problem, status, rows, rest];
  return Object.assign(el('div', {}, ...parts), { fill });
}

/**
 * A button that removes every filter of a search.
 * @param {Field[]} filters
 */
function clearButton(filters) {
  const clear = () => {
    for (const filter of filters) filter.write('');
    const [first] = filters;
    first.element.dispatchEvent(new Event('input', { bubbles: true }));
    // The button disappears, and the focus must not disappear with it.
    first.focus();
  };
  return el('button', { type: 'button', class: 'button small', hidden: true, onclick: clear }, 'Clear filters');
}

/**
 * The fields of a search. On a narrow screen, a button shows those after the first, unless one of them is in use.
 * @param {Field[]} controls
 */
function withFilters([first, ...others]) {
  if (others.length < 2) return [first, ...others].map((control) => control.element);
  const filters = el('div', { class: 'filters' }, ...others.map((control) => control.element));
  const canSort = others.some((control) => 'head' in control);
  const toggle = el('button', { type: 'button', class: 'button small' }, canSort ? 'Filter and sort' : 'Filter');
  const show = (/** @type {boolean} */ shown) => {
    filters.classList.toggle('open', shown);
    toggle.setAttribute('aria-expanded', String(shown));
  };
  toggle.addEventListener('click', () => show(toggle.getAttribute('aria-expanded') !== 'true'));
  show(others.some((control) => control.read()));
  return [first.element, toggle, filters];
}

/**
 * Shows each active filter, with a button that removes it, and at the end the one that removes all.
 * @param {HTMLElement} place
 * @param {Field[]} controls
 * @param {HTMLElement} clear
 */
function showChips(place, controls, clear) {
  const inUse = controls.filter((control) => control.read());
  place.hidden = inUse.length === 0;
  place.replaceChildren(
    ...inUse.map((control) => {
      const label = control.element.querySelector('label')?.textContent ?? control.name;
      const value = shownValue(control);
      const drop = () => {
        control.write('');
        control.element.dispatchEvent(new Event('input', { bubbles: true }));
        control.focus();
      };
      return el(
        'li',
        {},
        el(
          'button',
          {
            type: 'button',
            class: 'chip',
            'aria-label': t`Remove the filter ${label}: ${value || ''}`,
            onclick: drop,
          },
          el('span', {}, `${label}: `, el('bdi', {}, value || String(control.read()))),
          el('span', { 'aria-hidden': 'true' }, '×'),
        ),
      );
    }),
    ...(clear.hidden ? [] : [el('li', {}, clear)]),
  );
}

/**
 * The value of a filter, as its field shows it. A day has the format of the days in the list.
 * @param {Field} control
 */
function shownValue(control) {
  const input = control.element.querySelector('input, select');
  if (input instanceof HTMLSelectElement) return input.selectedOptions[0]?.textContent;
  if (!(input instanceof HTMLInputElement)) return '';
  if (input.type !== 'date' || input.value === '') return input.value;
  return new Date(`${input.value}T00:00`).toLocaleDateString(locale(), { dateStyle: 'medium' });
}

/**
 * The values of fields, by name.
 * @template {Field} One
 * @param {One[]} fields
 */
export function valuesOf(fields) {
  // A hidden field does not count: its error could not be seen.
  const visible = fields.filter((field) => !('element' in field && field.element.hidden));
  const read = visible.map((field) => [field.name, field.read()]).filter(([, value]) => value !== undefined);
  return /** @type {Values<One>} */ (Object.fromEntries(read));
}
