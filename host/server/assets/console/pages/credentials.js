// The authentication of an application, and the certificates with which Assent signs for it.

import { get, patch, post, remove } from '../api.js';
import { form } from '../form.js';
import { translated } from '../language.js';
import { table } from '../lists.js';
import {
  ask,
  badge,
  button,
  copyable,
  download,
  el,
  facts,
  json,
  moment,
  notice,
  panel,
  say,
  section,
  showOnce,
} from '../view.js';
import { certificateName, credentialFields, usesSecret } from './client_fields.js';
import { clientSecrets, storageText } from './client_secrets.js';

/** @import { Context, Schema } from '../types.d.ts' */

/**
 * @param {Schema<'Application'>} application
 * @param {string | null} version
 * @param {Context} context
 */
export function credentials(application, version, context) {
  return application.protocol === 'saml' ? certificates(application, context) : client(application, version, context);
}

/**
 * @param {Schema<'Client'>} application
 * @param {string | null} version
 * @param {Context} context
 */
async function client(application, version, context) {
  const { may, reload } = context;
  const { token_endpoint_auth_method: method } = application;
  if (application.application_type !== 'web') {
    return [notice('It can keep no secret, so it has none: PKCE (S256) protects each sign-in.', 'calm')];
  }
  const name = certificateName(application);
  const now = panel(
    facts([
      ['Method', method],
      ['Key set', application.jwks_uri],
      [name ?? '', name && application[name]],
    ]),
    application.jwks && json(application.jwks),
    application.certificate && copyable(application.certificate, 'certificate', { wide: true }),
  );
  const current = section('Now', now);
  const secrets = usesSecret(method) && (await clientSecrets(application, context));
  if (!may('applications:write')) return [current, secrets];
  const { fields, choose, change, isChosen } = credentialFields(method);
  const made = form(fields, {
    values: {
      token_endpoint_auth_method: usesSecret(method) ? null : method,
      source: application.jwks ? 'jwks' : 'jwks_uri',
      jwks_uri: application.jwks_uri,
      jwks: application.jwks,
      certificate: application.certificate,
      recognised_by: name ?? 'certificate',
      tls_client_auth_subject_dn: application.tls_client_auth_subject_dn,
      tls_client_auth_san_dns: application.tls_client_auth_san_dns,
      tls_client_auth_san_uri: application.tls_client_auth_san_uri,
      tls_client_auth_san_ip: application.tls_client_auth_san_ip,
      tls_client_auth_san_email: application.tls_client_auth_san_email,
    },
    submit: 'Change it',
    ready: isChosen,
    send: async (values, changed) => {
      const { value } = await patch('/applications/{id}', { id: application.id }, change(values, changed), version);
      if ('client_secret' in value && value.client_secret)
        await showOnce(
          'The client secret',
          'The method needs a new one. The old ones are no longer valid.',
          value.client_secret,
          storageText(value),
        );
      await reload();
      say('The method was changed.');
    },
  });
  choose();
  return [
    current,
    secrets,
    section(
      'Another method',
      panel(
        el(
          'p',
          { class: 'muted' },
          'The application can’t get tokens until it uses the new method. A method without a secret ' +
            'revokes the secret.',
        ),
        made,
      ),
    ),
  ];
}

/**
 * The time from which a certificate signs. The first one of an application signs from its creation, which another
 * column shows.
 * @param {Schema<'Certificate'>} certificate
 */
const signsFrom = ({ created_at: created, signs_from: from }) =>
  new Date(from) <= new Date(created) ? translated('Its creation') : moment(from);

/** @type {Record<Schema<'SamlKeyStage'>, string>} */
const STAGES = {
  published: 'published, does not sign yet',
  signing: 'signs',
  retired: 'no longer signs, still published',
  expired: 'expired',
};

/**
 * @param {Schema<'Application'>} application
 * @param {Context} context
 */
async function certificates(application, { may, reload }) {
  const { id } = application;
  const { items } = await get('/applications/{id}/certificates', { id });
  const writes = may('applications:write');
  const actions = (/** @type {Schema<'Certificate'>} */ row) =>
    el(
      'div',
      { class: 'ways' },
      button('Download', () => download('assent-signing.pem', 'application/x-pem-file', row.certificate)),
      writes &&
        row.stage === 'published' &&
        button('Activate', async () => {
          if (
            !(await ask(
              'Activate the certificate?',
              'A service provider that does not know this certificate yet rejects every sign-on.',
              'Activate',
            ))
          )
            return;
          await post('/applications/{id}/certificates/{certificate}/activate', { id, certificate: row.id });
          await reload();
          say('The certificate signs from now on.');
        }),
      writes &&
        (row.stage === 'published' || row.stage === 'retired') &&
        button(
          'Withdraw',
          async () => {
            if (
              !(await ask(
                'Withdraw the certificate from the metadata?',
                'Service providers that read the metadata again reject its signatures.',
                'Withdraw',
              ))
            )
              return;
            await remove('/applications/{id}/certificates/{certificate}', { id, certificate: row.id });
            await reload();
            say('The certificate was withdrawn.');
          },
          'danger',
        ),
    );
  const list = table(
    [
      { label: 'Certificate', cell: (row) => moment(row.created_at, { exact: true }) },
      {
        label: 'State',
        cell: (row) => badge(STAGES[row.stage], row.stage === 'signing' ? 'active' : row.stage),
      },
      { label: 'Signs from', cell: signsFrom },
      { label: 'Expires', cell: (row) => moment(row.expires_at) },
      { label: 'SHA-256', cell: (row) => el('code', {}, row.sha256) },
      { label: 'Actions', cell: actions },
    ],
    items,
    { caption: 'Certificates' },
  );
  const renew =
    writes &&
    el(
      'div',
      { class: 'ways' },
      button('Publish the next certificate', async () => {
        await post('/applications/{id}/certificates', { id });
        await reload();
        say('The next certificate is in the metadata.');
      }),
    );
  return [
    el(
      'p',
      { class: 'lead' },
      'Responses and assertions are signed with these. The next one is published before it signs, so that ' +
        'service providers can read it.',
    ),
    list,
    renew,
  ];
}
