// The devices of an account: all of them, another one, and the codes for when there is none any more.

import { call, inWords } from './api.js';
import { callWithPasskey } from './passkey.js';
import { put } from './store.js';
import { region, text } from './texts.js';
import { ask, button, el, facts, focusOn, notice, say, sign } from './view.js';

const day = (seconds) => new Date(seconds * 1000).toLocaleDateString(region, { dateStyle: 'medium' });
const timeOfDay = (seconds) => new Date(seconds * 1000).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });

/** The screen of an account's devices. `left()` is called when the person is done. */
export async function showDevices(place, account, left) {
  const heading = el('h2', {}, text('app-devices-title', { name: account.displayName }));
  const content = el('div', { class: 'stack' }, el('p', { class: 'muted', role: 'status' }, text('app-devices-looking')));
  place.replaceChildren(el('div', { class: 'card' }, heading, content, button(text('app-devices-back'), left, 'quiet')));
  focusOn(heading);
  const again = () => showDevices(place, account, left);
  let known;
  try {
    known = await call(account, 'GET', '/devices');
  } catch (failure) {
    content.replaceChildren(notice(inWords(failure), 'warn', button(text('app-enrol-again-try'), again, 'small')));
    return;
  }
  content.replaceChildren(
    el('ul', { class: 'devices' }, ...known.devices.map((device) => row(account, device, again))),
    button(text('app-devices-add'), () => showLink(place, account, again)),
    el('h3', {}, text('app-recovery')),
    el('p', { class: 'muted' }, text('app-recovery-about')),
    notice(known.recovery_codes > 0 ? text('app-recovery-left', { count: known.recovery_codes }) : text('app-recovery-left-none'),
      known.recovery_codes > 2 ? 'calm' : 'warn'),
    button(text('app-recovery-make'), () => makeCodes(place, account, known.recovery_codes, again)));
}

function row(account, device, again) {
  const error = el('p', { class: 'field-error', role: 'alert', hidden: true });
  const remove = async () => {
    if (!(await ask(text('app-devices-remove-ask', { device: device.name }), text('app-devices-remove-about'), text('app-account-remove-yes')))) return;
    try {
      await callWithPasskey(account, 'DELETE', `/devices/${device.id}`, {});
      say(text('app-devices-removed'));
      await again();
    } catch (failure) {
      error.textContent = inWords(failure);
      error.hidden = false;
    }
  };
  const line = (words) => el('p', { class: 'muted small' }, words);
  const [on, at] = [day(device.enrolled_at), timeOfDay(device.enrolled_at)];
  const item = el('li', {},
    el('div', {}, el('strong', {}, el('bdi', {}, device.name)),
      line(device.this ? text('app-devices-this', { day: on, time: at }) : text('app-devices-since', { day: on, time: at })),
      line(device.used_at ? text('app-devices-used', { day: day(device.used_at), time: timeOfDay(device.used_at) }) : text('app-devices-unused')),
      device.passkey && line(text('app-devices-protected')), error),
    el('div', { class: 'actions' },
      button(text('app-devices-rename'), () => rename(account, device, item, again), 'quiet small'),
      !device.this && button(text('app-devices-remove'), remove, 'quiet danger small')));
  return item;
}

/** Asks in the row of a device for its new name. */
function rename(account, device, item, again) {
  const id = `name-${device.id}`;
  const name = el('input', { id, type: 'text', value: device.name, maxlength: '80', autocomplete: 'off', required: true, dir: 'auto', 'aria-describedby': `${id}-error` });
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert', hidden: true });
  const save = async (event) => {
    event.preventDefault();
    const chosen = name.value.trim();
    try {
      await call(account, 'PATCH', `/devices/${device.id}`, { value: { name: chosen } });
      if (device.this) await put(Object.assign(account, { deviceName: chosen }));
      say(text('app-devices-renamed'));
      await again();
    } catch (failure) {
      error.textContent = inWords(failure);
      error.hidden = false;
      name.setAttribute('aria-invalid', 'true');
      name.focus();
    }
  };
  item.replaceChildren(el('form', { class: 'stack', novalidate: true, onsubmit: save },
    el('div', { class: 'field' }, el('label', { for: id }, text('app-devices-name')), name, error),
    el('div', { class: 'actions' }, el('button', { class: 'button primary small', type: 'submit' }, text('app-devices-rename-save')),
      button(text('app-cancel'), again, 'quiet small'))));
  name.select();
}

/** A link for another device, as a code to be scanned and as text. */
async function showLink(place, account, left) {
  const heading = el('h2', {}, text('app-devices-add'));
  const content = el('div', { class: 'stack' }, el('p', { class: 'muted', role: 'status' }, text('app-devices-looking')));
  place.replaceChildren(el('div', { class: 'card' }, heading, content, button(text('app-done'), left, 'quiet')));
  focusOn(heading);
  try {
    const { link, link_qr: picture, made_at: made, expires_at: until } = await callWithPasskey(account, 'POST', '/devices/link', {});
    const used = ({ detail: { account: whose, news } }) => {
      const enrolled = whose === account && news.find(({ event, at }) => event === 'device.enrolled' && at >= made);
      if (!content.isConnected) place.removeEventListener('news', used);
      else if (enrolled) showAdded(content, enrolled.name);
    };
    place.addEventListener('news', used);
    const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(picture ?? '')}`;
    content.replaceChildren(
      el('p', { class: 'lead' }, text('app-devices-add-about')),
      picture && el('img', { class: 'qr', src: source, alt: text('app-enrol-scan-picture'), width: '220', height: '220' }),
      copying(link, text('app-devices-copy')),
      facts([[text('app-enrol-until'), timeOfDay(until)]]),
      notice(text('app-devices-add-warning'), 'warn'));
  } catch (failure) {
    content.replaceChildren(notice(inWords(failure), 'warn', button(text('app-enrol-again-try'), () => showLink(place, account, left), 'small')));
  }
}

/** Another device was enrolled while the link was shown. */
function showAdded(content, name) {
  const words = text('app-devices-added', { device: name ?? text('app-request-not-known') });
  if (content.textContent.includes(words)) return;
  content.replaceChildren(sign('check', 'good'), el('p', { class: 'lead' }, words), el('p', { class: 'muted' }, text('app-devices-added-about')));
  say(words);
}

/** New recovery codes, which are shown this once. */
async function makeCodes(place, account, had, left) {
  if (had > 0 && !(await ask(text('app-recovery-ask'), text('app-recovery-ask-about'), text('app-recovery-make')))) return;
  const heading = el('h2', {}, text('app-recovery-new'));
  const content = el('div', { class: 'stack' }, el('p', { class: 'muted', role: 'status' }, text('app-devices-looking')));
  place.replaceChildren(el('div', { class: 'card' }, heading, content));
  focusOn(heading);
  let codes;
  try {
    ({ codes } = await callWithPasskey(account, 'POST', '/recovery-codes', {}));
  } catch (failure) {
    content.replaceChildren(notice(inWords(failure), 'warn',
      el('div', { class: 'actions' }, button(text('app-enrol-again-try'), () => makeCodes(place, account, 0, left), 'small'), button(text('app-devices-back'), left, 'quiet small'))));
    return;
  }
  const where = text('app-recovery-where', { address: `${location.origin}/recover` });
  const made = text('app-recovery-file', { account: account.account, operator: account.operator });
  const lines = [made, day(Date.now() / 1000), '', ...codes, '', where, ''].join('\n');
  const file = URL.createObjectURL(new Blob([lines], { type: 'text/plain;charset=utf-8' }));
  const done = () => {
    URL.revokeObjectURL(file);
    left();
  };
  content.replaceChildren(
    el('p', { class: 'lead' }, text('app-recovery-once')),
    el('ol', { class: 'codes', dir: 'ltr' }, ...codes.map((code) => el('li', {}, el('code', {}, code)))),
    el('p', { class: 'muted' }, where),
    el('div', { class: 'actions' }, copying(lines, text('app-recovery-copy')),
      el('a', { class: 'button', href: file, download: 'recovery-codes.txt' }, text('app-recovery-save'))),
    button(text('app-recovery-kept'), done, 'primary'));
  say(text('app-recovery-made'));
}

/** A button that copies a text, and says whether it did. */
function copying(words, label) {
  const copied = el('span', { role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(words);
      copied.textContent = text('app-copied');
    } catch {
      copied.textContent = text('app-copy-failed');
    }
  };
  return el('div', {}, button(label, copy), ' ', copied);
}

/** What there is to say of each event. */
const NEWS = {
  'enrolment.link-made': ({ day, time }) => text('app-news-link', { day, time }),
  'device.enrolled': ({ device, day, time }) => text('app-news-enrolled', { device, day, time }),
  'device.revoked': ({ device, day, time }) => text('app-news-revoked', { device, day, time }),
  'passkey.added': ({ device, day, time }) => text('app-news-passkey-added', { device, day, time }),
  'passkey.removed': ({ device, day, time }) => text('app-news-passkey-removed', { device, day, time }),
  'passkey.counter-back': ({ device, day, time }) => text('app-news-passkey-copied', { device, day, time }),
  'approval-address.set': ({ day, time }) => text('app-news-address', { day, time }),
  'recovery.codes-made': ({ day, time }) => text('app-news-codes', { day, time }),
  'recovery.code-used': ({ day, time }) => text('app-news-recovered', { day, time }),
};

/** What is new of an account's devices and codes. `look()` shows them; `seen()` is called when the person has seen it. */
export function newsCard(account, news, { look, seen }) {
  const told = news.filter((one) => NEWS[one.event]);
  const lines = told.map(({ event, name, at }) => el('li', {},
    NEWS[event]({ device: name ?? text('app-request-not-known'), day: day(at), time: timeOfDay(at) })));
  const error = el('p', { class: 'field-error', role: 'alert', hidden: true });
  const dismiss = async () => {
    try {
      await call(account, 'POST', '/news/seen', { value: { last: news[news.length - 1].id } });
      seen();
    } catch (failure) {
      error.textContent = inWords(failure);
      error.hidden = false;
    }
  };
  return el('div', { class: 'card' }, sign('mark', 'warn'),
    el('h2', {}, text('app-news', { name: account.displayName })),
    el('ul', {}, ...lines),
    el('p', { class: 'muted' }, text('app-news-about')), error,
    el('div', { class: 'actions' }, button(text('app-news-seen'), dismiss, 'primary'), button(text('app-news-look'), look)));
}
