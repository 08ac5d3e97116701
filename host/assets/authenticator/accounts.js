// The accounts of this browser: who they are, how they stand, and how to part with one.

import { call, inWords } from './api.js';
import { tokenOf } from './enrol.js';
import { remove } from './store.js';
import { ask, button, el, notice, say } from './view.js';

const STATES = {
  suspended: 'This account is suspended: its sign-ins can’t be approved. Ask your administrator.',
  terminated: 'This account is closed: its sign-ins can’t be approved. Ask your administrator.',
};

/** The card of one account. `standing` is the account's state, `gone` says that the server knows this device no more. */
export function accountCard(account, { standing, gone }, forgotten) {
  const error = el('p', { class: 'field-error', role: 'alert', hidden: true });
  const forget = async () => {
    await remove(account.deviceId);
    forgotten(account);
  };
  const part = async () => {
    const text = `It will no longer approve sign-ins of ${account.displayName} at ${account.operator}. To use it again you need a new enrolment link.`;
    if (!(await ask('Remove this phone?', text, 'Remove'))) return;
    try {
      await call(account, 'DELETE', '/device');
    } catch (failure) {
      // Where the server knows this device no more, there is nothing left to tell it.
      if (failure.code !== 'unknown_device') {
        error.textContent = `It was not removed. ${inWords(failure)}`;
        error.hidden = false;
        return;
      }
    }
    say('This phone was removed.');
    await forget();
  };
  return el('article', { class: 'card account' },
    el('div', { class: 'account-head' },
      el('span', { class: 'initial', 'aria-hidden': 'true' }, Array.from(account.displayName.trim())[0]?.toUpperCase() ?? '?'),
      el('div', {},
        el('h3', {}, el('bdi', {}, account.displayName)),
        el('p', {}, el('bdi', {}, account.account), ' · ', el('bdi', {}, account.operator)),
        el('p', {}, 'This device: ', el('bdi', {}, account.deviceName)))),
    gone && notice(`This phone was removed from ${account.operator}. To use it again, ask your administrator for a new enrolment link.`, 'bad'),
    !gone && STATES[standing] && notice(STATES[standing], 'bad'),
    error,
    el('div', { class: 'actions' }, gone ? button('Forget this account', forget, 'small') : button('Remove this phone', part, 'quiet danger small')));
}

/** A form that takes an enrolment link that was copied. `opened(token)` is called with what it holds. */
export function addAccount(opened, unfolded) {
  const input = el('input', { id: 'link', type: 'url', autocomplete: 'off', inputmode: 'url', dir: 'ltr', 'aria-describedby': 'link-error' });
  const error = el('p', { class: 'field-error', id: 'link-error', role: 'alert', hidden: true });
  const submit = (event) => {
    event.preventDefault();
    const token = tokenOf(input.value);
    error.hidden = token !== null;
    if (token === null) {
      error.textContent = 'This is not an enrolment link. It has “#enrol=” in it; copy it whole.';
      input.setAttribute('aria-invalid', 'true');
      input.focus();
      return;
    }
    opened(token);
  };
  return el('details', { class: 'card', open: unfolded },
    el('summary', {}, 'Add an account'),
    el('p', { class: 'muted' }, 'Open the enrolment link that your administrator gave you, scan its QR code with the camera, or paste it here.'),
    el('form', { class: 'stack', novalidate: true, onsubmit: submit },
      el('div', { class: 'field' }, el('label', { for: 'link' }, 'Enrolment link'), input, error),
      el('button', { class: 'button', type: 'submit' }, 'Go on')));
}
