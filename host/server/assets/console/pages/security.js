// The security of an OpenID Connect client: its profile, and how its requests and tokens are protected.

import { get, patch } from '../api.js';
import { apiSentence } from '../api_texts.js';
import { endsOf } from '../certificates.js';
import { FieldError, form, jsonText, select, text } from '../form.js';
import { t, translated } from '../language.js';
import { table } from '../lists.js';
import { ask, badge, button, el, facts, json, moment, notice, panel, say, section } from '../view.js';
import { certificateName } from './client_fields.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** @type {Record<Schema<'SecurityProfile'>, string>} */
const NAMES = {
  fapi2: 'FAPI 2.0',
  'fapi2-message-signing': 'FAPI 2.0 with signed requests',
  'fapi-ciba': 'FAPI for requests without a browser (CIBA)',
};

/**
 * @param {Schema<'Application'>} application
 * @param {string | null} version
 * @param {Context} context
 */
export async function security(application, version, context) {
  if (application.protocol === 'saml') return [notice('These settings are for OpenID Connect.', 'calm')];
  const { id } = application;
  const { items } = await get('/applications/{id}/profiles', { id });
  const { items: requests } = await get('/applications/{id}/requests', { id });
  const writes = context.may('applications:write');
  return [
    section('Protection now', panel(facts(protection(application)))),
    section(
      'Profiles',
      el(
        'p',
        { class: 'muted' },
        'A profile is a set of rules, as banks and governments require them. The settings must then fulfil them, ' +
          'codes are valid for one minute, and signatures with RS256 are refused.',
      ),
      ...items.map((profile) => profilePanel(application, profile, version, context)),
    ),
    writes &&
      application.token_endpoint_auth_method !== 'private_key_jwt' &&
      requestKeys(application, version, context),
    writes && ownAlgorithms(application, version, context),
    lastRequests(requests),
  ];
}

/** @type {Record<string, string>} */
const PARTS = {
  parameters: 'Parameters',
  assertion: 'Client assertion',
  request_object: 'Signed request',
  proof: 'Proof (DPoP)',
};

/**
 * The requests of the last hour, each with its parts, and the rule that rejected it.
 * @param {Schema<'ClientRequest'>[]} requests
 */
function lastRequests(requests) {
  const parts = (/** @type {Schema<'ClientRequest'>} */ request) =>
    request.parts.map(({ part, header, members }) =>
      el(
        'div',
        {},
        el('h3', {}, PARTS[part] ?? part),
        Object.keys(header).length > 0 && json(header),
        Object.keys(members).length > 0 ? json(members) : el('p', { class: 'muted' }, 'It can’t be read.'),
      ),
    );
  const shown = requests.map((request) =>
    el(
      'details',
      { class: 'panel' },
      el(
        'summary',
        {},
        moment(request.created_at, { exact: true }),
        ' ',
        el('code', {}, request.endpoint),
        ' ',
        request.error ? badge('Rejected', 'suspended') : badge('Accepted', 'active'),
      ),
      el(
        'div',
        { class: 'opened' },
        request.error &&
          notice('It was rejected:', 'warn', el('p', {}, el('code', {}, request.error), ' ', request.reason)),
        ...parts(request),
      ),
    ),
  );
  return section(
    'Last requests',
    el(
      'p',
      { class: 'muted' },
      'What the application sent in the last hour, without secrets. A rejected request names its rule. ' +
        'Of UserInfo only rejected requests are shown.',
    ),
    ...(shown.length > 0 ? shown : [el('p', {}, 'None in the last hour.')]),
  );
}

/** @type {Record<Schema<'ClientAuthMethod'>, string>} */
const METHODS = {
  client_secret_basic: 'Secret, in the Authorization header (client_secret_basic)',
  client_secret_post: 'Secret, in the body (client_secret_post)',
  client_secret_jwt: 'Assertion made with the secret (client_secret_jwt)',
  private_key_jwt: 'Assertion made with a private key (private_key_jwt)',
  tls_client_certificate: 'Certificate of the TLS connection (tls_client_certificate)',
  none: 'None: the application can keep no secret',
};

/** @type {Record<NonNullable<ReturnType<typeof certificateName>>, string>} */
const CERTIFICATE_NAMES = {
  tls_client_auth_subject_dn: 'The subject, in any certificate of the server’s authorities',
  tls_client_auth_san_dns: 'A host name, in any certificate of the server’s authorities',
  tls_client_auth_san_uri: 'A URI, in any certificate of the server’s authorities',
  tls_client_auth_san_ip: 'An IP address, in any certificate of the server’s authorities',
  tls_client_auth_san_email: 'An email address, in any certificate of the server’s authorities',
};

/**
 * The certificate by which the server recognises a client: registered ones with their ends, or a name.
 * @param {Schema<'Client'>} client
 */
function certificateOf(client) {
  const name = certificateName(client);
  if (name) return el('div', {}, el('p', {}, CERTIFICATE_NAMES[name]), el('bdi', {}, client[name]));
  const ends = endsOf(client.certificate ?? '');
  if (ends.length === 0) return undefined;
  const until = ends.map((end) =>
    el('li', {}, el('span', {}, 'A registered certificate, valid until '), end ? moment(end, { exact: true }) : '?'),
  );
  return el(
    'div',
    {},
    el('ul', {}, ...until),
    ends.length > 1 && el('p', { class: 'muted' }, 'Each of them is accepted, while one replaces the other.'),
  );
}

/**
 * How the requests and tokens of a client are protected, in words.
 * @param {Schema<'Client'>} client
 * @returns {Array<[string, unknown]>}
 */
function protection(client) {
  const keys = client.jwks_uri ?? (client.jwks ? translated('A registered key set') : translated('None'));
  const requests = [
    client.require_pushed_authorization_requests
      ? 'Only pushed requests (PAR)'
      : 'Requests of the browser are accepted',
    client.require_signed_request_object ? 'Only signed requests (JAR)' : 'Requests need no signature',
    client.require_pkce ? 'PKCE is required' : 'PKCE is optional',
  ];
  const binding = client.tls_client_certificate_bound_access_tokens
    ? 'To the certificate of the connection (mTLS)'
    : client.dpop_bound_access_tokens
      ? 'To a key of the application (DPoP)'
      : 'To nothing: who has a token can use it';
  const {
    id_token_signed_response_alg: standard,
    authorization_signed_response_alg: responses,
    userinfo_signed_response_alg: userinfo,
    introspection_signed_response_alg: introspection,
  } = client;
  return [
    ['Authentication', translated(METHODS[client.token_endpoint_auth_method])],
    ['Certificate', certificateOf(client)],
    ['Keys of the application', keys],
    ['Requests', requests.map((one) => translated(one)).join('. ')],
    ['Access tokens are bound', translated(binding)],
    ['ID tokens are signed with', standard],
    ['Responses of the sign-in are signed (JARM)', t`${responses ?? standard}, if the request asks for it`],
    ['UserInfo responses are signed', userinfo ?? translated('None: plain JSON')],
    ['Introspection responses are signed', t`${introspection ?? standard}, if the request asks for it`],
  ];
}

/**
 * A profile, what the application lacks for it, and the ways to set it.
 * @param {Schema<'Client'>} application
 * @param {Schema<'ApplicationProfile'>} profile
 * @param {string | null} version
 * @param {Context} context
 */
function profilePanel(application, profile, version, { may, reload }) {
  const { is_set: isSet, unmet } = profile;
  const id = /** @type {Schema<'SecurityProfile'>} */ (profile.profile);
  const settable = unmet.filter((one) => one.is_settable);
  const missing = Object.fromEntries(settable.map(({ member, expected }) => [member, expected[0]]));
  const complete = settable.length === unmet.length;
  const names = settable.map(({ member, expected }) => `${member} = ${expected[0]}`).join(', ');
  const effects = names
    ? t`These settings change too: ${names}. A client that does not follow the profile can no longer sign users in.`
    : 'A client that does not follow the profile can no longer sign users in.';
  const send = async (/** @type {Schema<'ClientChange'>} */ change, /** @type {string} */ done) => {
    await patch('/applications/{id}', { id: application.id }, change, version);
    await reload();
    say(done);
  };
  const set = async () => {
    if (!(await ask(t`Use ${translated(NAMES[id])}?`, effects, 'Use it'))) return;
    await send({ security_profile: id, ...missing }, 'The profile was set.');
  };
  const prepare = async () => {
    if (await ask('Change the settings?', effects, 'Change them')) await send(missing, 'The settings were changed.');
  };
  const end = async () => {
    const question = 'Codes are then valid longer, and refresh tokens are replaced at each use. The settings stay.';
    if (await ask('End the profile?', question, 'End the profile'))
      await send({ security_profile: null }, 'The profile was ended.');
  };
  const ways = may('applications:write') && [
    isSet && button('End the profile', end, 'danger'),
    !isSet && complete && button('Use this profile', set, 'primary'),
    !isSet && !complete && settable.length > 0 && button('Set what needs no keys or addresses', prepare),
  ];
  return panel(
    el('h3', {}, NAMES[id], ' ', isSet && badge('In use', 'active')),
    unmet.length === 0
      ? el('p', {}, 'The settings fulfil its rules.')
      : table(
          [
            { label: 'Setting', cell: (row) => el('code', {}, row.member) },
            { label: 'Needed', cell: (row) => el('code', {}, row.expected.join(', ')) },
            { label: 'Rule', cell: ({ rule, obstacle }) => [rule, obstacle ?? ''].map(apiSentence).join(' ') },
          ],
          unmet,
          { caption: 'Missing settings' },
        ),
    ways && el('div', { class: 'ways' }, ...ways),
  );
}

/**
 * @typedef {'request_object_signing_alg' | 'backchannel_authentication_request_signing_alg'
 *   | 'token_endpoint_auth_signing_alg'} Algorithm
 */

/**
 * The algorithms with which an application signs. Any other one is then rejected.
 * @param {Schema<'Client'>} application
 * @param {string | null} version
 * @param {Context} context
 */
function ownAlgorithms(application, version, { reload }) {
  const algorithm = (
    /** @type {Algorithm} */ name,
    /** @type {string} */ label,
    /** @type {string} */ otherwise = 'Each supported one',
  ) =>
    select(
      name,
      label,
      [
        ['', otherwise],
        ['RS256', 'RS256'],
        ['PS256', 'PS256'],
        ['ES256', 'ES256'],
        ['ES384', 'ES384'],
        ['ES512', 'ES512'],
        ['EdDSA', 'EdDSA'],
      ],
      { none: null },
    );
  const made = form(
    [
      algorithm('request_object_signing_alg', 'Algorithm of signed requests'),
      ...(application.grant_types.includes('urn:openid:params:grant-type:ciba')
        ? [
            algorithm(
              'backchannel_authentication_request_signing_alg',
              'Algorithm of requests without a browser, which must then be signed',
              'Each supported one, or unsigned',
            ),
          ]
        : []),
      ...(application.token_endpoint_auth_method === 'private_key_jwt'
        ? [algorithm('token_endpoint_auth_signing_alg', 'Algorithm of client assertions')]
        : []),
    ],
    {
      values: application,
      submit: 'Save the algorithms',
      send: async (_values, changed) => {
        if (Object.keys(changed).length === 0) return say('Nothing was changed.');
        await patch('/applications/{id}', { id: application.id }, changed, version);
        await reload();
        return say('The algorithms were saved.');
      },
    },
  );
  return section(
    'Algorithms of the application',
    panel(el('p', { class: 'muted' }, 'A signature of the application with any other algorithm is rejected.'), made),
  );
}

/**
 * The keys with which an application signs its requests, if it authenticates otherwise.
 * @param {Schema<'Client'>} application
 * @param {string | null} version
 * @param {Context} context
 */
function requestKeys(application, version, { reload }) {
  const source = select('source', 'Keys', [
    ['none', 'No keys'],
    ['jwks_uri', 'The address of its key set (jwks_uri)'],
    ['jwks', 'A key set (jwks)'],
  ]);
  const keys = {
    jwks_uri: text('jwks_uri', 'Address of the key set', {
      type: 'url',
      hint: 'With https. Assent reads it, and reads it again for a new key.',
    }),
    jwks: jsonText('jwks', 'Key set', { hint: 'JSON: {"keys": [...]}, with public keys only.' }),
  };
  const choose = () => {
    for (const field of Object.values(keys)) field.element.hidden = field.name !== source.read();
  };
  source.input.addEventListener('input', choose);
  const made = form([source, keys.jwks_uri, keys.jwks], {
    values: {
      source: application.jwks ? 'jwks' : application.jwks_uri ? 'jwks_uri' : 'none',
      jwks_uri: application.jwks_uri,
      jwks: application.jwks,
    },
    submit: 'Save the keys',
    send: async (values) => {
      const { source: chosen } = values;
      if ((chosen === 'jwks' && !values.jwks) || (chosen === 'jwks_uri' && !values.jwks_uri))
        throw new FieldError(chosen, 'Enter the keys, or choose “No keys”.');
      const held = application.jwks ? { jwks: null } : { jwks_uri: null };
      const change =
        values.source === 'jwks'
          ? { jwks: values.jwks }
          : values.source === 'jwks_uri'
            ? { jwks_uri: values.jwks_uri }
            : held;
      await patch('/applications/{id}', { id: application.id }, change, version);
      await reload();
      say('The keys were saved.');
    },
  });
  choose();
  return section(
    'Keys for signed requests',
    panel(
      el(
        'p',
        { class: 'muted' },
        'With them the application signs its sign-in requests. It does not authenticate with them.',
      ),
      made,
    ),
  );
}
