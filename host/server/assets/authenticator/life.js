// The lifecycle of the app: its installation, its updates, and the number of pending requests on its icon.

import { change, state } from './state.js';

/** @typedef {import('./types.d.ts').InstallPrompt} InstallPrompt */

/**
 * Shows the number of pending requests on the app's icon, if the system supports that.
 * @param {number} waiting
 */
export function badge(waiting) {
  const set = waiting > 0 ? navigator.setAppBadge?.(waiting) : navigator.clearAppBadge?.();
  // A browser may have the function and reject the call, because the app is not installed.
  set?.catch(() => {});
}

/** @param {InstallPrompt | null} prompt */
function setInstall(prompt) {
  change((known) => {
    known.install = prompt;
  });
}

/**
 * Offers the installation when the browser permits it, and an update after its service worker has taken over.
 */
export function watchLife() {
  window.addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    setInstall(/** @type {InstallPrompt} */ (event));
  });
  window.addEventListener('appinstalled', () => setInstall(null));
  const workers = navigator.serviceWorker;
  let had = Boolean(workers?.controller);
  workers?.addEventListener('controllerchange', () => {
    if (had) {
      change((known) => {
        known.update = true;
      });
    }
    had = true;
  });
}

export const lifeActions = {
  async install() {
    const prompt = state.install;
    setInstall(null);
    await prompt?.prompt();
  },

  /** Loads the update when the user wants it, because typed text must not disappear. */
  loadUpdate() {
    location.reload();
  },
};
