// The list of applications.

import { get } from '../api.js';
import { select, text } from '../form.js';
import { badge, code, el, link, screen, searched, way } from '../view.js';

/** @import { Context, Schema } from '../types.d.ts' */

export const KINDS = { web: 'Web application', spa: 'Single-page app', native: 'Native app', saml: 'SAML' };

/**
 * The kind of an application, in words.
 * @param {Schema<'Application'>} application
 */
export function kindOf(application) {
  return application.protocol === 'saml' ? KINDS.saml : KINDS[application.application_type];
}

/** @param {string} id */
export const applicationAddress = (id) => `/admin/applications/${encodeURIComponent(id)}`;

/**
 * @param {Context} context
 */
export async function applications({ may }) {
  const list = await searched(
    [
      text('q', 'Name or id', { type: 'search' }),
      select(
        'protocol',
        'Protocol',
        [
          ['', 'Any'],
          ['openid_connect', 'OpenID Connect'],
          ['saml', 'SAML'],
        ],
        { none: '' },
      ),
    ],
    (values, after) => get('/applications', { ...values, after }),
    [
      { label: 'Name', cell: (row) => link(applicationAddress(row.id), row.name) },
      {
        label: 'Kind',
        cell: (row) =>
          el(
            'span',
            { class: 'badges' },
            badge(kindOf(row), 'kind'),
            !row.enabled && badge('Disabled', 'suspended'),
          ),
      },
      { label: 'Id', cell: (row) => code(row.id) },
      {
        label: 'Redirect URIs or ACS',
        cell: (row) => (row.protocol === 'saml' ? row.acs.map(({ url }) => code(url)) : row.redirect_uris.map(code)),
      },
    ],
    { empty: 'There is no such application.', caption: 'Applications' },
  );
  return screen(
    {
      title: 'Applications',
      lead: 'What users sign in to.',
      actions: [may('applications:write') && way('/admin/applications/new', 'Connect an application', 'primary')],
    },
    list,
  );
}
