// Recipes for known programs: they fill in the form of a new application, and then show the program's own settings with
// the values of this server. Each recipe is a data file.

import { get, noAnswer } from './api.js';
import { language } from './language.js';

/** @import { Schema } from './types.d.ts' */

/**
 * A value that the administrator types, such as the address of the program. `{name}` refers to it.
 * @typedef {{ name: string, label: Texts, example: string }} Question
 */

/** @typedef {{ en: string, de: string }} Texts */

/**
 * A setting of a program, with `{name}` for this server's values. A choice is selected in the program, so there is
 * nothing to paste.
 * @typedef {{ label: string, value: string, is_choice?: boolean }} ProgramSetting
 */

/**
 * @typedef {object} Recipe
 * @property {string} name
 * @property {Schema<'ApplicationType'> | 'saml'} kind
 * @property {Question[]} ask
 * @property {Record<string, unknown>} application members of the new application, with `{name}` of questions
 * @property {ProgramSetting[]} settings
 * @property {{ name: string, lines: string[] }} [file] a file of the program
 * @property {Texts} notes
 */

/**
 * The programs: the name of the file, and that of the program.
 * @type {ReadonlyArray<readonly [id: string, name: string]>}
 */
export const PROGRAMS = [
  ['argo-cd', 'Argo CD'],
  ['aws', 'AWS IAM Identity Center'],
  ['gitea', 'Gitea and Forgejo'],
  ['github-enterprise', 'GitHub Enterprise Server'],
  ['gitlab', 'GitLab'],
  ['google-workspace', 'Google Workspace'],
  ['grafana', 'Grafana'],
  ['vault', 'HashiCorp Vault'],
  ['jenkins', 'Jenkins'],
  ['jira', 'Jira'],
  ['keycloak', 'Keycloak'],
  ['kubernetes', 'Kubernetes'],
  ['mattermost', 'Mattermost'],
  ['mediawiki', 'MediaWiki'],
  ['nextcloud', 'Nextcloud'],
  ['proxmox', 'Proxmox VE'],
  ['salesforce', 'Salesforce'],
  ['slack', 'Slack'],
  ['wordpress', 'WordPress'],
  ['zabbix', 'Zabbix'],
];

/**
 * The recipe of a program; undefined if there is none.
 * @param {string | null} id
 * @returns {Promise<Recipe | undefined>}
 */
export async function recipeOf(id) {
  if (!PROGRAMS.some(([known]) => known === id)) return undefined;
  const answer = await fetch(`/assets/console/recipes/${id}.json`, { redirect: 'error' }).catch(() => {
    throw noAnswer();
  });
  return answer.ok ? answer.json() : undefined;
}

/**
 * A text in the language of the console.
 * @param {Texts} texts
 */
export const spoken = (texts) => texts[language()];

/**
 * A value with each `{name}` replaced, in texts, lists and objects alike. A name without a value stays.
 * @template Value
 * @param {Value} value
 * @param {Record<string, string>} values
 * @returns {Value}
 */
export function filled(value, values) {
  if (typeof value === 'string')
    return /** @type {Value} */ (value.replaceAll(/\{([a-z_]+)\}/g, (whole, name) => values[name] ?? whole));
  if (Array.isArray(value)) return /** @type {Value} */ (value.map((one) => filled(one, values)));
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => [name, filled(member, values)]);
    return /** @type {Value} */ (Object.fromEntries(members));
  }
  return value;
}

/**
 * The address that an administrator typed, without slashes at its end. An address without a scheme gets one.
 * @param {string} typed
 * @param {string} example
 * @returns {string | undefined} undefined if it is no address
 */
export function typedAddress(typed, example) {
  const [scheme] = example.split('://');
  const isLocal = /^(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/i.test(typed);
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(typed) ? typed : `${isLocal ? 'http' : scheme}://${typed}`;
  // The values of the program contain the address, between quotes or not.
  if (!URL.canParse(address) || new URL(address).host === '' || /[\s"'`<>\\{}]/.test(address)) return undefined;
  return address.replace(/\/+$/, '');
}

/**
 * The members of a new application. Applications at an address without TLS have no start address, which must be https.
 * @param {Recipe} recipe
 * @param {Record<string, string>} answers
 */
export function membersOf({ kind, application }, answers) {
  const { initiate_login_uri: start, ...members } = filled(application, answers);
  const isSecure = /^https:|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?:[:/]|$)/.test(String(start ?? ''));
  return {
    ...members,
    ...(isSecure && { initiate_login_uri: start }),
    ...(kind === 'saml' ? { protocol: 'saml' } : { application_type: kind }),
  };
}

/** The placeholder of the client secret, which this server shows only once. */
const SECRET = 'CLIENT_SECRET';

/**
 * The values of this server for an application.
 * @param {Schema<'Application'>} application
 * @param {{ base: string, issuer: string }} server
 * @returns {Promise<Record<string, string>>}
 */
export async function serverValues(application, { base, issuer }) {
  if (application.protocol !== 'saml')
    return {
      issuer,
      discovery: `${issuer}/.well-known/openid-configuration`,
      authorization: `${issuer}/auth`,
      token: `${issuer}/token`,
      userinfo: `${issuer}/me`,
      end_session: `${issuer}/session/end`,
      client_id: application.id,
      client_secret: SECRET,
      redirect_uri: application.redirect_uris[0] ?? '',
    };
  const id = encodeURIComponent(application.id).replaceAll('%3A', ':');
  const { items } = await get('/applications/{id}/certificates', { id: application.id });
  return {
    metadata: `${base}/sso/metadata/${id}`,
    sso: `${base}/sso/SingleSignOnService/${id}`,
    slo: `${base}/sso/SingleLogoutService/${id}`,
    idp_entity_id: application.idp_entity_id ?? issuer,
    sp_entity_id: application.entity_id,
    certificate: items.find(({ stage }) => stage === 'signing')?.certificate ?? '',
  };
}
