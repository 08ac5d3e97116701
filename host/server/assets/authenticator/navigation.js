// From screen to screen, and what happens on the way.

import { ask, say } from './dom.js';
import { lookAtPush } from './push.js';
import { change, state } from './state.js';
import { text } from './texts.js';

/** @typedef {import('./types.d.ts').Screen} Screen */

/** Takes what a link asked for out of the address bar. */
export function leaveLink() {
  history.replaceState(null, '', location.pathname);
}

/**
 * Whether the screen may be left. Codes that are shown this once are not lost to a stray tap, nor to a link.
 * @returns {Promise<boolean>}
 */
export async function mayLeave() {
  if (state.screen?.name !== 'codes' || state.screen.failure !== null) return true;
  return ask(text('app-recovery-leave'), text('app-recovery-once'), text('app-recovery-kept'));
}

/**
 * Shows another screen. `focus` is the selector of what gets the focus.
 * @param {Screen} screen
 * @param {string} [focus]
 */
export function go(screen, focus) {
  change((known) => {
    if (known.screen && 'left' in known.screen) known.screen.left();
    known.screen = screen;
    return focus;
  });
}

/**
 * Shows the home screen.
 * @param {string} [focus]
 */
export function goHome(focus) {
  leaveLink();
  go({ name: 'home' }, focus);
  lookAtPush();
}

/**
 * Changes a screen, if it is still the one that is shown.
 * @template {Screen} T
 * @param {T} screen
 * @param {Partial<T>} changes
 * @param {string} [focus]
 */
export function changeScreen(screen, changes, focus) {
  if (state.screen !== screen) return;
  change(() => {
    Object.assign(screen, changes);
    return focus;
  });
}

/**
 * Copies a text, and returns which of the two messages says how that went.
 * @param {string} words
 * @param {string} copied
 * @param {string} failed
 */
export async function copy(words, copied, failed) {
  try {
    await navigator.clipboard.writeText(words);
    return copied;
  } catch {
    return failed;
  }
}

/**
 * Shows an error on a screen, and says it at once.
 * @param {string} words
 */
export function alarm(words) {
  if (words !== '') say(words, true);
  return words;
}
