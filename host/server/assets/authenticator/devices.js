// The devices of an account: the list, another device, and the recovery codes for users without a device.

import { notificationWords } from './account_notifications.js';
import { call, failureOf, inWords } from './api.js';
import { ask, say } from './dom.js';
import { pollNow, takeDeviceName } from './follow.js';
import { alarm, changeScreen, copy, go, goHome, mayLeave } from './navigation.js';
import { callWithPasskey } from './passkey.js';
import { change, state, zone } from './state.js';
import { day, text, timeOfDay } from './texts.js';
import { button, complaint, el, facts, notice, picture, sign } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Followed} Followed
 * @typedef {import('./types.d.ts').Device} Device
 * @typedef {import('./types.d.ts').Devices} Devices
 * @typedef {import('./types.d.ts').DevicesScreen} DevicesScreen
 * @typedef {import('./types.d.ts').LinkScreen} LinkScreen
 * @typedef {import('./types.d.ts').CodesScreen} CodesScreen
 * @typedef {import('./types.d.ts').FailedCall} FailedCall
 * @typedef {import('./types.d.ts').Child} Child
 */

/**
 * A card with a title that takes the focus, and content below.
 * @param {string} key
 * @param {string} title
 * @param {Child[]} content
 * @param {...Child} more
 */
function card(key, title, content, ...more) {
  return el(
    'div',
    { key, class: 'card' },
    el('h2', { id: `${key}-title` }, title),
    el('div', { class: 'stack' }, ...content),
    ...more,
  );
}

function looking() {
  return el('p', { class: 'muted', role: 'status' }, text('app-devices-looking'));
}

/**
 * The screen of an account's devices.
 * @param {State} state
 * @param {DevicesScreen} screen
 * @param {Actions} act
 * @returns {Child}
 */
export function devices(state, screen, act) {
  const { account } = state.accounts.get(screen.deviceId) ?? {};
  const title = text('app-devices-title', { name: account?.displayName ?? '' });
  return card(
    'devices',
    title,
    devicesContent(screen, act),
    button(text('app-devices-back'), act.leaveDevices, 'quiet'),
  );
}

/**
 * @param {DevicesScreen} screen
 * @param {Actions} act
 * @returns {Child[]}
 */
function devicesContent(screen, act) {
  const { failure, known } = screen;
  if (failure !== null) {
    const again = button(text('app-enrol-again-try'), () => act.openDevices(screen.deviceId), 'small');
    return [notice(inWords(failure), 'warn', again)];
  }
  if (known === null) return [looking()];
  const count = known.recovery_codes;
  return [
    el('ul', { class: 'devices' }, ...known.devices.map((device) => row(screen, device, act))),
    button(text('app-devices-add'), act.openLink),
    el('h3', {}, text('app-recovery')),
    el('p', { class: 'muted' }, text('app-recovery-about')),
    notice(
      count > 0 ? text('app-recovery-left', { count }) : text('app-recovery-left-none'),
      count > 2 ? 'calm' : 'warn',
    ),
    button(text('app-recovery-create'), act.makeCodes),
  ];
}

/**
 * @param {DevicesScreen} screen
 * @param {Device} device
 * @param {Actions} act
 */
function row({ renaming, errors }, device, act) {
  if (renaming?.id === device.id) return el('li', { key: device.id }, nameForm(renaming, device.name, act));
  const line = (/** @type {string} */ words) => el('p', { class: 'muted small' }, words);
  const at = { day: day(device.enrolled_at), time: timeOfDay(device.enrolled_at) };
  return el(
    'li',
    { key: device.id },
    el(
      'div',
      {},
      el('strong', {}, el('bdi', {}, device.name)),
      line(
        device.is_current
          ? text('app-devices-this', { day: at.day, time: at.time })
          : text('app-devices-since', { day: at.day, time: at.time }),
      ),
      line(
        device.used_at
          ? text('app-devices-used', { day: day(device.used_at), time: timeOfDay(device.used_at) })
          : text('app-devices-unused'),
      ),
      device.has_passkey && line(text('app-devices-protected')),
      device.passkey_sign_in && line(text('app-devices-passkey-sign-in')),
      complaint(errors[device.id] ?? ''),
    ),
    el(
      'div',
      { key: 'actions', class: 'actions' },
      button(text('app-devices-rename'), () => act.rename(device.id), 'quiet small', { id: `rename-${device.id}` }),
      !device.is_current && button(text('app-devices-remove'), () => act.removeDevice(device.id), 'quiet danger small'),
    ),
  );
}

/**
 * The form in the row of a device for its new name.
 * @param {NonNullable<DevicesScreen['renaming']>} renaming
 * @param {string} name
 * @param {Actions} act
 */
function nameForm({ id: device, typed, error }, name, act) {
  const id = `name-${device}`;
  const onsubmit = (/** @type {Event} */ event) => {
    event.preventDefault();
    act.saveName();
  };
  const input = el('input', {
    id,
    type: 'text',
    maxlength: '80',
    autocomplete: 'off',
    required: true,
    dir: 'auto',
    'aria-describedby': `${id}-error`,
    'aria-invalid': error === '' ? null : 'true',
    value: typed,
    oninput: (/** @type {{ target: HTMLInputElement }} */ { target }) => act.typeName(target.value),
  });
  return el(
    'form',
    { class: 'stack', novalidate: true, onsubmit },
    el('strong', {}, el('bdi', {}, name)),
    el(
      'div',
      { class: 'field' },
      el('label', { for: id }, text('app-devices-name')),
      input,
      complaint(error, { id: `${id}-error` }),
    ),
    el(
      'div',
      { class: 'actions' },
      el('button', { class: 'button primary small', type: 'submit' }, text('app-devices-rename-save')),
      button(text('app-cancel'), act.cancelRename, 'quiet small'),
    ),
  );
}

/**
 * A button that copies a text, and shows whether that succeeded.
 * @param {string} label
 * @param {() => unknown} onclick
 * @param {string} copied
 */
function copying(label, onclick, copied) {
  return el('div', { class: 'copying' }, button(label, onclick), el('span', { role: 'status' }, copied));
}

/**
 * A link for another device, as a QR code and as text.
 * @param {LinkScreen} screen
 * @param {Actions} act
 * @returns {Child}
 */
export function deviceLink(screen, act) {
  return card(
    'link',
    text('app-devices-add'),
    linkContent(screen, act),
    button(text('app-done'), act.leaveLink, 'quiet'),
  );
}

/**
 * @param {LinkScreen} screen
 * @param {Actions} act
 * @returns {Child[]}
 */
function linkContent({ failure, link, copied, added }, act) {
  if (failure !== null) {
    return [notice(inWords(failure), 'warn', button(text('app-enrol-again-try'), act.openLink, 'small'))];
  }
  if (link === null) return [looking()];
  if (added !== null) {
    return [
      sign('check', 'good'),
      el('p', { class: 'lead' }, text('app-devices-added', { device: added })),
      el('p', { class: 'muted' }, text('app-devices-added-about')),
    ];
  }
  const code = { class: 'qr', alt: text('app-enrol-scan-picture'), width: '220', height: '220' };
  return [
    el('p', { class: 'lead' }, text('app-devices-add-about')),
    link.link_qr && el('img', { ...code, src: picture(link.link_qr) }),
    copying(text('app-devices-copy'), act.copyLink, copied),
    facts([[text('app-enrol-until'), timeOfDay(link.expires_at)]]),
    notice(text('app-devices-add-warning'), 'warn'),
  ];
}

/**
 * New recovery codes, which are shown only once.
 * @param {CodesScreen} screen
 * @param {Actions} act
 * @returns {Child}
 */
export function codes(screen, act) {
  return card('codes', text('app-recovery-new'), codesContent(screen, act));
}

function where() {
  return text('app-recovery-where', { address: `${location.origin}/recover` });
}

/**
 * @param {CodesScreen} screen
 * @param {Actions} act
 * @returns {Child[]}
 */
function codesContent({ failure, codes: made, hasEarlier, busy, error, file, copied }, act) {
  if (failure !== null) {
    const again = button(text('app-enrol-again-try'), act.retryCodes, 'small');
    const back = button(text('app-devices-back'), act.leaveCodes, 'quiet small');
    return [notice(inWords(failure), 'warn', el('div', { class: 'actions' }, again, back))];
  }
  if (made === null || file === null) return [looking()];
  const save = { class: 'button', href: file.url, download: 'recovery-codes.txt' };
  return [
    el('p', { class: 'lead screen-only' }, text('app-recovery-once')),
    el('ol', { class: 'codes', dir: 'ltr' }, ...made.map((code) => el('li', {}, el('code', {}, code)))),
    el('p', { class: 'muted' }, where()),
    el(
      'div',
      { class: 'actions keep screen-only' },
      copying(text('app-recovery-copy'), act.copyCodes, copied),
      el('a', save, text('app-recovery-save')),
      button(text('app-recovery-print'), act.printCodes),
    ),
    el(
      'p',
      { class: 'screen-only' },
      hasEarlier ? text('app-recovery-confirm-earlier') : text('app-recovery-confirm-none'),
    ),
    complaint(error),
    el(
      'div',
      { key: 'confirm', class: 'actions screen-only' },
      button(text('app-recovery-kept'), act.confirmCodes, 'primary', { disabled: busy, 'data-part': 'confirm' }),
      button(text('app-recovery-discard'), act.leaveCodes, 'quiet', { disabled: busy }),
    ),
  ];
}

/**
 * The notifications of an account.
 * @param {Followed} known
 * @param {Actions} act
 */
export function notificationsCard({ account: { deviceId, displayName }, notifications, errors }, act) {
  const lines = notifications.map(notificationWords).filter(Boolean);
  return el(
    'div',
    { key: deviceId, class: 'card' },
    sign('mark', 'warn'),
    el('h2', {}, text('app-notifications', { name: displayName })),
    el('ul', {}, ...lines.map((words) => el('li', {}, words))),
    el('p', { class: 'muted' }, text('app-notifications-about')),
    complaint(errors.notifications),
    el(
      'div',
      { key: 'actions', class: 'actions' },
      // Neither button is the primary one, because a habit must not choose for the user.
      button(text('app-notifications-read'), () => act.readNotifications(deviceId)),
      button(text('app-notifications-not-me'), () => act.openDevices(deviceId)),
    ),
  );
}

/** The screen of the devices, if it is the current one. */
function shownDevices() {
  return state.screen?.name === 'devices' ? state.screen : null;
}

/** The screen of the link, if it is the current one. */
function shownLink() {
  return state.screen?.name === 'link' ? state.screen : null;
}

/** The screen of the codes, if it is the current one. */
function shownCodes() {
  return state.screen?.name === 'codes' ? state.screen : null;
}

/** @param {string} deviceId */
function accountOf(deviceId) {
  return state.accounts.get(deviceId)?.account;
}

/**
 * Shows an account's devices.
 * @param {string} deviceId
 */
async function openDevices(deviceId) {
  const account = accountOf(deviceId);
  if (!account) return;
  /** @type {DevicesScreen} */
  const screen = { name: 'devices', deviceId, failure: null, known: null, renaming: null, errors: {} };
  go(screen, '#devices-title');
  try {
    const known = await call(account, 'get', '/devices');
    const own = known.devices.find(({ is_current: isCurrent }) => isCurrent);
    if (own) takeDeviceName(account, own.name);
    changeScreen(screen, { known });
  } catch (cause) {
    changeScreen(screen, { failure: failureOf(cause) });
  }
}

/**
 * Creates new codes of an account, and shows them.
 * @param {string} deviceId
 * @param {boolean} hasEarlier
 */
async function newCodes(deviceId, hasEarlier) {
  const account = accountOf(deviceId);
  if (!account) return;
  const left = () => {
    if (screen.file !== null) URL.revokeObjectURL(screen.file.url);
  };
  /** @type {CodesScreen} */
  const screen = {
    name: 'codes',
    deviceId,
    failure: null,
    id: '',
    codes: null,
    hasEarlier,
    busy: false,
    error: '',
    file: null,
    copied: '',
    left,
  };
  go(screen, '#codes-title');
  try {
    const { id, codes: made } = await callWithPasskey(account, 'post', '/recovery-codes', { value: {} });
    const about = text('app-recovery-file', { account: account.account, operator: account.operator });
    const words = [about, day(state.now), '', ...made, '', where(), ''].join('\n');
    const url = URL.createObjectURL(new Blob([words], { type: 'text/plain;charset=utf-8' }));
    changeScreen(screen, { id, codes: made, file: { text: words, url } });
    say(text('app-recovery-created'));
  } catch (cause) {
    changeScreen(screen, { failure: failureOf(cause) });
  }
}

export const deviceActions = {
  openDevices,

  leaveDevices() {
    const screen = shownDevices();
    goHome(zone('accounts'));
    if (screen) pollNow(screen.deviceId);
  },

  /** @param {string} id */
  async removeDevice(id) {
    const screen = shownDevices();
    const account = screen && accountOf(screen.deviceId);
    const device = screen?.known?.devices.find((one) => one.id === id);
    if (!screen || !account || !device) return;
    const title = text('app-devices-remove-ask', { device: device.name });
    if (!(await ask(title, text('app-devices-remove-about'), text('app-account-remove-yes')))) return;
    try {
      await callWithPasskey(account, 'delete', '/devices/{id}', { parameters: { id }, value: {} });
    } catch (cause) {
      changeScreen(screen, { errors: { ...screen.errors, [id]: inWords(cause) } });
      return;
    }
    say(text('app-devices-removed'));
    if (state.screen === screen) await openDevices(screen.deviceId);
  },

  /** @param {string} id */
  rename(id) {
    const screen = shownDevices();
    const device = screen?.known?.devices.find((one) => one.id === id);
    if (!screen || !device) return;
    const field = `#${CSS.escape(`name-${id}`)}`;
    changeScreen(screen, { renaming: { id, typed: device.name, error: '' } }, field);
    // The user can replace the present text at once.
    const input = document.querySelector(field);
    if (input instanceof HTMLInputElement) input.select();
  },

  /** @param {string} typed */
  typeName(typed) {
    const screen = shownDevices();
    if (screen?.renaming) changeScreen(screen, { renaming: { ...screen.renaming, typed, error: '' } });
  },

  cancelRename() {
    const screen = shownDevices();
    if (screen?.renaming) changeScreen(screen, { renaming: null }, `#${CSS.escape(`rename-${screen.renaming.id}`)}`);
  },

  async saveName() {
    const screen = shownDevices();
    const account = screen && accountOf(screen.deviceId);
    if (!screen?.renaming || !account) return;
    const { id, typed } = screen.renaming;
    const name = typed.trim();
    try {
      await call(account, 'patch', '/devices/{id}', { parameters: { id }, value: { name } });
      if (screen.known?.devices.find((one) => one.id === id)?.is_current) takeDeviceName(account, name);
    } catch (cause) {
      const renaming = { id, typed: screen.renaming?.typed ?? typed, error: inWords(cause) };
      changeScreen(screen, { renaming }, `#${CSS.escape(`name-${id}`)}`);
      return;
    }
    say(text('app-devices-renamed'));
    if (state.screen === screen) await openDevices(screen.deviceId);
  },

  /** Shows a link for another device. */
  async openLink() {
    const before = shownDevices() ?? shownLink();
    const account = before && accountOf(before.deviceId);
    if (!before || !account) return;
    /** @type {LinkScreen} */
    const screen = { name: 'link', deviceId: before.deviceId, failure: null, link: null, copied: '', added: null };
    go(screen, '#link-title');
    try {
      const link = await callWithPasskey(account, 'post', '/devices/enrolment-links', { value: {} });
      changeScreen(screen, { link });
    } catch (cause) {
      changeScreen(screen, { failure: failureOf(cause) });
    }
  },

  async copyLink() {
    const screen = shownLink();
    if (!screen?.link) return;
    changeScreen(screen, { copied: await copy(screen.link.link, text('app-copied'), text('app-copy-failed')) });
  },

  async leaveLink() {
    const screen = shownLink();
    if (screen) await openDevices(screen.deviceId);
  },

  /** Creates new recovery codes, which replace the existing ones. */
  async makeCodes() {
    const screen = shownDevices();
    if (!screen?.known) return;
    const title = text('app-recovery-ask');
    const isSure =
      screen.known.recovery_codes === 0 ||
      (await ask(title, text('app-recovery-ask-about'), text('app-recovery-create')));
    if (isSure && state.screen === screen) await newCodes(screen.deviceId, screen.known.recovery_codes > 0);
  },

  async retryCodes() {
    const screen = shownCodes();
    if (screen?.failure) await newCodes(screen.deviceId, screen.hasEarlier);
  },

  async copyCodes() {
    const screen = shownCodes();
    if (!screen?.file) return;
    changeScreen(screen, { copied: await copy(screen.file.text, text('app-copied'), text('app-copy-failed')) });
  },

  /** Prints the codes; the stylesheet hides the rest of the page. */
  printCodes() {
    window.print();
  },

  /** Confirms that the user saved the new codes, so that they replace the earlier ones. */
  async confirmCodes() {
    const screen = shownCodes();
    const account = screen && accountOf(screen.deviceId);
    if (!screen?.codes || !account || screen.busy) return;
    changeScreen(screen, { busy: true, error: '' });
    try {
      await call(account, 'post', '/recovery-codes/{id}/confirm', { parameters: { id: screen.id } });
    } catch (cause) {
      const failure = failureOf(cause);
      // Codes that can no longer become valid are not shown.
      if (failure.code === 'recovery_codes_not_found') changeScreen(screen, { failure }, '#codes-title');
      else changeScreen(screen, { busy: false, error: alarm(inWords(cause)) }, '[data-part="confirm"]');
      return;
    }
    say(text('app-recovery-confirmed'));
    if (state.screen === screen) await openDevices(screen.deviceId);
  },

  async leaveCodes() {
    const screen = shownCodes();
    if (screen && (await mayLeave()) && state.screen === screen) await openDevices(screen.deviceId);
  },

  /** @param {string} deviceId */
  async readNotifications(deviceId) {
    const known = state.accounts.get(deviceId);
    const last = known?.notifications.at(-1);
    if (!known || !last) return;
    let error = '';
    try {
      await call(known.account, 'post', '/notifications/read', { value: { last: last.id } });
    } catch (cause) {
      error = inWords(cause);
    }
    change(() => {
      known.errors.notifications = error;
      if (error !== '') return undefined;
      known.notifications = [];
      return zone('accounts');
    });
  },
};
