// The passkey of an account: a second key, which the device uses only after face, finger or PIN (W3C Web
// Authentication). After it is added, the server requires it for each approval.

import { call, Failure, failureOf, inWords } from './api.js';
import { base64url, fromBase64url } from './canonical.js';
import { ask, say } from './dom.js';
import { change, state, usable, zone } from './state.js';
import { text } from './texts.js';
import { button, complaint, el } from './view.js';

/**
 * @typedef {import('./types.d.ts').State} State
 * @typedef {import('./types.d.ts').Actions} Actions
 * @typedef {import('./types.d.ts').Account} Account
 * @typedef {import('./types.d.ts').Method} Method
 * @typedef {import('./types.d.ts').Followed} Followed
 * @typedef {import('./types.d.ts').PasskeyPart} PasskeyPart
 * @typedef {import('./types.d.ts').PasskeyState} PasskeyState
 * @typedef {import('./types.d.ts').Child} Child
 */

/** Whether this device has a screen lock that the browser can use. */
export const lockable = (async () => {
  try {
    return await PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable();
  } catch {
    return false;
  }
})();

/**
 * Browsers reject for many reasons without naming them: declined, too slow, no such key on this device.
 * @param {() => Promise<Credential | null>} act
 */
async function unlocked(act) {
  try {
    const credential = await act();
    if (credential instanceof PublicKeyCredential) return credential;
  } catch {
    // The error is thrown below.
  }
  throw new Failure(409, 'passkey_unconfirmed', 'the browser gave no credential');
}

/**
 * Converts a credential to JSON, because not every browser with notifications has `parseCreationOptionsFromJSON` and
 * `toJSON`.
 * @param {PublicKeyCredential} credential
 */
function inJson(credential) {
  const { id, type, rawId } = credential;
  const { credProps } = credential.getClientExtensionResults();
  return { id, rawId: base64url(rawId), type, clientExtensionResults: credProps ? { credProps } : {} };
}

/**
 * Creates a passkey on the device with the server's options. Returns the credential for the server.
 * @param {import('./types.d.ts').PasskeyCreationOptions} options
 */
async function make(options) {
  const publicKey = /** @type {PublicKeyCredentialCreationOptions} */ (
    /** @type {unknown} */ ({
      ...options,
      challenge: fromBase64url(options.challenge),
      user: { ...options.user, id: fromBase64url(options.user.id) },
      excludeCredentials: [],
    })
  );
  const made = await unlocked(() => navigator.credentials.create({ publicKey }));
  const { clientDataJSON, attestationObject } = /** @type {AuthenticatorAttestationResponse} */ (made.response);
  const response = { clientDataJSON: base64url(clientDataJSON), attestationObject: base64url(attestationObject) };
  return { ...inJson(made), response };
}

/**
 * Uses the passkey of the device with the server's options. Returns the assertion for the server.
 * @param {import('./types.d.ts').PasskeyRequestOptions} options
 */
async function show(options) {
  // The passkey was created on this device, so the browser need not offer other devices.
  const known = (options.allowCredentials ?? []).map(({ type, id }) => ({
    type,
    id: fromBase64url(id),
    transports: ['internal'],
  }));
  const publicKey = /** @type {PublicKeyCredentialRequestOptions} */ (
    /** @type {unknown} */ ({ ...options, challenge: fromBase64url(options.challenge), allowCredentials: known })
  );
  const shown = await unlocked(() => navigator.credentials.get({ publicKey }));
  const answer = /** @type {AuthenticatorAssertionResponse} */ (shown.response);
  const response = {
    clientDataJSON: base64url(answer.clientDataJSON),
    authenticatorData: base64url(answer.authenticatorData),
    signature: base64url(answer.signature),
  };
  return { ...inJson(shown), response };
}

/**
 * A call with the passkey in its body if the server requires one.
 * @template {Method} Name
 * @template {import('./types.d.ts').ConfirmedRoute<Name>} Path
 * @param {Account} account
 * @param {Name} method
 * @param {Path} path
 * @param {import('./types.d.ts').CallArguments<Path, Name>} options
 * @returns {Promise<import('./types.d.ts').Answer<Path, Name>>}
 */
export async function callWithPasskey(account, method, path, options) {
  /**
   * @param {object} confirmation
   * @param {import('./types.d.ts').CallOptions} [more]
   */
  const attempt = (confirmation, more) => {
    const value = { .../** @type {{ value?: object }} */ (options).value, ...confirmation };
    const rest = /** @type {import('./types.d.ts').CallRest<Path, Name>} */ (
      /** @type {unknown} */ ([{ ...options, ...more, value }])
    );
    return call(account, method, path, ...rest);
  };
  try {
    return await attempt({});
  } catch (cause) {
    const { code, body } = failureOf(cause);
    if (code !== 'passkey_required' || !body.options) throw cause;
    // The server accepts an assertion once. A repeat by the user asks for a new one.
    return attempt({ passkey: await show(body.options) }, { repeats: false });
  }
}

/** @param {Account} account */
async function protect(account) {
  const { options } = await call(account, 'post', '/device/passkey');
  await call(account, 'put', '/device/passkey', { value: await make(options) });
  say(text('app-passkey-added'));
}

/** @param {Account} account */
async function unprotect(account) {
  await callWithPasskey(account, 'post', '/device/passkey/removal', { value: {} });
  say(text('app-passkey-removed'));
}

/**
 * Agrees to sign in with the device's passkey. Login pages may need another passkey, which then replaces it.
 * @param {Account} account
 */
async function allowSignIn(account) {
  const { options } = await callWithPasskey(account, 'post', '/device/passkey/sign-in', { value: {} });
  if (options) {
    const made = await make(options);
    await call(account, 'put', '/device/passkey/sign-in', { value: made });
    await hideOthers(options, made.id);
  }
  say(text('app-passkey-sign-in-allowed'));
}

/**
 * Has the browser hide the passkeys that this one replaced, if it can (the signal API of WebAuthn Level 3).
 * @param {import('./types.d.ts').PasskeyCreationOptions} options
 * @param {string} id
 */
async function hideOthers({ rp, user }, id) {
  try {
    const accepted = { rpId: rp.id, userId: user.id, allAcceptedCredentialIds: [id] };
    await /** @type {any} */ (PublicKeyCredential).signalAllAcceptedCredentials?.(accepted);
  } catch {
    // The old one stays in the list of the login page, which then reports that it cannot sign in.
  }
}

/** @param {Account} account */
async function stopSignIn(account) {
  await call(account, 'delete', '/device/passkey/sign-in', {});
  say(text('app-passkey-sign-in-stopped'));
}

/**
 * The advice about the missing protection of an account's approvals. It depends on this device.
 * @param {State} state
 * @param {Followed} known
 */
function advice({ lockable: hasLock }, { passkey }) {
  if (hasLock === null) return '';
  if (passkey === 'unsupported') return text('app-passkey-impossible');
  if (passkey !== 'none') return '';
  return hasLock ? text('app-passkey-offer') : text('app-passkey-no-lock');
}

/**
 * The advice as a paragraph, only at the first account to which it applies, because the others would repeat it.
 * @param {State} state
 * @param {Followed} known
 * @returns {Child}
 */
function adviceOnce(state, known) {
  const words = advice(state, known);
  const first = usable(state).find((one) => advice(state, one) === words);
  return words !== '' && first === known && el('p', { class: 'muted small' }, words);
}

/**
 * The protection of an account's approvals, and the available actions.
 * @param {State} state
 * @param {Followed} known
 * @param {Actions} act
 */
export function protection(state, known, act) {
  const { account, passkey, busy, errors } = known;
  /** @type {Child[]} */
  let content = [];
  const { deviceId } = account;
  const options = { disabled: busy, 'data-part': 'protect' };
  const errorOf = (/** @type {PasskeyPart} */ part) =>
    complaint(errors.passkeyPart === part ? errors.passkey : '', { key: part });
  if (state.lockable === null) {
    content = [];
  } else if (passkey === 'set' || passkey === 'signs_in') {
    const remove = button(text('app-passkey-remove'), () => act.unprotect(deviceId), 'quiet small', options);
    const signIn = { disabled: busy, 'data-part': 'sign-in' };
    const ways =
      passkey === 'set'
        ? [
            el('p', { class: 'muted small' }, text('app-passkey-sign-in-offer')),
            button(text('app-passkey-sign-in-allow'), () => act.allowSignIn(deviceId), 'small', signIn),
          ]
        : [
            el('p', {}, text('app-passkey-sign-in-set')),
            button(text('app-passkey-sign-in-stop'), () => act.stopSignIn(deviceId), 'quiet small', signIn),
          ];
    content = [el('p', {}, text('app-passkey-set')), remove, errorOf('protect'), ...ways, errorOf('sign-in')];
  } else if (passkey === 'none' && state.lockable) {
    const add = button(text('app-passkey-add'), () => act.protect(deviceId), 'small', options);
    content = [adviceOnce(state, known), add, errorOf('protect')];
  } else {
    content = [adviceOnce(state, known)];
  }
  return el('div', { key: 'protection', class: 'zone protection' }, ...content);
}

/**
 * Performs an operation with an account's passkey. Returns whether it succeeded.
 * @param {string} deviceId
 * @param {(account: Account) => Promise<void>} act
 * @param {PasskeyPart} part the button
 * @param {string} failed the selector of the element that gets the focus after a failure
 */
async function withPasskey(deviceId, act, part, failed) {
  const known = state.accounts.get(deviceId);
  if (!known || known.busy) return false;
  change(() => {
    known.busy = true;
    known.errors.passkey = '';
  });
  let error = '';
  try {
    await act(known.account);
  } catch (cause) {
    error = inWords(cause);
  }
  change(() => {
    known.busy = false;
    Object.assign(known.errors, { passkey: error, passkeyPart: part });
    return error === '' ? undefined : failed;
  });
  return error === '';
}

/**
 * @param {string} deviceId
 * @param {(account: Account) => Promise<void>} act
 * @param {PasskeyState} standing the state after success
 * @param {PasskeyPart} [part] the button
 */
async function fromCard(deviceId, act, standing, part = 'protect') {
  const card = `[data-account="${CSS.escape(deviceId)}"] [data-part="${part}"]`;
  if (!(await withPasskey(deviceId, act, part, card))) return;
  change(({ accounts }) => {
    const known = accounts.get(deviceId);
    if (known) known.passkey = standing;
    return zone('accounts');
  });
}

/**
 * Closes the offer after an enrolment.
 * @param {PasskeyState} standing
 */
function settle(standing) {
  change((known) => {
    if (known.welcome === null) return undefined;
    known.welcome.phase = 'enrolled';
    const account = known.accounts.get(known.welcome.deviceId);
    if (account) account.passkey = standing;
    return '#welcome-title';
  });
}

export const passkeyActions = {
  /** @param {string} deviceId */
  async protect(deviceId) {
    await fromCard(deviceId, protect, 'set');
  },

  /** @param {string} deviceId */
  async unprotect(deviceId) {
    const about = text('app-passkey-remove-about');
    // The error of an earlier attempt does not apply to this one.
    change(({ accounts }) => {
      const known = accounts.get(deviceId);
      if (known) known.errors.passkey = '';
    });
    if (!(await ask(text('app-passkey-remove-ask'), about, text('app-passkey-remove-yes')))) return;
    await fromCard(deviceId, unprotect, 'none');
  },

  /** @param {string} deviceId */
  async allowSignIn(deviceId) {
    await fromCard(deviceId, allowSignIn, 'signs_in', 'sign-in');
  },

  /** @param {string} deviceId */
  async stopSignIn(deviceId) {
    await fromCard(deviceId, stopSignIn, 'set', 'sign-in');
  },

  async protectEnrolled() {
    if (state.welcome === null) return;
    const { deviceId } = state.welcome;
    if (await withPasskey(deviceId, protect, 'protect', '[data-part="offer"] [data-part="protect"]')) settle('set');
  },

  skipPasskey() {
    settle('none');
  },
};
