// The entry of the code that another device shows: a television, a terminal. The entry decides nothing: a request
// follows, which shows the application, the place and the age before the user approves (RFC 8628 section 5.4).

import { call, failureOf, inWords } from './api.js';
import { pollNow } from './follow.js';
import { alarm, changeScreen, go, goHome } from './navigation.js';
import { state, usable, zone } from './state.js';
import { text } from './texts.js';
import { button, el, sign } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').EntryScreen} EntryScreen
 * @typedef {import('./types.d.ts').Child} Child
 */

/**
 * The buttons that enter the code: one for each account.
 * @param {State} known
 * @param {EntryScreen} screen
 * @param {Actions} act
 */
function choices(known, { busy }, act) {
  const accounts = usable(known).map(({ account }) => account);
  if (accounts.length === 1) {
    return [el('button', { type: 'submit', class: 'button primary', disabled: busy }, text('app-code-continue'))];
  }
  return accounts.map(({ deviceId, displayName: name, account }) =>
    button(text('app-code-continue-as', { name, account }), () => act.enterCode(deviceId), '', {
      key: deviceId,
      disabled: busy,
    }),
  );
}

/**
 * The screen with the field for the code. A code from a link must be compared.
 * @param {State} known
 * @param {EntryScreen} screen
 * @param {Actions} act
 * @returns {Child}
 */
export function codeEntry(known, screen, act) {
  const accounts = usable(known);
  if (accounts.length === 0) {
    return el(
      'div',
      { key: 'not-enrolled', class: 'card' },
      sign('mark', 'warn'),
      el('h2', { id: 'entry-title' }, text('app-scan-not-enrolled')),
      el('p', { class: 'lead' }, text('app-code-not-enrolled')),
      button(text('app-enrol-leave'), act.leaveEntry, 'primary'),
    );
  }
  const { typed, isLinked, busy, error } = screen;
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (accounts.length === 1) act.enterCode(accounts[0].account.deviceId);
  };
  const input = el('input', {
    id: 'user-code',
    class: 'user-code',
    type: 'text',
    maxlength: 40,
    dir: 'ltr',
    autocomplete: 'off',
    autocapitalize: 'characters',
    autocorrect: 'off',
    spellcheck: 'false',
    enterkeyhint: 'go',
    'aria-describedby': 'user-code-about user-code-error',
    'aria-invalid': error === '' ? null : 'true',
    disabled: busy,
    value: typed,
    oninput: (/** @type {{ target: HTMLInputElement }} */ { target }) => act.typeCode(target.value),
  });
  return el(
    'form',
    { key: 'entry', class: 'card stack', novalidate: true, onsubmit },
    el('h2', { id: 'entry-title' }, text('app-code')),
    el('p', { class: 'lead' }, text(isLinked ? 'app-code-compare' : 'app-code-about')),
    el(
      'div',
      { class: 'field' },
      el('label', { for: 'user-code' }, text('app-code-field')),
      input,
      el('p', { class: 'muted small', id: 'user-code-about' }, text('app-code-field-about')),
      el('p', { class: 'field-error', id: 'user-code-error', hidden: error === '' }, error),
    ),
    el('p', { class: 'muted' }, text('app-code-warning')),
    el(
      'div',
      { class: 'stack' },
      ...choices(known, screen, act),
      button(text('app-enrol-not-now'), act.leaveEntry, 'quiet'),
    ),
  );
}

/**
 * Shows the screen, with the code of a link.
 * @param {string} code
 */
export function openEntry(code) {
  const isLinked = code !== '';
  go({ name: 'entry', typed: code, isLinked, busy: false, error: '' }, isLinked ? '#entry-title' : '#user-code');
}

/** The screen, if it is the current one. */
function shownEntry() {
  return state.screen?.name === 'entry' ? state.screen : null;
}

export const entryActions = {
  typeDeviceCode() {
    openEntry('');
  },

  /** @param {string} typed */
  typeCode(typed) {
    const screen = shownEntry();
    if (screen !== null) changeScreen(screen, { typed, error: '' });
  },

  /** @param {string} deviceId */
  async enterCode(deviceId) {
    const screen = shownEntry();
    const account = state.accounts.get(deviceId)?.account;
    if (screen === null || !account || screen.busy) return;
    if (screen.typed.trim() === '') {
      changeScreen(screen, { error: alarm(text('app-failure-code')) }, '#user-code');
      return;
    }
    changeScreen(screen, { busy: true, error: '' });
    try {
      await call(account, 'post', '/device-authorizations', { value: { user_code: screen.typed } });
    } catch (cause) {
      changeScreen(screen, { busy: false, error: alarm(inWords(failureOf(cause))) }, '#user-code');
      return;
    }
    // The user may have gone back in the meantime.
    if (state.screen === screen) goHome(zone('requests'));
    pollNow(deviceId);
  },

  leaveEntry() {
    goHome(zone('scan'));
  },
};
