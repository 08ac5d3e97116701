// A real sign-in of the administrator's own, step by step.

import { get, path, post, query } from '../api.js';
import { badge, button, el, facts, json, more, notice, panel, say } from '../view.js';

/**
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {import('../types.d.ts').Context} context
 */
export async function testSignIn(application, { me, may, reload }) {
  const place = el('div', { 'aria-live': 'polite' });
  const blocked = el('div', { role: 'status' });
  const begin = button(
    'Try sign-in',
    async () => {
      // Opened while the press is still fresh, else browsers take it for an advertisement.
      const tab = window.open('about:blank', '_blank');
      // Pages of others may follow in it, which must not get to lead this one elsewhere.
      if (tab) tab.opener = null;
      let made;
      try {
        made = await post(path`/applications/${application.id}/test-sign-ins`);
      } catch (problem) {
        tab?.close();
        throw problem;
      }
      if (tab) tab.location.replace(made.url);
      keep(application, made.id);
      blocked.replaceChildren(
        ...(tab
          ? []
          : [
              notice(
                'The browser did not open a tab.',
                'warn',
                el('p', {}, el('a', { href: made.url, target: '_blank', rel: 'noopener' }, 'Open it yourself')),
              ),
            ]),
      );
      await follow(place, made.id);
    },
    'primary',
  );
  await resume(application, place);
  return [
    panel(
      el(
        'p',
        {},
        'A new tab opens and signs you in to this application, as yourself: with its own settings, by the ' +
          'same endpoints, with an approval on your phone. The answer does not go to the application; it comes ' +
          'back here, with each step.',
      ),
      el('div', { class: 'ways' }, begin),
    ),
    ...(await withoutAccount(application, me, may, reload)),
    blocked,
    place,
  ];
}

/**
 * A user without an account in the application cannot sign in, not even in a test. They can get an account here.
 */
async function withoutAccount(application, me, may, reload) {
  if (!may('accounts:read')) return [];
  /** @type {import('../types.d.ts').Read<'/users/{id}/accounts'>} */
  const { items, next } = await get(`${path`/users/${me.id}/accounts`}${query({ limit: 200 })}`);
  if (next || items.some((account) => account.application_id === application.id)) return [];
  const give = button('Give me an account', async () => {
    await post(path`/applications/${application.id}/accounts`, { user_id: me.id });
    await reload();
    say('You have an account, without roles.');
  });
  return [
    notice(
      'You have no account in this application, so the test sign-in will end with that.',
      'warn',
      may('accounts:write') && el('div', { class: 'ways' }, give),
    ),
  ];
}

/**
 * The browser history entry stores the test sign-in, so that the page shows it again after a reload.
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {any} id
 */
function keep(application, id) {
  history.replaceState({ ...history.state, testSignIn: { application: application.id, id } }, '');
}

/**
 * @param {import('../types.d.ts').Schema<'Application'>} application
 */
function kept(application) {
  const stored = history.state?.testSignIn;
  return stored?.application === application.id ? stored.id : undefined;
}

/**
 * Shows the test sign-in that was started on this page before a reload, while it can be read.
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {any} place
 */
async function resume(application, place) {
  const id = kept(application);
  /** @type {import('../types.d.ts').Read<'/test-sign-ins/{id}'> | undefined} */
  const standing = id && (await get(path`/test-sign-ins/${id}`).catch(() => undefined));
  if (!standing || standing.state === 'over') return;
  show(place, standing);
  // Once the page is there.
  if (standing.state === 'waiting')
    setTimeout(() => follow(place, id).catch((problem) => place.append(notice(problem.message, 'bad'))));
}

async function follow(place, id) {
  let wait = 0;
  for (;;) {
    /** @type {import('../types.d.ts').Read<'/test-sign-ins/{id}'>} */
    const standing = await get(`${path`/test-sign-ins/${id}`}${query({ wait })}`);
    wait = 25;
    // Another page is shown by now, or another test sign-in was begun here.
    if (!place.isConnected || history.state?.testSignIn?.id !== id) return;
    show(place, standing);
    if (standing.state !== 'waiting') return;
  }
}

const UNASKED = ['No request went to your phone. The step below says why.', 'warn'];
const ENDS = {
  waiting: ['It is under way. Go on in the other tab, and approve on your phone.', 'calm'],
  done: ['It worked: the application would have signed you in.', 'calm'],
  failed: ['It did not work. The first step that failed says why.', 'bad'],
  over: ['Nobody finished it in time.', 'warn'],
};

/**
 * @param {HTMLElement} place
 * @param {import('../types.d.ts').Read<'/test-sign-ins/{id}'>} standing
 */
function show(place, { state, steps, result }) {
  const last = steps.at(-1);
  const unasked = state === 'waiting' && last?.name === 'asked' && !last.good;
  const [text, tone] = unasked ? UNASKED : (ENDS[state] ?? [state, 'calm']);
  const list = el(
    'ol',
    { class: 'test-sign-in' },
    ...steps.map((step) =>
      el(
        'li',
        { 'data-good': String(step.good) },
        el(
          'div',
          {},
          el('strong', {}, step.title),
          ' ',
          badge(step.good ? 'good' : 'failed', step.good ? 'active' : 'terminated'),
        ),
        step.detail && el('p', {}, step.detail),
        step.data !== undefined && step.data !== null && more('Details', json(step.data)),
      ),
    ),
  );
  place.replaceChildren(notice(text, tone), list, ...(result ? [outcome(result)] : []));
}

/** @param {NonNullable<import('../types.d.ts').Read<'/test-sign-ins/{id}'>['result']>} result */
function outcome(result) {
  if (result.error)
    return facts([
      ['Error', result.error],
      ['Description', result.error_description],
    ]);
  const attributes = result.attributes ?? [];
  if (result.protocol === 'saml') {
    return el(
      'section',
      {},
      el('h2', {}, 'The assertion'),
      facts([
        ['Status', result.status],
        ['Why', result.error_description],
        ['NameID', result.name_id && `${result.name_id.value} (${result.name_id.format ?? 'no format'})`],
      ]),
      attributes.length > 0 && facts(attributes.map((one) => [one.friendly_name ?? one.name ?? '', one.values])),
      result.response &&
        more('The response, without its signatures', el('pre', { tabindex: 0 }, el('code', {}, result.response))),
    );
  }
  return el(
    'section',
    {},
    el('h2', {}, 'The tokens'),
    result.id_token &&
      el(
        'div',
        {},
        el('h3', {}, 'ID token'),
        json(result.id_token.claims),
        more('Its header', json(result.id_token.header)),
      ),
    result.userinfo && el('div', {}, el('h3', {}, 'UserInfo'), json(result.userinfo)),
    result.token_response && more('The token response', json(result.token_response)),
  );
}
