// The requests of this browser's accounts in the state: they come with the server's list, and end.

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Item} Item
 * @typedef {import('./types.d.ts').Ending} Ending
 * @typedef {import('./types.d.ts').ApprovalRequest} ApprovalRequest
 */

/**
 * The digits of a text as 0 to 9, from the digits of any script and width; other characters are removed.
 * @param {string} typed
 */
export function digits(typed) {
  return Array.from(typed.matchAll(/\p{Nd}/gu), ([digit]) => digitValue(digit)).join('');
}

/**
 * The value of a decimal digit. Unicode has the ten digits of a script in a row, from zero, and only complete rows
 * adjoin each other.
 * @param {string} digit
 */
function digitValue(digit) {
  const code = digit.codePointAt(0) ?? 0;
  let before = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(before - 1))) before -= 1;
  return (code - before) % 10;
}

/**
 * The time for which a request can still be answered, in seconds. `now` is this browser's clock.
 * @param {Item} item
 * @param {number} now
 */
export function secondsLeft({ request, skew }, now) {
  return request.expires_at - (now + skew);
}

/**
 * The newest first; the ids of requests grow with time.
 * @param {Item} one
 * @param {Item} other
 */
function newestFirst({ request: a }, { request: b }) {
  return b.requested_at - a.requested_at || (b.id > a.id ? 1 : -1);
}

/**
 * The pending requests, the newest first.
 * @param {State} state
 */
export function openRequests({ requests }) {
  return [...requests.values()].filter(({ phase }) => phase !== 'ended').sort(newestFirst);
}

/**
 * The ended requests with an ending that the user has not yet seen.
 * @param {State} state
 */
export function endedRequests({ requests }) {
  return [...requests.values()].filter(({ phase, dismissed }) => phase === 'ended' && !dismissed);
}

/**
 * The request that is shown with its number field: the one that the user selected, otherwise the newest. Null while the
 * user sees the list of several.
 * @param {State} state
 */
export function shownRequest(state) {
  const open = openRequests(state);
  if (isListed(state)) return null;
  return open.find(({ request }) => request.id === state.chosen) ?? open[0] ?? null;
}

/**
 * Whether the user sees the list of several requests.
 * @param {State} state
 */
export function isListed(state) {
  return state.listing && openRequests(state).length > 1;
}

/**
 * @param {State} state
 * @param {string} deviceId
 */
function requestsOf({ requests }, deviceId) {
  return [...requests.values()].filter((item) => item.deviceId === deviceId);
}

/**
 * Applies the server's current list of an account. Its clock is `skew` seconds ahead of this browser's. Returns the new
 * requests, and those that must end, each with its ending. `isInUse` returns whether the user has begun to answer a
 * request.
 * @param {State} state
 * @param {string} deviceId
 * @param {ApprovalRequest[]} listed
 * @param {number} skew
 * @param {(item: Item) => boolean} isInUse
 */
export function receive(state, deviceId, listed, skew, isInUse) {
  const ids = new Set(listed.map(({ id }) => id));
  /** @type {Array<[Item, Ending]>} */
  const ended = [];
  for (const item of requestsOf(state, deviceId)) {
    if (ids.has(item.request.id)) continue;
    if (item.dismissed) state.requests.delete(item.request.id);
    item.skew = skew;
    if (mayEnd(item)) ended.push([item, secondsLeft(item, state.now) <= 1 ? 'expired' : 'gone']);
  }
  const vanished = ended.map(([item]) => item);
  const before = openRequests(state).filter((item) => !vanished.includes(item));
  const fresh = [];
  for (const request of listed) {
    const known = state.requests.get(request.id);
    if (known) {
      known.skew = skew;
      known.attemptsLeft = request.attempts_left ?? known.attemptsLeft;
      continue;
    }
    fresh.push(request);
    state.requests.set(request.id, {
      deviceId,
      request,
      skew,
      phase: 'open',
      number: '',
      error: '',
      attemptsLeft: request.attempts_left ?? null,
      other: null,
      ended: null,
      used: false,
      dismissed: false,
    });
  }
  // A card in use must stay in place, and so must one that a single tap approves: the tap would approve the request
  // that takes its place. Otherwise the newest request replaces the card.
  const [shown] = before;
  const mustStay = shown && (!needsNumber(shown.request) || isInUse(shown));
  if (fresh.length > 0 && state.chosen === null && mustStay) state.chosen = shown.request.id;
  return { fresh, ended };
}

/** The time for which a card without a number cannot be approved after it appears, in seconds. */
export const SETTLING = 1;

/**
 * Notes which card the user sees, and since when. Returns whether it is another one than before, which cannot be
 * approved yet.
 * @param {State} state
 */
export function noteShown(state) {
  const item = state.screen?.name === 'home' ? shownRequest(state) : null;
  const isOpen = item !== null && item.other === null;
  const id = isOpen ? item.request.id : null;
  if (id === (state.appeared?.id ?? null)) return false;
  state.appeared = id === null ? null : { id, at: state.now };
  return isOpen && isSettling(state, item, state.now);
}

/**
 * Whether a card without a number appeared just now. It may have taken the place of another one, for which a tap or a
 * key was meant.
 * @param {State} state
 * @param {Item} item
 * @param {number} now
 */
export function isSettling({ appeared }, { request }, now) {
  if (needsNumber(request)) return false;
  if (appeared === null || appeared.id !== request.id) return true;
  // A clock that was set back must not disable the button for long.
  return now >= appeared.at && now < appeared.at + SETTLING;
}

/**
 * Whether the user types a number to approve the request. A request of an application has one only if the application
 * shows digits, a sign-in on another device has its code instead, and a second approval has none.
 * @param {import('./types.d.ts').ApprovalRequest} request
 */
export function needsNumber(request) {
  const { same_browser: isHere, backchannel, device_authorization: device, second_approval: second } = request;
  return backchannel ? backchannel.binding === 'typed' : !isHere && !device && !second;
}

/**
 * The most digits of the number of a request. The number of an application has two to four.
 * @param {import('./types.d.ts').ApprovalRequest} request
 */
export function mostDigits({ backchannel }) {
  return backchannel ? 4 : 2;
}

/** @param {Item} item */
function mayEnd({ phase, other }) {
  return phase === 'open' && !other?.ended;
}

/**
 * The expired requests.
 * @param {State} state
 */
export function expired(state) {
  return openRequests(state).filter((item) => mayEnd(item) && secondsLeft(item, state.now) <= 0);
}

/**
 * Ends a request. While the user sees another one, its ending waits until the user comes back. Returns whether it
 * ended.
 * @param {State} state
 * @param {Item} item
 * @param {Ending} kind
 */
export function end(state, item, kind) {
  if (item.other !== null) {
    item.other.ended = kind;
    return false;
  }
  item.phase = 'ended';
  const reportable = kind === 'denied' || (kind === 'gone' && secondsLeft(item, state.now) > 0);
  item.ended = { kind, reportable, busy: false, error: '' };
  // A report ends the account's other requests as well.
  if (kind === 'reported') {
    for (const open of requestsOf(state, item.deviceId)) {
      if (open.phase !== 'ended') state.requests.delete(open.request.id);
    }
  }
  dismissEarlier(state, item, kind);
  if (!openRequests(state).some(({ request }) => request.id === state.chosen)) state.chosen = null;
  state.listing = isListed(state);
  return true;
}

/**
 * The result of a request replaces earlier ones. An automatic ending does not replace a denial, because the user may be
 * about to report that request.
 * @param {State} state
 * @param {Item} latest
 * @param {Ending} kind
 */
function dismissEarlier(state, latest, kind) {
  const isByItself = kind === 'expired' || kind === 'gone' || kind === 'decided';
  for (const item of endedRequests(state)) {
    if (item === latest || item.ended?.busy) continue;
    if (!(isByItself && item.ended?.kind === 'denied' && item.ended.reportable)) item.dismissed = true;
  }
}

/**
 * Removes an account's requests.
 * @param {State} state
 * @param {string} deviceId
 */
export function forgetRequests(state, deviceId) {
  for (const { request } of requestsOf(state, deviceId)) state.requests.delete(request.id);
  if (state.chosen !== null && !state.requests.has(state.chosen)) state.chosen = null;
  state.listing = isListed(state);
}
