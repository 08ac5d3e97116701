// Enrolment: a one-time link makes this browser an authenticator of one account.

import { enrol, Failure, failureOf, inWords, previewEnrolment } from './api.js';
import { enrolmentText, newKey, publicJwk, sign as signText } from './canonical.js';
import { say } from './dom.js';
import { follow } from './follow.js';
import { alarm, changeScreen, copy, go, goHome } from './navigation.js';
import { lockable } from './passkey.js';
import { checkPush, refreshPush } from './push.js';
import { change, state, zone } from './state.js';
import { put } from './store.js';
import { moment, phrase, text } from './texts.js';
import { button, el, facts, notice, picture, sign, waiting } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').Child} Child
 * @typedef {import('./types.d.ts').EnrolmentPreview} EnrolmentPreview
 * @typedef {import('./types.d.ts').EnrolmentScreen} EnrolmentScreen
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 */

const LONGEST_NAME = 60;

/**
 * The token of an enrolment link, or null if the text is not such a link.
 * @param {string} link
 */
export function tokenOf(link) {
  const at = link.indexOf('#enrol=');
  if (at < 0) return null;
  try {
    return decodeURIComponent(link.slice(at + '#enrol='.length).trim()) || null;
  } catch {
    return null;
  }
}

/** A name for this device, from the data of the browser. */
function deviceName() {
  /** @type {Array<[RegExp, string]>} */
  const known = [
    [/iPhone/, 'iPhone'],
    [/iPad/, 'iPad'],
    [/Android.*Mobile/, text('app-device-android-phone')],
    [/Android/, text('app-device-android-tablet')],
    [/CrOS/, 'Chromebook'],
    [/Windows/, text('app-device-windows')],
    [/Macintosh/, 'Mac'],
    [/Linux/, text('app-device-linux')],
  ];
  return known.find(([pattern]) => pattern.test(navigator.userAgent))?.[1] ?? text('app-device-other');
}

function isAppleBrowserTab() {
  return /iPhone|iPad/.test(navigator.userAgent) && !('standalone' in navigator && navigator.standalone);
}

/**
 * The image of a QR code from the server.
 * @param {string} svg
 */
function scanPanel(svg) {
  return el(
    'div',
    { key: 'scan', class: 'scan' },
    el('img', { src: picture(svg), alt: text('app-enrol-scan-picture'), width: '176', height: '176' }),
    el(
      'div',
      {},
      el('p', {}, el('strong', {}, text('app-enrol-scan'))),
      el('p', { class: 'muted' }, text('app-enrol-scan-about')),
    ),
  );
}

/**
 * On iPhone and iPad an app on the Home Screen has a storage of its own, so it must be installed before the enrolment.
 * @param {EnrolmentScreen} screen
 * @param {Actions} act
 */
function homeScreenHint({ copied }, act) {
  const hint = button(text('app-enrol-copy'), act.copyEnrolmentLink, 'small');
  return notice(text('app-enrol-home-screen'), 'calm', hint, el('span', { role: 'status' }, copied));
}

/**
 * @param {FailedCall} failure
 * @param {Actions} act
 */
function unreachable(failure, act) {
  return el(
    'div',
    { key: 'unreachable', class: 'card' },
    sign('mark', 'warn'),
    el('h2', { id: 'enrolment-title' }, text('app-enrol-unchecked')),
    el('p', { class: 'lead' }, inWords(failure)),
    el(
      'div',
      { class: 'actions' },
      button(text('app-enrol-again-try'), act.checkEnrolment, 'primary'),
      button(text('app-enrol-not-now'), act.leaveEnrolment),
    ),
  );
}

/**
 * @param {FailedCall} failure
 * @param {Actions} act
 */
function unusable(failure, act) {
  const used = [404, 409, 410].includes(failure.status);
  return el(
    'div',
    { key: 'unusable', class: 'card' },
    sign('mark', 'warn'),
    el('h2', { id: 'enrolment-title' }, text('app-enrol-unusable')),
    el('p', { class: 'lead' }, used ? text('app-enrol-unusable-about') : inWords(failure)),
    el('div', { class: 'actions' }, button(text('app-enrol-leave'), act.leaveEnrolment, 'primary')),
  );
}

/**
 * @param {EnrolmentScreen} screen
 * @param {Actions} act
 */
function nameForm({ phase, deviceName: name, unnamed, error }, act) {
  const confirming = phase === 'confirming';
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    act.enrol();
  };
  const input = el('input', {
    id: 'device-name',
    type: 'text',
    maxlength: LONGEST_NAME,
    autocomplete: 'off',
    required: true,
    dir: 'auto',
    'aria-describedby': 'device-name-error',
    'aria-invalid': unnamed ? 'true' : null,
    value: name,
    oninput: (/** @type {{ target: HTMLInputElement }} */ { target }) => act.nameDevice(target.value),
  });
  const options = { key: 'confirm', id: 'enrol', class: 'button primary', type: 'submit', disabled: confirming };
  return el(
    'form',
    { class: 'stack', novalidate: true, onsubmit },
    el(
      'div',
      { class: 'field' },
      el('label', { for: 'device-name' }, text('app-enrol-name')),
      input,
      el('p', { class: 'field-error', id: 'device-name-error', hidden: error === '' }, error),
    ),
    el(
      'div',
      { class: 'actions' },
      el('button', options, text(confirming ? 'app-enrol-confirming' : 'app-enrol-confirm')),
      button(text('app-enrol-not-now'), act.leaveEnrolment),
    ),
  );
}

/**
 * The data of the link, and the form to enrol.
 * @param {State} state
 * @param {EnrolmentScreen} screen
 * @param {Actions} act
 * @returns {Child}
 */
export function enrolment(state, screen, act) {
  const { failure, offer } = screen;
  if (failure !== null) return failure.passing ? unreachable(failure, act) : unusable(failure, act);
  if (offer === null) return waiting('checking', text('app-enrol-checking'));
  const known = [...state.accounts.values()].some(
    ({ account }) => account.issuer === offer.issuer && account.account === offer.account,
  );
  return el(
    'div',
    { key: 'enrolment', class: 'card' },
    offer.link_qr && scanPanel(offer.link_qr),
    sign('shield', 'calm'),
    el(
      'h2',
      { id: 'enrolment-title' },
      ...phrase('app-enrol-title', { name: offer.display_name, operator: offer.operator }),
    ),
    el('p', { class: 'lead' }, text('app-enrol-lead')),
    facts([
      [text('app-enrol-account'), offer.account],
      [text('app-enrol-server'), offer.issuer],
      [text('app-enrol-until'), moment(offer.expires_at)],
    ]),
    known && notice(text('app-enrol-again'), 'warn'),
    isAppleBrowserTab() && homeScreenHint(screen, act),
    nameForm(screen, act),
  );
}

/**
 * @param {EnrolmentPreview} offer
 * @param {string} token
 * @param {string} chosen
 */
async function enrolHere(offer, token, chosen) {
  const pair = await newKey();
  const key = publicJwk(await crypto.subtle.exportKey('jwk', pair.publicKey));
  const signed = await enrolmentText({ issuer: offer.issuer, token, deviceName: chosen, key });
  const signature = await signText(pair.privateKey, signed);
  const made = await enrol({ token, device_name: chosen, public_key: key, signature });
  /** @type {Account} */
  const account = {
    deviceId: made.device_id,
    issuer: made.issuer,
    operator: made.operator,
    account: made.account,
    displayName: made.display_name,
    deviceName: made.device_name,
    pushKey: made.push_key ?? null,
    privateKey: pair.privateKey,
    clockOffset: 0,
  };
  await put(account);
  // This is only a hint: a browser with little space then keeps this key.
  await navigator.storage?.persist?.().catch(() => false);
  return { account, passkey: made.passkey, recovered: Boolean(made.recovered) };
}

/** The enrolment screen, if it is the current one. */
function shown() {
  return state.screen?.name === 'enrolment' ? state.screen : null;
}

export const enrolmentActions = {
  /**
   * Shows the data of an enrolment link.
   * @param {string} token
   */
  async openEnrolment(token) {
    go({
      name: 'enrolment',
      token,
      phase: 'checking',
      failure: null,
      offer: null,
      deviceName: deviceName(),
      unnamed: false,
      error: '',
      copied: '',
    });
    await enrolmentActions.checkEnrolment();
  },

  async checkEnrolment() {
    const screen = shown();
    if (screen === null) return;
    changeScreen(screen, { phase: 'checking', failure: null, offer: null });
    try {
      const offer = await previewEnrolment(screen.token);
      changeScreen(screen, { phase: 'ready', offer }, '#enrolment-title');
    } catch (cause) {
      changeScreen(screen, { phase: 'failed', failure: failureOf(cause) }, '#enrolment-title');
    }
  },

  /** @param {string} typed */
  nameDevice(typed) {
    const screen = shown();
    if (screen !== null) changeScreen(screen, { deviceName: typed, unnamed: false, error: '' });
  },

  /** Enrols this device, if nothing is missing and no enrolment is in progress. */
  async enrol() {
    const screen = shown();
    if (screen === null || screen.offer === null || screen.phase !== 'ready') return;
    const chosen = screen.deviceName.trim();
    if (chosen === '') {
      changeScreen(screen, { unnamed: true, error: alarm(text('app-enrol-name-missing')) }, '#device-name');
      return;
    }
    changeScreen(screen, { phase: 'confirming', error: '' });
    let made;
    try {
      made = await enrolHere(screen.offer, screen.token, chosen);
    } catch (cause) {
      const error = alarm(cause instanceof Failure ? inWords(cause) : text('app-enrol-no-key'));
      changeScreen(screen, { phase: 'ready', error }, '#enrol');
      return;
    }
    await welcome(screen, made);
  },

  async copyEnrolmentLink() {
    const screen = shown();
    if (screen === null) return;
    const copied = await copy(location.href, text('app-enrol-copied'), text('app-enrol-copy-yourself'));
    changeScreen(screen, { copied });
  },

  leaveEnrolment() {
    goHome(zone('accounts'));
  },

  /** Closes the confirmation of an enrolment. */
  closeWelcome() {
    change((known) => {
      known.welcome = null;
      return zone('requests');
    });
  },
};

/**
 * Confirms the enrolment of an account, and offers the protection of its approvals.
 * @param {EnrolmentScreen} screen
 * @param {Awaited<ReturnType<typeof enrolHere>>} made
 */
async function welcome(screen, { account, passkey, recovered }) {
  const offers = passkey === 'none' && (await lockable);
  follow(account, passkey);
  // If notifications are on for another account, they must be on for this one too.
  refreshPush([account]);
  if (state.screen !== screen) return;
  change((known) => {
    known.welcome = { deviceId: account.deviceId, recovered, phase: offers ? 'offer' : 'enrolled' };
    known.screen = { name: 'home' };
    return '#welcome-title';
  });
  checkPush();
  say(text('app-enrolled-status'));
}
