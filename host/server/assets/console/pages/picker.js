// A field that finds an object: the administrator types, and chooses one of the results.

import { byName } from '../../names.js';
import { t, translated } from '../language.js';
import { el } from '../view.js';

/** @import { ControlField, PickerOptions } from '../types.d.ts' */

let created = 0;

/**
 * `load(text)` returns `{ items }`, `label(item)` the text for an item. The value is the `id` of the chosen item. If
 * `isId(text)`, the administrator may also type an id, such as that of a deleted item.
 * @template {string} Name
 * @template {{ id: string }} Item
 * @param {Name} name
 * @param {string} label
 * @param {PickerOptions<Item>} options
 * @returns {ControlField<HTMLInputElement, Name, string | undefined, Item | string | null>}
 */
export function picker(name, label, { hint, load, label: labelled, hasOrder, chosen: onChosen, isId = () => false }) {
  created += 1;
  const id = `picker-${created}`;
  /** @type {string | undefined} */
  let value;
  const input = el('input', {
    id,
    type: 'search',
    autocomplete: 'off',
    spellcheck: 'false',
    role: 'combobox',
    'aria-expanded': 'false',
    'aria-controls': `${id}-list`,
    'aria-autocomplete': 'list',
    'aria-describedby': `${id}-error`,
  });
  const list = el('ul', {
    id: `${id}-list`,
    class: 'found',
    role: 'listbox',
    'aria-label': t`Found for ${translated(label)}`,
    hidden: true,
  });
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
  let round = 0;
  /** @type {number | undefined} */
  let timer;
  /** @type {Item[]} */
  let items = [];
  let at = -1;

  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    at = -1;
  };
  const changed = () => element.dispatchEvent(new Event('input', { bubbles: true }));
  const choose = (/** @type {Item} */ item) => {
    value = item.id;
    input.value = labelled(item);
    close();
    error.textContent = '';
    changed();
    onChosen?.(item);
  };
  const mark = (/** @type {number} */ next) => {
    at = next;
    for (const [index, one] of [...list.children].entries()) one.setAttribute('aria-selected', String(index === at));
    if (at >= 0) input.setAttribute('aria-activedescendant', `${id}-${at}`);
  };
  const search = async () => {
    const mine = ++round;
    /** @type {Item[]} */
    let found;
    try {
      found = (await load(input.value.trim())).items;
    } catch (problem) {
      error.textContent = translated(problem instanceof Error ? problem.message : 'That did not work.');
      return;
    }
    if (mine !== round || document.activeElement !== input) return;
    items = hasOrder ? found : [...found].sort(byName(labelled));
    const options = items.map((item, index) =>
      el(
        'li',
        {
          role: 'option',
          id: `${id}-${index}`,
          'aria-selected': 'false',
          onmousedown: (event) => {
            event.preventDefault();
            choose(item);
          },
        },
        el('bdi', {}, labelled(item)),
      ),
    );
    list.replaceChildren(
      ...(options.length > 0
        ? options
        : [el('li', { role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false' }, 'Nothing found.')]),
    );
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    at = -1;
  };
  input.addEventListener('input', (event) => {
    event.stopPropagation();
    const [before, typed] = [value, input.value.trim()];
    value = isId(typed) ? typed : undefined;
    if (value !== before) changed();
    // The results are about the earlier text.
    round += 1;
    items = [];
    close();
    clearTimeout(timer);
    timer = window.setTimeout(search, 150);
  });
  input.addEventListener('focus', search);
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !list.hidden) {
      event.preventDefault();
      close();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      if (list.hidden) search();
      else if (items.length > 0)
        mark((at + (event.key === 'ArrowDown' ? 1 : items.length - (at < 0 ? 0 : 1))) % items.length);
    } else if (event.key === 'Enter' && input.value !== '' && value === undefined) {
      event.preventDefault();
      // The marked item, or the only one.
      const [only] = at >= 0 ? [items[at]] : items;
      if (only && (at >= 0 || items.length === 1)) choose(only);
    }
  });
  const element = el(
    'div',
    { class: 'field picker' },
    el('label', { for: id }, label),
    hint && el('p', { class: 'hint' }, hint),
    el('div', { class: 'below' }, input, list),
    error,
  );
  return {
    name,
    element,
    input,
    fail: (message) => {
      error.textContent = translated(message ?? '');
    },
    focus: () => input.focus(),
    read: () => value,
    // The item, or only its id.
    write: (item) => {
      value = typeof item === 'string' ? item || undefined : item?.id;
      input.value = typeof item === 'string' ? item : item ? labelled(item) : '';
      if (typeof item === 'string' && item !== '') {
        load(item).then(
          ({ items: found }) => {
            const known = found.find(({ id: one }) => one === item);
            if (known && value === item) input.value = labelled(known);
          },
          () => {},
        );
      }
    },
  };
}
