// The settings of a SAML service provider, as fields.

import { area, folded, group, lines, number, rows, select, several, text, toggle } from '../form.js';
import { el } from '../view.js';
import { passkeyFields } from './client_fields.js';

/** @import { Field, FieldsOf, Schema, Values } from '../types.d.ts' */

/** @type {Array<[Schema<'NameIdFormat'>, string]>} */
const FORMATS = [
  ['emailAddress', 'emailAddress'],
  ['persistent', 'persistent: the same each time, and different for each application'],
  ['transient', 'transient: different each time'],
  ['unspecified', 'unspecified'],
];

/** @param {string | null} [needed] */
export const providerName = (needed = 'Enter a name.') =>
  text('name', 'Name', { needed, hint: 'Users see it on their phone when they approve.' });
export const entityId = () =>
  text('entity_id', 'SP entity ID', {
    mono: true,
    needed: 'Enter the entity ID of the service provider.',
    hint: 'The identifier of the service provider; it becomes the Audience.',
  });
export const acs = () =>
  rows(
    'acs',
    'Assertion consumer services (ACS)',
    () => [
      text('url', 'Address', {
        type: 'url',
        none: '',
        needed: 'Enter an address.',
        hint: 'Where the signed response is posted.',
      }),
      number('index', 'Index', { min: 0, max: 65535 }),
      toggle('default', 'Default'),
    ],
    { add: 'Add an ACS' },
  );

/** All settings of a service provider. */
export function providerFields() {
  return [
    group('Name and addresses', null, providerName(), entityId(), acs(), singleLogout()),
    group(
      'Name of users (NameID)',
      null,
      select('name_id_format', 'Format', FORMATS, { hint: 'The default, for requests that name none.' }),
      several('other_name_id_formats', 'Other formats that a request may name', FORMATS),
      select(
        'name_id_source',
        'Source',
        [
          ['user_email', 'The user’s email address'],
          ['account_name', 'The account’s name'],
        ],
        { hint: 'The value in the formats emailAddress and unspecified.' },
      ),
      toggle('unconfirmed_email', 'Send email addresses that are not confirmed', {
        hint: 'An address that nobody confirmed may be that of another person. The application cannot see that.',
      }),
    ),
    group(
      'Attributes',
      'Custom attributes are in each assertion, beside those of the plugins. A value may contain {email}, ' +
        '{name}, {roles} and other placeholders of the user and the account.',
      rows(
        'custom_attributes',
        'Custom attributes',
        () => [
          text('name', 'Name', { none: '', needed: 'Enter a name.' }),
          lines('values', 'Values', { rows: 2, hint: 'One on each line.' }),
        ],
        { add: 'Add an attribute' },
      ),
    ),
    group(
      'Requests',
      null,
      toggle('require_signed_requests', 'Require signed requests', {
        hint: 'An AuthnRequest without a signature is rejected.',
      }),
      rows(
        'certificates',
        'Certificates that it signs with',
        () => [area('pem', 'Certificate', { hint: '-----BEGIN CERTIFICATE-----' })],
        { add: 'Add a certificate' },
      ),
      number('clock_skew_seconds', 'Allowed clock skew, in seconds', { min: 0, max: 600 }),
      number('not_before_margin_seconds', 'Assertions are valid earlier by, in seconds', {
        min: 0,
        max: 120,
        hint: 'For an application whose clock is behind: it would reject an assertion as not valid yet.',
      }),
    ),
    passkeyFields(),
    group(
      'Sign-on from here',
      null,
      toggle('idp_initiated', 'Users may begin here', {
        hint: 'The application is in their portal, and a link can lead to it.',
      }),
      text('default_relay_state', 'RelayState', { none: null }),
      lines('relay_states', 'Other RelayStates that a link may choose', { hint: 'One on each line.' }),
    ),
    folded(
      'Advanced',
      text('idp_entity_id', 'Entity ID override', {
        none: null,
        hint: 'What Assent calls itself towards this application. If empty, the issuer’s address.',
      }),
      text('metadata_url', 'Address of its metadata', {
        none: null,
        type: 'url',
        hint: 'Assent can read it again from there.',
      }),
    ),
  ];
}

/**
 * The endpoint of single logout: an object or null in the API, three fields in the form.
 * @returns {Field<'single_logout', Schema<'SingleLogoutChange'> | null, Schema<'SingleLogout'> | null>}
 */
function singleLogout() {
  const url = text('url', 'Single logout address', {
    type: 'url',
    hint: 'Empty if it takes no part in single logout.',
  });
  const response = text('response_url', 'Address of logout responses', {
    type: 'url',
    hint: 'Only if different.',
  });
  const binding = select('binding', 'Binding of single logout', [
    ['redirect', 'Redirect'],
    ['post', 'POST'],
  ]);
  const parts = [url, response, binding];
  return {
    name: 'single_logout',
    element: el('div', { class: 'together' }, ...parts.map(({ element }) => element)),
    fail: (message, _index, part) => (parts.find(({ name }) => name === part) ?? url).fail(message),
    focus: () => url.focus(),
    read: () => {
      const [address, responseAddress] = [url.read(), response.read()];
      if (address === undefined) return null;
      return {
        url: address,
        response_url: responseAddress ?? null,
        binding: binding.read() ?? 'redirect',
      };
    },
    write: (value) => {
      url.write(value?.url);
      response.write(value?.response_url);
      binding.write(value?.binding ?? 'redirect');
    },
  };
}

/**
 * The values of the API in the form's structure: a certificate is a row.
 * @template {{ certificates: string[] }} Provider
 * @param {Provider} provider
 */
export const toForm = (provider) => ({ ...provider, certificates: provider.certificates.map((pem) => ({ pem })) });

/**
 * The changed values of the form in the API's structure: a certificate is a text.
 * @param {Partial<Values<FieldsOf<ReturnType<typeof providerFields>[number]>>>} values
 * @returns {Schema<'ServiceProviderChange'>}
 */
export const fromForm = ({ certificates, ...values }) => ({
  ...values,
  ...(certificates && { certificates: certificates.flatMap(({ pem }) => pem ?? []) }),
});
