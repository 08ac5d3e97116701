// Polls the server for the pending requests of an account while the app is visible.

import { call, failureOf } from './api.js';

/**
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 * @typedef {import('./types.d.ts').Pending} Pending
 * @typedef {object} Listener
 * @property {(account: Account, answer: Pending) => void} answered
 * @property {(account: Account, failure: FailedCall) => void} failed
 * @property {() => number} accounts how many accounts are followed
 */

// The time for which the server holds a response while nothing changes, in seconds.
const HOLD = 25;
// The time after that in which the response must arrive, in seconds.
const GRACE = 5;
// A browser opens six connections to a host (HTTP/1.1). With more accounts than this, no poll may hold one open.
const MOST_HELD = 3;
const PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;
// If a proxy ends or holds back the responses that the server holds, the app asks at this interval instead.
const INTERVAL_MS = 5_000;
// No response, and a proxy that did not wait for it.
const CUT = [0, 502, 504];

/**
 * @param {number} milliseconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function rest(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Follows one account. */
export class Poll {
  /**
   * @param {Account} account
   * @param {Listener} listener
   */
  constructor(account, listener) {
    this.account = account;
    this.listener = listener;
    /** @type {AbortController | null} */
    this.running = null;
    /** The last notification that is shown: the server need not return it at once. @type {string | null} */
    this.known = null;
    /**
     * The ids of the displayed requests: the server responds at once when the list differs.
     * @type {string[]}
     */
    this.seen = [];
  }

  /** Polls now, and then continues. */
  start() {
    this.stop();
    this.seen = [];
    this.running = new AbortController();
    this.loop(this.running.signal);
  }

  /** Stops polling. */
  stop() {
    this.running?.abort();
    this.running = null;
  }

  /** @param {AbortSignal} signal */
  async loop(signal) {
    let failures = 0;
    let longest = HOLD;
    // The first response comes at once, and shows whether the server is reachable.
    let hold = 0;
    while (!signal.aborted) {
      const began = performance.now();
      let pause;
      try {
        const last = this.known === null ? '' : `&last_notification=${this.known}`;
        const query = `?wait=${hold}&shown_requests=${this.seen.join(',')}${last}`;
        const limit = (hold + (hold > 0 ? GRACE : 15)) * 1000;
        const answer = await call(this.account, 'get', '/requests', { query, signal, limit });
        if (signal.aborted) return;
        failures = 0;
        this.known = answer.notifications.at(-1)?.id ?? null;
        this.seen = answer.requests.map(({ id }) => id);
        this.listener.answered(this.account, answer);
        hold = this.listener.accounts() > MOST_HELD ? 0 : longest;
        const interval = longest === 0 ? INTERVAL_MS : PAUSE_MS;
        pause = Math.max(0, interval - (performance.now() - began));
      } catch (cause) {
        if (signal.aborted) return;
        const failure = failureOf(cause);
        // The next call shows whether only responses that are held are lost.
        if (hold > 0 && CUT.includes(failure.status)) {
          hold = 0;
          longest = 0;
          continue;
        }
        this.listener.failed(this.account, failure);
        if (failure.code === 'device_not_enrolled') return;
        failures += 1;
        hold = 0;
        // Not all devices may poll at the same moment after the server is available again.
        pause = Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** failures) * (0.75 + Math.random() / 2);
      }
      await rest(pause, signal);
    }
  }
}
