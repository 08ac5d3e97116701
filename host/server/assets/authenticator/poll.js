// Asks the server what waits for an account, again and again while the app is to be seen.

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

// The server holds an answer back for so long while nothing changes, in seconds.
const HOLD = 25;
// A browser opens six connections to a host (HTTP/1.1). With more accounts than this none may hold one open.
const MOST_HELD = 3;
const PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

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
    /** The last of the notifications that are shown: the server need not tell of them at once. @type {string | null} */
    this.known = null;
    /**
     * The ids of the requests that are shown: the server answers at once when there are others, or fewer.
     * @type {string[]}
     */
    this.seen = [];
  }

  /** Asks now, and then goes on. */
  start() {
    this.stop();
    this.seen = [];
    this.running = new AbortController();
    this.loop(this.running.signal);
  }

  /** Asks no more. */
  stop() {
    this.running?.abort();
    this.running = null;
  }

  /** @param {AbortSignal} signal */
  async loop(signal) {
    let failures = 0;
    // The first answer comes at once: it says whether we are connected.
    let hold = 0;
    while (!signal.aborted) {
      const began = performance.now();
      let pause;
      try {
        const last = this.known === null ? '' : `&last_notification=${this.known}`;
        const query = `?wait=${hold}&shown_requests=${this.seen.join(',')}${last}`;
        const answer = await call(this.account, 'get', '/requests', { query, signal, limit: (hold + 15) * 1000 });
        if (signal.aborted) return;
        failures = 0;
        this.known = answer.notifications.at(-1)?.id ?? null;
        this.seen = answer.requests.map(({ id }) => id);
        this.listener.answered(this.account, answer);
        hold = this.listener.accounts() > MOST_HELD ? 0 : HOLD;
        pause = Math.max(0, PAUSE_MS - (performance.now() - began));
      } catch (cause) {
        if (signal.aborted) return;
        const failure = failureOf(cause);
        this.listener.failed(this.account, failure);
        if (failure.code === 'device_not_enrolled') return;
        failures += 1;
        hold = 0;
        // Not all phones at the same moment, once the server is back.
        pause = Math.min(LONGEST_PAUSE_MS, 1_000 * 2 ** failures) * (0.75 + Math.random() / 2);
      }
      await rest(pause, signal);
    }
  }
}
