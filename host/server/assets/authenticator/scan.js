// The code of a login page: the user of the scanning device signs in there. A camera in the app reads codes, too. An
// app on the Home Screen of an iPhone or iPad has a storage of its own, which the camera app does not open.

import { approveHere } from './answer.js';
import { call, Failure, failureOf, inWords } from './api.js';
import { openEntry } from './code_entry.js';
import { say } from './dom.js';
import { enrolmentActions } from './enrol.js';
import { pollNow } from './follow.js';
import { codeInLink, readLink } from './link_token.js';
import { changeScreen, go, goHome, mayLeave } from './navigation.js';
import { state, usable, zone } from './state.js';
import { keepStep } from './steps.js';
import { phrase, text } from './texts.js';
import { button, complaint, el, facts, notice, sign, waiting } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').ApprovalRequest} ApprovalRequest
 * @typedef {import('./types.d.ts').CameraScreen} CameraScreen
 * @typedef {import('./types.d.ts').QrSignInPreview} QrSignInPreview
 * @typedef {import('./types.d.ts').LoginScreen} LoginScreen
 * @typedef {import('./types.d.ts').Child} Child
 */

/** The interval between two reads of the camera's image, and the maximum size of that image. */
const LOOK_MS = 120;
const LARGEST = 720;

/**
 * Previews the sign-in of this token. The login page is not notified.
 * @param {string} token
 * @param {Account[]} accounts
 * @returns {Promise<QrSignInPreview>}
 */
async function previewLogin(token, [account, ...others]) {
  try {
    return await call(account, 'post', '/qr-sign-ins/preview', { value: { token } });
  } catch (cause) {
    // This account's device was removed; the call may succeed with another account's device.
    if (failureOf(cause).code === 'device_not_enrolled' && others.length > 0) return previewLogin(token, others);
    throw cause;
  }
}

/**
 * The sign-in that the user would approve, and the account to use.
 * @param {State} state
 * @param {QrSignInPreview} offer
 * @param {Actions} act
 */
function choice(state, { application, place, browser, same_browser: isHere }, act) {
  const unknown = text('app-request-not-known');
  // The app always asks, also with one account: an attacker who leads a user to such a code must not learn the user's
  // name.
  const accounts = usable(state).map(({ account }) => {
    const words = isHere
      ? text('app-scan-approve-as', { name: account.displayName, account: account.account })
      : text('app-scan-as', { name: account.displayName, account: account.account });
    const kind = usable(state).length === 1 ? 'primary' : '';
    return button(words, () => act.signInAs(account.deviceId), kind, { key: account.deviceId });
  });
  return el(
    'div',
    { key: 'choice', class: 'card' },
    el('h2', { id: 'login-title' }, ...phrase('app-scan-which', { application: application.name })),
    el('p', { class: 'lead' }, text(isHere ? 'app-scan-here-about' : 'app-scan-which-about')),
    facts([
      [text('app-request-place'), place || unknown],
      [text('app-request-browser'), browser || unknown],
    ]),
    el('div', { class: 'stack' }, ...accounts, button(text('app-enrol-not-now'), act.leaveLogin, 'quiet')),
  );
}

/**
 * The screen of a login whose code was scanned.
 * @param {State} state
 * @param {LoginScreen} screen
 * @param {Actions} act
 * @returns {Child}
 */
export function login(state, { phase, failure, offer, loginPage }, act) {
  if (phase === 'not-enrolled') {
    return el(
      'div',
      { key: 'not-enrolled', class: 'card' },
      sign('mark', 'warn'),
      el('h2', { id: 'login-title' }, text('app-scan-not-enrolled')),
      el('p', { class: 'lead' }, text('app-scan-not-enrolled-about')),
      button(text('app-enrol-leave'), act.leaveLogin, 'primary'),
    );
  }
  if (failure !== null) {
    return el(
      'div',
      { key: 'failed', class: 'card' },
      sign('mark', 'warn'),
      el('h2', { id: 'login-title' }, text('app-scan-failed')),
      el('p', { class: 'lead' }, inWords(failure)),
      el(
        'div',
        { class: 'actions' },
        (failure.passing || loginPage !== null) && button(text('app-enrol-again-try'), act.retryLogin, 'primary'),
        loginPage === null
          ? button(text('app-enrol-leave'), act.leaveLogin)
          : el('a', { class: 'button', href: loginPage }, text('app-scan-back')),
      ),
    );
  }
  if (phase === 'ready' && offer !== null) return choice(state, offer, act);
  return waiting(phase, phase === 'asking' ? text('app-scan-asking') : text('app-scan-looking'));
}

/**
 * The image of the camera.
 * @param {CameraScreen} screen
 * @param {Actions} act
 */
export function camera({ video, phase, foreign }, act) {
  return el(
    'div',
    { key: 'camera', class: 'card' },
    el('h2', { id: 'camera-title' }, text('app-scan')),
    el('p', { class: 'muted' }, text('app-scan-about')),
    phase === 'on' ? video : notice(text('app-scan-no-camera'), 'warn'),
    complaint(foreign ? text('app-scan-foreign') : ''),
    button(text('app-scan-stop'), act.leaveCamera),
  );
}

/**
 * The text of the code in the image, or null if there is no readable code.
 * @param {HTMLVideoElement} video
 * @param {HTMLCanvasElement} canvas
 * @param {typeof import('../vendor/qr/decode.js').default} decode
 */
function read(video, canvas, decode) {
  const scale = Math.min(1, LARGEST / Math.max(video.videoWidth, video.videoHeight, 1));
  canvas.width = Math.floor(video.videoWidth * scale);
  canvas.height = Math.floor(video.videoHeight * scale);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  if (canvas.width === 0 || canvas.height === 0 || context === null) return null;
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  try {
    return decode(context.getImageData(0, 0, canvas.width, canvas.height)) || null;
  } catch {
    return null;
  }
}

/**
 * Whether a link leads to this server: a code of another server is for another app.
 * @param {string} link
 */
function isOurs(link) {
  if (link.startsWith(`${location.origin}/`) && codeInLink(link, location.origin) !== null) return true;
  return link.startsWith(`${location.origin}/authenticator#`) && readLink(link) !== null;
}

/**
 * Reads the camera's image until it contains a code of this server, or the user leaves the screen.
 * @param {CameraScreen} screen
 */
async function watch(screen) {
  // Only users who scan need this module.
  const { default: decode } = await import('../vendor/qr/decode.js');
  const canvas = document.createElement('canvas');
  const look = () => {
    if (state.screen !== screen) return;
    const link = read(screen.video, canvas, decode);
    if (link !== null && isOurs(link)) {
      openLink(link);
      return;
    }
    if (link !== null && !screen.foreign) changeScreen(screen, { foreign: true });
    setTimeout(look, LOOK_MS);
  };
  look();
}

/**
 * Opens a link of this server, from the address of this page or from a scanned code. Returns whether the link leads to
 * a screen.
 * @param {string} link
 */
export function openLink(link) {
  const found = readLink(link);
  const code = codeInLink(link, location.origin);
  if (found === null && code === null) return false;
  const open = async () => {
    if (!(await mayLeave())) keepStep();
    else if (code !== null) openEntry(code);
    else if (found === null) return;
    else if (found.kind === 'enrol') await enrolmentActions.openEnrolment(found.token);
    else await openLogin(found.token);
  };
  open();
  return true;
}

/**
 * Shows the sign-in of a scanned code, which the user confirms before the approval. A damaged code has no token.
 * @param {string | null} token
 */
async function openLogin(token) {
  const isEnrolled = usable(state).length > 0;
  /** @type {LoginScreen} */
  const screen = {
    name: 'login',
    token: token ?? '',
    phase: 'looking',
    failure: null,
    offer: null,
    deviceId: null,
    loginPage: null,
  };
  if (token === null) {
    const failure = new Failure(400, 'link_damaged', 'the code is damaged');
    go({ ...screen, phase: 'failed', failure }, '#login-title');
  } else if (isEnrolled) {
    go(screen);
    await offerLogin(screen);
  } else {
    go({ ...screen, phase: 'not-enrolled' }, '#login-title');
  }
}

/** @param {LoginScreen} screen */
async function offerLogin(screen) {
  changeScreen(screen, { phase: 'looking', failure: null });
  try {
    const accounts = usable(state).map(({ account }) => account);
    const offer = await previewLogin(screen.token, accounts);
    changeScreen(screen, { phase: 'ready', offer }, '#login-title');
  } catch (cause) {
    changeScreen(screen, { phase: 'failed', failure: failureOf(cause) }, '#login-title');
  }
}

/**
 * @param {LoginScreen} screen
 * @param {string} deviceId
 */
async function take(screen, deviceId) {
  const account = state.accounts.get(deviceId)?.account;
  if (!account) return;
  changeScreen(screen, { phase: 'asking', failure: null, deviceId });
  try {
    const value = { token: screen.token };
    const { request, login_page: loginPage } = await call(account, 'post', '/qr-sign-ins', { value });
    changeScreen(screen, { loginPage });
    // The user may have gone back in the meantime.
    if (state.screen !== screen) return;
    if (loginPage !== null) {
      await approveAtOnce(account, request);
      if (state.screen === screen) location.assign(loginPage);
      return;
    }
  } catch (cause) {
    changeScreen(screen, { phase: 'failed', failure: failureOf(cause) }, '#login-title');
    return;
  }
  if (state.screen === screen) goHome(zone('requests'));
  pollNow(deviceId);
}

/**
 * Approves the sign-in in this browser at once, because the user has just chosen the account for it on this page. A
 * request that is not pending any more was decided already, as its login page shows.
 * @param {Account} account
 * @param {string} id
 */
async function approveAtOnce(account, id) {
  const { requests } = await call(account, 'get', '/requests', { query: '?wait=0' });
  const request = requests.find((/** @type {ApprovalRequest} */ pending) => pending.id === id);
  if (request) await approveHere(account, request);
}

/** The screen of a login, if it is the current one. */
function shownLogin() {
  return state.screen?.name === 'login' ? state.screen : null;
}

export const scanActions = {
  /** Reads a code with the camera. */
  async scan() {
    const video = document.createElement('video');
    video.className = 'camera';
    video.muted = true;
    video.playsInline = true;
    let /** @type {MediaStream | null} */ stream = null;
    const left = () => {
      for (const track of stream?.getTracks() ?? []) track.stop();
    };
    /** @type {CameraScreen} */
    const screen = { name: 'camera', video, phase: 'on', foreign: false, left };
    go(screen, '#camera-title');
    try {
      stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' }, audio: false });
      // The user may have left the screen before the permission.
      if (state.screen !== screen) return left();
      video.srcObject = stream;
      await video.play();
    } catch {
      if (state.screen === screen) say(text('app-scan-no-camera'), true);
      changeScreen(screen, { phase: 'no-camera' });
      return undefined;
    }
    return watch(screen);
  },

  leaveCamera() {
    goHome(zone('scan'));
  },

  /** @param {string} deviceId */
  async signInAs(deviceId) {
    const screen = shownLogin();
    if (screen?.phase === 'ready') await take(screen, deviceId);
  },

  async retryLogin() {
    const screen = shownLogin();
    if (screen === null) return;
    if (screen.deviceId === null) await offerLogin(screen);
    else await take(screen, screen.deviceId);
  },

  leaveLogin() {
    goHome(zone('requests'));
  },
};
