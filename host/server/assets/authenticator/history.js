// The outcomes of an account's last requests, from the server.

import { call, inWords } from './api.js';
import { change, state } from './state.js';
import { phrase, recentMoment, text } from './texts.js';
import { el, joined, sign } from './view.js';

/**
 * @typedef {import('./types.d.ts').Followed} Followed
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').PastRequest} PastRequest
 * @typedef {import('./types.d.ts').PastAction} PastAction
 * @typedef {import('./types.d.ts').Child} Child
 * @typedef {import('./view.js').Shape} Shape
 */

/**
 * The sign of each outcome, and its texts.
 * @type {Record<string, [Shape, string, string]>}
 */
const OUTCOMES = {
  approved: ['check', 'good', 'app-history-approved'],
  denied: ['cross', 'bad', 'app-history-denied'],
  reported: ['barred', 'bad', 'app-history-reported'],
  number_mismatch: ['cross', 'bad', 'app-history-number-mismatch'],
  unanswered: ['mark', 'warn', 'app-history-unanswered'],
};

/** @type {Record<string, string>} */
const ACTIONS = {
  'delete-user': 'app-action-delete-user',
  'erase-user': 'app-action-erase-user',
  'update-user': 'app-action-update-user',
  'import-table': 'app-action-import-table',
  'enrol-device': 'app-action-enrol-device',
  'set-external-authenticator': 'app-action-set-external-authenticator',
  'create-account': 'app-action-create-account',
  'update-account': 'app-action-update-account',
  'delete-account': 'app-action-delete-account',
  'update-group': 'app-action-update-group',
  'delete-group': 'app-action-delete-group',
  'change-access': 'app-action-change-access',
  'revoke-device': 'app-action-revoke-device',
  'settle-report': 'app-action-settle-report',
  'create-recovery-codes': 'app-action-create-recovery-codes',
  'delete-application': 'app-action-delete-application',
  'grant-admin-scopes': 'app-action-grant-admin-scopes',
  'update-application': 'app-action-update-application',
  'apply-metadata': 'app-action-apply-metadata',
  'rotate-client-secret': 'app-action-rotate-client-secret',
  'delete-client-secret': 'app-action-delete-client-secret',
  'rotate-key': 'app-action-rotate-key',
  'revoke-key': 'app-action-revoke-key',
  'reload-plugins': 'app-action-reload-plugins',
  'roll-back-plugins': 'app-action-roll-back-plugins',
  'create-registration-token': 'app-action-create-registration-token',
  'register-details-type': 'app-action-register-details-type',
  'try-component': 'app-action-try-component',
  'apply-manifest': 'app-action-apply-manifest',
};

/**
 * The protected action, and its target.
 * @param {PastAction} past
 * @returns {Child[]}
 */
function actionWords({ kind, target, target_deleted: isDeleted }) {
  const action = ACTIONS[kind] ? text(ACTIONS[kind]) : kind;
  if (isDeleted) return phrase('app-action-erased', { action });
  return target === null ? [action] : phrase('app-action-target', { action, target });
}

/**
 * The way in which the request began: the browser, or that it had none.
 * @param {PastRequest} past
 */
function wayOf({ browser, without_browser: isBackchannel, caller_check: isCheck }) {
  if (isBackchannel) return text('app-history-without-browser');
  if (isCheck) return text('app-history-caller-check');
  return browser || text('app-request-browser-unknown');
}

/** @param {PastRequest} past */
function item(past) {
  const { outcome, application, place, protected_action: action, at } = past;
  const what = action ? actionWords(action) : [el('bdi', {}, application.name)];
  const [shape, tone, words] = OUTCOMES[outcome];
  const known = [recentMoment(at, state.now), wayOf(past), place];
  return el(
    'li',
    { class: 'card past' },
    sign(shape, tone),
    el(
      'div',
      {},
      el('h4', {}, ...what, ' · ', text(words)),
      el('p', { class: 'muted small' }, ...joined(known, '\u00a0· ')),
    ),
  );
}

/** @param {Followed['history']} history */
function content(history) {
  if (history === null) return null;
  if (history.error !== '') return el('p', { key: 'error', role: 'alert' }, history.error);
  if (history.items === null) return el('p', { class: 'muted' }, text('app-history-loading'));
  const list = history.items.filter(({ outcome }) => OUTCOMES[outcome]);
  return list.length > 0
    ? el('ul', { class: 'zone past-list' }, ...list.map(item))
    : el('p', { class: 'muted' }, text('app-history-empty'));
}

/**
 * The history of an account, which is loaded when the user opens it.
 * @param {Followed} known
 * @param {Actions} act
 */
export function history(known, act) {
  const ontoggle = (/** @type {{ target: HTMLDetailsElement }} */ { target }) => {
    if (target.open) act.openHistory(known.account.deviceId);
  };
  return el(
    'details',
    { class: 'past-sign-ins', ontoggle },
    el('summary', {}, text('app-history')),
    el('div', { class: 'zone' }, content(known.history)),
  );
}

export const historyActions = {
  /** @param {string} deviceId */
  async openHistory(deviceId) {
    const known = state.accounts.get(deviceId);
    if (!known) return;
    /** @type {Followed['history']} */
    const history = { items: null, error: '' };
    change(() => {
      known.history = history;
    });
    try {
      history.items = (await call(known.account, 'get', '/history')).items;
    } catch (failure) {
      history.error = inWords(failure);
    }
    change(() => undefined);
  },
};
