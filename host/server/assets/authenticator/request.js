// The requests on the home screen. One pending request is shown: the newest, or the one that the user selected from the
// list of several. It fits on a small screen, together with its warnings. Ended requests are one line below it.

import { notificationWords } from './account_notifications.js';
import { keypad } from './keypad.js';
import {
  endedRequests,
  isSettling,
  mostDigits,
  needsNumber,
  openRequests,
  secondsLeft,
  shownRequest,
} from './requests.js';
import { usable, withNotifications } from './state.js';
import { phrase, text, timeLeft, timeOfDay } from './texts.js';
import { button, complaint, el, joined, sign } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Item} Item
 * @typedef {import('./types.d.ts').Ending} Ending
 * @typedef {import('./types.d.ts').OtherRequest} OtherRequest
 * @typedef {import('./types.d.ts').Child} Child
 * @typedef {import('./view.js').Shape} Shape
 */

/**
 * The time for which a report stops new requests, in words.
 * @param {number} minutes
 */
function cooldown(minutes) {
  if (minutes < 1) return text('app-duration-while');
  if (minutes >= 60 && minutes % 60 === 0) return text('app-duration-hours', { count: minutes / 60 });
  return text('app-duration-minutes', { count: minutes });
}

/** @type {Record<Ending, [Shape, string, string, string]>} */
const ENDINGS = {
  approved: ['check', 'good', 'app-request-approved', 'app-request-approved-about'],
  expired: ['mark', 'warn', 'app-request-expired', 'app-request-expired-about'],
  decided: ['mark', 'warn', 'app-request-decided', 'app-request-decided-about'],
  gone: ['mark', 'warn', 'app-request-closed', 'app-request-closed-about'],
  locked: ['cross', 'bad', 'app-request-locked', 'app-request-locked-about'],
  denied: ['cross', 'bad', 'app-request-denied', 'app-request-denied-about'],
  reported: ['barred', 'bad', 'app-request-reported', 'app-request-reported-about'],
};

/**
 * The texts for a protected action in the console, which is not a sign-in.
 * @type {Partial<Record<Ending, [title: string, about?: string]>>}
 */
const ACTION_ENDINGS = {
  approved: ['app-request-approved', 'app-action-approved'],
  denied: ['app-request-denied', 'app-action-denied'],
  expired: ['app-action-closed'],
  decided: ['app-action-closed'],
  gone: ['app-action-closed'],
  locked: ['app-action-closed'],
  reported: ['app-request-reported', 'app-action-reported'],
};

/**
 * The texts for a request of an application, which has no browser.
 * @type {Partial<Record<Ending, [title: string, about: string]>>}
 */
const BACKCHANNEL_ENDINGS = {
  approved: ['app-request-approved', 'app-backchannel-approved'],
  denied: ['app-request-denied', 'app-backchannel-denied'],
  expired: ['app-request-expired', 'app-backchannel-ended'],
  gone: ['app-backchannel-closed', 'app-backchannel-ended'],
  locked: ['app-request-locked', 'app-backchannel-ended'],
  reported: ['app-request-reported', 'app-backchannel-reported'],
};

/**
 * The texts for a sign-in on another device.
 * @type {Partial<Record<Ending, [title: string, about: string]>>}
 */
const DEVICE_ENDINGS = {
  approved: ['app-request-approved', 'app-code-approved'],
  denied: ['app-request-denied', 'app-code-denied'],
  expired: ['app-request-expired', 'app-code-ended'],
  gone: ['app-backchannel-closed', 'app-code-ended'],
  reported: ['app-request-reported', 'app-backchannel-reported'],
};

/**
 * The texts for a second approval.
 * @type {Partial<Record<Ending, [title: string, about: string]>>}
 */
const SECOND_ENDINGS = {
  approved: ['app-request-approved', 'app-second-approved'],
  denied: ['app-request-denied', 'app-second-denied'],
  expired: ['app-request-expired', 'app-second-ended'],
  gone: ['app-backchannel-closed', 'app-second-ended'],
  locked: ['app-request-locked', 'app-second-ended'],
  reported: ['app-request-reported', 'app-backchannel-reported'],
};

/**
 * The texts for the question whether the user is on the phone.
 * @type {Partial<Record<Ending, [title: string, about: string]>>}
 */
const CALLER_CHECK_ENDINGS = {
  approved: ['app-request-approved', 'app-caller-check-approved'],
  denied: ['app-request-denied', 'app-caller-check-denied'],
  expired: ['app-request-expired', 'app-caller-check-ended'],
  gone: ['app-backchannel-closed', 'app-caller-check-ended'],
  locked: ['app-request-locked', 'app-caller-check-ended'],
  reported: ['app-request-reported', 'app-caller-check-reported'],
};

/**
 * The texts for the endings of a request that no browser began.
 * @param {Item['request']} request
 */
function ownEndings({ backchannel, device_authorization: device, caller_check: check, second_approval: second }) {
  if (second) return SECOND_ENDINGS;
  if (backchannel) return BACKCHANNEL_ENDINGS;
  if (device) return DEVICE_ENDINGS;
  return check ? CALLER_CHECK_ENDINGS : null;
}

/**
 * The ending of a request, in words.
 * @param {Item} item
 * @param {Ending} kind
 */
export function endingWords({ request }, kind) {
  const [, , title, about] = ENDINGS[kind];
  const own = ownEndings(request);
  if (own) {
    const [ownTitle, ownAbout] = own[kind] ?? [title, about];
    return { title: text(ownTitle), about: text(ownAbout) };
  }
  if (!request.action) return { title: text(title), about: text(about) };
  const [actionTitle, actionAbout] = ACTION_ENDINGS[kind] ?? [title, about];
  // The first sentence of the summary says which action it was.
  const [action = ''] = request.action.split('. ');
  return { title: text(actionTitle), about: actionAbout ? text(actionAbout) : text('app-action-ended', { action }) };
}

/**
 * The request to which a typed number belongs, in words.
 * @param {OtherRequest} other
 */
function otherNamed(other) {
  const { action, application, caller_check: check } = other;
  return [action ?? application.name, check?.administrator, other.browser, other.place].filter(Boolean).join(' · ');
}

/**
 * The message when the typed number belongs to another request.
 * @param {OtherRequest} other
 */
export function otherWords(other) {
  return text('app-other-about', { request: otherNamed(other), time: timeOfDay(other.requested_at) });
}

/**
 * The selector of a request's card, or of a part of it.
 * @param {string} id
 * @param {string} [part]
 */
export function selectorOf(id, part) {
  return `[data-request="${CSS.escape(id)}"]${part ? ` [data-part="${part}"]` : ''}`;
}

/**
 * The card of a pending request, or of the latest ended one while none is pending.
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 */
function requestCard(state, item, act) {
  const { request } = item;
  const id = `request-${request.id}`;
  const content =
    item.ended !== null
      ? endedParts(state, item, item.ended, act)
      : item.other !== null
        ? otherParts(item, item.other, act)
        : openParts(state, item, act);
  return el(
    'article',
    {
      key: id,
      class: item.ended !== null ? 'card outcome' : 'card request',
      'data-request': request.id,
      'aria-labelledby': `${id}-title`,
      'aria-busy': item.phase === 'sending' ? 'true' : null,
      onpointerdown: () => act.use(request.id),
      onkeydown: () => act.use(request.id),
    },
    ...content,
  );
}

/**
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 * @returns {Child[]}
 */
function openParts(state, item, act) {
  const { request } = item;
  const busy = item.phase === 'sending';
  return [
    ...summary(state, item),
    warning(state, item, act),
    answerForm(state, item, act),
    el(
      'div',
      { class: 'not-me' },
      el('p', { class: 'muted small' }, reportAdvice(state, item)),
      button(text('app-request-report'), () => act.deny(request.id, 'report'), 'quiet danger small', {
        disabled: busy,
      }),
    ),
  ];
}

/**
 * The latest account notification of the request's account, because the user should know it before the approval.
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 * @returns {Child}
 */
function warning({ accounts }, { deviceId }, act) {
  const latest = accounts.get(deviceId)?.notifications.at(-1);
  const words = latest && notificationWords(latest);
  if (!words) return null;
  return el('button', { key: 'warning', type: 'button', class: 'warning', onclick: act.seeNotifications }, words);
}

/**
 * The picture of the application, or the first letter of its name.
 * @param {string} name
 * @param {string | null | undefined} logo
 */
function icon(name, logo) {
  if (logo) return el('img', { key: 'icon', class: 'picture', src: logo, alt: '', width: '40', height: '40' });
  const initial = Array.from(name.trim())[0]?.toUpperCase() ?? '?';
  return el('span', { key: 'icon', class: 'initial', translate: 'no', 'aria-hidden': 'true' }, initial);
}

/**
 * The subject of the approval, and its details in two lines: the account; the browser, its location and the time.
 * @param {State} state
 * @param {Item} item
 * @returns {Child[]}
 */
function summary(state, { request, skew }) {
  if (request.second_approval) return secondSummary(request, request.second_approval);
  if (request.device_authorization) return deviceSummary(request, request.device_authorization, state.now + skew);
  if (request.backchannel) return backchannelSummary(request, request.backchannel);
  if (request.caller_check) return callerCheckSummary(request, request.caller_check);
  const id = `request-${request.id}`;
  const { logo, name: application } = request.application;
  const title = request.action ? [el('bdi', {}, request.action)] : phrase('app-request-title', { application });
  const where = [
    request.browser || text('app-request-browser-unknown'),
    request.place || text('app-request-place-unknown'),
    timeOfDay(request.requested_at),
  ];
  const account = request.account || text('app-request-not-known');
  const whose = request.action
    ? phrase('app-action-for', { account, application })
    : phrase('app-request-for', { account });
  return [
    el(
      'div',
      { key: 'head', class: 'request-head' },
      icon(application, logo),
      el('h2', { id: `${id}-title`, 'data-part': 'title' }, ...title),
    ),
    request.action && el('p', { key: 'about', class: 'lead' }, text('app-action-about')),
    details(request),
    el(
      'div',
      { key: 'facts', class: 'request-facts', id: `${id}-facts` },
      el('p', { class: 'request-account' }, ...whose),
      // If the line is too long, the dot goes with the text after it.
      el('p', {}, ...joined(where, ' ·\u00a0')),
    ),
  ];
}

/**
 * The advice for a request of an application: to compare its message, or what else to do.
 * @param {string} application
 * @param {NonNullable<import('./types.d.ts').ApprovalRequest['backchannel']>} backchannel
 */
function backchannelAdvice(application, { message, binding }) {
  if (message) return phrase('app-backchannel-compare', { application });
  if (binding === 'typed') return phrase('app-backchannel-type', { application });
  return phrase('app-backchannel-no-message', { application });
}

/**
 * The details of a request of an application: the account, the message to compare, and the permissions.
 * @param {import('./types.d.ts').ApprovalRequest} request
 * @param {NonNullable<import('./types.d.ts').ApprovalRequest['backchannel']>} backchannel
 * @returns {Child[]}
 */
function backchannelSummary(request, backchannel) {
  const { message, scopes, binding } = backchannel;
  const id = `request-${request.id}`;
  const { logo, name: application } = request.application;
  const about = backchannelAdvice(application, backchannel);
  return [
    el(
      'div',
      { key: 'head', class: 'request-head' },
      icon(application, logo),
      el('h2', { id: `${id}-title`, 'data-part': 'title' }, ...phrase('app-backchannel-title', { application })),
    ),
    el(
      'div',
      { key: 'facts', class: 'request-facts', id: `${id}-facts` },
      el('p', { class: 'request-account' }, ...phrase('app-request-for', { account: request.account })),
      el('p', {}, timeOfDay(request.requested_at)),
    ),
    el('p', { key: 'about', class: 'lead' }, ...about),
    details(request),
    binding === 'none' && el('p', { key: 'passkey', class: 'muted' }, text('app-backchannel-passkey')),
    message && el('p', { key: 'message', class: 'binding-message', 'data-part': 'message' }, el('bdi', {}, message)),
    el('p', { key: 'scopes-title', class: 'muted' }, ...phrase('app-backchannel-scopes', { application })),
    el('ul', { key: 'scopes', class: 'scopes' }, ...scopes.map((scope) => el('li', {}, scope))),
  ];
}

/**
 * The details of a second approval: the account for which the application asks, the own one, the message, and the
 * permissions.
 * @param {import('./types.d.ts').ApprovalRequest} request
 * @param {NonNullable<import('./types.d.ts').ApprovalRequest['second_approval']>} second
 * @returns {Child[]}
 */
function secondSummary(request, { for: account, message, scopes, passkey }) {
  const id = `request-${request.id}`;
  const { logo, name: application } = request.application;
  const head = phrase('app-second-title', { application, account });
  const about = message
    ? phrase('app-second-message', { application })
    : phrase('app-second-no-message', { application });
  return [
    el(
      'div',
      { key: 'head', class: 'request-head' },
      icon(application, logo),
      el('h2', { id: `${id}-title`, 'data-part': 'title' }, ...head),
    ),
    el(
      'div',
      { key: 'facts', class: 'request-facts', id: `${id}-facts` },
      el('p', { class: 'request-account' }, ...phrase('app-second-own', { account: request.account })),
      el('p', {}, timeOfDay(request.requested_at)),
    ),
    el('p', { key: 'second', class: 'lead' }, text('app-second-about')),
    el('p', { key: 'about' }, ...about),
    message && el('p', { key: 'message', class: 'binding-message', 'data-part': 'message' }, el('bdi', {}, message)),
    details(request),
    passkey && el('p', { key: 'passkey', class: 'muted' }, text('app-backchannel-passkey')),
    el('p', { key: 'scopes-title', class: 'muted' }, ...phrase('app-second-scopes', { application, account })),
    el('ul', { key: 'scopes', class: 'scopes' }, ...scopes.map((scope) => el('li', {}, scope))),
  ];
}

/**
 * The question of a help desk: who asks, and that an approval permits nothing.
 * @param {import('./types.d.ts').ApprovalRequest} request
 * @param {NonNullable<import('./types.d.ts').ApprovalRequest['caller_check']>} check
 * @returns {Child[]}
 */
function callerCheckSummary(request, { administrator }) {
  const id = `request-${request.id}`;
  const { name: application } = request.application;
  const title = phrase('app-caller-check-title', { administrator, application });
  return [
    el(
      'div',
      { key: 'head', class: 'request-head' },
      icon(administrator, null),
      el('h2', { id: `${id}-title`, 'data-part': 'title' }, ...title),
    ),
    el('p', { key: 'about', class: 'lead' }, text('app-caller-check-about')),
    el(
      'div',
      { key: 'facts', class: 'request-facts', id: `${id}-facts` },
      el('p', { class: 'request-account' }, ...phrase('app-request-for', { account: request.account })),
      el('p', {}, timeOfDay(request.requested_at)),
    ),
  ];
}

/**
 * The age of a request, in words.
 * @param {number} seconds
 */
function age(seconds) {
  const minutes = Math.floor(seconds / 60);
  return minutes < 1 ? text('app-code-asked-now') : text('app-code-asked', { count: minutes });
}

/**
 * The details of a sign-in on another device: the account, the place and the age, the code to compare, and the
 * permissions.
 * @param {import('./types.d.ts').ApprovalRequest} request
 * @param {NonNullable<import('./types.d.ts').ApprovalRequest['device_authorization']>} device
 * @param {number} now
 * @returns {Child[]}
 */
function deviceSummary(request, { user_code: code, asked_at: asked, scopes }, now) {
  const id = `request-${request.id}`;
  const { logo, name: application } = request.application;
  const where = [request.place || text('app-request-place-unknown'), age(now - asked), timeOfDay(asked)];
  return [
    el(
      'div',
      { key: 'head', class: 'request-head' },
      icon(application, logo),
      el('h2', { id: `${id}-title`, 'data-part': 'title' }, ...phrase('app-code-title', { application })),
    ),
    el(
      'div',
      { key: 'facts', class: 'request-facts', id: `${id}-facts` },
      el('p', { class: 'request-account' }, ...phrase('app-request-for', { account: request.account })),
      el('p', {}, ...joined(where, ' ·\u00a0')),
    ),
    el('p', { key: 'about', class: 'lead' }, text('app-code-check')),
    el('p', { key: 'code', class: 'user-code', 'data-part': 'code' }, el('bdi', { dir: 'ltr' }, code)),
    el('p', { key: 'warning', class: 'muted' }, text('app-code-warning')),
    el('p', { key: 'scopes-title', class: 'muted' }, ...phrase('app-backchannel-scopes', { application })),
    el('ul', { key: 'scopes', class: 'scopes' }, ...scopes.map((scope) => el('li', {}, scope))),
  ];
}

/**
 * The authorization details, each completely. The user permits and signs them.
 * @param {Item['request']} request
 * @returns {Child}
 */
function details({ id, details: texts = [] }) {
  if (texts.length === 0) return null;
  return el(
    'div',
    { key: 'details', class: 'request-details', id: `request-${id}-details` },
    el('p', { class: 'muted' }, text('app-request-details')),
    el('ul', {}, ...texts.map((one) => el('li', {}, el('bdi', { translate: 'no' }, one)))),
  );
}

/**
 * The effect of a report, before the user presses its button.
 * @param {State} state
 * @param {Item} item
 */
function reportAdvice(state, { request }) {
  const duration = cooldown(state.reportCooldown);
  if (request.caller_check) return text('app-caller-check-not-you', { duration });
  return request.action ? text('app-action-not-you', { duration }) : text('app-request-not-you', { duration });
}

/**
 * The number, and the buttons of the decision.
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 */
function answerForm(state, item, act) {
  const { request } = item;
  const busy = item.phase === 'sending';
  const isTooEarly = isSettling(state, item, state.now);
  const total = Math.max(1, request.expires_at - request.requested_at);
  const left = secondsLeft(item, state.now);
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    act.submitNumber(request.id);
  };
  const field = needsNumber(request) ? numberField(state, item, act) : fieldWithoutNumber(item);
  return el(
    'form',
    { class: 'stack', novalidate: true, onsubmit },
    field,
    state.keypad && needsNumber(request) && keypad(request.id, busy, act),
    el(
      'div',
      { key: 'actions', class: 'actions' },
      el(
        'button',
        { class: 'button primary', type: 'submit', disabled: busy || isTooEarly, 'data-part': 'approve' },
        text('app-request-approve'),
      ),
      button(text('app-request-deny'), () => act.deny(request.id, 'deny'), 'danger', { disabled: busy }),
    ),
    el(
      'div',
      { class: 'clock' },
      el('progress', { max: total, value: Math.max(0, Math.min(total, left)), 'aria-hidden': 'true' }),
      el('p', { class: 'muted', role: 'timer' }, timeLeft(left)),
    ),
  );
}

/**
 * The text that replaces the number for a sign-in in this browser. A request of an application may have a message
 * instead.
 * @param {Item} item
 */
function fieldWithoutNumber({ request, error }) {
  return el(
    'div',
    { key: 'here', class: 'field' },
    request.same_browser && el('p', {}, text('app-scan-here-about')),
    el('p', { class: 'field-error', id: `request-${request.id}-error`, hidden: error === '' }, error),
  );
}

/**
 * The label of the number field, which says where the user finds the number.
 * @param {Item['request']} request
 * @returns {Child[]}
 */
function numberLabel({ action, backchannel, caller_check: check, application: { name: application } }) {
  if (backchannel) return phrase('app-backchannel-number', { application });
  if (check) return [text('app-caller-check-number')];
  return [text(action ? 'app-action-number' : 'app-request-number')];
}

/**
 * The number field, with its error and the remaining attempts.
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 */
function numberField(state, item, act) {
  const { request, attemptsLeft } = item;
  const id = `request-${request.id}`;
  const scarce = attemptsLeft !== null && attemptsLeft <= 2;
  const input = el('input', {
    id: `${id}-number`,
    'data-part': 'number',
    type: 'text',
    // If the card has a keypad, the system shows none.
    inputmode: state.keypad ? 'none' : 'numeric',
    pattern: '[0-9]*',
    size: mostDigits(request).toString(),
    dir: 'ltr',
    autocomplete: 'off',
    enterkeyhint: 'done',
    'aria-describedby': `${request.details ? `${id}-details ` : ''}${id}-facts ${id}-error ${id}-tries`,
    'aria-invalid': item.error === '' ? null : 'true',
    disabled: item.phase === 'sending',
    value: item.number,
    oninput: (/** @type {{ target: HTMLInputElement }} */ { target }) => act.typeNumber(request.id, target.value),
  });
  return el(
    'div',
    { key: 'number', class: 'field number-field' },
    el('label', { for: `${id}-number` }, ...numberLabel(request)),
    input,
    el('p', { class: 'field-error', id: `${id}-error`, hidden: item.error === '' }, item.error),
    el(
      'p',
      { class: 'muted', id: `${id}-tries`, hidden: !scarce },
      scarce && text('app-request-tries', { count: attemptsLeft }),
    ),
  );
}

/**
 * The details of the other request to which the typed number belongs, and a button to report it.
 * @param {Item} item
 * @param {NonNullable<Item['other']>} other
 * @param {Actions} act
 * @returns {Child[]}
 */
function otherParts({ request: { id } }, { request: other, busy, error }, act) {
  const about = phrase('app-other-about', { request: otherNamed(other), time: timeOfDay(other.requested_at) });
  return [
    sign('mark', 'warn'),
    el('h2', { id: `request-${id}-title`, 'data-part': 'title' }, text('app-other-title')),
    el('p', { class: 'lead' }, ...about),
    el('p', { class: 'muted' }, text(other.state === 'pending' ? 'app-other-pending' : 'app-other-ended')),
    complaint(error),
    el(
      'div',
      { key: 'other', class: 'actions' },
      button(text('app-request-report'), () => act.reportOther(id), 'danger', {
        disabled: busy,
        'data-part': 'report',
      }),
      button(text('app-other-back'), () => act.leaveOther(id)),
    ),
  ];
}

/**
 * The ending of the request. A user who denied may also report the request.
 * @param {State} state
 * @param {Item} item
 * @param {NonNullable<Item['ended']>} ended
 * @param {Actions} act
 * @returns {Child[]}
 */
function endedParts(state, item, ended, act) {
  const { id, action, application } = item.request;
  const [shape, tone] = ENDINGS[ended.kind];
  const { title, about } = endingWords(item, ended.kind);
  return [
    sign(shape, tone),
    el('h2', { id: `request-${id}-title`, 'data-part': 'title' }, title),
    el('p', { class: 'muted' }, el('bdi', {}, action ?? application.name)),
    el('p', { class: 'lead' }, about),
    button(text('app-done'), () => act.close(id)),
    ...reportParts(state, item, ended, act),
  ];
}

/**
 * The report of an ended request, if it can still be reported.
 * @param {State} state
 * @param {Item} item
 * @param {NonNullable<Item['ended']>} ended
 * @param {Actions} act
 * @returns {Child[]}
 */
function reportParts(state, item, { reportable, busy, error }, act) {
  const { id } = item.request;
  const report = { disabled: busy, 'data-part': 'report' };
  return [
    reportable &&
      el(
        'div',
        { key: 'disown', class: 'not-me' },
        el('p', { class: 'muted small' }, reportAdvice(state, item)),
        complaint(error),
        button(text('app-request-report'), () => act.report(id), 'quiet danger small', report),
      ),
  ];
}

/**
 * A request in the list of several.
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 */
function pick(state, item, act) {
  const { request } = item;
  const started = text('app-requests-started', { time: timeOfDay(request.requested_at) });
  return el(
    'li',
    { key: request.id },
    el(
      'button',
      { key: 'pick', type: 'button', class: 'pick', onclick: () => act.pick(request.id) },
      el('strong', {}, el('bdi', {}, request.action ?? request.application.name)),
      request.backchannel || request.second_approval
        ? el('span', {}, el('bdi', {}, (request.backchannel ?? request.second_approval)?.message ?? ''))
        : request.caller_check
          ? el('span', {}, el('bdi', {}, request.caller_check.administrator))
          : el('span', {}, ...joined([request.browser, request.place], ' · ')),
      el('span', { class: 'muted' }, ...joined([request.account, started], ' · ')),
      el('span', { class: 'muted' }, timeLeft(secondsLeft(item, state.now))),
    ),
  );
}

/**
 * @param {State} state
 * @param {Actions} act
 */
function list(state, act) {
  const open = openRequests(state);
  return el(
    'section',
    { key: 'list', class: 'card', 'aria-labelledby': 'requests-title' },
    el('h2', { id: 'requests-title' }, text('app-requests-several', { count: open.length })),
    el('p', { class: 'lead' }, text('app-requests-choose')),
    el('ul', { class: 'picks' }, ...open.map((item) => pick(state, item, act))),
  );
}

/**
 * Whether a notification, the enrolment or a cooldown is shown above, because "Nothing to approve" would contradict it.
 * @param {State} state
 */
function hasNews(state) {
  const isPaused = (/** @type {import('./types.d.ts').Followed} */ { gone, cooldownUntil, lifted }) =>
    lifted || (!gone && cooldownUntil !== null && cooldownUntil > state.now);
  return state.welcome !== null || withNotifications(state).length > 0 || [...state.accounts.values()].some(isPaused);
}

/** The text when no requests are pending. */
function nothing() {
  return el(
    'div',
    { key: 'ready', class: 'card ready' },
    sign('shield', 'good'),
    el('h2', {}, text('app-nothing')),
    el('p', { class: 'muted' }, text('app-nothing-about')),
  );
}

/**
 * An ended request in one line, which the user can open: for its explanation, and to report it.
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 */
function endedLine(state, item, act) {
  const { request, ended } = item;
  if (ended === null) return null;
  const id = `request-${request.id}`;
  const [shape, tone] = ENDINGS[ended.kind];
  const { title, about } = endingWords(item, ended.kind);
  return el(
    'details',
    { key: `${id}-line`, class: 'card ended', 'data-request': request.id },
    el(
      'summary',
      {},
      sign(shape, tone),
      el('h2', { id: `${id}-title`, 'data-part': 'title' }, title),
      el('bdi', { class: 'muted' }, request.action ?? request.application.name),
    ),
    el(
      'div',
      { class: 'stack' },
      el('p', {}, about),
      ...reportParts(state, item, ended, act),
      button(text('app-done'), () => act.close(request.id), 'small'),
    ),
  );
}

/**
 * For a pending request: its card, or the list of several; the ended ones below it, each in one line. Otherwise the
 * latest ended one has a card.
 * @param {State} state
 * @param {Actions} act
 * @returns {Child[]}
 */
function shown(state, act) {
  const count = openRequests(state).length;
  const item = shownRequest(state);
  const ended = endedRequests(state);
  const latest = count === 0 ? ended.pop() : undefined;
  /** @type {Child[]} */
  const parts = [];
  if (item !== null && count > 1) {
    parts.push(button(text('app-requests-all', { count }), act.showAll, 'small', { key: 'all' }));
  }
  if (item !== null) parts.push(requestCard(state, item, act));
  else if (count > 1) parts.push(list(state, act));
  if (latest) parts.push(requestCard(state, latest, act));
  parts.push(...ended.map((one) => endedLine(state, one, act)));
  const able = usable(state).some(({ standing }) => standing === 'active');
  return parts.length === 0 && able && !hasNews(state) ? [nothing()] : parts;
}

/**
 * The requests of all accounts.
 * @param {State} state
 * @param {Actions} act
 */
export function requestsZone(state, act) {
  const attributes = { key: 'requests', class: 'zone', 'data-zone': 'requests', 'aria-label': text('app-requests') };
  return el('section', attributes, ...shown(state, act));
}
