// Users without a confirmed email address. A SAML application that identifies users by it rejects them.

import { byName } from '../../names.js';
import { get, Problem, post } from '../api.js';
import { inBatches } from '../batches.js';
import { t, translated } from '../language.js';
import { button, el, explain, figure, link, notice, say } from '../view.js';
import { userAddress } from './user_cell.js';

/** @import { Progress } from '../batches.js' */
/** @import { Context, Schema } from '../types.d.ts' */

/** The number of users that the list shows. */
const SHOWN = 50;

/** The number of users in one request, whose approval names each address. */
const MOST = 14;

/**
 * Confirms the addresses of users, with one approval for each request. If a later request fails, it returns the number
 * of finished users and the problem.
 * @param {string[]} users
 */
export async function confirmAddresses(users) {
  let count = 0;
  const send = (/** @type {string[]} */ part) => post('/users/confirm-emails', {}, { users: part });
  const progress = await inBatches(users, MOST, send, ({ items }) => {
    count += items.length;
  });
  say(count === 1 ? t`${1} address was confirmed.` : t`${figure(count)} addresses were confirmed.`);
  return progress;
}

/**
 * A note about a run that did not finish: how far it came, and why.
 * @param {Progress} progress
 * @param {number} all the number of users
 */
export function unfinished({ done, problem }, all) {
  if (done === all) return [];
  const why = problem instanceof Problem && problem.dropped ? [] : explain(problem);
  const count = t`Done for ${figure(done)} of ${figure(all)} users. The addresses of the others are not confirmed.`;
  return [el('div', { class: 'notice warn', role: 'alert' }, el('p', {}, count), ...why)];
}

/**
 * Whether assertions of a service provider need the user's email address.
 * @param {Schema<'ServiceProvider'>} provider
 */
const needsAddress = ({ name_id_source: source, name_id_format: format, unconfirmed_email: any }) =>
  !any && source === 'user_email' && (format === 'emailAddress' || format === 'unspecified');

/**
 * The users of a service provider without a confirmed address, with a button that confirms those shown.
 * @param {Schema<'Application'>} application
 * @param {Pick<Context, 'may' | 'reload'>} context
 * @param {Element[]} [notes] the notes about an earlier run, which the next one removes
 * @returns {Promise<HTMLElement[]>}
 */
export async function unconfirmedUsers(application, { may, reload }, notes = []) {
  if (application.protocol !== 'saml' || !needsAddress(application) || !may('users:read')) return [];
  const { items, next } = await get('/users/unconfirmed-emails', { application: application.id, limit: SHOWN });
  if (items.length === 0) return [];
  items.sort(byName(({ name }) => name));
  const withAddress = items.filter((user) => user.email);
  const count = withAddress.length;
  const label = count === 1 ? t`Confirm ${1} address` : t`Confirm ${figure(count)} addresses`;
  const confirm = button(label, async () => {
    for (const note of notes) note.remove();
    const progress = await confirmAddresses(withAddress.map((user) => user.id));
    // The page reads the list again, unless it has to show why some users remain.
    const why = unfinished(progress, count);
    if (why.length === 0) await reload();
    else list.replaceWith(...why, ...(await unconfirmedUsers(application, { may, reload }, why)));
  });
  const list = notice(
    'These users cannot sign in to it, because their email address is missing or not confirmed. An address is ' +
      'confirmed when an administrator sets or confirms it, or when an invited user opens an invitation that was ' +
      'sent to it.',
    'warn',
    el(
      'ul',
      {},
      ...items.map((user) =>
        el(
          'li',
          {},
          link(userAddress(user.id), el('bdi', {}, user.name)),
          ' · ',
          user.email ? el('bdi', { class: 'email' }, user.email) : translated('No email address'),
        ),
      ),
    ),
    next && el('p', {}, 'There are more users like these.'),
    may('users:manage') && count > 0 && el('div', { class: 'ways' }, confirm),
  );
  return [list];
}
