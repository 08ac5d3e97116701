// The browser's history in step with the app: each screen has an entry above that of the screen from which it was
// opened, so the Back of the system goes to the previous screen. Each entry says how deep its screen is, and of which
// device.

import { openRequests } from './requests.js';
import { state } from './state.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Step} Step
 */

/** How deep each screen is below the home screen. */
const DEPTHS = { home: 0, unsupported: 0, camera: 1, devices: 1, enrolment: 1, login: 1, link: 2, codes: 2 };

/** The depth of the browser's present entry. */
let depth = 0;
/** Whether an entry is on its way that was asked for here. */
let isTravelling = false;
/** Whether it is open which screen comes next: the user is asked, or a link is being opened. */
let isHeld = false;

/** @param {Step} step */
const write = (step, address = location.pathname) => history.replaceState(step, '', address);

/**
 * Whether the present entry is that of a step. Browsers limit how often an entry is written.
 * @param {Step} step
 */
function isWritten({ name, deviceId }) {
  const known = /** @type {Step | null} */ (history.state);
  return known?.name === name && known.depth === depth && known.deviceId === deviceId;
}

/**
 * The step of the shown screen. One that a link opened stands where the browser put it.
 * @param {State} known
 * @returns {Step}
 */
function shownStep({ screen, chosen }) {
  const name = screen?.name ?? 'home';
  if (name === 'enrolment' || name === 'login') return { name, depth: Math.max(1, depth) };
  const isPicked = name === 'home' && chosen !== null && openRequests(state).length > 1;
  if (isPicked) return { name: 'request', depth: 1 };
  const deviceId = screen !== null && 'deviceId' in screen ? (screen.deviceId ?? undefined) : undefined;
  return { name, depth: DEPTHS[name], deviceId };
}

/** Brings the browser's history in step with the shown screen. */
export function keepStep() {
  if (isTravelling || isHeld || state.screen === null || state.screen.name === 'unsupported') return;
  const step = shownStep(state);
  const isLink = step.name === 'enrolment' || step.name === 'login';
  const hash = isLink ? location.hash : '';
  const address = location.pathname + hash;
  if (step.depth < depth) {
    // What is left behind must not open its link again.
    write({ name: 'left', depth });
    isTravelling = true;
    history.go(step.depth - depth);
  } else if (step.depth === depth) {
    // A link was followed on this page, and its event is still to come.
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
 * Begins with the entry of a page that was loaded. Returns the step that it was at.
 * @returns {Step | null}
 */
export function startSteps() {
  const step = /** @type {Step | null} */ (history.state);
  depth = step?.depth ?? 0;
  return step;
}

/** The browser itself made an entry, for a link that was followed on this page. */
export function takeLink() {
  if (history.state !== null) return;
  depth += 1;
  history.replaceState({ name: 'left', depth }, '');
}

/**
 * Leaves the history as it is until the promise settled, such as a question to the user.
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
    // A link was followed: the entry is the browser's.
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
