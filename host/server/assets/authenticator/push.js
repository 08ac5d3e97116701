// Notifications: a push only wakes the app, which then asks the server what waits. Without them the app still works
// while it is open.

import { call, Failure, inWords } from './api.js';
import { fromBase64url } from './canonical.js';
import { say } from './dom.js';
import { change, state, usable } from './state.js';
import { text } from './texts.js';

/** @typedef {import('./types.d.ts').Account} Account */

/** Null where the browser has no service worker, or has them switched off. @type {ServiceWorkerRegistration | null} */
let registration = null;

/** Registers the service worker. */
export async function registerWorker() {
  try {
    registration = await navigator.serviceWorker.register('/authenticator/sw.js', { scope: '/authenticator' });
  } catch {
    registration = null;
  }
}

/** What can be said of notifications in this browser. */
async function pushState() {
  if (!registration?.pushManager || !('Notification' in self)) return 'impossible';
  if (Notification.permission === 'denied') return 'denied';
  return Notification.permission === 'granted' && (await registration.pushManager.getSubscription()) ? 'on' : 'off';
}

/** The accounts whose server sends push messages. */
function able() {
  return usable(state).flatMap(({ account }) => (account.pushKey ? [account] : []));
}

/** Looks again at what can be said of notifications, and shows it. */
export async function lookAtPush() {
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
  // The server has a new key: what was made for the old one gets no message any more.
  await existing?.unsubscribe();
  return manager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
}

/**
 * Subscribes, asking the user where the browser wants that, and sends the subscription to the server for each account.
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
 * Sends the server the subscription's present address, which a browser may change. A failure waits for the next start.
 * @param {Account[]} accounts
 */
export async function refreshPush(accounts) {
  if ((await pushState()) !== 'on') return;
  await turnOn(accounts.filter(({ pushKey }) => pushKey)).catch(() => {});
}

/** Takes the app's notifications away: the user is here already. */
export async function clearNotifications() {
  const shown = (await registration?.getNotifications?.()) ?? [];
  for (const notification of shown) notification.close();
}

/** Asks whether there is a newer version: an app that stays open loads no page, so its browser does not ask. */
export function lookForUpdate() {
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
    if (error === '') await lookAtPush();
  },
};
