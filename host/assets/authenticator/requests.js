// All pending requests of this browser's accounts: one is shown at once; of several the user picks one from a list.

import { RequestCard } from './request.js';
import { text } from './texts.js';
import { button, el, focusOn, say } from './view.js';

/** The newest first; the ids of requests grow with time. */
function newestFirst(one, other) {
  const [a, b] = [one.request, other.request];
  return b.requested_at - a.requested_at || (b.id > a.id ? 1 : -1);
}

/** The requests in their zone of the page. `changed()` is called when there are more or fewer of them, or one has ended. */
export class RequestList {
  constructor(zone, changed) {
    this.zone = zone;
    this.changed = changed;
    /** The cards, by the id of their request. */
    this.cards = new Map();
    /** The card that the user picked. */
    this.chosen = null;
    this.title = el('h2', { id: 'requests-title' });
    this.items = el('ul', { class: 'picks' });
    this.list = el('section', { class: 'card', 'aria-labelledby': 'requests-title' },
      this.title, el('p', { class: 'lead' }, text('app-requests-choose')), this.items);
    this.all = button('', () => this.back());
  }

  /** The cards of pending requests, the newest first. */
  get open() {
    return [...this.cards.values()].filter((card) => card.state !== 'ended').sort(newestFirst);
  }

  /** The number of cards, including those of ended requests. */
  get size() {
    return this.cards.size;
  }

  /** Takes the server's current list for an account. Its clock is `skew` seconds before ours. Returns whether one is new. */
  update(account, requests, skew) {
    const listed = new Set(requests.map((request) => request.id));
    for (const card of this.of(account)) if (!listed.has(card.request.id)) card.vanished(skew);
    const before = this.open;
    let fresh = false;
    for (const request of requests) {
      const known = this.cards.get(request.id);
      if (known) {
        known.update(request, skew);
        continue;
      }
      fresh = true;
      this.cards.set(request.id, new RequestCard(account, request, skew, {
        closed: (card) => this.close(card),
        picked: (card) => this.pick(card),
        ended: () => this.show(),
        reported: (card) => this.drop(card),
      }));
      say(request.step ?? text('app-request-news', { application: request.application.name, account: request.account }));
    }
    // A card in use must stay in place. Otherwise the list is shown, so that the user does not have to guess.
    if (fresh && this.chosen === null && before.length === 1 && before[0].isInUse()) [this.chosen] = before;
    this.show();
    return fresh;
  }

  of(account) {
    return [...this.cards.values()].filter((card) => card.account.deviceId === account.deviceId);
  }

  /** Forgets an account's requests. */
  forget(account) {
    for (const card of this.of(account)) this.cards.delete(card.request.id);
    this.show();
  }

  /** Shows the time that is left. */
  tick() {
    for (const card of this.cards.values()) card.tick();
  }

  pick(card) {
    this.chosen = card;
    this.show();
    focusOn(card.title);
  }

  /** Removes the account's other requests, because a report ends them as well. */
  drop(reported) {
    for (const card of this.of(reported.account)) if (card !== reported && card.state !== 'ended') this.cards.delete(card.request.id);
  }

  back() {
    this.chosen = null;
    this.show();
    focusOn(this.title);
  }

  close(card) {
    this.cards.delete(card.request.id);
    this.show();
    focusOn(this.zone);
  }

  /** Shows how the ended ones ended, and of the open ones the only one, the picked one, or the list. */
  show() {
    const { open } = this;
    if (!open.includes(this.chosen)) this.chosen = null;
    const parts = [...this.cards.values()].filter((card) => card.state === 'ended').map((card) => card.element);
    if (open.length === 1) {
      parts.push(open[0].element);
    } else if (this.chosen !== null) {
      this.all.textContent = text('app-requests-all', { count: open.length });
      parts.push(this.all, this.chosen.element);
    } else if (open.length > 1) {
      this.title.textContent = text('app-requests-several', { count: open.length });
      const items = open.map((card) => card.pick);
      if (!same(items, [...this.items.children])) keepingFocus(() => this.items.replaceChildren(...items));
      parts.push(this.list);
    }
    const shown = [...this.zone.children].filter((part) => !part.classList.contains('ready'));
    if (!same(parts, shown)) keepingFocus(() => this.zone.replaceChildren(...parts));
    this.changed();
  }
}

function same(some, others) {
  return some.length === others.length && some.every((part, index) => part === others[index]);
}

/** Restores the focus after a change, because an element that moves in the page loses it. */
function keepingFocus(change) {
  const focused = document.activeElement;
  change();
  if (focused !== document.activeElement && focused?.isConnected) focused.focus();
}
