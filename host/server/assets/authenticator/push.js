// Notifications: a push message only wakes the app, which then polls the server. Without push messages the app still
// works while it is open.

import { call, Failure, inWords } from './api.js';
import { fromBase64url } from './canonical.js';
import { say } from './dom.js';
import { change, state, usable } from './state.js';
import { text } from './texts.js';

/** @typedef {import('./types.d.ts').Account} Account */

/** Null if the browser has no service worker, or has disabled them. @type {ServiceWorkerRegistration | null} */
let registration = null;

/** Registers the service worker. */
export async function registerWorker() {
  try {
    // That of an earlier start is available at once, although the network may hang.
    registration = (await navigator.serviceWorker.getRegistration('/authenticator')) ?? null;
    const current = navigator.serviceWorker.register('/authenticator/sw.js', { scope: '/authenticator' });
    if (registration === null) registration = await current;
    else current.catch(() => {});
  } catch {
    registration = null;
  }
}

/** The state of notifications in this browser. */
async function pushState() {
  if (!registration?.pushManager || !('Notification' in self)) return 'impossible';
  if (Notification.permission === 'denied') return 'denied';
  return Notification.permission === 'granted' && (await registration.pushManager.getSubscription()) ? 'on' : 'off';
}

/** The accounts whose server sends push messages. */
function able() {
  return usable(state).flatMap(({ account }) => (account.pushKey ? [account] : []));
}

/** Checks the state of notifications again, and shows it. */
export async function checkPush() {
  const found = able().length > 0 ? await pushState() : 'impossible';
  change((known) => {
    known.push = found;
  });
}

/**
 * @param {PushSubscription} subscription
 * @param {Uint8Array} key
 */
function sameKey(subscription, key) {
  const current = subscription.options?.applicationServerKey;
  if (!current) return true;
  const bytes = new Uint8Array(current);
  return bytes.length === key.length && bytes.every((byte, index) => byte === key[index]);
}

/**
 * @param {PushManager} manager
 * @param {string} pushKey
 */
async function subscribe(manager, pushKey) {
  const key = fromBase64url(pushKey);
  const existing = await manager.getSubscription();
  if (existing && sameKey(existing, key)) return existing;
  // The server has a new key, so the subscription for the old one receives no messages any more.
  await existing?.unsubscribe();
  return manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

/**
 * Subscribes, which may ask the user for permission, and sends the subscription to the server for each account.
 * @param {Account[]} accounts
 */
async function turnOn(accounts) {
  const [first] = accounts;
  if (!first?.pushKey || !registration) return;
  const subscription = /** @type {import('./types.d.ts').RequestBody<'/device/push', 'put'>['subscription']} */ (
    (await subscribe(registration.pushManager, first.pushKey)).toJSON()
  );
  const value = { subscription };
  await Promise.all(accounts.map((account) => call(account, 'put', '/device/push', { value })));
}

/**
 * Sends the current address of the subscription, which a browser may change, to the server. After a failure the next
 * start retries.
 * @param {Account[]} accounts
 */
export async function refreshPush(accounts) {
  if ((await pushState()) !== 'on') return;
  await turnOn(accounts.filter(({ pushKey }) => pushKey)).catch(() => {});
}

/** Removes the app's notifications, because the user has opened the app. */
export async function clearNotifications() {
  const shown = (await registration?.getNotifications?.()) ?? [];
  for (const notification of shown) notification.close();
}

/** Checks for an update: an app that stays open loads no page, so its browser does not check. */
export function checkForUpdate() {
  registration?.update?.().catch(() => {});
}

export const pushActions = {
  async turnOnPush() {
    let error = '';
    try {
      await turnOn(able());
      say(text('app-push-on'));
    } catch (cause) {
      const isRefused = Notification.permission === 'denied';
      if (!isRefused) error = cause instanceof Failure ? inWords(cause) : text('app-push-failed');
    }
    change((known) => {
      known.pushError = error;
    });
    if (error === '') await checkPush();
  },
};
