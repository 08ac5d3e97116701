// A user in a list: the initial, and the names.

import { el, link } from '../view.js';

/** @import { Child } from '../types.d.ts' */

/** @param {string} id */
export const userAddress = (id) => `/admin/users/${id}`;

/**
 * The initial, the account name as a link, and below it the other names.
 * @param {{ id: string, name: string, others?: Array<string | null | undefined>, address?: string }} user
 * @returns {Child}
 */
export function userCell({ id, name, others = [], address = userAddress(id) }) {
  const known = others.filter((other) => other && other !== name);
  return el(
    'span',
    { class: 'named' },
    el('span', { class: 'small-picture round', 'aria-hidden': 'true' }, el('bdi', {}, [...name][0]?.toUpperCase())),
    el(
      'span',
      { class: 'user-cell' },
      link(address, el('bdi', {}, name)),
      ...known.map((other) => el('bdi', { class: 'muted' }, other)),
    ),
  );
}

/**
 * The name by which lists are sorted: the full name, or else the name at sign-in.
 * @param {{ name: string, profile: { name?: string | null } }} user
 */
export const fullName = ({ name, profile }) => profile.name || name;

/**
 * A user in a question: the full name and the account name.
 * @param {{ name: string, profile: { name?: string | null } }} user
 */
export const called = ({ name, profile }) =>
  profile.name && profile.name !== name ? `${profile.name} (${name})` : name;

/**
 * A user in the results of a search: all names by which the search finds the user.
 * @param {{ name: string, email?: string | null, profile: { name?: string | null } }} user
 */
export const foundUser = (user) => [called(user), user.email].filter(Boolean).join(' · ');
