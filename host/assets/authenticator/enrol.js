// Enrolment: a one-time link makes this browser an authenticator of one account.

import { Failure, enrol, inWords, lookAtEnrolment } from './api.js';
import { enrolmentText, newKey, publicJwk, sign as signText } from './canonical.js';
import { put } from './store.js';
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
    [/iPhone/, 'iPhone'], [/iPad/, 'iPad'], [/Android.*Mobile/, 'Android phone'], [/Android/, 'Android tablet'],
    [/CrOS/, 'Chromebook'], [/Windows/, 'Windows computer'], [/Macintosh/, 'Mac'], [/Linux/, 'Linux computer'],
  ];
  return known.find(([pattern]) => pattern.test(agent))?.[1] ?? 'My device';
}

function isAppleBrowserTab() {
  return /iPhone|iPad/.test(navigator.userAgent) && !navigator.standalone;
}

/** The picture of a QR code that the server drew. As an image it can run nothing. */
function scanPanel(svg) {
  const source = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  return el('div', { class: 'scan' },
    el('img', { src: source, alt: 'QR code of this enrolment link', width: '176', height: '176' }),
    el('div', {}, el('p', {}, el('strong', {}, 'On a computer?')), el('p', { class: 'muted' }, 'Scan this with your phone’s camera to enrol the phone, or go on below to use this browser.')));
}

/** On iPhone and iPad an app on the Home Screen has a storage of its own, so it must be there before it is enrolled. */
function homeScreenHint() {
  const copied = el('span', { role: 'status' });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      copied.textContent = 'Copied.';
    } catch {
      copied.textContent = 'Copy the link from the address bar.';
    }
  };
  return notice('For notifications on iPhone and iPad: copy this link, add this page to the Home Screen (Share, Add to Home Screen), open it from there and paste the link.', 'calm', button('Copy link', copy, 'small'), copied);
}

/** Shows what the link is for and enrols. `done(account)` is called with the new account, `left()` on giving up. */
export async function showEnrolment(place, token, accounts, { done, left }) {
  place.replaceChildren(el('div', { class: 'card ready' }, el('p', { class: 'muted' }, 'Checking the link…')));
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
  return el('div', { class: 'card' }, sign('mark', 'warn'), el('h2', {}, 'The link could not be checked'),
    el('p', { class: 'lead' }, inWords(failure)),
    el('div', { class: 'actions' }, button('Try again', again, 'primary'), button('Not now', left)));
}

function unusable(failure, left) {
  const text = failure.status === 404 || failure.status === 410 || failure.status === 409
    ? 'It was used already, or its time is over. Ask your administrator for a new one.'
    : inWords(failure);
  return el('div', { class: 'card' }, sign('mark', 'warn'), el('h2', {}, 'This link can’t be used'),
    el('p', { class: 'lead' }, text), el('div', { class: 'actions' }, button('Go on', left, 'primary')));
}

function enrolmentCard(offer, token, accounts, { done, left }) {
  const name = el('input', { id: 'device-name', type: 'text', value: deviceName(), maxlength: String(LONGEST_NAME), autocomplete: 'off', required: true, dir: 'auto', 'aria-describedby': 'device-name-error' });
  const error = el('p', { class: 'field-error', id: 'device-name-error', hidden: true });
  const confirm = el('button', { class: 'button primary', type: 'submit' }, 'Enrol this phone');
  const complain = (text) => {
    error.textContent = text;
    error.hidden = text === '';
    if (text !== '') say(text, true);
  };
  const submit = async (event) => {
    event.preventDefault();
    const chosen = name.value.trim();
    name.toggleAttribute('aria-invalid', false);
    if (chosen === '') {
      name.setAttribute('aria-invalid', 'true');
      complain('Give this phone a name, so that you can tell it from others later.');
      name.focus();
      return;
    }
    complain('');
    confirm.disabled = true;
    confirm.textContent = 'Enrolling…';
    try {
      done(await enrolHere(offer, token, chosen));
    } catch (failure) {
      confirm.disabled = false;
      confirm.textContent = 'Enrol this phone';
      complain(failure instanceof Failure ? failure.message : 'This browser could not make or keep a key. Private windows often can’t: use an ordinary one.');
      confirm.focus();
    }
  };
  const known = accounts.some((account) => account.issuer === offer.issuer && account.account === offer.account);
  const until = new Date(offer.expires_at * 1000).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
  return el('div', { class: 'card' },
    typeof offer.link_qr === 'string' && offer.link_qr !== '' && scanPanel(offer.link_qr),
    sign('shield', 'calm'),
    el('h2', {}, 'Enrol this phone for ', el('bdi', {}, offer.display_name), ' at ', el('bdi', {}, offer.operator), '?'),
    el('p', { class: 'lead' }, 'It will approve the sign-ins of this account. Go on only if the link was meant for you.'),
    facts([['Account', offer.account], ['Server', offer.issuer], ['Valid until', until]]),
    known && notice('This account is in this browser already. Going on adds it a second time, as another device.', 'warn'),
    isAppleBrowserTab() && homeScreenHint(),
    el('form', { class: 'stack', novalidate: true, onsubmit: submit },
      el('div', { class: 'field' }, el('label', { for: 'device-name' }, 'Name of this phone'), name, error),
      el('div', { class: 'actions' }, confirm, button('Not now', left))));
}

async function enrolHere(offer, token, chosen) {
  const pair = await newKey();
  const key = publicJwk(await crypto.subtle.exportKey('jwk', pair.publicKey));
  const text = await enrolmentText({ issuer: offer.issuer, token, deviceName: chosen, key });
  const signature = await signText(pair.privateKey, text);
  const made = await enrol({ token, device_name: chosen, public_key: key, signature });
  const account = {
    deviceId: made.device_id,
    issuer: made.issuer,
    operator: made.operator,
    account: made.account,
    displayName: made.display_name,
    deviceName: chosen,
    pushKey: made.push_key ?? null,
    privateKey: pair.privateKey,
    clockOffset: 0,
  };
  await put(account);
  // A hint only: a browser that is short of space then spares this key.
  await navigator.storage?.persist?.().catch(() => false);
  return account;
}
