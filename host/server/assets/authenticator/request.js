// The requests on the home screen: one is shown at once; of several the user picks one from a list.

import { endedRequests, openRequests, secondsLeft, shownRequest } from './requests.js';
import { usable } from './state.js';
import { phrase, text, timeOfDay } from './texts.js';
import { button, complaint, el, facts, sign } from './view.js';

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
 * How long there still is, in words.
 * @param {number} seconds
 */
function timeLeft(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return text('app-seconds', { seconds: whole });
  return text('app-minutes', { minutes: Math.floor(whole / 60), seconds: String(whole % 60).padStart(2, '0') });
}

/**
 * Texts from outside with commas between them, each kept apart in its direction.
 * @param {string[]} texts
 * @returns {Child[]}
 */
function joined(texts) {
  return texts.filter(Boolean).flatMap((known, index) => [...(index > 0 ? [', '] : []), el('bdi', {}, known)]);
}

/** @type {Record<Ending, [Shape, string, string, string]>} */
const ENDINGS = {
  approved: ['check', 'good', 'app-request-approved', ''],
  expired: ['mark', 'warn', 'app-request-expired', 'app-request-expired-about'],
  decided: ['mark', 'warn', 'app-request-decided', 'app-request-decided-about'],
  gone: ['mark', 'warn', 'app-request-closed', 'app-request-closed-about'],
  locked: ['cross', 'bad', 'app-request-locked', 'app-request-locked-about'],
  denied: ['cross', 'bad', 'app-request-denied', 'app-request-denied-about'],
  reported: ['shield', 'bad', 'app-request-reported', 'app-request-reported-about'],
};

/**
 * The same for a protected action in the administration, which signs nobody in.
 * @type {Partial<Record<Ending, [string, string]>>}
 */
const ACTION_ENDINGS = {
  approved: ['app-request-approved', 'app-action-approved'],
  denied: ['app-request-denied', 'app-action-denied'],
  expired: ['app-action-closed', 'app-action-ended'],
  decided: ['app-action-closed', 'app-action-ended'],
  gone: ['app-action-closed', 'app-action-ended'],
  locked: ['app-action-closed', 'app-action-ended'],
};

/**
 * How a request ended, in words.
 * @param {Item} item
 * @param {Ending} kind
 */
export function endingWords({ request }, kind) {
  const [, , title, about] = ENDINGS[kind];
  const [actionTitle, actionAbout] = (request.action && ACTION_ENDINGS[kind]) || [];
  if (actionTitle && actionAbout) return { title: text(actionTitle), about: [text(actionAbout)] };
  const application = request.application.name;
  return {
    title: text(title),
    about: about === '' ? phrase('app-request-approved-about', { application }) : [text(about)],
  };
}

/**
 * The request to which a typed number belongs, in words.
 * @param {OtherRequest} other
 */
function otherNamed(other) {
  return [other.action ?? other.application.name, other.browser, other.place].filter(Boolean).join(', ');
}

/**
 * What is said when the typed number belongs to another request.
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
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 */
function requestCard(state, item, act) {
  const { request } = item;
  const id = `request-${request.id}`;
  const content =
    item.ended !== null
      ? endedParts(item, item.ended, act)
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
  const id = `request-${request.id}`;
  const busy = item.phase === 'sending';
  const unknown = text('app-request-not-known');
  const picture = { class: 'picture', src: request.application.logo, alt: '', width: '48', height: '48' };
  const title = request.action
    ? [el('bdi', {}, request.action)]
    : phrase('app-request-title', { application: request.application.name });
  return [
    request.application.logo && el('img', picture),
    el('h2', { id: `${id}-title`, 'data-part': 'title' }, ...title),
    request.action && el('p', { class: 'lead' }, text('app-action-about')),
    facts([
      ...(request.action ? [[text('app-action-where'), request.application.name]] : []),
      [text('app-request-account'), request.account || unknown],
      [text('app-request-place'), request.place || unknown],
      [text('app-request-browser'), request.browser || unknown],
      [text('app-request-time'), timeOfDay(request.requested_at)],
    ]),
    answerForm(state, item, act),
    el(
      'div',
      { class: 'not-me' },
      el('p', { class: 'muted small' }, text('app-request-not-you')),
      button(text('app-request-report'), () => act.deny(request.id, 'report'), 'quiet danger small', {
        disabled: busy,
      }),
    ),
  ];
}

/**
 * The number, and what the user may answer.
 * @param {State} state
 * @param {Item} item
 * @param {Actions} act
 */
function answerForm(state, item, act) {
  const { request, attemptsLeft } = item;
  const id = `request-${request.id}`;
  const busy = item.phase === 'sending';
  const total = Math.max(1, request.expires_at - request.requested_at);
  const left = secondsLeft(item, state.now);
  const scarce = attemptsLeft !== null && attemptsLeft <= 2;
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    act.submitNumber(request.id);
  };
  const input = el('input', {
    id: `${id}-number`,
    'data-part': 'number',
    type: 'text',
    inputmode: 'numeric',
    pattern: '[0-9]*',
    size: '2',
    dir: 'ltr',
    autocomplete: 'off',
    enterkeyhint: 'done',
    'aria-describedby': `${id}-error ${id}-tries`,
    'aria-invalid': item.error === '' ? null : 'true',
    disabled: busy,
    value: item.number,
    oninput: (/** @type {{ target: HTMLInputElement }} */ { target }) => act.typeNumber(request.id, target.value),
  });
  return el(
    'form',
    { class: 'stack', novalidate: true, onsubmit },
    el(
      'div',
      { class: 'field number-field' },
      el('label', { for: `${id}-number` }, request.action ? text('app-action-number') : text('app-request-number')),
      input,
      el('p', { class: 'field-error', id: `${id}-error`, hidden: item.error === '' }, item.error),
      el(
        'p',
        { class: 'muted', id: `${id}-tries`, hidden: !scarce },
        scarce && text('app-request-tries', { count: attemptsLeft }),
      ),
    ),
    el(
      'div',
      { class: 'actions' },
      el('button', { class: 'button primary', type: 'submit', disabled: busy }, text('app-request-approve')),
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
 * The typed number is that of another request: which one, and a way to report it.
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
 * How the request ended. Whoever denied may say that the request was not even theirs.
 * @param {Item} item
 * @param {NonNullable<Item['ended']>} ended
 * @param {Actions} act
 * @returns {Child[]}
 */
function endedParts(item, { kind, reportable, busy, error }, act) {
  const { id } = item.request;
  const [shape, tone] = ENDINGS[kind];
  const { title, about } = endingWords(item, kind);
  const report = { disabled: busy, 'data-part': 'report' };
  return [
    sign(shape, tone),
    el('h2', { id: `request-${id}-title`, 'data-part': 'title' }, title),
    el('p', { class: 'lead' }, ...about),
    button(text('app-done'), () => act.close(id)),
    reportable &&
      el(
        'div',
        { key: 'disown', class: 'not-me' },
        el('p', { class: 'muted small' }, text('app-request-denied-not-you')),
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
      el('span', {}, ...joined([request.browser, request.place])),
      el('span', { class: 'muted' }, ...joined([request.account, started])),
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

/** Nothing waits. */
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
 * How the ended ones ended, and of the open ones the only one, the picked one, or the list.
 * @param {State} state
 * @param {Actions} act
 * @returns {Child[]}
 */
function shown(state, act) {
  const open = openRequests(state);
  const item = shownRequest(state);
  const parts = endedRequests(state).map((ended) => requestCard(state, ended, act));
  if (item !== null) {
    const count = open.length;
    if (count > 1) parts.push(button(text('app-requests-all', { count }), act.showAll, '', { key: 'all' }));
    parts.push(requestCard(state, item, act));
  } else if (open.length > 1) {
    parts.push(list(state, act));
  }
  const able = usable(state).some(({ standing }) => standing === 'active');
  return parts.length === 0 && able ? [nothing()] : parts;
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
