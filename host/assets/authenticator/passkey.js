// The passkey of an account: a second key, which the phone uses only after face, finger or PIN (W3C Web Authentication).
// The server asks for it with each approval once it is added.

import { Failure, call, inWords } from './api.js';
import { base64url, fromBase64url } from './canonical.js';
import { text } from './texts.js';
import { ask, button, el, focusOn, say } from './view.js';

/** Whether this phone has a lock that the browser can ask for. */
export const lockable = (async () => {
  try {
    return await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable();
  } catch {
    return false;
  }
})();

// Browsers reject for many reasons that they do not tell: refused, too slow, no such key in this phone.
async function unlocked(act) {
  try {
    return await act();
  } catch {
    throw new Failure(409, 'passkey_unconfirmed', 'the browser gave no credential');
  }
}

// Not every browser that shows notifications has `parseCreationOptionsFromJSON` and `toJSON`, so it is done here.
function inJson(credential, names) {
  const response = Object.fromEntries(names.map((name) => [name, base64url(credential.response[name])]));
  return { id: credential.id, rawId: base64url(credential.rawId), type: credential.type, clientExtensionResults: {}, response };
}

/** Has the phone make a passkey with the server's options: what to send back. */
async function make(options) {
  const publicKey = {
    ...options,
    challenge: fromBase64url(options.challenge),
    user: { ...options.user, id: fromBase64url(options.user.id) },
    excludeCredentials: [],
  };
  const made = await unlocked(() => navigator.credentials.create({ publicKey }));
  return inJson(made, ['clientDataJSON', 'attestationObject']);
}

/** Has the phone use its passkey with the server's options: what to send back. */
export async function show(options) {
  // It was made in this phone, so no other device needs to be offered.
  const known = options.allowCredentials.map(({ type, id }) => ({ type, id: fromBase64url(id), transports: ['internal'] }));
  const publicKey = { ...options, challenge: fromBase64url(options.challenge), allowCredentials: known };
  const shown = await unlocked(() => navigator.credentials.get({ publicKey }));
  return inJson(shown, ['clientDataJSON', 'authenticatorData', 'signature']);
}

/** A call whose body is `value`, with the passkey in it where the server asks for one. */
export async function callWithPasskey(account, method, path, value) {
  try {
    return await call(account, method, path, { value });
  } catch (failure) {
    if (failure.code !== 'passkey_required') throw failure;
    return call(account, method, path, { value: { ...value, passkey: await show(failure.body.options) } });
  }
}

/** Adds a passkey to an account's device. */
export async function protect(account) {
  const { options } = await call(account, 'POST', '/device/passkey', { value: {} });
  await call(account, 'PUT', '/device/passkey', { value: await make(options) });
  say(text('app-passkey-added'));
}

async function unprotect(account) {
  if (!(await ask(text('app-passkey-remove-ask'), text('app-passkey-remove-about'), text('app-passkey-remove-yes')))) return false;
  await callWithPasskey(account, 'POST', '/device/passkey/removal', {});
  say(text('app-passkey-removed'));
  return true;
}

/** A button that does something with a passkey, and says below it why it did not. */
function act(label, kind, action, changed) {
  const error = el('p', { class: 'field-error', role: 'alert' });
  const press = async () => {
    control.disabled = true;
    error.textContent = '';
    try {
      if ((await action()) !== false) changed();
    } catch (failure) {
      error.textContent = inWords(failure);
    }
    control.disabled = false;
  };
  const control = button(label, press, kind);
  return [control, error];
}

/** How an account's approvals are protected. `standing` is what the server says: set, none, or impossible; `changed(standing)` is called with a new one. */
export function protection(account, standing, changed) {
  const place = el('div', { class: 'zone protection' });
  lockable.then((able) => {
    if (standing === 'set') {
      place.append(el('p', {}, text('app-passkey-set')),
        ...act(text('app-passkey-remove'), 'quiet small', () => unprotect(account), () => changed('none')));
    } else if (standing === 'none' && able) {
      place.append(el('p', {}, text('app-passkey-offer')),
        ...act(text('app-passkey-add'), 'small', () => protect(account), () => changed('set')));
    } else if (standing === 'none') {
      place.append(el('p', { class: 'muted small' }, text('app-passkey-no-lock')));
    } else if (standing === 'impossible') {
      place.append(el('p', { class: 'muted small' }, text('app-passkey-impossible')));
    }
  });
  return place;
}

/** Offers it to whoever has just enrolled: what to show, or null where there is nothing to offer. `done()` is called in any case. */
export async function offer(account, standing, done) {
  if (standing !== 'none' || !(await lockable)) return null;
  const heading = el('h2', {}, text('app-passkey-offer-title'));
  const card = el('div', { class: 'card ready' }, heading,
    el('p', { class: 'lead' }, text('app-passkey-offer')),
    ...act(text('app-passkey-add-recommended'), 'primary', () => protect(account), () => done('set')),
    button(text('app-passkey-skip'), () => done('none')));
  return { card, focus: () => focusOn(heading) };
}
