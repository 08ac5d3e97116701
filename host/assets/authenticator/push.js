// Notifications: a push only wakes the app, which then asks the server what waits. Without them the app still works
// while it is open.

import { call } from './api.js';
import { fromBase64url } from './canonical.js';

/** Registers the service worker. Null where the browser has none, or has them switched off. */
export async function registerWorker() {
  try {
    return await navigator.serviceWorker.register('/authenticator/sw.js', { scope: '/authenticator' });
  } catch {
    return null;
  }
}

/** What can be said of notifications: `on`, `off`, `refused`, or `impossible` in this browser. */
export async function pushState(registration) {
  if (!registration?.pushManager || !('Notification' in self)) return 'impossible';
  if (Notification.permission === 'denied') return 'refused';
  return Notification.permission === 'granted' && (await registration.pushManager.getSubscription()) ? 'on' : 'off';
}

function sameKey(subscription, key) {
  const current = subscription.options?.applicationServerKey;
  if (!current) return true;
  const bytes = new Uint8Array(current);
  return bytes.length === key.length && bytes.every((byte, index) => byte === key[index]);
}

async function subscribe(registration, pushKey) {
  const key = fromBase64url(pushKey);
  const existing = await registration.pushManager.getSubscription();
  if (existing && sameKey(existing, key)) return existing;
  // The server has a new key: what was made for the old one gets no message any more.
  await existing?.unsubscribe();
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

/** Subscribes, asking the person where the browser wants that, and tells the server for each account. */
export async function turnOn(registration, accounts) {
  const able = accounts.filter((account) => account.pushKey);
  if (able.length === 0) return;
  const subscription = await subscribe(registration, able[0].pushKey);
  await Promise.all(able.map((account) => call(account, 'PUT', '/device/push', { value: { subscription: subscription.toJSON() } })));
}

/** Tells the server the subscription's present address, which a browser may change. A failure waits for the next start. */
export async function refresh(registration, accounts) {
  if ((await pushState(registration)) === 'on') await turnOn(registration, accounts).catch(() => {});
}

/** Takes the app's notifications away: the person is here already. */
export async function clearNotifications(registration) {
  const shown = (await registration?.getNotifications?.()) ?? [];
  for (const notification of shown) notification.close();
}
