// A keypad in the card of a request, for users who prefer it to the keyboard of their system: a setting of this
// browser, off by default. It has digits and no tiles with whole numbers, because a blind tap on a tile would be right
// too often.

import { text } from './texts.js';
import { button, el } from './view.js';

/** @typedef {import('./types.d.ts').Actions} Actions */

const STORED = 'assent-keypad';
const DIGITS = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '', '0'];

/** Whether the user wants a keypad in this browser. */
export function wantsKeypad() {
  try {
    return localStorage.getItem(STORED) === 'on';
  } catch {
    return false;
  }
}

/**
 * Stores whether the user wants a keypad in this browser. Without storage, the setting lasts until the page is closed.
 * @param {boolean} wanted
 */
export function storeKeypad(wanted) {
  try {
    if (wanted) localStorage.setItem(STORED, 'on');
    else localStorage.removeItem(STORED);
  } catch {
    // The setting lasts until the page is reloaded.
  }
}

/**
 * The keypad of a request: three columns, four rows.
 * @param {string} id the request's id
 * @param {boolean} disabled
 * @param {Actions} act
 */
export function keypad(id, disabled, act) {
  const keys = DIGITS.map((digit) =>
    digit === ''
      ? el('span', { key: 'gap' })
      : button(digit, () => act.pressDigit(id, digit), 'key', { key: `digit-${digit}`, disabled }),
  );
  const back = button('\u232b', () => act.eraseDigit(id), 'key', {
    key: 'erase',
    'aria-label': text('app-keypad-erase'),
    disabled,
  });
  return el(
    'div',
    { key: 'keypad', class: 'keypad', role: 'group', dir: 'ltr', translate: 'no', 'aria-label': text('app-keypad') },
    ...keys,
    back,
  );
}
