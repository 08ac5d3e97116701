// The accounts of this browser: their names, their state, and their removal.

import { call, failureOf, inWords } from './api.js';
import { ask, say } from './dom.js';
import { enrolmentActions } from './enrol.js';
import { pollNow, unfollow } from './follow.js';
import { history } from './history.js';
import { readLink } from './link_token.js';
import { protection } from './passkey.js';
import { checkPush } from './push.js';
import { change, state, zone } from './state.js';
import { remove } from './store.js';
import { phrase, text } from './texts.js';
import { button, complaint, el, notice } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Followed} Followed
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Child} Child
 */

/** @type {Record<string, string>} */
const STATES = { suspended: 'app-account-suspended', terminated: 'app-account-terminated' };

/**
 * @param {Followed} known
 * @returns {Child}
 */
function standingNotice({ account: { operator }, standing, gone, lost }) {
  if (lost) return notice(text('app-account-lost', { operator }), 'bad');
  if (gone) return notice(text('app-account-gone', { operator }), 'bad');
  return STATES[standing] ? notice(text(STATES[standing]), 'bad') : null;
}

/**
 * The card of one account.
 * @param {State} state
 * @param {Followed} known
 * @param {Actions} act
 */
export function accountCard(state, known, act) {
  const { account, gone, errors } = known;
  const { deviceId } = account;
  const offering = state.welcome?.phase === 'offer' && state.welcome.deviceId === deviceId;
  const initial = Array.from(account.displayName.trim())[0]?.toUpperCase() ?? '?';
  const buttons = gone
    ? [button(text('app-account-forget'), () => act.forget(deviceId), 'small')]
    : [
        button(text('app-account-devices'), () => act.openDevices(deviceId), 'quiet small'),
        button(text('app-account-remove'), () => act.removeAccount(deviceId), 'quiet danger small'),
      ];
  return el(
    'article',
    { key: deviceId, class: 'card account', 'data-account': deviceId },
    el(
      'div',
      { key: 'head', class: 'account-head' },
      el('span', { class: 'initial', 'aria-hidden': 'true' }, initial),
      el(
        'div',
        {},
        el('h3', {}, el('bdi', {}, account.displayName)),
        el('p', {}, el('bdi', {}, account.account), ' · ', el('bdi', {}, account.operator)),
        el('p', {}, ...phrase('app-account-device', { device: account.deviceName })),
      ),
    ),
    standingNotice(known),
    !gone && !offering && protection(state, known, act),
    !gone && history(known, act),
    complaint(errors.remove),
    el('div', { key: 'actions', class: 'actions' }, ...buttons),
  );
}

/**
 * A form for a copied enrolment link.
 * @param {State} state
 * @param {boolean} unfolded
 * @param {Actions} act
 */
export function addAccount({ added: { typed, error } }, unfolded, act) {
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    act.openCopiedLink();
  };
  const input = el('input', {
    id: 'link',
    // A field for URLs would remove the spaces around words, which show where a pasted link ends.
    type: 'text',
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    inputmode: 'url',
    dir: 'ltr',
    'aria-describedby': 'link-error',
    'aria-invalid': error === '' ? null : 'true',
    value: typed,
    oninput: (/** @type {{ target: HTMLInputElement }} */ { target }) => act.typeLink(target.value),
  });
  return el(
    'details',
    { key: 'add', class: 'card', open: unfolded },
    el('summary', {}, text('app-add')),
    el('p', { class: 'muted' }, text('app-add-about')),
    el(
      'form',
      { class: 'stack', novalidate: true, onsubmit },
      el(
        'div',
        { class: 'field' },
        el('label', { for: 'link' }, text('app-add-link')),
        input,
        complaint(error, { id: 'link-error' }),
      ),
      el('button', { class: 'button', type: 'submit' }, text('app-add-continue')),
    ),
  );
}

/** @param {string} deviceId */
async function forget(deviceId) {
  await remove(deviceId);
  change(() => {
    unfollow(deviceId);
    return zone('accounts');
  });
  checkPush();
}

/**
 * Shows the errors of operations on an account.
 * @param {string} deviceId
 * @param {Partial<Followed['errors']>} errors
 */
export function accountErrors(deviceId, errors) {
  change(({ accounts }) => {
    Object.assign(accounts.get(deviceId)?.errors ?? {}, errors);
  });
}

export const accountActions = {
  forget,

  /** @param {string} deviceId */
  async removeAccount(deviceId) {
    const account = state.accounts.get(deviceId)?.account;
    if (!account) return;
    const about = text('app-account-remove-about', { name: account.displayName, operator: account.operator });
    if (!(await ask(text('app-account-remove-ask'), about, text('app-account-remove-yes')))) return;
    try {
      await call(account, 'delete', '/device');
    } catch (cause) {
      // If the server does not know this device any more, there is nothing to remove there.
      if (failureOf(cause).code !== 'device_not_enrolled') {
        accountErrors(deviceId, { remove: text('app-account-remove-failed', { reason: inWords(cause) }) });
        return;
      }
    }
    say(text('app-account-removed'));
    await forget(deviceId);
  },

  /** @param {string} deviceId */
  async endCooldown(deviceId) {
    const known = state.accounts.get(deviceId);
    if (!known) return;
    try {
      await call(known.account, 'delete', '/cooldown');
    } catch (cause) {
      accountErrors(deviceId, { cooldown: inWords(cause) });
      return;
    }
    say(text('app-cooldown-ended'));
    change(() => {
      Object.assign(known, { cooldownUntil: null, lifted: true });
      known.errors.cooldown = '';
      return zone('cooldowns');
    });
    pollNow(deviceId);
  },

  /** @param {string} deviceId */
  seeCooldownEnded(deviceId) {
    change(({ accounts }) => {
      const known = accounts.get(deviceId);
      if (known) known.lifted = false;
      return zone('requests');
    });
  },

  /** @param {string} typed */
  typeLink(typed) {
    change((known) => {
      known.added = { typed, error: '' };
    });
  },

  async openCopiedLink() {
    const link = readLink(state.added.typed);
    if (link?.kind !== 'enrol' || link.token === null) {
      const isDamaged = link !== null && link.token === null;
      change(({ added }) => {
        added.error = text(isDamaged ? 'app-failure-link-damaged' : 'app-add-invalid');
        return '#link';
      });
      return;
    }
    change((known) => {
      known.added = { typed: '', error: '' };
    });
    await enrolmentActions.openEnrolment(link.token);
  },
};
