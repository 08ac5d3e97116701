// A sign-in that waits for an answer: a card with what is asked, a field for the number, and what the person may answer.

import { Failure, inWords } from './api.js';
import { approvalText, notMeText, sign as signText } from './canonical.js';
import { callWithPasskey } from './passkey.js';
import { phrase, region, text } from './texts.js';
import { button, el, facts, focusOn, say, sign } from './view.js';

/** The digits of a text as 0 to 9, whichever of the digits of Arabic script a keyboard makes; nothing else. */
function digits(typed) {
  return typed
    .replace(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x0660))
    .replace(/[\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) - 0x06f0))
    .replace(/[^0-9]/g, '');
}

/** How long there still is, in words. */
function timeLeft(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return text('app-seconds', { seconds: whole });
  return text('app-minutes', { minutes: Math.floor(whole / 60), seconds: String(whole % 60).padStart(2, '0') });
}

function timeOfDay(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });
}

/** Texts from outside with commas between them, each kept apart in its direction. */
function joined(texts) {
  return texts.filter(Boolean).flatMap((known, index) => [...(index > 0 ? [', '] : []), el('bdi', {}, known)]);
}

/** Why a request could not be reported, in words. */
function reportFailure(failure) {
  if (failure.code === 'expired') return text('app-request-expired-about');
  return failure.code === 'already_decided' ? text('app-request-decided-about') : inWords(failure);
}

const ENDINGS = {
  expired: ['mark', 'warn', 'app-request-expired', 'app-request-expired-about'],
  decided: ['mark', 'warn', 'app-request-decided', 'app-request-decided-about'],
  gone: ['mark', 'warn', 'app-request-gone', 'app-request-gone-about'],
  locked: ['cross', 'bad', 'app-request-locked', 'app-request-locked-about'],
  denied: ['cross', 'bad', 'app-request-denied', 'app-request-denied-about'],
  not_me: ['shield', 'bad', 'app-request-reported', 'app-request-reported-about'],
};

/** What is said of a step in the administration instead, which signs nobody in. */
const STEP_ENDINGS = {
  denied: ['app-request-denied', 'app-step-denied'],
  expired: ['app-step-closed', 'app-step-over'],
  decided: ['app-step-closed', 'app-step-over'],
  gone: ['app-step-closed', 'app-step-over'],
  locked: ['app-step-closed', 'app-step-over'],
};

/**
 * One request: `element` is its card, `pick` its place in the list of several. The listener has `closed(card)`, called when
 * the user has seen its end, `picked(card)`, when they picked it from the list, `ended(card)`, and `reported(card)`, when
 * they reported a request.
 */
export class RequestCard {
  constructor(account, request, skew, listener) {
    this.account = account;
    this.request = request;
    this.listener = listener;
    this.state = 'open';
    /** The end of the request while the card shows another one, and the elements shown before. */
    this.other = null;
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
    this.approve = el('button', { class: 'button primary', type: 'submit' }, text('app-request-approve'));
    this.deny = button(text('app-request-deny'), () => this.decide('deny', ''), 'danger');
    this.notMe = button(text('app-request-not-me'), () => this.decide('not_me', ''), 'quiet danger small');
    this.title = request.step
      ? el('h2', { id: `${id}-title` }, el('bdi', {}, request.step))
      : el('h2', { id: `${id}-title` }, ...phrase('app-request-title', { application: request.application.name }));
    this.element = el('article', { class: 'card request', 'aria-labelledby': `${id}-title` },
      request.application.logo && el('img', { class: 'picture', src: request.application.logo, alt: '', width: '48', height: '48' }),
      this.title,
      request.step && el('p', { class: 'lead' }, text('app-step-about')),
      facts([
        ...(request.step ? [[text('app-step-where'), request.application.name]] : []),
        [text('app-request-account'), request.account || text('app-request-not-known')],
        [text('app-request-place'), request.place || text('app-request-not-known')],
        [text('app-request-browser'), request.browser || text('app-request-not-known')],
        [text('app-request-time'), timeOfDay(request.requested_at)],
      ]),
      el('form', { class: 'stack', novalidate: true, onsubmit: (event) => this.submitted(event) },
        el('div', { class: 'field number-field' },
          el('label', { for: `${id}-number` }, request.step ? text('app-step-number') : text('app-request-number')),
          this.input, this.error, this.tries),
        el('div', { class: 'actions' }, this.approve, this.deny),
        el('div', { class: 'clock' }, this.bar, this.left)),
      el('div', { class: 'not-me' }, el('p', { class: 'muted small' }, text('app-request-not-you')), this.notMe));
    this.pickLeft = el('span', { class: 'muted' });
    this.pick = el('li', {}, el('button', { type: 'button', class: 'pick', onclick: () => listener.picked(this) },
      el('strong', {}, el('bdi', {}, request.step ?? request.application.name)),
      el('span', {}, ...joined([request.browser, request.place])),
      el('span', { class: 'muted' }, ...joined([request.account, text('app-requests-started', { time: timeOfDay(request.requested_at) })])),
      this.pickLeft));
    this.update(request, skew);
  }

  /** Whether the user has begun to answer it. */
  isInUse() {
    return this.state === 'sending' || this.other !== null || this.input.value !== '' || this.element.contains(document.activeElement);
  }

  /** Takes what the server says of it now. `skew` is the server's clock less ours, in seconds. */
  update(request, skew) {
    this.skew = skew;
    if (Number.isInteger(request.attempts_left)) this.showTries(request.attempts_left);
    this.tick();
  }

  /** The server, whose clock is `skew` seconds before ours, lists it no more. */
  vanished(skew) {
    this.skew = skew;
    if (this.state === 'open' && !this.other?.ended) this.end(this.secondsLeft() <= 1 ? 'expired' : 'gone');
  }

  /** Shows the time that is left; called every half second. */
  tick() {
    if (this.state === 'ended') return;
    const left = this.secondsLeft();
    this.bar.value = Math.max(0, Math.min(this.total, left));
    this.left.textContent = timeLeft(left);
    this.pickLeft.textContent = timeLeft(left);
    if (left <= 0 && this.state === 'open' && !this.other?.ended) this.end('expired');
  }

  secondsLeft() {
    return this.request.expires_at - (Date.now() / 1000 + this.skew);
  }

  showTries(left) {
    this.request.attempts_left = left;
    this.tries.hidden = left > 2;
    this.tries.textContent = text('app-request-tries', { count: left });
  }

  typed() {
    const plain = digits(this.input.value).slice(0, 2);
    if (plain !== this.input.value) this.input.value = plain;
    this.complain('');
  }

  complain(words) {
    this.error.hidden = words === '';
    this.error.textContent = words;
    if (words === '') {
      this.input.removeAttribute('aria-invalid');
      return;
    }
    this.input.setAttribute('aria-invalid', 'true');
    say(words, true);
  }

  submitted(event) {
    event.preventDefault();
    const number = digits(this.input.value);
    if (number.length === 2) {
      this.decide('approve', number);
    } else {
      this.complain(text('app-request-both-digits'));
      this.input.focus();
    }
  }

  async decide(decision, number) {
    if (this.state !== 'open') return;
    this.busy(true);
    this.complain('');
    try {
      const outcome = await this.answer(decision, number);
      if (outcome === 'approved') this.approved();
      else if (outcome === 'denied' || outcome === 'not_me') this.end(outcome);
      else throw new Failure(502, 'unreadable', 'an unknown outcome');
    } catch (failure) {
      this.refused(failure);
    }
  }

  /** Sends a decision with its proof: the outcome. */
  async answer(decision, number, request = this.request) {
    const { account } = this;
    const about = { issuer: account.issuer, device: account.deviceId, request };
    const signed = decision === 'not_me' ? notMeText(about) : approvalText({ ...about, decision, number });
    const value = { decision, number, signature: await signText(account.privateKey, signed) };
    const { outcome } = await callWithPasskey(account, 'POST', `/requests/${encodeURIComponent(request.id)}`, value);
    return outcome;
  }

  refused(failure) {
    if (failure.code === 'expired') return this.end('expired');
    if (failure.code === 'already_decided') return this.end('decided');
    const isLocked = failure.code === 'wrong_number' && failure.body.attempts_left === 0;
    if (isLocked && !failure.body.other_request) return this.end('locked');
    this.busy(false);
    if (failure.code === 'wrong_number') {
      this.input.value = '';
      this.showTries(failure.body.attempts_left);
      if (failure.body.other_request) return this.showOther(failure.body.other_request);
      this.complain(text('app-request-wrong-number'));
    } else {
      this.complain(inWords(failure));
    }
    return this.input.focus();
  }

  busy(on) {
    this.state = on ? 'sending' : 'open';
    for (const control of [this.input, this.approve, this.deny, this.notMe]) control.disabled = on;
    this.element.setAttribute('aria-busy', String(on));
  }

  approved() {
    const { step, application } = this.request;
    this.finish('check', 'good', text('app-request-approved'),
      step ? [text('app-step-approved')] : phrase('app-request-approved-about', { application: application.name }));
  }

  end(kind) {
    if (this.other !== null) {
      this.other.ended = kind;
      return;
    }
    const [shape, tone, title, about] = ENDINGS[kind];
    const [stepTitle, stepAbout] = (this.request.step && STEP_ENDINGS[kind]) || [];
    if (kind === 'not_me') this.listener.reported(this);
    const mayReport = kind === 'denied' || (kind === 'gone' && this.secondsLeft() > 0);
    this.finish(shape, tone, text(stepTitle ?? title), [text(stepAbout ?? about)], mayReport ? this.disowning() : []);
  }

  /** The typed number belongs to another request: names that request, and offers to report it. */
  showOther(other) {
    this.other = { ended: this.request.attempts_left === 0 ? 'locked' : null, before: [...this.element.children] };
    const heading = el('h2', { id: this.title.id }, text('app-other-title'));
    const error = el('p', { class: 'field-error', role: 'alert', hidden: true });
    const report = async () => {
      reporting.disabled = true;
      try {
        await this.answer('not_me', '', other);
        this.other = null;
        this.end('not_me');
      } catch (failure) {
        reporting.disabled = false;
        error.textContent = reportFailure(failure);
        error.hidden = false;
      }
    };
    const back = () => {
      const { ended, before } = this.other;
      this.other = null;
      this.element.replaceChildren(...before);
      if (ended !== null) this.end(ended);
      else this.input.focus();
    };
    const reporting = button(text('app-request-not-me'), report, 'danger');
    const named = [other.step ?? other.application.name, other.browser, other.place].filter(Boolean).join(', ');
    this.element.replaceChildren(sign('mark', 'warn'), heading,
      el('p', { class: 'lead' }, ...phrase('app-other-about', { request: named, time: timeOfDay(other.requested_at) })),
      el('p', { class: 'muted' }, text(other.state === 'pending' ? 'app-other-pending' : 'app-other-ended')), error,
      el('div', { class: 'actions' }, reporting, button(text('app-other-back'), back)));
    focusOn(heading);
    say(this.element.querySelector('.lead').textContent, true);
  }

  /** Lets whoever denied say that the request was not even theirs. */
  disowning() {
    const error = el('p', { class: 'field-error', role: 'alert', hidden: true });
    const disown = async () => {
      control.disabled = true;
      try {
        await this.answer('not_me', '');
        this.end('not_me');
      } catch (failure) {
        control.disabled = false;
        error.textContent = reportFailure(failure);
        error.hidden = false;
      }
    };
    const control = button(text('app-request-not-me'), disown, 'quiet danger small');
    return [el('div', { class: 'not-me' }, el('p', { class: 'muted small' }, text('app-request-denied-not-you')), error, control)];
  }

  finish(shape, tone, title, about, more = []) {
    this.other = null;
    const hadFocus = this.element.contains(document.activeElement) || document.activeElement === document.body;
    this.state = 'ended';
    const heading = el('h2', {}, title);
    const detail = el('p', { class: 'lead' }, ...about);
    this.element.className = 'card outcome';
    this.element.removeAttribute('aria-busy');
    this.title.remove();
    heading.id = this.title.id;
    this.element.replaceChildren(sign(shape, tone), heading, detail, button(text('app-done'), () => this.listener.closed(this)), ...more);
    this.listener.ended(this);
    if (hadFocus) focusOn(heading);
    say(`${title}. ${detail.textContent}`);
  }
}
