// What became of an account's last requests, as the server remembers it.

import { call, inWords } from './api.js';
import { region, text } from './texts.js';
import { el, facts } from './view.js';

const OUTCOMES = {
  approved: 'app-history-approved',
  denied: 'app-history-denied',
  not_me: 'app-history-not-me',
  wrong_number: 'app-history-wrong-number',
  unanswered: 'app-history-unanswered',
};

function item({ outcome, application, account, place, browser, step, at }) {
  const time = new Date(at * 1000).toLocaleString(region, { dateStyle: 'medium', timeStyle: 'short' });
  return el('li', { class: 'card past' },
    el('h4', {}, el('bdi', {}, step === '' ? text('app-history-step-erased') : step ?? application.name)),
    el('p', {}, text(OUTCOMES[outcome]), ' · ', time),
    facts([
      [text('app-request-account'), account || text('app-request-not-known')],
      [text('app-request-place'), place || text('app-request-not-known')],
      [text('app-request-browser'), browser || text('app-request-not-known')],
    ]));
}

/** The history of an account, which is asked for when it is opened. */
export function history(account) {
  const place = el('div', { class: 'zone' });
  const fill = async () => {
    place.replaceChildren(el('p', { class: 'muted' }, text('app-history-loading')));
    try {
      const { items } = await call(account, 'GET', '/history');
      const list = items.filter(({ outcome }) => OUTCOMES[outcome]);
      place.replaceChildren(list.length > 0
        ? el('ul', { class: 'zone past-list' }, ...list.map(item))
        : el('p', { class: 'muted' }, text('app-history-empty')));
    } catch (failure) {
      place.replaceChildren(el('p', { role: 'alert' }, inWords(failure)));
    }
  };
  const details = el('details', { class: 'past-sign-ins', ontoggle: () => details.open && fill() },
    el('summary', {}, text('app-history')), place);
  return details;
}
