// Keeps the browser's history in step with the app. The entry of each screen is above that of the screen from which it
// was opened, so the Back button of the system leads to the previous screen. Each entry has the depth and the device of
// its screen.

import { isListed } from './requests.js';
import { state } from './state.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Step} Step
 */

/** The depth of each screen below the home screen. */
const DEPTHS = { home: 0, unsupported: 0, camera: 1, devices: 1, enrolment: 1, entry: 1, login: 1, link: 2, codes: 2 };

/** The screens that a link may open. @type {Array<Step['name']>} */
const LINKED = ['enrolment', 'entry', 'login'];

/** The depth of the browser's current entry. */
let depth = 0;
/** Whether the app itself requested an entry that is not current yet. */
let isTravelling = false;
/** Whether the next screen is not decided yet: a question is open, or a link is being opened. */
let isHeld = false;

/** @param {Step} step */
const write = (step, address = location.pathname) => history.replaceState(step, '', address);

/**
 * Whether the current entry is that of a step. Browsers limit how often an entry is written.
 * @param {Step} step
 */
function isWritten({ name, deviceId }) {
  const known = /** @type {Step | null} */ (history.state);
  return known?.name === name && known.depth === depth && known.deviceId === deviceId;
}

/**
 * The step of the current screen. A step that a link opened stays where the browser put it.
 * @param {State} known
 * @returns {Step}
 */
function shownStep(known) {
  const { screen } = known;
  const name = screen?.name ?? 'home';
  if (LINKED.includes(name)) return { name, depth: Math.max(1, depth) };
  if (name === 'home' && isListed(known)) return { name: 'requests', depth: 1 };
  const deviceId = screen !== null && 'deviceId' in screen ? (screen.deviceId ?? undefined) : undefined;
  return { name, depth: DEPTHS[name], deviceId };
}

/** Updates the browser's history to the current screen. */
export function keepStep() {
  if (isTravelling || isHeld || state.screen === null || state.screen.name === 'unsupported') return;
  const step = shownStep(state);
  const isLink = LINKED.includes(step.name);
  const hash = isLink ? location.hash : '';
  const address = location.pathname + hash;
  if (step.depth < depth) {
    // The entry that is left must not open its link again.
    write({ name: 'left', depth });
    isTravelling = true;
    history.go(step.depth - depth);
  } else if (step.depth === depth) {
    // The user followed a link on this page, and its event has not arrived yet.
    if (history.state === null && location.hash !== '') return;
    if (!isWritten(step) || location.hash !== hash) write(step, address);
  } else {
    if (location.hash !== '' || history.state === null) write({ name: 'home', depth });
    for (depth += 1; depth < step.depth; depth += 1) {
      history.pushState({ name: 'devices', depth, deviceId: step.deviceId }, '', location.pathname);
    }
    history.pushState(step, '', address);
  }
}

/**
 * Begins with the entry of a loaded page. Returns its step.
 * @returns {Step | null}
 */
export function startSteps() {
  const step = /** @type {Step | null} */ (history.state);
  depth = step?.depth ?? 0;
  return step;
}

/** Handles an entry that the browser itself created for a link on this page. */
export function takeLink() {
  if (history.state !== null) return;
  depth += 1;
  history.replaceState({ name: 'left', depth }, '');
}

/**
 * Keeps the history unchanged until the promise settles, for example during a question to the user.
 * @template T
 * @param {Promise<T>} settled
 * @returns {Promise<T>}
 */
export async function holdStep(settled) {
  isHeld = true;
  try {
    return await settled;
  } finally {
    isHeld = false;
  }
}

/**
 * Calls `visit` with the step to which the user went back or forward.
 * @param {(step: Step) => void} visit
 */
export function watchSteps(visit) {
  window.addEventListener('popstate', ({ state: step }) => {
    // The user followed a link, so the browser created the entry.
    if (step === null) return;
    depth = step.depth;
    if (isTravelling) {
      isTravelling = false;
      keepStep();
    } else {
      visit(step);
    }
  });
}
