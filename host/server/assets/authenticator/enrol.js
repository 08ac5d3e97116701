// Enrolment: a one-time link makes this browser an authenticator of one account.

import { enrol, Failure, failureOf, inWords, previewEnrolment } from './api.js';
import { enrolmentText, newKey, publicJwk, sha256Hex, sign as signText } from './canonical.js';
import { say } from './dom.js';
import { follow } from './follow.js';
import { alarm, changeScreen, copy, go, goHome } from './navigation.js';
import { lockable } from './passkey.js';
import { checkPush, refreshPush } from './push.js';
import { change, state, zone } from './state.js';
import {
  finishEnrolment,
  forgetEnrolment,
  pendingEnrolment,
  prepareEnrolment,
  StorageFailure,
  storageWords,
} from './store.js';
import { moment, phrase, text } from './texts.js';
import { button, el, facts, notice, picture, sign, waiting } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').Child} Child
 * @typedef {import('./types.d.ts').EnrolmentPreview} EnrolmentPreview
 * @typedef {import('./types.d.ts').EnrolmentScreen} EnrolmentScreen
 * @typedef {import('./types.d.ts').PendingEnrolment} PendingEnrolment
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 */

const LONGEST_NAME = 60;

/** The errors of a link that can no longer be used, whatever is sent. */
const ENDED = ['link_used', 'link_expired', 'link_withdrawn', 'link_not_found', 'key_in_use'];

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
  const hasOtherWays = ENDED.includes(failure.code);
  return el(
    'div',
    { key: 'unusable', class: 'card' },
    sign('mark', 'warn'),
    el('h2', { id: 'enrolment-title' }, text('app-enrol-unusable')),
    el('p', { class: 'lead' }, inWords(failure)),
    hasOtherWays && el('p', {}, text('app-enrol-unusable-about')),
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

/** This browser cannot create a key. */
class KeyFailure extends Error {}

/**
 * The key with which this device enrols by a link. It is stored before anything is sent, and stays the same between
 * tries: the server returns the same result for the same key, because an earlier response may have been lost.
 * @param {EnrolmentPreview} offer
 * @param {string} token
 * @param {string} deviceName
 */
async function prepared({ issuer }, token, deviceName) {
  const link = await sha256Hex(token);
  const earlier = await pendingEnrolment(link);
  if (earlier !== undefined) return prepareEnrolment({ ...earlier, deviceName });
  let pair;
  let publicKey;
  try {
    pair = await newKey();
    publicKey = publicJwk(await crypto.subtle.exportKey('jwk', pair.publicKey));
  } catch (cause) {
    throw new KeyFailure(String(cause));
  }
  return prepareEnrolment({ link, issuer, deviceName, publicKey, privateKey: pair.privateKey });
}

/**
 * Sends an enrolment, and stores its account.
 * @param {PendingEnrolment} pending
 * @param {string} token
 */
async function complete({ link, issuer, deviceName, publicKey, privateKey }, token) {
  const signed = await enrolmentText({ issuer, token, deviceName, key: publicKey });
  const signature = await signText(privateKey, signed);
  let made;
  try {
    made = await enrol({ token, device_name: deviceName, public_key: publicKey, signature });
  } catch (cause) {
    if (ENDED.includes(failureOf(cause).code)) await forgetEnrolment(link);
    throw cause;
  }
  /** @type {Account} */
  const account = {
    deviceId: made.device_id,
    issuer: made.issuer,
    operator: made.operator,
    account: made.account,
    displayName: made.display_name,
    deviceName: made.device_name,
    pushKey: made.push_key ?? null,
    privateKey,
    clockOffset: 0,
  };
  await finishEnrolment(link, account);
  // This is only a hint: a browser with little space then keeps this key.
  await navigator.storage?.persist?.().catch(() => false);
  return { account, passkey: made.passkey, recovered: Boolean(made.recovered) };
}

/**
 * The message about a device that could not be set up.
 * @param {unknown} cause
 */
function failedWords(cause) {
  if (cause instanceof StorageFailure) return storageWords(cause);
  return cause instanceof KeyFailure ? text('app-enrol-no-key') : inWords(cause);
}

/**
 * Finishes an enrolment of this browser whose response was lost. Returns whether there is one.
 * @param {EnrolmentScreen} screen
 */
async function resume(screen) {
  const pending = await pendingEnrolment(await sha256Hex(screen.token));
  if (pending === undefined) return false;
  changeScreen(screen, { phase: 'confirming' });
  await welcome(screen, await complete(pending, screen.token));
  return true;
}

/** The enrolment screen, if it is the current one. */
function shown() {
  return state.screen?.name === 'enrolment' ? state.screen : null;
}

export const enrolmentActions = {
  /**
   * Shows the data of an enrolment link. A damaged link has no token.
   * @param {string | null} token
   */
  async openEnrolment(token) {
    go({
      name: 'enrolment',
      token: token ?? '',
      phase: token === null ? 'failed' : 'checking',
      failure: token === null ? new Failure(400, 'link_damaged', 'the link is damaged') : null,
      offer: null,
      deviceName: deviceName(),
      unnamed: false,
      error: '',
      copied: '',
    });
    if (token !== null) await enrolmentActions.checkEnrolment();
  },

  async checkEnrolment() {
    const screen = shown();
    if (screen === null) return;
    changeScreen(screen, { phase: 'checking', failure: null, offer: null });
    try {
      const offer = await previewEnrolment(screen.token);
      changeScreen(screen, { phase: 'ready', offer }, '#enrolment-title');
    } catch (cause) {
      await enrolmentActions.checkFailed(screen, failureOf(cause));
    }
  },

  /**
   * Shows why a link cannot be used, unless this browser itself used it and did not receive the response.
   * @param {EnrolmentScreen} screen
   * @param {FailedCall} failure
   */
  async checkFailed(screen, failure) {
    let shownFailure = failure;
    try {
      if (failure.code === 'link_used' && (await resume(screen))) return;
    } catch (cause) {
      if (!(cause instanceof StorageFailure)) shownFailure = failureOf(cause);
    }
    changeScreen(screen, { phase: 'failed', failure: shownFailure }, '#enrolment-title');
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
    let pending;
    try {
      pending = await prepared(screen.offer, screen.token, chosen);
    } catch (cause) {
      const error = alarm(`${failedWords(cause)} ${text('app-enrol-unspent')}`);
      changeScreen(screen, { phase: 'ready', error }, '#enrol');
      return;
    }
    let made;
    try {
      made = await complete(pending, screen.token);
    } catch (cause) {
      if (ENDED.includes(failureOf(cause).code)) {
        changeScreen(screen, { phase: 'failed', failure: failureOf(cause) }, '#enrolment-title');
      } else {
        changeScreen(screen, { phase: 'ready', error: alarm(failedWords(cause)) }, '#enrol');
      }
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

  /** Copies the link of this page, which this browser cannot use. */
  async copyUnusedLink() {
    const { screen } = state;
    if (screen?.name !== 'unsupported') return;
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
 * @param {Awaited<ReturnType<typeof complete>>} made
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
