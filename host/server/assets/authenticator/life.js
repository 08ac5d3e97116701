// The app's own life: it can be installed, a newer version takes its place, and its icon says how much waits.

import { change, state } from './state.js';

/** @typedef {import('./types.d.ts').InstallPrompt} InstallPrompt */

/**
 * Shows how many requests wait on the app's icon, where the system can.
 * @param {number} waiting
 */
export function badge(waiting) {
  const set = waiting > 0 ? navigator.setAppBadge?.(waiting) : navigator.clearAppBadge?.();
  // A browser may have it and refuse: the app is not installed.
  set?.catch(() => {});
}

/** @param {InstallPrompt | null} prompt */
function setInstall(prompt) {
  change((known) => {
    known.install = prompt;
  });
}

/**
 * Offers to install the app where the browser asks for that, and a newer version once its service worker has taken
 * over.
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

  /** The newer version is loaded when the user wants: what they typed must not vanish. */
  loadUpdate() {
    location.reload();
  },
};
