// From screen to screen, and what happens on the way.

import { ask, say } from './dom.js';
import { lookAtPush } from './push.js';
import { change, state } from './state.js';
import { holdStep, keepStep, watchSteps } from './steps.js';
import { text } from './texts.js';

/**
 * @typedef {import('./types.d.ts').Screen} Screen
 * @typedef {import('./types.d.ts').Step} Step
 */

/** The screen of codes that are shown this once and not yet confirmed, if it is the one that is shown. */
function unconfirmedCodes() {
  return state.screen?.name === 'codes' && state.screen.failure === null ? state.screen : null;
}

/**
 * Whether the screen may be left. Codes that are shown this once are not lost to a stray tap, nor to a link, nor to
 * the Back of the system.
 * @returns {Promise<boolean>}
 */
export async function mayLeave() {
  const codes = unconfirmedCodes();
  if (codes === null) return true;
  const about = codes.hasEarlier ? text('app-recovery-leave-earlier') : text('app-recovery-leave-none');
  return holdStep(ask(text('app-recovery-leave'), about, text('app-recovery-leave-yes')));
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
  go({ name: 'home' }, focus);
  lookAtPush();
}

/**
 * Goes on as the user goes back or forward in the browser's history. Screens that can't be shown again are passed over.
 * @param {{ leave: (screen: Screen['name']) => void, devices: (deviceId: string) => void }} to what shows the home
 * screen when another one is left, and the devices of an account
 */
export function watchBack(to) {
  let isAsking = false;
  watchSteps(async () => {
    if (isAsking) return;
    isAsking = true;
    const isAllowed = await mayLeave();
    isAsking = false;
    // The user may have gone further while they were asked.
    const step = /** @type {Step | null} */ (history.state);
    if (isAllowed && step !== null && state.screen !== null) visit(step, state.screen, to);
    keepStep();
  });
  window.addEventListener('beforeunload', (event) => {
    if (unconfirmedCodes() !== null) event.preventDefault();
  });
}

/**
 * @param {Step} step
 * @param {Screen} screen
 * @param {Parameters<typeof watchBack>[0]} to
 */
function visit({ name, deviceId }, screen, to) {
  if (name === 'devices' && deviceId !== undefined) {
    to.devices(deviceId);
  } else if (name === 'home' && screen.name !== 'home') {
    to.leave(screen.name);
  } else if (name === 'home') {
    change((known) => {
      known.chosen = null;
      return '#requests-title';
    });
  }
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
