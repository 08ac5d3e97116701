// Initial access tokens, with which applications register themselves.

import { get, post, remove } from '../api.js';
import { form, group, lines, number, select, several, text } from '../form.js';
import { t } from '../language.js';
import { pages, table } from '../lists.js';
import { ask, button, code, el, figure, moment, nothing, notice, say, screen, showOnce, way } from '../view.js';
import { KINDS } from './applications.js';
import { scopes } from './client_fields.js';

/** @import { Column, Context, Schema } from '../types.d.ts' */

const LIST = '/admin/applications/registration-tokens';

const NONE = 'There are no initial access tokens.';

/**
 * The name of an application's token in words, for an application that registered itself.
 * @param {Schema<'RegistrationSource'> | undefined} source
 */
export function registrationNotice(source) {
  if (!source) return undefined;
  return notice(
    t`Registered by itself, with the initial access token ${source.token_name}: `,
    'calm',
    el('p', {}, moment(source.registered_at, { exact: true })),
  );
}

/**
 * @param {Schema<'RegistrationToken'>} token
 * @param {Context['reload']} reload
 */
async function deleteToken(token, reload) {
  if (
    !(await ask(
      t`Delete the initial access token ${token.name}?`,
      'No further application can register with it. The applications that registered with it stay.',
      'Delete',
    ))
  )
    return;
  await remove('/registration-tokens/{id}', { id: token.id });
  await reload();
  say('The initial access token was deleted.');
}

/**
 * The list of the tokens.
 * @param {Context} context
 */
export async function registrationTokens({ may, reload }) {
  const writes = may('applications:write');
  /** @type {Array<Column<Schema<'RegistrationToken'>>>} */
  const columns = [
    { label: 'Name', cell: (row) => el('bdi', {}, row.name) },
    { label: 'Valid until', cell: (row) => moment(row.expires_at) },
    {
      label: 'Applications',
      figure: true,
      cell: (row) => t`${figure(row.registered)} of ${figure(row.quota)}`,
    },
    { label: 'On one day', figure: true, cell: (row) => figure(row.daily_quota) },
    { label: 'Scopes', cell: (row) => code(row.scopes.join(' ')) },
    {
      label: 'Hosts',
      cell: (row) => (row.redirect_hosts.length === 0 ? 'Any' : code(row.redirect_hosts.join(' '))),
    },
    { label: 'Created', cell: (row) => moment(row.created_at) },
    ...(writes
      ? [
          {
            label: 'Actions',
            cell: (/** @type {Schema<'RegistrationToken'>} */ row) =>
              el(
                'div',
                { class: 'ways' },
                button('Delete', () => deleteToken(row, reload), 'danger'),
              ),
          },
        ]
      : []),
  ];
  const list = await pages(
    (after) => get('/registration-tokens', { after }),
    table(columns, [], {
      empty: writes ? nothing(NONE, `${LIST}/new`, 'Create an initial access token') : NONE,
      caption: 'Initial access tokens',
    }),
  );
  return screen(
    {
      title: 'Initial access tokens',
      lead: 'The holder of such a token registers applications. No user can open them until you grant access.',
      back: ['/admin/applications', 'Applications'],
      actions: [writes && way(`${LIST}/new`, 'Create an initial access token', 'primary')],
    },
    list,
  );
}

/**
 * The end of a day in the time zone of the browser, as the API expects it.
 * @param {string} day
 */
const endOf = (day) => new Date(`${day}T23:59:59`).toISOString();

/**
 * A new token, which is shown once.
 * @param {Context} context
 */
export async function newRegistrationToken({ go }) {
  const made = form(
    [
      group(
        'The token',
        null,
        text('name', 'Name', { needed: 'Enter a name.' }),
        text('expires_at', 'Valid until', { type: 'date', needed: 'Enter a day within a year.' }),
        number('quota', 'Applications in total', { min: 1, max: 10_000 }),
        number('daily_quota', 'Applications on one day', { min: 1, max: 10_000 }),
      ),
      group(
        'What the applications get',
        'An application cannot exceed these limits, also when it updates itself.',
        scopes(),
        lines('redirect_hosts', 'Hosts of redirect URIs', {
          hint: 'One on each line, such as app.example.org. Empty: any host.',
        }),
        several('application_types', 'Application types', [
          ['web', KINDS.web],
          ['spa', KINDS.spa],
          ['native', KINDS.native],
        ]),
        select('security_profile', 'Security profile', [
          ['', 'None'],
          ['fapi2', 'FAPI 2.0'],
          ['fapi2-message-signing', 'FAPI 2.0 with signed requests'],
          ['fapi-ciba', 'FAPI-CIBA'],
        ]),
      ),
    ],
    {
      values: {
        quota: 10,
        daily_quota: 10,
        scopes: ['openid', 'profile', 'email'],
        application_types: ['web', 'spa', 'native'],
        security_profile: '',
      },
      submit: 'Create',
      cancel: LIST,
      send: async ({ name = '', expires_at = '', quota = 0, security_profile: profile, ...values }) => {
        const { token } = await post(
          '/registration-tokens',
          {},
          // The end of the day, where the administrator is.
          { ...values, name, expires_at: endOf(expires_at), quota, security_profile: profile || null },
        );
        await showOnce('The initial access token', 'Send it to the operator of the applications.', token);
        await go(LIST);
      },
    },
  );
  return screen({ title: 'Create an initial access token', back: [LIST, 'Initial access tokens'] }, made);
}
