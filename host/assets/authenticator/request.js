// A sign-in that waits for an answer: a card with what is asked, a field for the number, and two buttons.

import { Failure, call, inWords } from './api.js';
import { approvalText, sign as signText } from './canonical.js';
import { button, duration, el, facts, focusOn, say, sign } from './view.js';

/** The digits of a text as 0 to 9, whichever of the digits of Arabic script a keyboard makes; nothing else. */
function digits(text) {
  return text
    .replace(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x0660))
    .replace(/[\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) - 0x06f0))
    .replace(/[^0-9]/g, '');
}

function timeOfDay(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
}

const ENDINGS = {
  expired: ['mark', 'warn', 'Too late', 'The time for this sign-in is over. Start again where you wanted to sign in.'],
  decided: ['mark', 'warn', 'Already answered', 'This sign-in was answered before, here or on another phone.'],
  gone: ['mark', 'warn', 'Sign-in closed', 'It was cancelled or answered elsewhere. There is nothing more to do.'],
  locked: ['cross', 'bad', 'Closed', 'The number was wrong too often, so nobody was signed in. Start again where you wanted to sign in.'],
  denied: ['cross', 'bad', 'Denied', 'Nobody was signed in. If you did not start this sign-in, tell your administrator.'],
};

/** The card of one request. `closed(card)` is called when the person has seen how it ended. */
export class RequestCard {
  constructor(account, request, skew, closed) {
    this.account = account;
    this.request = request;
    this.closed = closed;
    this.state = 'open';
    this.skew = skew;
    const id = `request-${request.id}`;
    this.total = Math.max(1, request.expires_at - request.requested_at);
    this.bar = el('progress', { max: this.total, 'aria-hidden': 'true' });
    this.left = el('p', { class: 'muted', role: 'timer' });
    this.error = el('p', { class: 'field-error', id: `${id}-error`, hidden: true });
    this.tries = el('p', { class: 'muted', id: `${id}-tries`, hidden: true });
    this.input = el('input', {
      id: `${id}-number`, type: 'text', inputmode: 'numeric', pattern: '[0-9]*', size: '2', dir: 'ltr',
      autocomplete: 'off', enterkeyhint: 'done', 'aria-describedby': `${id}-error ${id}-tries`,
      oninput: () => this.typed(),
    });
    this.approve = el('button', { class: 'button primary', type: 'submit' }, 'Approve');
    this.deny = button('Deny', () => this.decide('deny', ''), 'danger');
    this.title = el('h2', { id: `${id}-title` }, 'Sign in to ', el('bdi', {}, request.application.name), '?');
    this.element = el('article', { class: 'card request', 'aria-labelledby': `${id}-title` },
      this.title,
      facts([
        ['Account', request.account || 'Not known'],
        ['Place', request.place || 'Not known'],
        ['Browser', request.browser || 'Not known'],
        ['Asked at', timeOfDay(request.requested_at)],
      ]),
      el('form', { class: 'stack', novalidate: true, onsubmit: (event) => this.submitted(event) },
        el('div', { class: 'field number-field' },
          el('label', { for: `${id}-number` }, 'Type the number shown where you sign in'),
          this.input, this.error, this.tries),
        el('div', { class: 'actions' }, this.approve, this.deny),
        el('div', { class: 'clock' }, this.bar, this.left)),
      el('p', { class: 'muted small' }, 'Did you not start this? Deny it, then nobody gets in.'));
    this.update(request, skew);
  }

  /** Takes what the server says of it now. `skew` is the server's clock less ours, in seconds. */
  update(request, skew) {
    this.skew = skew;
    if (Number.isInteger(request.attempts_left)) this.showTries(request.attempts_left);
    this.tick();
  }

  /** The server lists it no more. */
  vanished() {
    if (this.state === 'open') this.end(this.secondsLeft() <= 1 ? 'expired' : 'gone');
  }

  /** Shows the time that is left; called every half second. */
  tick() {
    if (this.state === 'ended') return;
    const left = this.secondsLeft();
    this.bar.value = Math.max(0, Math.min(this.total, left));
    this.left.textContent = `${duration(left)} left`;
    if (left <= 0 && this.state === 'open') this.end('expired');
  }

  secondsLeft() {
    return this.request.expires_at - (Date.now() / 1000 + this.skew);
  }

  showTries(left) {
    this.tries.hidden = left > 2;
    this.tries.textContent = left === 1 ? 'One try left.' : `${left} tries left.`;
  }

  typed() {
    const plain = digits(this.input.value).slice(0, 2);
    if (plain !== this.input.value) this.input.value = plain;
    this.complain('');
  }

  complain(text) {
    this.error.hidden = text === '';
    this.error.textContent = text;
    if (text === '') {
      this.input.removeAttribute('aria-invalid');
      return;
    }
    this.input.setAttribute('aria-invalid', 'true');
    say(text, true);
  }

  submitted(event) {
    event.preventDefault();
    const number = digits(this.input.value);
    if (number.length === 2) {
      this.decide('approve', number);
    } else {
      this.complain('Type both digits of the number.');
      this.input.focus();
    }
  }

  async decide(decision, number) {
    if (this.state !== 'open') return;
    this.busy(true);
    this.complain('');
    const { account, request } = this;
    try {
      const text = approvalText({ issuer: account.issuer, device: account.deviceId, request, decision, number });
      const value = { decision, number, signature: await signText(account.privateKey, text) };
      const { outcome } = await call(account, 'POST', `/requests/${encodeURIComponent(request.id)}`, { value });
      if (outcome === 'approved') this.approved();
      else if (outcome === 'denied') this.end('denied');
      else throw new Failure(502, 'unreadable', 'The server gave an answer that this app does not understand.');
    } catch (failure) {
      this.refused(failure);
    }
  }

  refused(failure) {
    if (failure.code === 'expired') return this.end('expired');
    if (failure.code === 'already_decided') return this.end('decided');
    if (failure.code === 'wrong_number' && failure.body.attempts_left === 0) return this.end('locked');
    this.busy(false);
    if (failure.code === 'wrong_number') {
      this.input.value = '';
      this.showTries(failure.body.attempts_left);
      this.complain('Wrong number. Look again where you sign in.');
    } else {
      this.complain(inWords(failure));
    }
    return this.input.focus();
  }

  busy(on) {
    this.state = on ? 'sending' : 'open';
    for (const control of [this.input, this.approve, this.deny]) control.disabled = on;
    this.element.setAttribute('aria-busy', String(on));
  }

  approved() {
    this.finish('check', 'good', 'Approved', ['You are signed in to ', el('bdi', {}, this.request.application.name), '. Go back to where you started; it goes on by itself.']);
  }

  end(kind) {
    const [shape, tone, title, text] = ENDINGS[kind];
    this.finish(shape, tone, title, [text]);
  }

  finish(shape, tone, title, text) {
    const hadFocus = this.element.contains(document.activeElement) || document.activeElement === document.body;
    this.state = 'ended';
    const heading = el('h2', {}, title);
    const detail = el('p', { class: 'lead' }, ...text);
    this.element.className = 'card outcome';
    this.element.removeAttribute('aria-busy');
    this.title.remove();
    heading.id = this.title.id;
    this.element.replaceChildren(sign(shape, tone), heading, detail, button('Done', () => this.closed(this)));
    if (hadFocus) focusOn(heading);
    say(`${title}. ${detail.textContent}`);
  }
}
