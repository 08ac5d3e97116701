// The code of a login page: who scans it says who signs in there. A camera in the app reads codes, too, since an app on the
// Home Screen of an iPhone or iPad has a storage of its own, which the camera app does not open.

import { call, inWords } from './api.js';
import { tokenOf } from './enrol.js';
import { phrase, text } from './texts.js';
import { button, el, facts, focusOn, notice, say, sign } from './view.js';

/** How long to wait between two looks at the camera's picture, and how large that picture is at most. */
const LOOK_MS = 120;
const LARGEST = 720;

/** The token of a login page's code, or null where the text is none. */
export function loginTokenOf(link) {
  const at = link.indexOf('#login=');
  const token = at < 0 ? '' : link.slice(at + '#login='.length).trim();
  return /^[A-Za-z0-9_-]+$/.test(token) ? token : null;
}

/** What the login of this token is for: { application, place, browser }. Its page learns nothing of it. */
async function lookAt(token, [account, ...others]) {
  try {
    return await call(account, 'POST', '/scans/look', { value: { token } });
  } catch (failure) {
    // This account's device was removed; another's may ask as well.
    if (failure.code === 'unknown_device' && others.length > 0) return lookAt(token, others);
    throw failure;
  }
}

/**
 * Says that one of the accounts signs in at the page of this token, once the person saw what they would let in.
 * `asked(account)` is called when that is known, `left()` on giving up.
 */
export async function showLogin(place, token, accounts, { asked, left }) {
  const show = (...children) => {
    const heading = children.find((child) => child.tagName === 'H2');
    place.replaceChildren(el('div', { class: 'card' }, ...children));
    if (heading) focusOn(heading);
  };
  const failed = (failure, again) => show(sign('mark', 'warn'), el('h2', {}, text('app-scan-failed')),
    el('p', { class: 'lead' }, inWords(failure)),
    el('div', { class: 'actions' }, failure.passing && button(text('app-enrol-again-try'), again, 'primary'), button(text('app-enrol-leave'), left)));
  const wait = (words) => place.replaceChildren(el('div', { class: 'card ready' }, el('p', { class: 'muted', role: 'status' }, words)));
  const take = async (account) => {
    wait(text('app-scan-asking'));
    try {
      await call(account, 'POST', '/scans', { value: { token } });
      asked(account);
    } catch (failure) {
      failed(failure, () => take(account));
    }
  };
  const offer = async () => {
    wait(text('app-scan-looking'));
    try {
      const { application, place: where, browser } = await lookAt(token, accounts);
      // Always asked, also with one account: whoever leads a phone to such a code must not learn whose it is.
      show(el('h2', {}, ...phrase('app-scan-which', { application: application.name })),
        el('p', { class: 'lead' }, text('app-scan-which-about')),
        facts([
          [text('app-request-place'), where || text('app-request-not-known')],
          [text('app-request-browser'), browser || text('app-request-not-known')],
        ]),
        el('div', { class: 'stack' },
          ...accounts.map((account) => button(text('app-scan-as', { name: account.displayName, account: account.account }), () => take(account))),
          button(text('app-enrol-not-now'), left, 'quiet')));
    } catch (failure) {
      failed(failure, offer);
    }
  };
  if (accounts.length === 0) {
    show(sign('mark', 'warn'), el('h2', {}, text('app-scan-not-enrolled')),
      el('p', { class: 'lead' }, text('app-scan-not-enrolled-about')), button(text('app-enrol-leave'), left, 'primary'));
    return;
  }
  await offer();
}

/** A card with the camera's picture. `found(link)` is called with the first code that is ours, `left()` on giving up. */
export async function showCamera(place, { found, left }) {
  const video = el('video', { class: 'camera', muted: true, playsinline: true });
  const error = el('p', { class: 'field-error', role: 'alert', hidden: true });
  let stream = null;
  let over = false;
  const stop = () => {
    over = true;
    for (const track of stream?.getTracks() ?? []) track.stop();
  };
  const heading = el('h2', {}, text('app-scan'));
  place.replaceChildren(el('div', { class: 'card' }, heading, el('p', { class: 'muted' }, text('app-scan-about')), video, error,
    button(text('app-scan-stop'), () => (stop(), left()))));
  focusOn(heading);
  try {
    stream = await navigator.mediaDevices.getUserMedia({ video: { facingMode: 'environment' }, audio: false });
    if (over) return stop();
    video.srcObject = stream;
    await video.play();
  } catch {
    video.replaceWith(notice(text('app-scan-no-camera'), 'warn'));
    say(text('app-scan-no-camera'), true);
    return undefined;
  }
  // Only who scans needs it.
  const { default: decode } = await import('../vendor/qr/decode.js');
  const canvas = document.createElement('canvas');
  const context = canvas.getContext('2d', { willReadFrequently: true });
  const look = () => {
    if (over) return;
    const link = read(video, canvas, context, decode);
    if (link !== null && isOurs(link)) {
      stop();
      found(link);
      return;
    }
    if (link !== null && error.hidden) {
      error.hidden = false;
      error.textContent = text('app-scan-foreign');
    }
    setTimeout(look, LOOK_MS);
  };
  return look();
}

/** The text of the code in the picture, or null where there is none that can be read. */
function read(video, canvas, context, decode) {
  const scale = Math.min(1, LARGEST / Math.max(video.videoWidth, video.videoHeight, 1));
  canvas.width = Math.floor(video.videoWidth * scale);
  canvas.height = Math.floor(video.videoHeight * scale);
  if (canvas.width === 0 || canvas.height === 0) return null;
  context.drawImage(video, 0, 0, canvas.width, canvas.height);
  try {
    return decode(context.getImageData(0, 0, canvas.width, canvas.height)) || null;
  } catch {
    return null;
  }
}

/** Whether a link leads here: a code of another server is for another app. */
function isOurs(link) {
  return link.startsWith(`${location.origin}/authenticator#`) && (loginTokenOf(link) !== null || tokenOf(link) !== null);
}
