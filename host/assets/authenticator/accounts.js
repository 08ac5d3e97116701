// The accounts of this browser: who they are, how they stand, and how to part with one.

import { call, inWords } from './api.js';
import { tokenOf } from './enrol.js';
import { history } from './history.js';
import { protection } from './passkey.js';
import { remove } from './store.js';
import { phrase, text } from './texts.js';
import { ask, button, el, notice, say } from './view.js';

const STATES = { suspended: 'app-account-suspended', terminated: 'app-account-terminated' };

/**
 * The card of one account. `standing` is the account's state, `gone` says that the server knows this device no more, `lost`
 * that the browser has its key no more, `passkey` how its approvals are protected, `offering` that this is being asked elsewhere.
 * `devices(account)` is called to show its devices, `forgotten(account)` when it is no longer here, `protectedBy(standing)` when
 * a passkey was added or removed.
 */
export function accountCard(account, { standing, gone, lost, passkey, offering }, { forgotten, devices, protectedBy }) {
  const error = el('p', { class: 'field-error', role: 'alert', hidden: true });
  const forget = async () => {
    await remove(account.deviceId);
    forgotten(account);
  };
  const part = async () => {
    const about = text('app-account-remove-about', { name: account.displayName, operator: account.operator });
    if (!(await ask(text('app-account-remove-ask'), about, text('app-account-remove-yes')))) return;
    try {
      await call(account, 'DELETE', '/device');
    } catch (failure) {
      // Where the server knows this device no more, there is nothing left to tell it.
      if (failure.code !== 'unknown_device') {
        error.textContent = text('app-account-remove-failed', { reason: inWords(failure) });
        error.hidden = false;
        return;
      }
    }
    say(text('app-account-removed'));
    await forget();
  };
  return el('article', { class: 'card account' },
    el('div', { class: 'account-head' },
      el('span', { class: 'initial', 'aria-hidden': 'true' }, Array.from(account.displayName.trim())[0]?.toUpperCase() ?? '?'),
      el('div', {},
        el('h3', {}, el('bdi', {}, account.displayName)),
        el('p', {}, el('bdi', {}, account.account), ' · ', el('bdi', {}, account.operator)),
        el('p', {}, ...phrase('app-account-device', { device: account.deviceName })))),
    lost && notice(text('app-account-lost', { operator: account.operator }), 'bad'),
    gone && !lost && notice(text('app-account-gone', { operator: account.operator }), 'bad'),
    !gone && STATES[standing] && notice(text(STATES[standing]), 'bad'),
    !gone && !offering && protection(account, passkey, protectedBy),
    !gone && history(account),
    error,
    el('div', { class: 'actions' }, ...(gone
      ? [button(text('app-account-forget'), forget, 'small')]
      : [button(text('app-account-devices'), () => devices(account), 'quiet small'), button(text('app-account-remove'), part, 'quiet danger small')])));
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
      error.textContent = text('app-add-unfit');
      input.setAttribute('aria-invalid', 'true');
      input.focus();
      return;
    }
    opened(token);
  };
  return el('details', { class: 'card', open: unfolded },
    el('summary', {}, text('app-add')),
    el('p', { class: 'muted' }, text('app-add-about')),
    el('form', { class: 'stack', novalidate: true, onsubmit: submit },
      el('div', { class: 'field' }, el('label', { for: 'link' }, text('app-add-link')), input, error),
      el('button', { class: 'button', type: 'submit' }, text('app-add-go-on'))));
}
