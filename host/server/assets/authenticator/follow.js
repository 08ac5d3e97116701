// The accounts of this browser in the state of the server: each is polled while the app is visible.

import { takeRequests } from './answer.js';
import { say } from './dom.js';
import { badge } from './life.js';
import { Poll } from './poll.js';
import { forgetRequests, openRequests } from './requests.js';
import { change, state, usable, withNotifications, zone } from './state.js';
import { all, note, put } from './store.js';
import { text } from './texts.js';

/**
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 * @typedef {import('./types.d.ts').AccountNotification} AccountNotification
 * @typedef {import('./types.d.ts').PasskeyState} PasskeyState
 * @typedef {import('./types.d.ts').Pending} Pending
 */

/** The polls, by the account's device. @type {Map<string, Poll>} */
const polls = new Map();

/** Shows the number of requests on the app's icon. */
export function showBadge() {
  badge(openRequests(state).length);
}

/**
 * Shows the device that was enrolled, on the screen of a link for another device.
 * @param {Account} account
 * @param {AccountNotification[]} notifications
 */
function takeEnrolled(account, notifications) {
  const { screen } = state;
  if (screen?.name !== 'link' || screen.deviceId !== account.deviceId || !screen.link || screen.added !== null) return;
  const { created_at: created } = screen.link;
  const enrolled = notifications.find(({ event, at }) => event === 'device.enrolled' && at >= created);
  if (!enrolled) return;
  screen.added = enrolled.name ?? text('app-request-not-known');
  say(text('app-devices-added', { device: screen.added }));
}

/**
 * Stores the name of an account's device from the server: it can be changed on another device and in the portal.
 * @param {Account} account
 * @param {string} name
 */
export function takeDeviceName(account, name) {
  if (account.deviceName === name) return;
  account.deviceName = name;
  // The next response contains it again.
  put(account).catch(() => {});
}

/** @type {import('./poll.js').Listener} */
const listener = {
  accounts: () => state.accounts.size,

  answered(account, answer) {
    const known = state.accounts.get(account.deviceId);
    if (!known) return;
    change(() => {
      state.now = Date.now() / 1000;
      const skew = answer.now - state.now;
      known.failure = null;
      known.standing = answer.account.state;
      known.passkey = answer.passkey;
      takeDeviceName(account, answer.device_name);
      known.cooldownUntil = answer.cooldown_until === null ? null : answer.cooldown_until - skew;
      const before = known.notifications.at(-1)?.id;
      known.notifications = answer.notifications;
      takeEnrolled(account, answer.notifications);
      if (answer.notifications.length > 0 && answer.notifications.at(-1)?.id !== before) sayNotifications();
      const { focus, isFresh } = takeRequests(account, answer.requests, skew);
      if (isFresh) known.lifted = false;
      return focus;
    });
    // The number on the icon may come from a push message, which does not know the number of requests.
    showBadge();
  },

  failed(account, failure) {
    const known = state.accounts.get(account.deviceId);
    if (!known) return;
    change(() => {
      if (failure.code !== 'device_not_enrolled') {
        known.failure = failure;
        return undefined;
      }
      Object.assign(known, { gone: true, failure: null, notifications: [] });
      return takeRequests(account, [], 0).focus;
    });
  },
};

function sayNotifications() {
  const [notified] = withNotifications(state);
  if (notified) say(text('app-notifications', { name: notified.account.displayName }));
}

/**
 * Begins to follow an account. `passkey` is the protection of its approvals, if it is known.
 * @param {Account} account
 * @param {PasskeyState | null} [passkey]
 */
export function follow(account, passkey = null) {
  // A browser may have deleted the key and kept the rest.
  const lost = !(account.privateKey instanceof CryptoKey);
  polls.get(account.deviceId)?.stop();
  polls.set(account.deviceId, new Poll(account, listener));
  change(({ accounts }) => {
    accounts.set(account.deviceId, {
      account,
      standing: 'active',
      gone: lost,
      lost,
      passkey,
      failure: null,
      cooldownUntil: null,
      lifted: false,
      notifications: [],
      history: null,
      busy: false,
      errors: { remove: '', cooldown: '', notifications: '', passkey: '', passkeyPart: 'protect' },
    });
  });
  if (!document.hidden && !lost) pollNow(account.deviceId);
}

/**
 * Polls an account at once.
 * @param {string} deviceId
 */
export function pollNow(deviceId) {
  if (state.accounts.get(deviceId)?.gone === false) polls.get(deviceId)?.start();
}

/**
 * Notices accounts that the browser has deleted while the app is open. Their keys would be lost after a reload without
 * a word.
 */
export async function checkStored() {
  let stored;
  try {
    stored = new Set((await all()).map(({ deviceId }) => deviceId));
  } catch {
    // The next start of the app explains that the browser stores nothing.
    return;
  }
  const missing = [...state.accounts.values()].filter(({ account, lost }) => !lost && !stored.has(account.deviceId));
  if (missing.length === 0) return;
  change(() => {
    for (const known of missing) {
      polls.get(known.account.deviceId)?.stop();
      forgetRequests(state, known.account.deviceId);
      Object.assign(known, { gone: true, lost: true, failure: null, notifications: [] });
      say(text('app-account-lost', { operator: known.account.operator }), true);
    }
    return zone('accounts');
  });
  await note();
}

/** Polls every account at once. */
export function pollAll() {
  for (const { account } of usable(state)) pollNow(account.deviceId);
}

/** Stops all polls until the app is visible again. */
export function rest() {
  for (const poll of polls.values()) poll.stop();
}

/**
 * Stops following an account, which is removed from this browser. Returns whether the user knows the reason.
 * @param {string} deviceId
 */
export function unfollow(deviceId) {
  polls.get(deviceId)?.stop();
  polls.delete(deviceId);
  state.parted = state.accounts.get(deviceId)?.lost === false;
  state.accounts.delete(deviceId);
  if (state.welcome?.deviceId === deviceId) state.welcome = null;
  forgetRequests(state, deviceId);
}
