// Users without a confirmed email address. A SAML application that identifies users by it rejects them.

import { byName } from '../../names.js';
import { get, post } from '../api.js';
import { t, translated } from '../language.js';
import { button, el, figure, link, notice, say } from '../view.js';
import { userAddress } from './user_cell.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** The number of users that one request confirms, and that the list shows. */
const MOST = 50;

/**
 * Confirms the addresses of users, with one approval for each request. Returns the number of confirmed addresses.
 * @param {string[]} users
 */
export async function confirmAddresses(users) {
  let count = 0;
  for (let at = 0; at < users.length; at += MOST)
    count += (await post('/users/confirm-emails', {}, { users: users.slice(at, at + MOST) })).items.length;
  say(count === 1 ? t`${1} address was confirmed.` : t`${figure(count)} addresses were confirmed.`);
  return count;
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
 */
export async function unconfirmedUsers(application, { may, reload }) {
  if (application.protocol !== 'saml' || !needsAddress(application) || !may('users:read')) return [];
  const { items, next } = await get('/users/unconfirmed-emails', { application: application.id, limit: MOST });
  if (items.length === 0) return [];
  items.sort(byName(({ name }) => name));
  const withAddress = items.filter((user) => user.email);
  const count = withAddress.length;
  const label = count === 1 ? t`Confirm ${1} address` : t`Confirm ${figure(count)} addresses`;
  const confirm = button(label, async () => {
    await confirmAddresses(withAddress.map((user) => user.id));
    await reload();
  });
  return [
    notice(
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
    ),
  ];
}
