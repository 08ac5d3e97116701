// The end of the session while a page is open: the administrator signs in again in another tab, and the page continues.

import { Problem, whoAmI } from './api.js';
import { giveUpUnsaved } from './form.js';
import { t, translated } from './language.js';
import { dialog, el } from './view.js';

/** The tabs of the console notify each other that an administrator signed in. */
const tabs = new BroadcastChannel('assent-console');

/**
 * Notifies the other tabs that this administrator is signed in, and offers to load this page again if another one signs
 * in in another tab.
 * @param {string | null | undefined} user
 */
export function announceSignIn(user) {
  tabs.postMessage({ user });
  tabs.addEventListener('message', ({ data }) => {
    // While the session of this page has ended, its own window waits for a sign-in.
    if (data?.user && data.user !== user && !pending) offerReload();
  });
}

/** Whether the offer is shown. */
let isOffered = false;

/** Offers to load the page again, because another user is signed in in this browser now. */
export function offerReload() {
  if (isOffered) return;
  isOffered = true;
  dialog('Another user is signed in', (close) => [
    el(
      'p',
      {},
      'Another user signed in in this browser after this page was loaded. ' +
        'What you see belongs to the earlier user. Nothing was changed.',
    ),
    el('p', {}, 'To keep what you typed, copy it first.'),
    el(
      'div',
      { class: 'actions' },
      el('button', { type: 'button', class: 'button primary', onclick: loadAgain }, 'Load the page again'),
      el('button', { type: 'button', class: 'button', onclick: () => close() }, 'Not now'),
    ),
  ]).finally(() => {
    isOffered = false;
  });
}

/** Loads the page again, without the question about unsaved changes. */
function loadAgain() {
  giveUpUnsaved();
  location.reload();
}

/** @type {Promise<boolean> | undefined} */
let pending;

/**
 * Has the administrator sign in again in another tab. Returns whether the same one is signed in; false if the
 * administrator does not want to.
 * @param {string | null | undefined} user the id of the administrator who uses the page
 * @returns {Promise<boolean>}
 */
export function renewSession(user) {
  pending ??= signIn(user).finally(() => {
    pending = undefined;
  });
  return pending;
}

/** @param {string | null | undefined} user */
async function signIn(user) {
  const stop = new AbortController();
  const outcome = await dialog('Your session expired', (/** @type {(isSignedIn: boolean) => void} */ close) => {
    const state = el('p', { role: 'status' });
    const reload = el(
      'button',
      { type: 'button', class: 'button', hidden: true, onclick: loadAgain },
      'Load the page again',
    );
    const check = async () => {
      let me;
      try {
        me = await whoAmI();
      } catch (problem) {
        if (!(problem instanceof Problem)) throw problem;
        state.textContent =
          problem.status === 401 ? translated('You are not signed in yet.') : translated(problem.message);
        return;
      }
      if (me.id === user) close(true);
      else {
        state.textContent = t`${me.name ?? translated('Another user')} is signed in. \
Sign in as yourself, or load the page again.`;
        reload.hidden = false;
      }
    };
    const returned = () => document.visibilityState === 'visible' && check();
    tabs.addEventListener('message', check, { signal: stop.signal });
    document.addEventListener('visibilitychange', returned, { signal: stop.signal });
    return [
      el(
        'p',
        {},
        'Sign in again in another tab. This page then goes on by itself, and nothing that you typed is lost.',
      ),
      state,
      el(
        'div',
        { class: 'actions' },
        el('a', { class: 'button primary', href: '/admin', target: '_blank', rel: 'noopener' }, 'Sign in'),
        el('button', { type: 'button', class: 'button', onclick: check }, 'I have signed in'),
        reload,
        el('button', { type: 'button', class: 'button', onclick: () => close(false) }, 'Not now'),
      ),
    ];
  });
  stop.abort();
  return outcome === true;
}
