// The navigation between screens.

import { ask, say } from './dom.js';
import { checkPush } from './push.js';
import { change, state, zone } from './state.js';
import { holdStep, keepStep, watchSteps } from './steps.js';
import { text } from './texts.js';

/**
 * @typedef {import('./types.d.ts').Screen} Screen
 * @typedef {import('./types.d.ts').Step} Step
 */

/** The screen with unconfirmed codes that are shown only once, if it is the current one. */
function unconfirmedCodes() {
  return state.screen?.name === 'codes' && state.screen.failure === null ? state.screen : null;
}

/**
 * Whether the screen may be left. A stray tap, a link or the Back button of the system must not lose codes that are
 * shown only once.
 * @returns {Promise<boolean>}
 */
export async function mayLeave() {
  const codes = unconfirmedCodes();
  if (codes === null) return true;
  const about = codes.hasEarlier ? text('app-recovery-leave-earlier') : text('app-recovery-leave-none');
  return holdStep(ask(text('app-recovery-leave'), about, text('app-recovery-leave-yes')));
}

/**
 * Shows another screen. `focus` is the selector of the element that gets the focus.
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
  checkPush();
}

/**
 * Follows the user's steps back or forward in the browser's history. Screens that cannot be shown again are skipped.
 * @param {{ leave: (screen: Screen['name']) => void, devices: (deviceId: string) => void }} to the actions that show
 * the home screen when another one is left, and the devices of an account
 */
export function watchBack(to) {
  let isAsking = false;
  watchSteps(async () => {
    if (isAsking) return;
    isAsking = true;
    const isAllowed = await mayLeave();
    isAsking = false;
    // The user may have gone further while the question was open.
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
      known.listing = false;
      return zone('requests');
    });
  }
}

/**
 * Changes a screen, if it is still the current one.
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
 * Copies a text, and returns the message for success or failure.
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
 * Shows an error on a screen, and announces it at once.
 * @param {string} words
 */
export function alarm(words) {
  if (words !== '') say(words, true);
  return words;
}
