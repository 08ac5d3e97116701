// One account: a person in one application.

import { get, getVersion, patch, path, remove } from '../api.js';
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

export const accountAddress = (id) => `/admin/accounts/${id}`;

/**
 * @param {import('../types.d.ts').Context} context
 */
export async function account(context, { id }) {
  const { may, go, reload } = context;
  /** @type {import('../types.d.ts').Versioned<import('../types.d.ts').Schema<'Account'>>} */
  const { value, version } = await getVersion(path`/accounts/${id}`);
  const [person, application] = await Promise.all([
    may('users:read') ? get(path`/users/${value.user_id}`) : null,
    may('applications:read') ? get(path`/applications/${value.application_id}`) : null,
  ]);
  const set = async (state, said) => {
    await patch(path`/accounts/${value.id}`, { state }, version);
    await reload();
    say(said);
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
        if (Object.keys(changed).length > 0) await patch(path`/accounts/${value.id}`, changed, version);
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
    )) && set('suspended', 'The account is suspended.');
  const terminate = async () =>
    (await ask(
      'Close this account for good?',
      'The person is signed out of this application at once, and never gets in with this account again.',
      'Terminate',
      value.name,
    )) && set('terminated', 'The account is terminated.');
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
    await remove(path`/accounts/${value.id}`, version);
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
              button('Let it be used', () => set('active', 'The account may be used.'), 'primary'),
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
        ['Person', person ? link(userAddress(person.id), person.profile.name ?? person.name) : value.user_id],
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
