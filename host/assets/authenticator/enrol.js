// Enrolment: a one-time link makes this browser an authenticator of one account.

import { Failure, enrol, inWords, lookAtEnrolment } from './api.js';
import { enrolmentText, newKey, publicJwk, sign as signText } from './canonical.js';
import { put } from './store.js';
import { phrase, region, text } from './texts.js';
import { button, el, facts, focusOn, notice, say, sign } from './view.js';

const LONGEST_NAME = 60;

/** The token of an enrolment link, or null where the text is none. */
export function tokenOf(link) {
  const at = link.indexOf('#enrol=');
  if (at < 0) return null;
  try {
    return decodeURIComponent(link.slice(at + '#enrol='.length).trim()) || null;
  } catch {
    return null;
  }
}

/** What to call this device, from what the browser tells of it. */
function deviceName(agent = navigator.userAgent) {
  const known = [
    [/iPhone/, 'iPhone'], [/iPad/, 'iPad'], [/Android.*Mobile/, text('app-device-android-phone')],
    [/Android/, text('app-device-android-tablet')], [/CrOS/, 'Chromebook'], [/Windows/, text('app-device-windows')],
    [/Macintosh/, 'Mac'], [/Linux/, text('app-device-linux')],
  ];
  return known.find(([pattern]) => pattern.test(agent))?.[1] ?? text('app-device-other');
}

function isAppleBrowserTab() {
  return /iPhone|iPad/.test(navigator.userAgent) && !navigator.standalone;
}

/** The picture of a QR code that the server drew. As an image it can run nothing. */
function scanPanel(svg) {
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  return el('div', { class: 'scan' },
    el('img', { src: source, alt: text('app-enrol-scan-picture'), width: '176', height: '176' }),
    el('div', {}, el('p', {}, el('strong', {}, text('app-enrol-scan'))), el('p', { class: 'muted' }, text('app-enrol-scan-about'))));
}

/** On iPhone and iPad an app on the Home Screen has a storage of its own, so it must be there before it is enrolled. */
function homeScreenHint() {
  const copied = el('span', { role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      copied.textContent = text('app-enrol-copied');
    } catch {
      copied.textContent = text('app-enrol-copy-yourself');
    }
  };
  return notice(text('app-enrol-home-screen'), 'calm', button(text('app-enrol-copy'), copy, 'small'), copied);
}

/**
 * Shows what the link is for and enrols. `done(account, passkey, recovered)` is called with the new account, how it stands to
 * passkeys, and whether a recovery code led here; `left()` on giving up.
 */
export async function showEnrolment(place, token, accounts, { done, left }) {
  place.replaceChildren(el('div', { class: 'card ready' }, el('p', { class: 'muted' }, text('app-enrol-checking'))));
  let offer;
  try {
    offer = await lookAtEnrolment(token);
  } catch (failure) {
    const again = () => showEnrolment(place, token, accounts, { done, left });
    place.replaceChildren(failure.passing ? unreachable(failure, again, left) : unusable(failure, left));
    focusOn(place.querySelector('h2'));
    return;
  }
  place.replaceChildren(enrolmentCard(offer, token, accounts, { done, left }));
  focusOn(place.querySelector('h2'));
}

function unreachable(failure, again, left) {
  return el('div', { class: 'card' }, sign('mark', 'warn'), el('h2', {}, text('app-enrol-unchecked')),
    el('p', { class: 'lead' }, inWords(failure)),
    el('div', { class: 'actions' }, button(text('app-enrol-again-try'), again, 'primary'), button(text('app-enrol-not-now'), left)));
}

function unusable(failure, left) {
  const used = failure.status === 404 || failure.status === 410 || failure.status === 409;
  return el('div', { class: 'card' }, sign('mark', 'warn'), el('h2', {}, text('app-enrol-unusable')),
    el('p', { class: 'lead' }, used ? text('app-enrol-unusable-about') : inWords(failure)),
    el('div', { class: 'actions' }, button(text('app-enrol-leave'), left, 'primary')));
}

function enrolmentCard(offer, token, accounts, { done, left }) {
  const name = el('input', { id: 'device-name', type: 'text', value: deviceName(), maxlength: String(LONGEST_NAME), autocomplete: 'off', required: true, dir: 'auto', 'aria-describedby': 'device-name-error' });
  const error = el('p', { class: 'field-error', id: 'device-name-error', hidden: true });
  const confirm = el('button', { class: 'button primary', type: 'submit' }, text('app-enrol-confirm'));
  const complain = (words) => {
    error.textContent = words;
    error.hidden = words === '';
    if (words !== '') say(words, true);
  };
  const submit = async (event) => {
    event.preventDefault();
    const chosen = name.value.trim();
    name.toggleAttribute('aria-invalid', false);
    if (chosen === '') {
      name.setAttribute('aria-invalid', 'true');
      complain(text('app-enrol-name-missing'));
      name.focus();
      return;
    }
    complain('');
    confirm.disabled = true;
    confirm.textContent = text('app-enrol-confirming');
    try {
      const { account, passkey, recovered } = await enrolHere(offer, token, chosen);
      done(account, passkey, recovered);
    } catch (failure) {
      confirm.disabled = false;
      confirm.textContent = text('app-enrol-confirm');
      complain(failure instanceof Failure ? inWords(failure) : text('app-enrol-no-key'));
      confirm.focus();
    }
  };
  const known = accounts.some((account) => account.issuer === offer.issuer && account.account === offer.account);
  const until = new Date(offer.expires_at * 1000).toLocaleString(region, { dateStyle: 'medium', timeStyle: 'short' });
  return el('div', { class: 'card' },
    typeof offer.link_qr === 'string' && offer.link_qr !== '' && scanPanel(offer.link_qr),
    sign('shield', 'calm'),
    el('h2', {}, ...phrase('app-enrol-title', { name: offer.display_name, operator: offer.operator })),
    el('p', { class: 'lead' }, text('app-enrol-lead')),
    facts([[text('app-enrol-account'), offer.account], [text('app-enrol-server'), offer.issuer], [text('app-enrol-until'), until]]),
    known && notice(text('app-enrol-again'), 'warn'),
    isAppleBrowserTab() && homeScreenHint(),
    el('form', { class: 'stack', novalidate: true, onsubmit: submit },
      el('div', { class: 'field' }, el('label', { for: 'device-name' }, text('app-enrol-name')), name, error),
      el('div', { class: 'actions' }, confirm, button(text('app-enrol-not-now'), left))));
}

async function enrolHere(offer, token, chosen) {
  const pair = await newKey();
  const key = publicJwk(await crypto.subtle.exportKey('jwk', pair.publicKey));
  const signed = await enrolmentText({ issuer: offer.issuer, token, deviceName: chosen, key });
  const signature = await signText(pair.privateKey, signed);
  const made = await enrol({ token, device_name: chosen, public_key: key, signature });
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
  // A hint only: a browser that is short of space then spares this key.
  await navigator.storage?.persist?.().catch(() => false);
  return { account, passkey: made.passkey, recovered: made.recovered };
}
