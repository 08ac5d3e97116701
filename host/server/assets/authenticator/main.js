// The authenticator: the pending requests, and the accounts of this browser. Actions change the single state; `render`
// renders the page.

import { actions } from './actions.js';
import { tick } from './answer.js';
import { codeEntry } from './code_entry.js';
import { codes, deviceLink, devices } from './devices.js';
import { say, show } from './dom.js';
import { enrolment } from './enrol.js';
import { checkStored, follow, pollAll, rest, showBadge } from './follow.js';
import { attention, connection, connectionWords, home } from './home.js';
import { watchLife } from './life.js';
import { readLink } from './link_token.js';
import { go, goHome, watchBack } from './navigation.js';
import { lockable } from './passkey.js';
import { checkForUpdate, checkPush, clearNotifications, refreshPush, registerWorker } from './push.js';
import { openRequests } from './requests.js';
import { camera, login, openLink } from './scan.js';
import { loadSettings } from './settings.js';
import { change, renderWith, state, usable, zone } from './state.js';
import { keepStep, startSteps, takeLink } from './steps.js';
import { all, note, StorageFailure, storageWords } from './store.js';
import { text } from './texts.js';
import { button, el, notice, sign } from './view.js';
import { keepInSight } from './viewport.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Screen} Screen
 * @typedef {import('./types.d.ts').Child} Child
 */

/** @param {string} id */
const place = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

const app = place('app');
const { title } = document;
/** The previous content of the page: the number of pending requests, and the problem of the connection. */
const before = { waiting: 0, connection: '' };

/** @param {import('./types.d.ts').UnsupportedScreen} screen */
function unsupported({ why, hasLink, copied }) {
  const copyLink = button(text('app-enrol-copy'), actions.copyUnusedLink, 'small');
  return el(
    'div',
    { key: 'unsupported', class: 'card' },
    sign('mark', 'warn'),
    el('h2', {}, text('app-unsupported')),
    el('p', { class: 'lead' }, why),
    hasLink && notice(text('app-enrol-unspent'), 'calm', copyLink, el('span', { role: 'status' }, copied)),
  );
}

/**
 * Shows why the app does not work in this browser.
 * @param {string} why
 */
function goUnsupported(why) {
  go({ name: 'unsupported', why, hasLink: readLink(location.hash)?.kind === 'enrol', copied: '' });
}

/**
 * @param {State} known
 * @param {Screen} screen
 * @returns {Child[]}
 */
function view(known, screen) {
  switch (screen.name) {
    case 'home':
      return home(known, actions);
    case 'enrolment':
      return [enrolment(known, screen, actions)];
    case 'entry':
      return [codeEntry(known, screen, actions)];
    case 'login':
      return [login(known, screen, actions)];
    case 'camera':
      return [camera(screen, actions)];
    case 'devices':
      return [devices(known, screen, actions)];
    case 'link':
      return [deviceLink(screen, actions)];
    case 'codes':
      return [codes(screen, actions)];
    case 'unsupported':
      return [unsupported(screen)];
  }
}

/**
 * Renders the state.
 * @param {State} known
 */
function render(known) {
  if (known.screen === null) return;
  keepStep();
  show(place('connection'), connection(known));
  show(place('attention'), attention(known, actions));
  show(app, view(known, known.screen));
  const waiting = openRequests(known).length;
  document.title = waiting > 0 ? `(${waiting}) ${title}` : title;
  if (waiting !== before.waiting) showBadge();
  const words = connectionWords(known);
  if (words !== before.connection) say(words === '' ? text('app-connected') : words);
  Object.assign(before, { waiting, connection: words });
}

/** The interval at which the app looks whether the browser still has its data, in milliseconds. */
const STORED_MS = 5_000;

/** The parts of an account to which the portal leads, by the hashes of their addresses. */
const PARTS = new Set(['#devices', '#protection']);

/**
 * Opens a part of the account to which the portal leads. Of several accounts, the user chooses one. Returns whether the
 * address names such a part.
 */
function openPart() {
  const part = location.hash;
  if (!PARTS.has(part)) return false;
  history.replaceState(history.state, '', location.pathname);
  const accounts = usable(state);
  const [only] = accounts;
  change((known) => {
    known.wanted = true;
  });
  goHome(zone('accounts'));
  if (part === '#devices' && accounts.length === 1) actions.openDevices(only.account.deviceId);
  return true;
}

/** Shows the screen of the address, or the previous screen of a reloaded page. */
function begin() {
  const step = startSteps();
  if (openLink(location.hash) || openPart()) return;
  goHome();
  if (step?.name === 'devices' && step.deviceId !== undefined) actions.openDevices(step.deviceId);
}

/** Handles a link on this page. */
function followLink() {
  takeLink();
  if (!openLink(location.hash) && !openPart()) keepStep();
}

/** The actions of the buttons that lead to the home screen, by screen. */
const LEAVING = /** @type {Record<string, (() => void) | undefined>} */ ({
  devices: actions.leaveDevices,
  camera: actions.leaveCamera,
  enrolment: actions.leaveEnrolment,
  entry: actions.leaveEntry,
  login: actions.leaveLogin,
});

/** Polls every account at once, because the user looks at the app, or an event occurred. */
function look() {
  if (document.hidden) return;
  pollAll();
  checkStored();
  clearNotifications();
  checkForUpdate();
}

function noteConnection() {
  change((known) => {
    known.online = navigator.onLine;
  });
}

function listen() {
  watchLife();
  keepInSight();
  watchBack({ leave: (name) => (LEAVING[name] ?? goHome)(), devices: actions.openDevices });
  window.addEventListener('hashchange', followLink);
  window.addEventListener('online', () => {
    noteConnection();
    look();
  });
  window.addEventListener('offline', noteConnection);
  window.addEventListener('assent-database-closed', checkStored);
  // Not each browser closes a database whose data it clears.
  setInterval(() => !document.hidden && checkStored(), STORED_MS);
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) rest();
    else look();
  });
  navigator.serviceWorker?.addEventListener('message', (event) => {
    if (event.data?.type === 'look') look();
  });
  setInterval(tick, 500);
}

async function start() {
  renderWith(render);
  state.operator = app.dataset.operator ?? '';
  state.reportCooldown = Number(app.dataset.reportCooldown ?? 0);
  loadSettings();
  state.online = navigator.onLine;
  state.camera = Boolean(navigator.mediaDevices);
  if (!self.isSecureContext || !crypto.subtle) {
    goUnsupported(text('app-unsupported-insecure'));
    return;
  }
  let accounts;
  try {
    accounts = await all();
    await note();
  } catch (cause) {
    goUnsupported(storageWords(cause instanceof StorageFailure ? cause : new StorageFailure(cause)));
    return;
  }
  listen();
  for (const account of accounts) follow(account);
  begin();
  lockable.then((able) =>
    change((known) => {
      known.lockable = able;
    }),
  );
  await registerWorker();
  await checkPush();
  await clearNotifications();
  await refreshPush(usable(state).map(({ account }) => account));
}

start();
