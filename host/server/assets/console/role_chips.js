// A field for roles: each chosen one is a chip, and the known ones are suggested.

import { t, translated } from './language.js';
import { el } from './view.js';

/** @import { Field } from './types.d.ts' */

/** The maximum number of suggestions with buttons. The browser suggests all of them while the administrator types. */
const SUGGESTED = 12;
let created = 0;

/**
 * Roles as chips. `known` are the suggested roles. Enter and the comma add the typed text.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {{ known?: string[], hint?: string }} [options]
 * @returns {Field<Name, string[]> & { suggest(known: string[]): void }}
 */
export function roleChips(name, label, { known = [], hint = 'Enter adds a role, as the application names it.' } = {}) {
  created += 1;
  const id = `roles-${created}`;
  /** @type {string[]} */
  let chosen = [];
  let suggested = known;
  const input = el('input', {
    id,
    type: 'text',
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    list: `${id}-known`,
    'aria-describedby': `${id}-hint ${id}-error`,
  });
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
  const chips = el('ul', { class: 'chips', 'aria-label': t`${translated(label)}: chosen` });
  const offers = el('ul', { class: 'chips', 'aria-label': t`${translated(label)}: suggested` });
  const options = el('datalist', { id: `${id}-known` });
  const element = el(
    'div',
    { class: 'field roles' },
    el('label', { for: id }, label),
    el('p', { class: 'hint', id: `${id}-hint` }, hint),
    chips,
    input,
    options,
    offers,
    error,
  );
  const changed = () => element.dispatchEvent(new Event('input', { bubbles: true }));
  const add = (/** @type {string} */ text) => {
    const role = text.trim();
    if (role !== '' && !chosen.includes(role)) chosen = [...chosen, role];
    show();
  };
  const take = () => {
    for (const part of input.value.split(',')) add(part);
    input.value = '';
    changed();
  };
  const chip = (/** @type {string} */ role, /** @type {boolean} */ isChosen, /** @type {() => void} */ onclick) =>
    el(
      'li',
      {},
      el(
        'button',
        { type: 'button', class: 'chip', 'aria-label': isChosen ? t`Remove ${role}` : t`Add ${role}`, onclick },
        el('bdi', {}, role),
        el('span', { 'aria-hidden': 'true' }, isChosen ? '×' : '+'),
      ),
    );
  const show = () => {
    chips.hidden = chosen.length === 0;
    chips.replaceChildren(
      ...chosen.map((role) =>
        chip(role, true, () => {
          chosen = chosen.filter((one) => one !== role);
          show();
          changed();
          input.focus();
        }),
      ),
    );
    const left = suggested.filter((role) => !chosen.includes(role));
    offers.hidden = left.length === 0;
    offers.replaceChildren(
      ...left.slice(0, SUGGESTED).map((role) =>
        chip(role, false, () => {
          add(role);
          changed();
          input.focus();
        }),
      ),
    );
    options.replaceChildren(...left.map((value) => el('option', { value })));
  };
  input.addEventListener('input', (event) => {
    event.stopPropagation();
    error.textContent = '';
    if (input.value.includes(',')) take();
    else changed();
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && input.value.trim() !== '') {
      event.preventDefault();
      take();
    } else if (event.key === 'Backspace' && input.value === '' && chosen.length > 0) {
      chosen = chosen.slice(0, -1);
      show();
      changed();
    }
  });
  show();
  return {
    name,
    element,
    fail: (message) => {
      error.textContent = translated(message ?? '');
    },
    focus: () => input.focus(),
    // The text in the field counts even without Enter.
    read: () => {
      const typed = input.value.trim();
      return typed === '' || chosen.includes(typed) ? chosen : [...chosen, typed];
    },
    write: (values) => {
      chosen = values ?? [];
      input.value = '';
      show();
    },
    suggest: (roles) => {
      suggested = roles;
      show();
    },
  };
}
