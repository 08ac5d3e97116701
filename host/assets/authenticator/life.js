// The app's own life: it can be installed, a newer version takes its place, and its icon says how much waits.

import { text } from './texts.js';
import { button, notice } from './view.js';

/** Shows how many requests wait on the app's icon, where the system can. */
export function badge(waiting) {
  const set = waiting > 0 ? navigator.setAppBadge?.(waiting) : navigator.clearAppBadge?.();
  // A browser may have it and refuse: the app is not installed.
  set?.catch(() => {});
}

/** Offers to install the app where the browser asks for that. `place` is where. */
export function offerInstall(place) {
  window.addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    const install = async () => {
      place.replaceChildren();
      await event.prompt();
    };
    place.replaceChildren(notice(text('app-install-offer'), 'calm', button(text('app-install'), install)));
  });
  window.addEventListener('appinstalled', () => place.replaceChildren());
}

/** Says that a newer version is there, once its service worker has taken over. It is loaded when the person wants: what they typed must not vanish. */
export function offerUpdate(place) {
  const workers = navigator.serviceWorker;
  let had = Boolean(workers?.controller);
  workers?.addEventListener('controllerchange', () => {
    if (had) place.replaceChildren(notice(text('app-update-ready'), 'calm', button(text('app-update'), () => location.reload())));
    had = true;
  });
}

/** Asks whether there is a newer version: an app that stays open loads no page, so its browser does not ask. */
export function lookForUpdate(registration) {
  registration?.update?.().catch(() => {});
}
