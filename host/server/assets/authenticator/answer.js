// The user's actions on a request: enter its number, approve, deny, report, choose one of several.

import { Failure, failureOf, inWords } from './api.js';
import { approvalText, notMeText, sameBrowserText, sign as signText } from './canonical.js';
import { isFocusFree, isFocusIn, isFocusLost, say } from './dom.js';
import { goHome, mayLeave } from './navigation.js';
import { callWithPasskey } from './passkey.js';
import { endingWords, otherWords, selectorOf } from './request.js';
import {
  digits,
  end,
  endedRequests,
  expired,
  isSettling,
  mostDigits,
  needsNumber,
  openRequests,
  receive,
  shownRequest,
} from './requests.js';
import { change, state, zone } from './state.js';
import { text } from './texts.js';

/**
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').ApprovalRequest} ApprovalRequest
 * @typedef {import('./types.d.ts').Item} Item
 * @typedef {import('./types.d.ts').Ending} Ending
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 * @typedef {import('./types.d.ts').Decision} Decision
 */

/** @param {Item} item */
const isInUse = (item) =>
  item.phase === 'sending' ||
  item.other !== null ||
  item.number !== '' ||
  // A focus that the card got automatically does not count as use.
  (item.used && isFocusIn(selectorOf(item.request.id)));

/**
 * The number field of a request, or its title if it needs no number: a button with the focus could approve by chance.
 * @param {Item} item
 */
const fieldOf = ({ request }) => selectorOf(request.id, needsNumber(request) ? 'number' : 'title');

/**
 * Ends a request and shows the ending. Returns the selector of the next focus.
 * @param {Item} item
 * @param {Ending} kind
 */
function finish(item, kind) {
  const { id } = item.request;
  const hadFocus = isFocusIn(selectorOf(id)) || isFocusLost();
  const earlier = endedRequests(state).find(({ request }) => isFocusIn(selectorOf(request.id)));
  if (!end(state, item, kind)) return undefined;
  const { title, about } = endingWords(item, kind);
  say(`${title}. ${about}`);
  return hadFocus || earlier?.dismissed ? (shownNumber() ?? selectorOf(id, 'title')) : undefined;
}

/**
 * Ends requests. A later result replaces earlier ones, so the focus goes to the last.
 * @param {Array<[Item, Ending]>} ended
 */
function finishAll(ended) {
  const focus = ended.map(([item, kind]) => finish(item, kind));
  return focus.findLast((selector) => selector !== undefined);
}

/** The number field of the request on the home screen. */
function shownNumber() {
  const item = shownRequest(state);
  const isAsked = item?.phase === 'open' && item.other === null;
  return isAsked && state.screen?.name === 'home' ? fieldOf(item) : undefined;
}

/**
 * The selector of the next focus after a change of the open requests: the number field of the one that is shown, if it
 * replaces the one with the focus, or the user does nothing else.
 * @param {Item | undefined} focused the request whose card has the focus
 */
function focusForOpen(focused) {
  if (focused !== undefined) return focused === shownRequest(state) ? undefined : shownNumber();
  return isFocusFree() ? shownNumber() : undefined;
}

/**
 * Applies the server's list of requests of an account. Returns the selector of the next focus, and whether some are
 * new.
 * @param {Account} account
 * @param {ApprovalRequest[]} listed
 * @param {number} skew
 */
export function takeRequests(account, listed, skew) {
  const focused = openRequests(state).find(({ request }) => isFocusIn(selectorOf(request.id)));
  const { fresh, ended } = receive(state, account.deviceId, listed, skew, isInUse);
  const result = finishAll(ended);
  for (const request of fresh) {
    const { application, account: name, second_approval: second } = request;
    const { administrator } = request.caller_check ?? {};
    const arrived = request.backchannel
      ? text('app-backchannel-arrived', { application: application.name, account: name })
      : administrator
        ? text('app-caller-check-title', { administrator, application: application.name })
        : text('app-request-arrived', { application: application.name, account: name });
    const spoken = second && text('app-second-arrived', { application: application.name, account: second.for });
    say(request.action ?? spoken ?? arrived);
  }
  const isChanged = fresh.length > 0 || ended.length > 0;
  return { focus: result ?? (isChanged ? focusForOpen(focused) : undefined), isFresh: fresh.length > 0 };
}

/** Updates the remaining time, and ends expired requests. */
export function tick() {
  change(() => {
    state.now = Date.now() / 1000;
    return finishAll(expired(state).map((item) => [item, 'expired']));
  });
}

/**
 * Sends a decision with its proof. Returns the outcome.
 * @param {Item} item
 * @param {Decision} decision
 * @param {string} number
 * @param {ApprovalRequest} [request]
 */
async function send({ deviceId, request: own }, decision, number, request = own) {
  const known = state.accounts.get(deviceId);
  if (!known) throw new Failure(401, 'device_not_enrolled', 'the account was removed here');
  const { account } = known;
  if (decision === 'approve' && request.same_browser) return approveHere(account, request);
  const about = { issuer: account.issuer, device: account.deviceId, request };
  const signed = decision === 'report' ? notMeText(about) : approvalText({ ...about, decision, number });
  const value = { decision, number, signature: await signText(account.privateKey, signed) };
  const { outcome } = await callWithPasskey(account, 'post', '/requests/{id}', {
    parameters: { id: request.id },
    value,
  });
  return outcome;
}

/**
 * Approves a sign-in in this browser, without a number. Returns the outcome.
 * @param {Account} account
 * @param {ApprovalRequest} request
 */
export async function approveHere(account, request) {
  const signed = sameBrowserText({ issuer: account.issuer, device: account.deviceId, request });
  const signature = await signText(account.privateKey, signed);
  const { outcome } = await callWithPasskey(account, 'post', '/requests/{id}', {
    parameters: { id: request.id },
    value: { decision: 'approve', same_browser: true, signature },
  });
  return outcome;
}

/**
 * Shows an error about the number. Returns the selector of the next focus.
 * @param {Item} item
 * @param {string} words
 */
function complain(item, words) {
  item.error = words;
  say(words, true);
  return fieldOf(item);
}

/**
 * The message about a wrong number.
 * @param {ApprovalRequest} request
 */
function mismatchWords({ action, backchannel, caller_check: check, application: { name: application } }) {
  if (backchannel) return text('app-backchannel-number-mismatch', { application });
  if (check) return text('app-caller-check-number-mismatch');
  return text(action ? 'app-action-number-mismatch' : 'app-request-number-mismatch');
}

/**
 * Handles a failed decision. Returns the selector of the next focus.
 * @param {Item} item
 * @param {FailedCall} failure
 */
function rejected(item, failure) {
  item.phase = 'open';
  if (failure.code === 'expired') return finish(item, 'expired');
  if (failure.code === 'already_decided') return finish(item, 'decided');
  // The browser lost the cookie of the sign-in, so the login page shows a number.
  if (failure.code === 'other_browser') item.request = { ...item.request, same_browser: false };
  if (failure.code !== 'number_mismatch') return complain(item, inWords(failure));
  const { attempts_left: left = null, other_request: other } = failure.body;
  if (left === 0 && !other) return finish(item, 'locked');
  item.number = '';
  item.attemptsLeft = left;
  if (!other) return complain(item, mismatchWords(item.request));
  item.other = { request: other, ended: left === 0 ? 'locked' : null, busy: false, error: '' };
  say(otherWords(other), true);
  return selectorOf(item.request.id, 'title');
}

/**
 * Sends a decision, unless one is in progress.
 * @param {Item} item
 * @param {Decision} decision
 */
async function decide(item, decision) {
  if (item.phase !== 'open') return;
  const number = decision === 'approve' ? item.number : '';
  change(() => {
    Object.assign(item, { phase: 'sending', error: '' });
  });
  let /** @type {FailedCall | null} */ failure = null;
  let outcome = '';
  try {
    outcome = await send(item, decision, number);
  } catch (cause) {
    failure = failureOf(cause);
  }
  // The account may have been removed in the meantime.
  if (state.requests.get(item.request.id) !== item) return;
  change(() => {
    if (failure !== null) return rejected(item, failure);
    if (outcome === 'approved' || outcome === 'denied' || outcome === 'reported') return finish(item, outcome);
    return rejected(item, new Failure(502, 'unreadable', 'an unknown outcome'));
  });
}

/**
 * The reason why a request could not be reported, in words.
 * @param {FailedCall} failure
 */
function reportFailure(failure) {
  if (failure.code === 'expired') return text('app-request-expired-about');
  return failure.code === 'already_decided' ? text('app-request-decided-about') : inWords(failure);
}

/**
 * Reports a request, and shows the result in the part of the state from which the user reported it.
 * @param {Item} item
 * @param {{ busy: boolean, error: string }} place
 * @param {ApprovalRequest} request
 */
async function reportFrom(item, place, request) {
  if (place.busy) return;
  change(() => {
    Object.assign(place, { busy: true, error: '' });
  });
  let error = '';
  try {
    await send(item, 'report', '', request);
  } catch (cause) {
    error = reportFailure(failureOf(cause));
  }
  if (state.requests.get(item.request.id) !== item) return;
  change(() => {
    Object.assign(place, { busy: false, error });
    if (error !== '') return selectorOf(item.request.id, 'report');
    item.other = null;
    return finish(item, 'reported');
  });
}

/** @param {string} id */
const find = (id) => state.requests.get(id);

export const requestActions = {
  /** Goes from another screen to the pending items on the home screen. */
  async attend() {
    if (!(await mayLeave())) return;
    goHome();
    change(() => shownNumber() ?? zone(openRequests(state).length > 0 ? 'requests' : 'notifications'));
  },

  /**
   * @param {string} id
   * @param {string} typed
   */
  typeNumber(id, typed) {
    change(() => {
      const item = find(id);
      if (item) Object.assign(item, { number: digits(typed).slice(0, mostDigits(item.request)), error: '' });
    });
  },

  /**
   * Handles a key of the card's keypad. The focus stays on the key, so that the user can press it twice.
   * @param {string} id
   * @param {string} digit
   */
  pressDigit(id, digit) {
    change(() => {
      const item = find(id);
      if (!item) return;
      Object.assign(item, { number: (item.number + digit).slice(0, mostDigits(item.request)), error: '' });
    });
  },

  /** @param {string} id */
  eraseDigit(id) {
    change(() => {
      const item = find(id);
      if (item) Object.assign(item, { number: item.number.slice(0, -1), error: '' });
    });
  },

  /**
   * Marks a card as in use: another card must not replace it.
   * @param {string} id
   */
  use(id) {
    const item = find(id);
    if (item) item.used = true;
  },

  /** @param {string} id */
  async submitNumber(id) {
    const item = find(id);
    if (!item || isSettling(state, item, Date.now() / 1000)) return;
    if (item.number.length >= 2 || !needsNumber(item.request)) await decide(item, 'approve');
    else {
      const words = item.request.backchannel ? 'app-backchannel-digits' : 'app-request-both-digits';
      change(() => complain(item, text(words)));
    }
  },

  /**
   * Denies or reports a request.
   * @param {string} id
   * @param {'deny' | 'report'} decision
   */
  async deny(id, decision) {
    const item = find(id);
    if (item) await decide(item, decision);
  },

  /**
   * Reports the request to which the typed number belongs.
   * @param {string} id
   */
  async reportOther(id) {
    const item = find(id);
    if (item?.other) await reportFrom(item, item.other, item.other.request);
  },

  /**
   * Goes back to the request from the one to which the typed number belongs.
   * @param {string} id
   */
  leaveOther(id) {
    change(() => {
      const item = find(id);
      if (!item?.other) return undefined;
      const { ended } = item.other;
      item.other = null;
      return ended === null ? fieldOf(item) : finish(item, ended);
    });
  },

  /**
   * Reports a request that ended.
   * @param {string} id
   */
  async report(id) {
    const item = find(id);
    if (item?.ended) await reportFrom(item, item.ended, item.request);
  },

  /**
   * Closes the result of an ended request.
   * @param {string} id
   */
  close(id) {
    change(() => {
      const item = find(id);
      if (item) item.dismissed = true;
      return shownNumber() ?? zone('requests');
    });
  },

  /** @param {string} id */
  pick(id) {
    change((known) => {
      Object.assign(known, { chosen: id, listing: false });
      return shownRequest(known)?.request.id === id ? selectorOf(id, 'title') : zone('requests');
    });
  },

  /** Shows the list of several. */
  showAll() {
    change((known) => {
      known.listing = true;
      return '#requests-title';
    });
  },

  /** Goes from a request to the account notifications below it. */
  seeNotifications() {
    change(() => zone('notifications'));
  },
};
