// The account notifications in words: events of an account that may be those of an attacker.

import { day, text, timeOfDay } from './texts.js';

/** @typedef {import('./types.d.ts').AccountNotification} AccountNotification */

/**
 * The message of each event.
 * @type {Record<string, (about: { device: string, day: string, time: string }) => string>}
 */
const NOTIFICATIONS = {
  'enrolment.link-created': ({ day, time }) => text('app-notification-link', { day, time }),
  'device.enrolled': ({ device, day, time }) => text('app-notification-enrolled', { device, day, time }),
  'device.revoked': ({ device, day, time }) => text('app-notification-revoked', { device, day, time }),
  'passkey.added': ({ device, day, time }) => text('app-notification-passkey-added', { device, day, time }),
  'passkey.removed': ({ device, day, time }) => text('app-notification-passkey-removed', { device, day, time }),
  'passkey.sign-in-allowed': ({ device, day, time }) =>
    text('app-notification-passkey-sign-in-allowed', { device, day, time }),
  'passkey.sign-in-stopped': ({ device, day, time }) =>
    text('app-notification-passkey-sign-in-stopped', { device, day, time }),
  'passkey.clone-suspected': ({ device, day, time }) =>
    text('app-notification-passkey-clone-suspected', { device, day, time }),
  'external-authenticator.set': ({ day, time }) => text('app-notification-external-authenticator', { day, time }),
  'recovery.codes-created': ({ day, time }) => text('app-notification-codes', { day, time }),
  'recovery.code-used': ({ day, time }) => text('app-notification-recovered', { day, time }),
};

/**
 * A notification in words; empty for one of a newer server.
 * @param {AccountNotification} notification
 */
export function notificationWords({ event, name, at }) {
  const about = { device: name ?? text('app-request-not-known'), day: day(at), time: timeOfDay(at) };
  return NOTIFICATIONS[event]?.(about) ?? '';
}
