// The test sign-in of an application: a real sign-in of the administrator, step by step.

import { followed, get, post } from '../api.js';
import { apiSentence, apiText } from '../api_texts.js';
import { t, translated } from '../language.js';
import { anchorOf, badge, button, el, facts, json, moment, more, notice, panel, say, way } from '../view.js';
import { deniedBecause } from './access.js';
import { accountAddress } from './account.js';
import { nameIdNote } from './name_id.js';
import { unconfirmedUsers } from './unconfirmed.js';

/** @import { Context, HistoryEntry, Schema } from '../types.d.ts' */

/**
 * @param {Schema<'Application'>} application
 * @param {Context} context
 */
export async function testSignIn(application, { me, may, reload }) {
  const place = el('div', { 'aria-live': 'polite' });
  const view = { place, application: application.id, user: me.id };
  const blocked = el('div', { role: 'status' });
  const begin = button(
    'Test sign-in',
    async () => {
      // This comes before the request, because browsers block a tab that is opened later.
      const tab = window.open('about:blank', '_blank');
      // Foreign pages in the tab must not navigate this one.
      if (tab) tab.opener = null;
      /** @type {Schema<'NewTestSignIn'>} */
      let made;
      try {
        made = await post('/applications/{id}/test-sign-ins', { id: application.id });
      } catch (problem) {
        tab?.close();
        throw problem;
      }
      if (tab) tab.location.replace(made.url);
      remember(application, made.id);
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
      await follow(view, made.id);
    },
    'primary',
  );
  await resume(view);
  return [
    panel(
      el(
        'p',
        {},
        'A new tab opens and signs you in to this application as yourself. It uses the application’s settings, ' +
          'the same endpoints, and an approval on your phone. The result does not go to the application. It comes ' +
          'back here, with each step.',
      ),
      el('div', { class: 'ways' }, begin),
    ),
    ...(await missingAccess(application, { me, may, reload })),
    ...(await unconfirmedUsers(application, { may, reload })),
    blocked,
    place,
  ];
}

/**
 * A user without access to the application cannot sign in, not even in a test. The administrator can create an account,
 * or change the account that denies the access.
 * @param {Schema<'Application'>} application
 * @param {Pick<Context, 'me' | 'may' | 'reload'>} context
 */
async function missingAccess(application, { me, may, reload }) {
  const user = me.id;
  // A service has no user.
  if (!user || !may('accounts:read')) return [];
  const { items } = await get('/applications/{id}/access', { id: application.id, q: user });
  const access = items.find((row) => row.user_id === user);
  if (access?.granted) return [];
  if (access?.denied) {
    const { account } = access;
    return [
      notice(
        t`You have no access to this application, so the test sign-in will fail: ${deniedBecause(access.denied)}.`,
        'warn',
        account && el('div', { class: 'ways' }, way(accountAddress(account.id), 'Open my account')),
      ),
    ];
  }
  const give = button('Create an account for me', async () => {
    await post('/applications/{id}/accounts', { id: application.id }, { user_id: user });
    await reload();
    say('You have an account, without roles.');
  });
  return [
    notice(
      'You have no access to this application, so the test sign-in will fail.',
      'warn',
      may('accounts:write') && el('div', { class: 'ways' }, give),
    ),
  ];
}

/** The test sign-in that the history entry of the page stores. */
const stored = () => /** @type {HistoryEntry} */ (history.state)?.testSignIn;

/**
 * Stores the test sign-in in the history entry, so that the page shows it again after a reload.
 * @param {Schema<'Application'>} application
 * @param {string} id
 */
function remember(application, id) {
  history.replaceState({ ...history.state, testSignIn: { application: application.id, id } }, '');
}

/**
 * The element that shows a test sign-in, and its application and user.
 * @typedef {{ place: HTMLElement, application: string, user?: string | null }} View
 */

/**
 * Shows the test sign-in that was started on this page before a reload, if it can still be read.
 * @param {View} view
 */
async function resume(view) {
  const { place, application } = view;
  const started = stored();
  if (started?.application !== application) return;
  const { id } = started;
  const test = await get('/test-sign-ins/{id}', { id }).catch(() => undefined);
  if (!test || test.state === 'expired') return;
  show(view, test);
  // This runs after the page is shown.
  if (test.state === 'pending')
    setTimeout(() => follow(view, id).catch((problem) => place.append(notice(problem.message, 'bad'))));
}

/**
 * Shows each step of a test sign-in until it ends.
 * @param {View} view
 * @param {string} id
 */
async function follow(view, id) {
  for await (const test of followed('/test-sign-ins/{id}', id)) {
    // The administrator left the page, or started another test sign-in.
    if (!view.place.isConnected || stored()?.id !== id) return;
    show(view, test);
    if (test.state !== 'pending') return;
  }
}

/** @type {[string, string]} */
const UNASKED = ['No request went to your phone. The step below says why.', 'warn'];
/** @type {Record<Schema<'TestSignInState'>, [string, string]>} */
const ENDS = {
  pending: ['It is pending. Continue in the other tab, and approve on your phone.', 'calm'],
  completed: ['It worked: the application would have signed you in.', 'good'],
  failed: ['It did not work. The first step that failed says why.', 'bad'],
  expired: ['It expired.', 'warn'],
};

/**
 * The pages on which the cause of a failed step can be changed.
 * @param {Step} step
 * @param {View} view
 * @returns {Array<[address: string, label: string]>}
 */
function remedies(step, { application, user }) {
  // Only the user can end the cooldown, in the authenticator on the device.
  if (isPaused(step)) return [];
  const page = `/admin/applications/${application}`;
  /** @type {Array<[string, string]>} */
  const userPage = user ? [[`/admin/users/${user}`, 'Open my user page']] : [];
  switch (step.name) {
    case 'request':
    case 'validation':
    case 'response':
      return [[`${page}/settings`, 'Open the settings']];
    case 'approval_request':
    case 'approval':
      return user ? [[`/admin/users/${user}/devices`, 'Open my devices in the console']] : [];
    case 'account':
      return [[`${page}/accounts`, 'Open the accounts']];
    case 'name_id':
      return [[`${page}/settings#${anchorOf('Name of users (NameID)')}`, 'Open the NameID settings'], ...userPage];
    case 'claims':
    case 'userinfo':
      return [[`${page}/claims`, 'Open the claims preview']];
    case 'token_exchange':
      return [[`${page}/credentials`, 'Open the credentials']];
    default:
      return [];
  }
}

/** @typedef {Schema<'TestSignInStep'>} Step */

/**
 * Whether no request went to the device because of a cooldown: the request is sent later, if the sign-in is still
 * pending.
 * @param {Step} step
 */
function isPaused({ name, data }) {
  return name === 'approval_request' && typeof data === 'object' && data !== null && 'cooldown_until' in data;
}

/**
 * The state of a step: its name, and that of its badge.
 * @param {Step} step
 * @param {boolean} isPending whether the step may still succeed
 * @returns {[string, string]}
 */
function stateOf(step, isPending) {
  if (step.succeeded) return ['succeeded', 'active'];
  return isPending && isPaused(step) ? ['waiting', 'suspended'] : ['failed', 'terminated'];
}

/**
 * The note about a step that succeeded.
 * @param {Step} step
 */
function noteOf({ name, succeeded, data }) {
  if (name !== 'name_id' || !succeeded || typeof data !== 'object' || data === null) return undefined;
  return nameIdNote(/** @type {{ format?: string, value?: string }} */ (data));
}

/**
 * @param {View} view
 * @param {Schema<'TestSignIn'>} test
 */
function show(view, { state, steps, result }) {
  const last = steps.at(-1);
  const unasked = state === 'pending' && last?.name === 'approval_request' && !last.succeeded;
  const [text, tone] = unasked ? UNASKED : ENDS[state];
  const shownStep = (/** @type {Step} */ step) => {
    const [label, badgeState] = stateOf(step, unasked && step === last);
    const note = noteOf(step);
    const ways = step.succeeded && !note ? [] : remedies(step, view);
    return el(
      'li',
      { 'data-state': note ? 'noted' : label },
      el('div', {}, el('strong', {}, apiText(step.title)), ' ', badge(label, badgeState)),
      step.detail && el('p', {}, ...withTimes(apiSentence(step.detail))),
      note && notice(note, 'warn'),
      ways.length > 0 && el('div', { class: 'ways' }, ...ways.map(([address, title]) => way(address, title))),
      step.data !== undefined && step.data !== null && more('Details', json(step.data)),
    );
  };
  const list = el('ol', { class: 'test-sign-in' }, ...steps.map(shownStep));
  view.place.replaceChildren(notice(text, tone), list, ...(result ? [outcome(result)] : []));
}

/**
 * A text of the server, with its times in the browser's time zone.
 * @param {string} text
 */
const withTimes = (text) =>
  text
    .split(/(\d{4}-\d\d-\d\dT[\d:.]+Z)/)
    .map((part, index) => (index % 2 === 1 ? moment(part, { exact: true }) : part));

/**
 * The description of an error, as a sentence.
 * @param {string | null | undefined} text
 */
const described = (text) => text && el('span', {}, ...withTimes(apiSentence(text)));

/** @param {Schema<'TestSignInResult'>} result */
function outcome(result) {
  if (result.error)
    return facts([
      ['Error', result.error],
      ['Description', described(result.error_description)],
    ]);
  if (result.protocol === 'saml') {
    /** @type {Array<[string, unknown]>} */
    const attributes = (result.attributes ?? []).map((one) => [one.friendly_name ?? one.name ?? '', one.values]);
    return el(
      'section',
      {},
      el('h2', {}, 'The assertion'),
      facts([
        ['Status', result.status],
        ['Why', described(result.error_description)],
        ['NameID', result.name_id && `${result.name_id.value} (${result.name_id.format ?? translated('no format')})`],
        ...attributes,
      ]),
      result.response &&
        more('The response, without its signatures', el('pre', { tabindex: 0 }, el('code', {}, result.response))),
    );
  }
  return el(
    'section',
    { class: 'tokens' },
    el('h2', {}, 'The tokens'),
    result.id_token &&
      el(
        'div',
        { class: 'named-part' },
        el('h3', {}, 'ID token'),
        json(result.id_token.claims),
        more('Its header', json(result.id_token.header)),
      ),
    result.userinfo && el('div', { class: 'named-part' }, el('h3', {}, 'UserInfo'), json(result.userinfo)),
    result.token_response && more('The token response', json(result.token_response)),
  );
}
