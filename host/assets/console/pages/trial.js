// A real sign-in of the administrator's own, step by step.

import { get, path, post, query } from '../api.js';
import { badge, button, el, facts, json, more, notice, panel } from '../view.js';

export async function trial(application, { may }) {
  const place = el('div', { 'aria-live': 'polite' });
  const begin = button('Try sign-in', async () => {
    // Opened while the press is still fresh, else browsers take it for an advertisement.
    const tab = window.open('about:blank', '_blank');
    let made;
    try {
      made = await post(path`/applications/${application.id}/trials`);
    } catch (problem) {
      tab?.close();
      throw problem;
    }
    if (tab) tab.location.replace(made.url);
    await follow(place, made, tab);
  }, 'primary');
  return [panel(
    el('p', {}, 'A new tab opens and signs you in to this application, as yourself: with its own settings, by the same endpoints, with an approval on your phone. The answer does not go to the application; it comes back here, with each step.'),
    may('accounts:read') && el('p', { class: 'muted' }, 'You need an account in the application.'),
    el('div', { class: 'ways' }, begin)), place];
}

async function follow(place, made, tab) {
  if (!tab) place.replaceChildren(notice('The browser did not open a tab.', 'warn', el('p', {}, el('a', { href: made.url, target: '_blank', rel: 'noopener' }, 'Open it yourself'))));
  let wait = 0;
  for (;;) {
    const standing = await get(`${path`/trials/${made.id}`}${query({ wait })}`);
    wait = 25;
    if (!place.isConnected) return;
    show(place, standing);
    if (standing.state !== 'waiting') return;
  }
}

const ENDS = { waiting: ['It is under way. Go on in the other tab, and approve on your phone.', 'calm'], done: ['It worked: the application would have signed you in.', 'calm'], failed: ['It did not work. The last step says why.', 'bad'], over: ['Nobody finished it in time.', 'warn'] };

function show(place, { state, steps, result }) {
  const [text, tone] = ENDS[state] ?? [state, 'calm'];
  const list = el('ol', { class: 'trial' }, ...steps.map((step) => el('li', { 'data-good': String(step.good) },
    el('div', {}, el('strong', {}, step.title), ' ', badge(step.good ? 'good' : 'failed', step.good ? 'active' : 'terminated')),
    step.detail && el('p', {}, step.detail),
    step.data !== undefined && step.data !== null && more('Details', json(step.data)))));
  place.replaceChildren(notice(text, tone), list, ...(result ? [outcome(result)] : []));
}

function outcome(result) {
  if (result.error) return facts([['Error', result.error], ['Description', result.error_description]]);
  if (result.protocol === 'saml') {
    return el('section', {}, el('h2', {}, 'The assertion'),
      facts([['Status', result.status], ['NameID', result.name_id && `${result.name_id.value} (${result.name_id.format ?? 'no format'})`]]),
      (result.attributes ?? []).length > 0 && facts(result.attributes.map((one) => [one.friendly_name ?? one.name ?? '', one.values])),
      result.response && more('The response, without its signatures', el('pre', { tabindex: 0 }, el('code', {}, result.response))));
  }
  return el('section', {}, el('h2', {}, 'The tokens'),
    result.id_token && el('div', {}, el('h3', {}, 'ID token'), json(result.id_token.claims), more('Its header', json(result.id_token.header))),
    result.userinfo && el('div', {}, el('h3', {}, 'UserInfo'), json(result.userinfo)),
    result.token_response && more('The token response', json(result.token_response)));
}
