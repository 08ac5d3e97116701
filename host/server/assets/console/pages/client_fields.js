// The settings of an OpenID Connect client, as fields.

import { get } from '../api.js';
import { apiSentence } from '../api_texts.js';
import { area, FieldError, folded, group, jsonText, lines, number, select, several, text, toggle } from '../form.js';
import { t } from '../language.js';

/** @import { Schema, Values } from '../types.d.ts' */

/**
 * @typedef {'tls_client_auth_subject_dn' | 'tls_client_auth_san_dns' | 'tls_client_auth_san_uri'
 *   | 'tls_client_auth_san_ip' | 'tls_client_auth_san_email'} CertificateName
 */

/** @type {Array<[Schema<'ClientAuthMethod'>, string]>} */
const METHODS = [
  ['client_secret_basic', 'Secret, in the Authorization header (client_secret_basic)'],
  ['client_secret_post', 'Secret, in the body (client_secret_post)'],
  ['client_secret_jwt', 'Assertion made with the secret (client_secret_jwt)'],
  ['private_key_jwt', 'Assertion made with a private key (private_key_jwt)'],
  ['tls_client_certificate', 'Certificate of the TLS connection (tls_client_certificate)'],
];

/**
 * The names by which the server recognises a certificate of its authorities.
 * @type {Array<[CertificateName, string]>}
 */
const CERTIFICATE_NAMES = [
  ['tls_client_auth_subject_dn', 'The subject, in any certificate of the server’s authorities'],
  ['tls_client_auth_san_dns', 'A host name, in any certificate of the server’s authorities'],
  ['tls_client_auth_san_uri', 'A URI, in any certificate of the server’s authorities'],
  ['tls_client_auth_san_ip', 'An IP address, in any certificate of the server’s authorities'],
  ['tls_client_auth_san_email', 'An email address, in any certificate of the server’s authorities'],
];

/**
 * The name in certificates with which a client is registered.
 * @param {Schema<'Client'>} client
 * @returns {CertificateName | undefined}
 */
export const certificateName = (client) => CERTIFICATE_NAMES.map(([name]) => name).find((name) => client[name]);

/** @type {Record<Schema<'ApplicationType'>, string>} */
const EXAMPLES = {
  web: 'https://app.example.org/callback',
  spa: 'https://app.example.org/callback',
  native: 'com.example.app:/callback, or http://127.0.0.1/callback (any port)',
};

/**
 * The error or the warning of a redirect URI, by the rules of the server; undefined if there is none.
 * @param {Schema<'ApplicationType'>} type
 * @param {string} uri
 */
async function redirectUriProblem(type, uri) {
  const { valid, detail, warning } = await get('/redirect-uri-validations', { application_type: type, uri });
  if (!valid) return { error: apiSentence(detail ?? '') };
  return warning ? { warning: apiSentence(warning) } : undefined;
}

export const name = () =>
  text('name', 'Name', { needed: 'Enter a name.', hint: 'Users see it on their phone when they approve.' });

/**
 * @param {Schema<'ApplicationType'>} type
 * @param {string} [needed]
 */
export function redirectUris(type, needed) {
  return lines('redirect_uris', 'Redirect URIs', {
    needed,
    hint: t`Where browsers return to, one on each line, compared exactly. For example ${EXAMPLES[type]}.`,
    check: (uri) => redirectUriProblem(type, uri),
  });
}

/** The scopes that an application may have. */
export const scopes = () =>
  several(
    'scopes',
    'Scopes',
    [
      ['openid', 'who the user is (always needed)'],
      ['profile', 'names, and the account with its roles'],
      ['email', 'the user’s email address'],
      ['phone', 'the telephone number'],
      ['address', 'the postal address'],
      ['groups', 'the groups that the application is assigned to'],
      ['offline_access', 'refresh tokens'],
    ],
    { codes: true, fixed: ['openid'] },
  );

/** @param {Schema<'ApplicationType'>} type */
function postLogoutRedirectUris(type) {
  return lines('post_logout_redirect_uris', 'Post-logout redirect URIs', {
    hint: 'Where browsers may return to after signing out, one on each line.',
    check: (uri) => redirectUriProblem(type, uri),
  });
}

/** The sign-in of users, for an application of either protocol. */
export const passkeyFields = () =>
  group(
    'How users sign in',
    null,
    toggle('passkey_sign_in', 'Sign-in with a passkey', {
      hint:
        'Users who agreed to it in their authenticator sign in with a passkey on the sign-in page, without a request ' +
        'to approve. Phishing-resistant (acr phr).',
    }),
  );

/**
 * All settings, except the credentials.
 * @param {Schema<'ApplicationType'>} type
 * @param {{ owner: boolean }} administrator
 */
export function clientFields(type, { owner }) {
  return [
    group('Name and addresses', null, name(), redirectUris(type), postLogoutRedirectUris(type)),
    group(
      'What it may request',
      null,
      scopes(),
      several(
        'grant_types',
        'Grant types',
        [
          ['authorization_code', 'users sign in'],
          ['refresh_token', 'access continues without them'],
          ['client_credentials', 'it acts as itself'],
          ['urn:openid:params:grant-type:ciba', 'it asks users on their devices, without a browser'],
          ['urn:ietf:params:oauth:grant-type:device_code', 'users sign in on another device, by a code'],
        ],
        { codes: true },
      ),
      select('consent', 'Consent', [
        ['ask', 'Ask each user, and remember the answer'],
        ['implied', 'Never ask: the application is our own'],
      ]),
    ),
    passkeyFields(),
    ...(type === 'web' ? [proofKey()] : []),
    group(
      'What it receives',
      null,
      select('id_token_signed_response_alg', 'Signature of ID tokens', [
        ['RS256', 'RS256'],
        ['PS256', 'PS256'],
        ['ES256', 'ES256'],
        ['EdDSA', 'EdDSA'],
      ]),
      toggle('slim_id_token', 'Slim ID tokens', { hint: 'The claims of the scopes are only at UserInfo.' }),
      toggle('session_state', 'session_state in the token response', {
        hint: 'Repeats the sid of the ID token. Keycloak as a broker needs it for back-channel logout.',
      }),
      select(
        'subject_type',
        'Subject of users (sub)',
        [
          ['public', 'The same for every application'],
          ['pairwise', 'Its own (pairwise)'],
        ],
        { hint: 'With pairwise subjects, two applications can’t recognise the same user.' },
      ),
      text('sector_identifier', 'Sector host', {
        hint:
          'For pairwise subjects: the host name of applications that may recognise the same users. If empty, ' +
          'the host name of the redirect URIs.',
      }),
    ),
    group(
      'Signing in and out from here',
      null,
      text('initiate_login_uri', 'Initiate login URI', {
        none: null,
        type: 'url',
        hint: 'Where the portal sends users who open this application (initiate_login_uri), or its home page.',
      }),
      text('backchannel_logout_uri', 'Back-channel logout URI', {
        none: null,
        type: 'url',
        hint: 'Where Assent reports the end of a session.',
      }),
      toggle('backchannel_logout_session_required', 'Logout tokens need the session’s ID'),
      text('frontchannel_logout_uri', 'Front-channel logout URI', {
        none: null,
        type: 'url',
        hint:
          'A page that the browser opens in a hidden frame at the end of a session, with the scheme, host and port ' +
          'of a redirect URI. Browsers often block its cookies; prefer the back channel.',
      }),
      toggle('frontchannel_logout_session_required', 'The front-channel logout URI needs the session’s ID'),
    ),
    ...(type === 'web' ? [backchannelResults()] : []),
    information(),
    folded(
      'Advanced',
      protection(type),
      ...(type === 'web' ? [backchannelRequests(), clientAssertions(), ...(owner ? [adminScopes()] : [])] : []),
    ),
  ];
}

/** The results of requests to users without a browser. */
const backchannelResults = () =>
  group(
    'Requests without a browser',
    'For an application with the grant type urn:openid:params:grant-type:ciba.',
    select('backchannel_token_delivery_mode', 'How it receives the results', [
      ['poll', 'It asks for them (poll)'],
      ['ping', 'Assent notifies it, and it fetches them (ping)'],
      ['push', 'Assent sends it the tokens (push), if the server permits that'],
    ]),
    text('backchannel_client_notification_endpoint', 'Address for the results', {
      none: null,
      type: 'url',
      hint: 'Where Assent sends notifications or tokens. Only with ping or push.',
    }),
  );

/** The information about the application, which the consent page shows. */
const information = () =>
  group(
    'Information for users',
    'The consent page shows it, with the host of each address.',
    text('policy_uri', 'Privacy policy', { none: null, type: 'url', hint: 'How the application uses the data.' }),
    text('tos_uri', 'Terms of service', { none: null, type: 'url' }),
    text('client_uri', 'Page about the application', { none: null, type: 'url' }),
    lines('contacts', 'Contacts', {
      hint: 'Email addresses or other texts, one on each line, ten at most. Users see them.',
    }),
    text('logo_uri', 'Address of the logo', {
      none: null,
      type: 'url',
      hint:
        'Assent reads the image once when you save a new address, and shows its own copy. It replaces an uploaded ' +
        'logo. Without the address, the logo is removed too.',
    }),
  );

/**
 * The protection of requests and tokens beyond the usual.
 * @param {Schema<'ApplicationType'>} type
 */
const protection = (type) =>
  group(
    'Requests and tokens',
    null,
    toggle('require_pushed_authorization_requests', 'Accept only pushed requests (PAR)', {
      hint: 'The application sends each sign-in request to this server first, so that no browser can change it.',
    }),
    toggle('require_signed_request_object', 'Accept only signed requests (JAR)', {
      hint: 'The keys that verify them are on the page “Security”.',
    }),
    lines('request_uris', 'Addresses of signed requests', {
      hint: 'Where Assent may read a signed request that a sign-in refers to (request_uri), one on each line.',
    }),
    lines('authorization_details_types', 'Types of authorization details', {
      hint: 'What it may ask users to permit, one on each line. Each request needs an approval on a device.',
    }),
    toggle('dpop_bound_access_tokens', 'Bind tokens to a key of the application (DPoP)', {
      hint: 'Each request for tokens then needs a proof. A stolen token is useless without the key.',
    }),
    ...(type === 'web'
      ? [
          toggle('tls_client_certificate_bound_access_tokens', 'Bind tokens to the client certificate (mTLS)', {
            hint: 'Each request then needs a TLS connection with the certificate. Not together with DPoP.',
          }),
        ]
      : []),
    signature('authorization_signed_response_alg', 'Signature of sign-in responses', 'As for ID tokens', {
      hint: 'For requests with response_mode=jwt.',
    }),
    signature('userinfo_signed_response_alg', 'Signature of UserInfo', 'None: plain JSON'),
    ...(type === 'web'
      ? [signature('introspection_signed_response_alg', 'Signature of introspections', 'As for ID tokens')]
      : []),
  );

/**
 * An algorithm of signatures.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {string} otherwise what applies without an algorithm
 * @param {{ hint?: string }} [more]
 */
const signature = (name, label, otherwise, more = {}) =>
  select(
    name,
    label,
    [
      ['', otherwise],
      ['RS256', 'RS256'],
      ['PS256', 'PS256'],
      ['ES256', 'ES256'],
      ['EdDSA', 'EdDSA'],
    ],
    { ...more, none: null },
  );

/** The requests for users without a browser (CIBA). */
const backchannelRequests = () =>
  group(
    'Requests without a browser',
    'For the grant type urn:openid:params:grant-type:ciba.',
    select(
      'backchannel_binding',
      'How users recognise them',
      [
        ['shown', 'They compare the message'],
        ['typed', 'They type digits that the application shows'],
        ['none', 'They compare nothing, and approve with a passkey'],
      ],
      { hint: 'Digits to type protect best against a request that a user did not expect.' },
    ),
    number('backchannel_longest_expiry', 'Longest time for an answer, in seconds', {
      min: 10,
      max: 86_400,
      hint: 'What the application may ask for (requested_expiry). 86,400 is a day.',
    }),
    text('second_approver_group', 'Group of those who approve, too', {
      none: null,
      mono: true,
      hint:
        'The id of a group, which the address of its page has. A member of it must approve each request as well ' +
        '(four eyes).',
    }),
  );

/** PKCE of a web application. Other types always need it. */
const proofKey = () =>
  group(
    'Protection of codes',
    null,
    toggle('require_pkce', 'Require PKCE', {
      hint: 'Recommended, if the application uses PKCE: a stolen code is then useless in another sign-in.',
    }),
  );

const clientAssertions = () =>
  group(
    'Client assertions',
    null,
    toggle('lenient_assertion_audience', 'Accept the token endpoint as audience', {
      hint: 'Only for a client that can’t name the issuer, and that talks to no other server.',
    }),
  );

const adminScopes = () =>
  group(
    'Admin API',
    'As a service account it may call the admin API with a token of client_credentials. An administrator ' +
      'who may change such an application has its rights too.',
    several(
      'admin_scopes',
      'Admin scopes',
      [
        ['admin:read', 'read everything'],
        ['admin:users', 'manage users and accounts'],
        ['admin:applications', 'manage applications'],
        ['admin:audit', 'read the audit log'],
        ['admin:receipts', 'read receipts'],
        ['admin:operate', 'rotate keys, reload plugins'],
      ],
      { codes: true },
    ),
  );

/**
 * Whether a method needs only a secret, so that choosing it again changes nothing. With any other method, the key can
 * be changed.
 * @param {Schema<'ClientAuthMethod'>} method
 */
export const usesSecret = (method) => method.startsWith('client_secret');

/**
 * The change that the form of the credentials sends: the method, and the key that it uses. A key is sent only if the
 * administrator changed it, or chose it for another method. The server keeps a key that is not sent, so an empty one
 * is an error: the administrator may believe that it is removed.
 * @template {string} Key
 * @param {Schema<'ClientAuthMethod'>} current
 * @param {Key | undefined} key the member of the key that the method uses
 * @param {{ token_endpoint_auth_method?: Schema<'ClientAuthMethod'> } & { [name in Key]?: unknown }} values
 * @param {{ [name in Key]?: unknown }} changed
 * @returns {Schema<'ClientChange'>}
 */
export function credentialChange(current, key, values, changed) {
  const { token_endpoint_auth_method: method } = values;
  if (key === undefined) return { token_endpoint_auth_method: method };
  if (values[key] === undefined)
    throw new FieldError(key, 'Enter it. To remove a key, choose another method or another kind of key.');
  if (method !== current) return { token_endpoint_auth_method: method, [key]: values[key] };
  if (changed[key] === undefined) throw new FieldError(key, 'The application has this key already. Enter another one.');
  return { [key]: values[key] };
}

/**
 * The authentication of the client.
 * @param {Schema<'ClientAuthMethod'>} current
 */
export function credentialFields(current) {
  const others = METHODS.filter(([one]) => one !== current || !usesSecret(one));
  const method = select('token_endpoint_auth_method', 'Method', [['', 'Choose a method'], ...others]);
  const source = select('source', 'Its key', [
    ['jwks_uri', 'The address of its key set (jwks_uri)'],
    ['jwks', 'A key set (jwks)'],
    ['public_key', 'A public key (PEM)'],
    ['certificate', 'A certificate (PEM)'],
  ]);
  const recognised = select('recognised_by', 'Recognised by', [
    ['certificate', 'Its registered certificate'],
    ...CERTIFICATE_NAMES,
  ]);
  const keys = {
    jwks_uri: text('jwks_uri', 'Address of the key set', {
      type: 'url',
      hint: 'With https. Assent reads it, and reads it again for a new key.',
    }),
    jwks: jsonText('jwks', 'Key set', { hint: 'JSON: {"keys": [...]}, with public keys only.' }),
    public_key: area('public_key', 'Public key', { hint: '-----BEGIN PUBLIC KEY-----' }),
    certificate: area('certificate', 'Certificate', {
      hint: 'With TLS, two certificates may stand one after the other, so that one can replace the other.',
    }),
    tls_client_auth_subject_dn: text('tls_client_auth_subject_dn', 'Subject', {
      hint: 'Without spaces between the parts (RFC 4514), for example CN=reports,O=Example AG,C=DE.',
    }),
    tls_client_auth_san_dns: text('tls_client_auth_san_dns', 'Host name', {
      hint: 'For example reports.example.org. Wildcards in certificates match nothing.',
    }),
    tls_client_auth_san_uri: text('tls_client_auth_san_uri', 'URI', {
      hint: 'For example spiffe://example.org/reports.',
    }),
    tls_client_auth_san_ip: text('tls_client_auth_san_ip', 'IP address', {
      hint: 'For example 192.0.2.7 or 2001:db8::7.',
    }),
    tls_client_auth_san_email: text('tls_client_auth_san_email', 'Email address', {
      hint: 'For example reports@example.org.',
    }),
  };
  const usedKey = () => {
    if (method.read() === 'private_key_jwt') return source.read();
    return method.read() === 'tls_client_certificate' ? recognised.read() : undefined;
  };
  const choose = () => {
    source.element.hidden = method.read() !== 'private_key_jwt';
    recognised.element.hidden = method.read() !== 'tls_client_certificate';
    const used = usedKey();
    for (const field of Object.values(keys)) field.element.hidden = field.name !== used;
  };
  for (const one of [method, source, recognised]) one.input.addEventListener('input', choose);
  const fields = [method, source, recognised, ...Object.values(keys)];
  /**
   * @param {Values<(typeof fields)[number]>} values
   * @param {Partial<Values<(typeof fields)[number]>>} changed
   */
  const change = (values, changed) => credentialChange(current, usedKey(), values, changed);
  const isChosen = () => Boolean(method.read());
  return { fields, choose, change, isChosen };
}
