// Signs in with a passkey: from the browser's list at the name field, or from its dialog after the button.
(() => {
  const form = /** @type {HTMLFormElement | null} */ (document.getElementById('passkey'));
  if (!form || !window.PublicKeyCredential || !window.fetch) return;
  const button = /** @type {HTMLButtonElement} */ (form.querySelector('button'));
  /** @param {string} name */
  const field = (name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
  /** @type {AbortController | null} */
  let asking = null;
  /** @type {Promise<PublicKeyCredentialRequestOptions> | null} */
  let challenge = null;

  /** @param {string} text */
  const decoded = (text) =>
    Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0));

  /** @param {ArrayBuffer | null} bytes */
  const encoded = (bytes) =>
    bytes &&
    btoa(String.fromCharCode(...new Uint8Array(bytes)))
      .replace(/\+/g, '-')
      .replace(/\//g, '_')
      .replace(/=+$/, '');

  // Without credential ids, the passkey itself identifies the user.
  /** @returns {Promise<PublicKeyCredentialRequestOptions>} */
  async function newChallenge() {
    const body = new URLSearchParams({ csrf: field('csrf').value });
    const response = await fetch(/** @type {string} */ (form?.dataset.challenge), { method: 'POST', body });
    if (!response.ok) throw new Error(response.statusText);
    const options = await response.json();
    return { challenge: decoded(options.challenge), rpId: options.rpId, userVerification: 'required' };
  }

  /** @param {PublicKeyCredential} credential */
  function send({ id, type, rawId, authenticatorAttachment, response }) {
    const answer = /** @type {AuthenticatorAssertionResponse} */ (response);
    field('assertion').value = JSON.stringify({
      id,
      type,
      rawId: encoded(rawId),
      authenticatorAttachment,
      response: {
        clientDataJSON: encoded(answer.clientDataJSON),
        authenticatorData: encoded(answer.authenticatorData),
        signature: encoded(answer.signature),
        userHandle: encoded(answer.userHandle),
      },
    });
    // This fires the submit event, so that the page's other script does not reload the page in the meantime.
    form?.requestSubmit();
  }

  /**
   * Requests a passkey, which replaces the previous request. A response uses up the challenge.
   * @param {CredentialMediationRequirement} mediation
   */
  async function ask(mediation) {
    asking?.abort();
    const stop = new AbortController();
    asking = stop;
    try {
      challenge ??= newChallenge();
      const publicKey = await challenge;
      const credential = await navigator.credentials.get({ publicKey, mediation, signal: stop.signal });
      challenge = null;
      if (credential instanceof PublicKeyCredential) send(credential);
      return true;
    } catch (error) {
      if (!(error instanceof DOMException)) challenge = null;
      return stop.signal.aborted;
    }
  }

  async function askInList() {
    if (await PublicKeyCredential.isConditionalMediationAvailable?.()) await ask('conditional');
  }

  button.addEventListener('click', async () => {
    // The user closed the dialog, or no passkey fits: the list still offers passkeys.
    if (!(await ask('optional'))) askInList();
  });
  // A passkey belongs to the user of this browser, so its form comes above the line about other users.
  document.querySelector('.with-key .way > .keyed')?.before(form);
  form.hidden = false;
  // The server rejected the last passkey.
  if (button.hasAttribute('aria-describedby')) button.focus();
  askInList();
})();
