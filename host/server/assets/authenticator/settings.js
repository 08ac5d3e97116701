// The settings of the authenticator in this browser.

import { storeKeypad, wantsKeypad } from './keypad.js';
import { change, state } from './state.js';
import { text } from './texts.js';
import { el } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 */

/** Reads the settings of this browser. */
export function loadSettings() {
  state.keypad = wantsKeypad();
}

/**
 * The card of the settings.
 * @param {State} state
 * @param {Actions} act
 */
export function settings({ keypad }, act) {
  const onchange = (/** @type {{ target: HTMLInputElement }} */ { target }) => act.setKeypad(target.checked);
  const box = el('input', {
    id: 'keypad',
    type: 'checkbox',
    checked: keypad,
    'aria-describedby': 'keypad-about',
    onchange,
  });
  return el(
    'details',
    { key: 'settings', class: 'card' },
    el('summary', {}, text('app-settings')),
    el('label', { class: 'choice' }, box, el('span', {}, text('app-settings-keypad'))),
    el('p', { class: 'muted small', id: 'keypad-about' }, text('app-settings-keypad-about')),
  );
}

export const settingsActions = {
  /** @param {boolean} wanted */
  setKeypad(wanted) {
    storeKeypad(wanted);
    change((known) => {
      known.keypad = wanted;
    });
  },
};
