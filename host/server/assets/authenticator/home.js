// The home screen: the requests, the notifications, the accounts. On each screen: whether the server is reachable, and
// whether requests are pending on the home screen.

import { accountCard, addAccount } from './accounts.js';
import { inWords } from './api.js';
import { notificationsCard } from './devices.js';
import { requestsZone } from './request.js';
import { openRequests } from './requests.js';
import { settings } from './settings.js';
import { usable, withNotifications } from './state.js';
import { phrase, text, timeOfDay } from './texts.js';
import { button, complaint, el, notice, sign } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Followed} Followed
 * @typedef {import('./types.d.ts').Child} Child
 */

/**
 * A description of the connection's problem; empty if there is none.
 * @param {State} state
 */
export function connectionWords(state) {
  if (!state.online) return text('app-offline');
  const failures = usable(state).flatMap(({ failure }) => failure ?? []);
  if (failures.some(({ passing }) => passing)) return text('app-unreachable');
  return failures.length > 0 ? inWords(failures[0]) : '';
}

/**
 * @param {State} state
 * @returns {Child[]}
 */
export function connection(state) {
  const words = connectionWords(state);
  return [words !== '' && notice(words, 'warn')];
}

/**
 * The notice on another screen that requests are pending on the home screen.
 * @param {State} state
 * @param {Actions} act
 * @returns {Child[]}
 */
export function attention(state, act) {
  if (state.screen === null || state.screen.name === 'home' || state.screen.name === 'unsupported') return [];
  const [waiting] = openRequests(state);
  const [notified] = withNotifications(state);
  const isNotification = !waiting && notified;
  let words = '';
  if (waiting?.request.action) words = text('app-attention-action');
  else if (waiting) words = text('app-attention', { application: waiting.request.application.name });
  else if (notified) words = text('app-notifications', { name: notified.account.displayName });
  if (words === '') return [];
  const label = text(isNotification ? 'app-attention-go-notifications' : 'app-attention-go');
  return [notice(words, 'warn', button(label, act.attend, 'small'))];
}

/**
 * A part of the home screen, which has no height while it is empty.
 * @param {string} name
 * @param {...Child} children
 */
function zone(name, ...children) {
  return el('div', { key: name, class: 'zone', 'data-zone': name }, ...children);
}

/**
 * The users with a cooldown after a denial or a report, and the button that ends it.
 * @param {State} state
 * @param {Actions} act
 */
function cooldowns(state, act) {
  const known = [...state.accounts.values()];
  const paused = usable(state).flatMap(({ account, cooldownUntil, errors }) => {
    if (cooldownUntil === null || cooldownUntil <= state.now) return [];
    const time = timeOfDay(cooldownUntil);
    const words =
      known.length > 1 ? text('app-cooldown-of', { name: account.displayName, time }) : text('app-cooldown', { time });
    const lift = button(text('app-cooldown-end'), () => act.endCooldown(account.deviceId), 'small');
    return [notice(words, 'warn', lift, el('p', { role: 'alert' }, errors.cooldown))];
  });
  const lifted = known.flatMap(({ account, lifted: isLifted }) => {
    const seen = button(text('app-done'), () => act.seeCooldownEnded(account.deviceId), 'small');
    return isLifted ? [notice(text('app-cooldown-ended'), 'calm', seen)] : [];
  });
  return zone('cooldowns', ...paused, ...lifted);
}

/**
 * @param {State} state
 * @param {Actions} act
 * @returns {Child}
 */
function notifications(state, act) {
  if (state.push === 'denied') return el('p', { class: 'muted small' }, text('app-push-blocked'));
  if (state.push !== 'off') return null;
  const turnOn = button(text('app-push-turn-on'), act.turnOnPush, 'primary');
  return notice(text('app-push-offer'), 'calm', turnOn, el('p', { role: 'alert' }, state.pushError));
}

/**
 * The welcome in a browser without accounts.
 * @param {State} state
 */
function welcome({ operator, parted, wanted }) {
  return el(
    'div',
    { key: 'welcome', class: 'card ready' },
    sign('shield', 'calm'),
    el('h2', {}, text('app-welcome')),
    el('p', { class: 'muted' }, ...phrase('app-welcome-about', { operator })),
    wanted && el('p', {}, text('app-welcome-elsewhere')),
    !parted && !wanted && el('p', { class: 'muted small' }, text('app-welcome-lost')),
    el('p', {}, el('a', { href: '/recover' }, text('app-welcome-recover'))),
  );
}

/**
 * Confirms that an account was enrolled just now. Below are the next steps: the passkey, then the recovery codes for
 * the loss of this device.
 * @param {State} state
 * @param {Actions} act
 * @returns {Child}
 */
function enrolled(state, act) {
  const known = state.welcome && state.accounts.get(state.welcome.deviceId);
  if (!state.welcome || !known) return null;
  const { phase, recovered } = state.welcome;
  const next = phase === 'offer' ? passkeyOffer(known, act) : backupOffer(known, recovered, act);
  return el(
    'div',
    { key: 'enrolled', class: 'card outcome' },
    sign('check', 'good'),
    el('h2', { id: 'welcome-title' }, text('app-enrolled')),
    el('p', { class: 'lead' }, ...phrase('app-enrolled-about', { name: known.account.displayName })),
    next,
  );
}

/**
 * @param {Followed} known
 * @param {Actions} act
 */
function passkeyOffer({ busy, errors }, act) {
  const options = { disabled: busy, 'data-part': 'protect' };
  return el(
    'div',
    { key: 'offer', class: 'next-step', 'data-part': 'offer' },
    el('h3', {}, text('app-passkey-offer-title')),
    el('p', { class: 'muted' }, text('app-passkey-offer')),
    complaint(errors.passkey),
    el(
      'div',
      { class: 'actions' },
      button(text('app-passkey-add-recommended'), act.protectEnrolled, 'primary', options),
      button(text('app-passkey-skip'), act.skipPasskey),
    ),
  );
}

/**
 * The offer of new recovery codes. A user who came with a recovery code has lost a device, and used up a code.
 * @param {Followed} known
 * @param {boolean} recovered
 * @param {Actions} act
 */
function backupOffer({ account: { deviceId } }, recovered, act) {
  const label = text(recovered ? 'app-notifications-devices' : 'app-enrolled-codes');
  return el(
    'div',
    { key: 'backup', class: 'next-step' },
    el('p', { class: 'muted' }, text(recovered ? 'app-enrolled-recovered' : 'app-enrolled-codes-about')),
    el(
      'div',
      { class: 'actions' },
      button(label, () => act.openDevices(deviceId), 'primary'),
      button(text('app-done'), act.closeWelcome),
    ),
  );
}

/**
 * @param {State} state
 * @param {Actions} act
 */
function accounts(state, act) {
  const known = [...state.accounts.values()];
  const count = known.length;
  return el(
    'section',
    { key: 'accounts', class: 'zone', 'data-zone': 'accounts', 'aria-label': text('app-accounts') },
    count > 0 && el('h2', {}, text('app-your-accounts', { count })),
    ...known.map((one) => accountCard(state, one, act)),
    addAccount(state, count === 0, act),
  );
}

/**
 * @param {State} state
 * @param {Actions} act
 * @returns {Child[]}
 */
export function home(state, act) {
  // A pending request is above everything else, because its time is short.
  const isLive = openRequests(state).length > 0;
  const update = notice(text('app-update-ready'), 'calm', button(text('app-update'), act.loadUpdate));
  const install = notice(text('app-install-offer'), 'calm', button(text('app-install'), act.install));
  return [
    isLive && requestsZone(state, act),
    zone('update', state.update && update),
    state.accounts.size === 0 && welcome(state),
    // A notification may be about an attacker's device. The card of a request has it too.
    zone('notifications', ...withNotifications(state).map((known) => notificationsCard(known, act))),
    zone('enrolled', enrolled(state, act)),
    cooldowns(state, act),
    !isLive && requestsZone(state, act),
    zone(
      'scan',
      state.camera && button(text('app-scan'), act.scan),
      usable(state).length > 0 && button(text('app-code'), act.typeDeviceCode),
    ),
    zone('push', notifications(state, act)),
    zone('install', state.install !== null && install),
    accounts(state, act),
    state.accounts.size > 0 && settings(state, act),
  ];
}
