// The connection of an application: the values that it needs, for each kind.

import { get } from '../api.js';
import { t, translated } from '../language.js';
import { button, copyable, download, el, facts, link, more, notice, panel, way } from '../view.js';
import { applicationAddress } from './applications.js';
import { createSecret } from './client_secrets.js';
import { recipeGuide } from './recipe.js';

/** @import { Child, Context, Schema } from '../types.d.ts' */

/**
 * @param {string} title
 * @param {...Child} content
 */
const step = (title, ...content) => el('li', {}, el('h2', {}, title), ...content);

/**
 * @param {Schema<'Application'>} application
 * @param {Context} context
 */
export async function guide(application, context) {
  const { may } = context;
  const at = applicationAddress(application.id);
  const { choice, ofProgram } = await recipeGuide(application, context);
  const steps =
    application.protocol === 'saml'
      ? await saml(application, context, ofProgram)
      : client(application, context, ofProgram);
  return [
    choice,
    el(
      'ol',
      { class: 'guide' },
      ...steps,
      step(
        'Give users access',
        el(
          'p',
          {},
          'A user has access by an own account, by a group, or because everyone has access. The application receives ' +
            'the roles of all of these.',
        ),
        ...(may('accounts:read') ? await accessWay(application) : []),
      ),
      may('applications:write') &&
        step(
          'Try it',
          el('p', {}, 'A real sign-in of your own, with each step and what the application would receive.'),
          el('div', { class: 'ways' }, way(`${at}/try`, 'Test sign-in')),
        ),
    ),
  ];
}

/**
 * Whether some user has access already, and the way to the users with access.
 * @param {Schema<'Application'>} application
 */
async function accessWay({ id }) {
  const { items } = await get('/applications/{id}/access', { id, limit: 1 });
  return [
    items.length === 0 && el('p', {}, 'No one has access yet.'),
    el('div', { class: 'ways' }, way(`${applicationAddress(id)}/accounts`, 'Access')),
  ];
}

/**
 * Values to copy, each with its label.
 * @param {Array<[string, string]>} pairs
 */
const pasted = (pairs) =>
  el(
    'dl',
    { class: 'pasted' },
    ...pairs.map(([label, value]) => el('div', {}, el('dt', {}, label), el('dd', {}, copyable(value, label)))),
  );

/**
 * @param {string} label
 * @param {string[]} uris
 */
const listed = (label, uris) =>
  el('span', {}, label, ...uris.flatMap((uri, place) => [place > 0 ? ', ' : '', el('code', {}, uri)]), '. ');

/**
 * The redirect URIs of an application in a sentence.
 * @param {string[]} uris
 */
function redirectUris(uris) {
  if (uris.length === 0) return el('strong', {}, 'No redirect URI is registered yet. ');
  const label =
    uris.length === 1 ? 'It must use exactly this redirect URI: ' : 'It must use exactly one of these redirect URIs: ';
  return listed(label, uris);
}

/**
 * The steps until a client can authenticate: with the values of a program, or otherwise with general ones.
 * @param {Schema<'Client'>} application
 * @param {Context} context
 * @param {HTMLElement | undefined} ofProgram
 */
function client(application, context, ofProgram) {
  const proof = application.application_type === 'web' && clientProof(application, context);
  // The settings of a program contain the secret.
  return ofProgram ? [proof, ofProgram] : [clientValues(application, context), proof];
}

/**
 * @param {Schema<'Client'>} application
 * @param {Context} context
 */
function clientProof(application, context) {
  const { may } = context;
  const { token_endpoint_auth_method: method } = application;
  const at = applicationAddress(application.id);
  if (!method.startsWith('client_secret'))
    return step(
      'Register its key',
      el('p', {}, t`It authenticates with ${method}.`),
      el('div', { class: 'ways' }, way(`${at}/credentials`, 'Credentials')),
    );
  return step(
    'Create its secret',
    el(
      'p',
      {},
      application.has_secret
        ? 'It has a secret. If it is lost, create a second one and delete the first one.'
        : 'The application has no secret yet. A new secret is shown once.',
    ),
    may('applications:write') &&
      el(
        'div',
        { class: 'ways' },
        application.has_secret
          ? way(`${at}/credentials`, 'Credentials')
          : button('Create the secret', () => createSecret(application, context), 'primary'),
      ),
  );
}

/**
 * The values that any software needs, with an example.
 * @param {Schema<'Client'>} application
 * @param {Context} context
 */
function clientValues(application, { issuer }) {
  const { application_type: type, token_endpoint_auth_method: method } = application;
  const at = applicationAddress(application.id);
  const [library, text] = example(application, issuer);
  return step(
    'Paste this into the application',
    el('p', {}, 'Most software needs the first two, and finds the rest by itself.'),
    pasted([
      ['Issuer', issuer],
      ['Client ID', application.id],
      ['Discovery address', `${issuer}/.well-known/openid-configuration`],
    ]),
    el('p', {}, redirectUris(application.redirect_uris), link(`${at}/settings`, 'Change the redirect URIs')),
    more(
      'All addresses',
      pasted([
        ['Authorization', `${issuer}/auth`],
        ['Token', `${issuer}/token`],
        ['UserInfo', `${issuer}/me`],
        ['Keys', `${issuer}/jwks`],
        ['End of session', `${issuer}/session/end`],
      ]),
    ),
    el(
      'p',
      {},
      application.post_logout_redirect_uris.length === 0
        ? 'No post-logout redirect URI is registered yet. '
        : listed('Post-logout redirect URIs: ', application.post_logout_redirect_uris),
      link(`${at}/settings`, 'Change the post-logout redirect URIs'),
    ),
    facts([
      ['Scopes', application.scopes.join(' ')],
      [
        'Refresh tokens',
        application.grant_types.includes('refresh_token')
          ? translated('with the scope offline_access, if the user is asked for consent (prompt=consent)')
          : translated('none, until the settings allow the grant type refresh_token'),
      ],
      ['Proof at the token endpoint', method],
      ['PKCE', translated(type === 'web' ? 'S256, if it can' : 'S256, always')],
    ]),
    el('h3', {}, 'Or begin with this'),
    el('p', {}, library),
    copyable(text, 'the example', { wide: true }),
  );
}

/**
 * An example for a kind of application, and its library.
 * @param {Schema<'Client'>} application
 * @param {string} issuer
 */
function example(application, issuer) {
  const uri = application.redirect_uris[0] ?? 'https://app.example.org/callback';
  const quoted = (/** @type {string} */ value) => JSON.stringify(value);
  if (application.application_type === 'spa') {
    return [
      'In a browser, with npm’s oidc-client-ts:',
      `import { UserManager } from 'oidc-client-ts';

const manager = new UserManager({
  authority: ${quoted(issuer)},
  client_id: ${quoted(application.id)},
  redirect_uri: ${quoted(uri)},
  scope: 'openid profile email',
});
await manager.signinRedirect();                            // begins the sign-in
const user = await manager.signinRedirectCallback();       // at the redirect URI`,
    ];
  }
  if (application.application_type === 'native') {
    return [
      'On Android with AppAuth (iOS and others are alike):',
      `AuthorizationServiceConfiguration.fetchFromIssuer(
    Uri.parse(${quoted(issuer)}),
    (configuration, failure) -> {
        AuthorizationRequest request = new AuthorizationRequest.Builder(
            configuration, ${quoted(application.id)},
            ResponseTypeValues.CODE, Uri.parse(${quoted(uri)}))
            .setScope("openid profile email")
            .build();                                      // with PKCE, S256
        startActivityForResult(service.getAuthorizationRequestIntent(request), 1);
    });`,
    ];
  }
  return [
    'As settings that much software reads from its environment, in one form or another:',
    `OIDC_ISSUER=${issuer}
OIDC_CLIENT_ID=${application.id}
OIDC_CLIENT_SECRET=...
OIDC_REDIRECT_URI=${uri}
OIDC_SCOPES="openid profile email"`,
  ];
}

/**
 * The steps until a service provider trusts Assent: with the values of a program, or otherwise with general ones.
 * @param {Schema<'ServiceProvider'>} application
 * @param {Context} context
 * @param {HTMLElement | undefined} ofProgram
 */
async function saml(application, context, ofProgram) {
  const at = applicationAddress(application.id);
  const nameSource = application.name_id_source === 'user_email' ? 'the email address' : 'the account’s name';
  return [
    ofProgram ?? (await samlValues(application, context)),
    step(
      'Check its settings',
      facts([
        ['SP entity ID', application.entity_id],
        ['ACS', application.acs.map(({ url }) => url)],
        ['NameID', t`${application.name_id_format}, from ${translated(nameSource)}`],
        ['Signed requests', translated(application.require_signed_requests ? 'required' : 'not required')],
      ]),
      application.acs.length === 0 && panel(notice('It has no ACS: no user can sign in.', 'bad')),
      el('div', { class: 'ways' }, way(`${at}/settings`, 'Settings')),
    ),
  ];
}

/**
 * The metadata, and its values, which any service provider needs.
 * @param {Schema<'ServiceProvider'>} application
 * @param {Context} context
 */
async function samlValues(application, { base, issuer }) {
  const id = encodeURIComponent(application.id).replaceAll('%3A', ':');
  const metadata = `${base}/sso/metadata/${id}`;
  const at = applicationAddress(application.id);
  const { items } = await get('/applications/{id}/certificates', { id: application.id });
  const certificates = items.filter(({ stage }) => stage === 'signing').map(({ certificate }) => certificate);
  const downloadMetadata = async () => {
    const answer = await fetch(`/sso/metadata/${id}`);
    if (!answer.ok) throw new Error('The metadata could not be read.');
    download('assent-metadata.xml', 'application/samlmetadata+xml', await answer.text());
  };
  return step(
    'Give the service provider Assent’s metadata',
    el('p', {}, 'Its address, or a file if it can read none.'),
    pasted([['Metadata address', metadata]]),
    el('div', { class: 'ways' }, button('Download the metadata', downloadMetadata)),
    el('h3', {}, 'Or as single values'),
    pasted([
      ['Entity ID of the identity provider', application.idp_entity_id ?? issuer],
      ['Sign-on address (SSO)', `${base}/sso/SingleSignOnService/${id}`],
      ['Logout address (SLO)', `${base}/sso/SingleLogoutService/${id}`],
    ]),
    ...certificates.map((pem) =>
      more('The certificate that Assent signs with', copyable(pem, 'the certificate', { wide: true })),
    ),
    el('p', {}, link(`${at}/credentials`, 'All certificates of this application')),
  );
}
