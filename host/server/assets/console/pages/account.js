// One account: a user in one application.

import { get, getVersion, patch, remove } from '../api.js';
import { form, text, toggle } from '../form.js';
import { t } from '../language.js';
import { roleChips } from '../role_chips.js';
import {
  ask,
  badge,
  button,
  code,
  el,
  facts,
  link,
  makeReadOnly,
  moment,
  panel,
  say,
  screen,
  section,
  way,
} from '../view.js';
import { applicationAddress } from './applications.js';
import { userAddress } from './user_cell.js';

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
  const [known, user, application] = await Promise.all([
    get('/applications/{id}/roles', { id: value.application_id }),
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
      text('name', 'Account name', { hint: 'The name of the user in the application.' }),
      roleChips('roles', 'Roles', { known: known.items }),
      toggle('individual', 'The account itself grants access', {
        hint: 'Without it the user has access only by groups, or if the application is assigned to everyone.',
      }),
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
  if (!may('accounts:write')) makeReadOnly(made);
  const suspend = async () =>
    (await ask(
      t`Suspend the account ${value.name}?`,
      'The user is signed out of this application at once, and can’t sign in to it until you lift the suspension.',
      'Suspend',
    )) && setState('suspended', 'The account is suspended.');
  const terminate = async () =>
    (await ask(
      t`Terminate the account ${value.name}?`,
      'The user is signed out of this application at once, and can never sign in with this account again.',
      'Terminate',
      value.name,
    )) && setState('terminated', 'The account is terminated.');
  const drop = async () => {
    if (
      !(await ask(
        t`Delete the account ${value.name}?`,
        'The user can’t sign in to the application any more. The data in the application stay.',
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
              button('Activate', () => setState('active', 'The account is active.'), 'primary'),
        value.state !== 'terminated' && button('Terminate', terminate, 'danger'),
        may('accounts:write') && button('Delete', drop, 'danger'),
      ),
    );
  const preview =
    may('claims:read') &&
    way(`${applicationAddress(value.application_id)}/claims?account=${value.id}`, 'Preview the claims');
  return screen(
    {
      title: value.name,
      isName: true,
      lead: application ? t`Account in ${application.name}` : 'Account',
      badges: [badge(value.state)],
      back: application
        ? [`${applicationAddress(application.id)}/accounts`, t`Accounts of ${application.name}`]
        : ['/admin/users', 'Users'],
      actions: [preview],
    },
    state || '',
    made,
    section(
      'Access',
      facts([
        ['Own account', value.individual],
        ['Groups', value.groups.map(({ name, roles }) => (roles.length > 0 ? `${name}: ${roles.join(', ')}` : name))],
        ['Everyone', value.everyone],
        ['Roles that the application receives', value.effective_roles],
      ]),
    ),
    section(
      'IDs',
      facts([
        ['User', user ? link(userAddress(user.id), el('bdi', {}, user.profile.name ?? user.name)) : value.user_id],
        [
          'Application',
          application
            ? link(applicationAddress(application.id), el('bdi', {}, application.name))
            : value.application_id,
        ],
        ['ID', code(value.id)],
        ['Short code', code(value.short_code)],
        ['Created', moment(value.created_at)],
      ]),
    ),
  );
}
