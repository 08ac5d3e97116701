// A field that finds one of many: the person types, and chooses from what is found.

import { el } from '../view.js';

let made = 0;

/**
 * `load(text)` gives `{ items }`, `label(item)` says which one it is. The value is the `id` of what was chosen; where
 * `isId(text)`, an id may be typed as well, of something that is gone or that nobody may see.
 * @param {string} name
 * @param {string} label
 * @param {import('../types.d.ts').PickerOptions} options
 */
export function picker(name, label, { hint, load, label: labelled, chosen: onChosen, isId = () => false }) {
  made += 1;
  const id = `picker-${made}`;
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
    'aria-label': `Found for ${label}`,
    hidden: true,
  });
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
  let round = 0;
  let timer;
  let items = [];
  let at = -1;

  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
    at = -1;
  };
  const changed = () => element.dispatchEvent(new Event('input', { bubbles: true }));
  const choose = (item) => {
    value = item.id;
    input.value = labelled(item);
    close();
    error.textContent = '';
    changed();
    onChosen?.(item);
  };
  const mark = (next) => {
    at = next;
    for (const [place, one] of [...list.children].entries()) one.setAttribute('aria-selected', String(place === at));
    if (at >= 0) input.setAttribute('aria-activedescendant', `${id}-${at}`);
  };
  const search = async () => {
    const mine = ++round;
    let found;
    try {
      found = (await load(input.value.trim())).items;
    } catch (problem) {
      error.textContent = /** @type {Error} */ (problem).message;
      return;
    }
    if (mine !== round || document.activeElement !== input) return;
    items = found;
    const options = items.map((item, place) =>
      el(
        'li',
        {
          role: 'option',
          id: `${id}-${place}`,
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
        : [
            el(
              'li',
              { role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false' },
              'Nobody and nothing is called so.',
            ),
          ]),
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
    // What was found before is not what is typed now.
    round += 1;
    items = [];
    close();
    clearTimeout(timer);
    timer = setTimeout(search, 150);
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
      // Nothing is guessed: it is marked, or the only one.
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
    fail: (message) => (error.textContent = message ?? ''),
    focus: () => input.focus(),
    read: () => value,
    // What was chosen, or its id alone.
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
