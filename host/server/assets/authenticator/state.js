// The app's state, in one place. Only actions change it, by `change`, which renders the page once afterwards.

import { focusOn } from './dom.js';
import { noteShown, SETTLING } from './requests.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Followed} Followed
 */

/** @type {State} */
export const state = {
  now: Date.now() / 1000,
  operator: '',
  reportCooldown: 0,
  keypad: false,
  screen: null,
  accounts: new Map(),
  requests: new Map(),
  appeared: null,
  chosen: null,
  listing: false,
  online: true,
  lockable: null,
  push: 'impossible',
  pushError: '',
  camera: false,
  install: null,
  update: false,
  parted: false,
  wanted: false,
  welcome: null,
  added: { typed: '', error: '' },
};

/** @type {(state: State) => void} */
let render = () => {};

/**
 * Sets the one render function.
 * @param {(state: State) => void} draw
 */
export function renderWith(draw) {
  render = draw;
}

/**
 * Changes the state, then renders it. `apply` may return the selector of the element that gets the focus afterwards.
 * @param {(state: State) => string | undefined | void} apply
 */
export function change(apply) {
  const focus = apply(state);
  state.now = Date.now() / 1000;
  // The card is rendered again when it can be approved.
  if (noteShown(state)) setTimeout(() => change(() => {}), SETTLING * 1000 + 20);
  render(state);
  if (focus) focusOn(focus);
}

/**
 * The accounts that exist on the server.
 * @param {State} known
 */
export function usable({ accounts }) {
  return [...accounts.values()].filter(({ gone }) => !gone);
}

/**
 * The accounts with notifications.
 * @param {State} known
 */
export function withNotifications(known) {
  return usable(known).filter(({ notifications }) => notifications.length > 0);
}

/**
 * The selector of a part of the home screen.
 * @param {'requests' | 'notifications' | 'accounts' | 'scan' | 'cooldowns'} name
 */
export function zone(name) {
  return `[data-zone="${name}"]`;
}
