// The first steps of an owner: a list that marks completed steps by itself. This browser stores that it was dismissed.

import { get } from '../api.js';
import { icon } from '../icons.js';
import { t } from '../language.js';
import { button, el, link, section } from '../view.js';

/** @import { Context, Schema } from '../types.d.ts' */

const DISMISSED = 'assent-console-started';
const BACKED_UP = 'assent-console-backed-up';

/**
 * A step: its label, its purpose, the page for it, and whether it is done.
 * @typedef {{ label: string, about: string, to?: string, done: boolean }} Step
 */

/** @param {string} key */
function isNoted(key) {
  try {
    return localStorage.getItem(key) !== null;
  } catch {
    return false;
  }
}

/**
 * @param {string} key
 * @param {boolean} isSet
 */
function note(key, isSet) {
  try {
    if (isSet) localStorage.setItem(key, 'yes');
    else localStorage.removeItem(key);
  } catch {
    // The browser stores nothing, so the dismissal lasts until the page is closed.
  }
}

/**
 * The list, for owners who have not dismissed it.
 * @param {Context} context
 * @param {Schema<'Overview'>} overview
 */
export async function gettingStarted({ me }, { users, applications }) {
  if (me.role !== 'owner' || !me.id || isNoted(DISMISSED)) return undefined;
  const [known, owners, devices] = await Promise.all([
    get('/applications', { limit: 200 }),
    get('/users', { role: 'owner', state: 'active', limit: 2 }),
    get('/users/{id}/devices', { id: me.id }),
  ]);
  /** @type {Step[]} */
  const steps = [
    {
      label: 'Connect an application',
      about: 'Users sign in to it with Assent.',
      to: '/admin/applications/new',
      done: applications.openid_connect + applications.saml > 0,
    },
    {
      label: 'Invite a user',
      about: 'With a link, the user enrols a device.',
      to: '/admin/users/new',
      done: users.active + users.invited + users.suspended + users.terminated > 1,
    },
    {
      label: 'Sign in to an application',
      about: 'A test sign-in shows each step.',
      to: '/admin/applications',
      done: known.items.some(({ usage }) => usage?.last_sign_in_at),
    },
    {
      label: 'Add a second device of your own',
      about: 'If you lose the only one, you are locked out.',
      to: '/authenticator',
      done: devices.items.length > 1,
    },
    {
      label: 'Appoint a second owner',
      about: 'Another owner can then help you if you are locked out.',
      to: '/admin/users',
      done: owners.items.length > 1,
    },
  ];
  return list(steps);
}

/** @param {Step[]} steps */
function list(steps) {
  const backup = el('input', { type: 'checkbox', id: 'backed-up' });
  backup.checked = isNoted(BACKED_UP);
  const count = el('p', { class: 'muted', role: 'status' });
  const update = () => {
    const done = steps.filter((step) => step.done).length + (backup.checked ? 1 : 0);
    count.textContent = t`${done} of ${steps.length + 1} done`;
  };
  backup.addEventListener('change', () => {
    note(BACKED_UP, backup.checked);
    update();
  });
  update();
  const made = section(
    'Getting started',
    el(
      'div',
      { class: 'panel started' },
      count,
      el(
        'ul',
        {},
        ...steps.map(({ label, about, to, done }) =>
          el(
            'li',
            { 'data-done': String(done) },
            icon(done ? 'good' : 'open'),
            el(
              'div',
              {},
              done || !to ? el('strong', {}, label) : link(to, label),
              done && el('span', { class: 'hidden-text' }, ' (done)'),
              el('p', { class: 'muted small' }, about),
            ),
          ),
        ),
        // The server cannot know whether this step is done.
        el(
          'li',
          {},
          el(
            'div',
            { class: 'choice' },
            backup,
            el('label', { for: 'backed-up' }, 'The database is backed up, and the master key is stored elsewhere'),
          ),
        ),
      ),
      el(
        'div',
        { class: 'ways' },
        button('Do not show this list again', () => {
          note(DISMISSED, true);
          made.remove();
        }),
      ),
    ),
  );
  return made;
}
