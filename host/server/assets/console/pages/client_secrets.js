// The client secrets of an application. Two may be valid at the same time, so that one replaces the other without an
// outage.

import { get, post, remove } from '../api.js';
import { table } from '../lists.js';
import { ask, button, code, el, moment, say, section, showOnce } from '../view.js';
import { fileWithSecret } from './recipe.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** The maximum number of secrets of an application. */
const MOST = 2;

/**
 * The storage of a client secret: for client_secret_jwt a digest is not sufficient.
 * @param {Pick<Schema<'Client'>, 'token_endpoint_auth_method'>} client
 */
export const storageText = ({ token_endpoint_auth_method: method }) =>
  method === 'client_secret_jwt' ? 'Assent keeps it encrypted' : 'Assent keeps a digest of it';

/**
 * Creates a secret beside the existing one of the application, and shows it once.
 * @param {Schema<'Client'>} application
 * @param {Context} context
 */
export async function createSecret(application, context) {
  const { client_secret: secret } = await post('/applications/{id}/secrets', { id: application.id });
  await showSecret(application, context, secret);
  await context.reload();
}

/**
 * Shows a secret, and the file of the application's program with it.
 * @param {Schema<'Client'>} application
 * @param {Context} context
 * @param {string} secret
 */
async function showSecret(application, context, secret) {
  // A failure must not hide the secret.
  const file = await fileWithSecret(application, context, secret).catch(() => undefined);
  return showOnce(
    'The client secret',
    'Put it where the application keeps its secrets, and nowhere else.',
    secret,
    storageText(application),
    file,
  );
}

/**
 * Replaces all secrets by a new one.
 * @param {Schema<'Client'>} application
 * @param {Context} context
 */
async function replaceSecrets(application, context) {
  if (
    !(await ask(
      'Replace all secrets at once?',
      'The secrets that the application has are no longer valid: no user can sign in to it until it has the new one.',
      'Replace',
    ))
  )
    return;
  const { client_secret: secret } = await post('/applications/{id}/secret/rotate', { id: application.id });
  await showSecret(application, context, secret);
  await context.reload();
}

/**
 * @param {Schema<'Client'>} application
 * @param {Schema<'ClientSecret'>} secret
 * @param {Context['reload']} reload
 */
async function deleteSecret(application, secret, reload) {
  if (
    !(await ask(
      'Delete the secret?',
      el(
        'span',
        {},
        'It was created ',
        moment(secret.created_at, { exact: true }),
        ', last used: ',
        moment(secret.last_used_at),
        '. It is no longer valid then.',
      ),
      'Delete',
    ))
  )
    return;
  await remove('/applications/{id}/secrets/{secret}', { id: application.id, secret: secret.id });
  await reload();
  say('The secret was deleted.');
}

/**
 * The secrets of an application, with their last uses.
 * @param {Schema<'Client'>} application
 * @param {Context} context
 */
export async function clientSecrets(application, context) {
  const { may, reload } = context;
  const { items } = await get('/applications/{id}/secrets', { id: application.id });
  const writes = may('applications:write');
  const list = table(
    [
      { label: 'Secret', cell: ({ id }) => code(`…${id.slice(-6)}`) },
      { label: 'Created', cell: ({ created_at: at }) => moment(at) },
      { label: 'Last used', cell: ({ last_used_at: at }) => moment(at) },
      ...(writes
        ? [
            {
              label: 'Actions',
              cell: (/** @type {Schema<'ClientSecret'>} */ secret) =>
                el(
                  'div',
                  { class: 'ways' },
                  button('Delete', () => deleteSecret(application, secret, reload), 'danger'),
                ),
            },
          ]
        : []),
    ],
    items,
    { caption: 'Client secrets', empty: 'It has no secret yet.' },
  );
  return section(
    'Client secrets',
    el(
      'p',
      { class: 'muted' },
      items.length < MOST
        ? 'To replace a secret without an outage, create a second one and have the application use it. Delete the ' +
            'old one when it is not used any more.'
        : 'Both secrets are valid. Delete the one that the application does not use any more; then you can create ' +
            'another one.',
    ),
    list,
    writes &&
      el(
        'div',
        { class: 'ways' },
        items.length < MOST &&
          button(
            items.length === 0 ? 'Create the secret' : 'Create a second secret',
            () => createSecret(application, context),
            'primary',
          ),
        items.length > 0 && button('Replace all at once', () => replaceSecrets(application, context), 'danger'),
      ),
  );
}
