// One account: a user in one application.

import { get, getVersion, patch, remove } from '../api.js';
import { form, lines, text } from '../form.js';
import {
  ask,
  badge,
  button,
  code,
  disableAll,
  el,
  facts,
  link,
  moment,
  panel,
  say,
  screen,
  section,
  way,
} from '../view.js';
import { applicationAddress } from './applications.js';
import { userAddress } from './users.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** @param {string} id */
export const accountAddress = (id) => `/admin/accounts/${id}`;

/**
 * @param {Context} context
 * @param {Record<string, string>} values
 */
export async function account(context, { id }) {
  const { may, go, reload } = context;
  const { value, version } = await getVersion('/accounts/{id}', { id });
  const [user, application] = await Promise.all([
    may('users:read') ? get('/users/{id}', { id: value.user_id }) : null,
    may('applications:read') ? get('/applications/{id}', { id: value.application_id }) : null,
  ]);
  const setState = async (/** @type {Schema<'LifecycleState'>} */ state, /** @type {string} */ message) => {
    await patch('/accounts/{id}', { id: value.id }, { state }, version);
    await reload();
    say(message);
  };
  const made = form(
    [
      text('name', 'Account name', { hint: 'What the application calls the person.' }),
      lines('roles', 'Roles', { hint: 'One on each line, as the application knows them.' }),
    ],
    {
      values: value,
      submit: 'Save',
      send: async (_values, changed) => {
        if (Object.keys(changed).length > 0) await patch('/accounts/{id}', { id: value.id }, changed, version);
        await reload();
        say('Saved.');
      },
    },
  );
  if (!may('accounts:write')) disableAll(made);
  const suspend = async () =>
    (await ask(
      'Suspend this account?',
      "The person is signed out of this application at once, and can't sign in to it until it is lifted.",
      'Suspend',
    )) && setState('suspended', 'The account is suspended.');
  const terminate = async () =>
    (await ask(
      'Close this account for good?',
      'The person is signed out of this application at once, and never gets in with this account again.',
      'Terminate',
      value.name,
    )) && setState('terminated', 'The account is terminated.');
  const drop = async () => {
    if (
      !(await ask(
        'Delete this account?',
        "The person can't get into the application any more. What the application keeps of them is not touched.",
        'Delete',
        value.name,
      ))
    )
      return;
    await remove('/accounts/{id}', { id: value.id }, version);
    await go(application ? `${applicationAddress(application.id)}/accounts` : `${userAddress(value.user_id)}/accounts`);
    say('The account was deleted.');
  };
  const state =
    may('accounts:state') &&
    panel(
      el('h2', {}, 'State'),
      el(
        'div',
        { class: 'ways' },
        value.state === 'active'
          ? button('Suspend', suspend)
          : value.state !== 'terminated' &&
              button('Let it be used', () => setState('active', 'The account may be used.'), 'primary'),
        value.state !== 'terminated' && button('Terminate', terminate, 'danger'),
        may('accounts:write') && button('Delete', drop, 'danger'),
      ),
    );
  const preview =
    may('claims:read') &&
    way(
      `${applicationAddress(value.application_id)}/claims?account=${value.id}`,
      'Preview what the application is told',
    );
  return screen(
    {
      title: value.name,
      lead: application ? `Account in ${application.name}` : 'Account',
      badges: [badge(value.state)],
      back: application
        ? [`${applicationAddress(application.id)}/accounts`, `Accounts of ${application.name}`]
        : ['/admin/users', 'Users'],
      actions: [preview],
    },
    state || '',
    made,
    section(
      'Ids',
      facts([
        ['Person', user ? link(userAddress(user.id), user.profile.name ?? user.name) : value.user_id],
        [
          'Application',
          application ? link(applicationAddress(application.id), application.name) : value.application_id,
        ],
        ['Id', code(value.id)],
        ['Short code', code(value.short_code)],
        ['Made', moment(value.created_at)],
      ]),
    ),
  );
}
