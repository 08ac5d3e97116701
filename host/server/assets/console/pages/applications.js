// The list of applications.

import { get } from '../api.js';
import { select, text } from '../form.js';
import { t, translated } from '../language.js';
import { searched, table } from '../lists.js';
import { order } from '../order.js';
import { badge, copyIcon, el, figure, link, moment, nothing, screen, way } from '../view.js';

/** @import { Column, Context, Schema } from '../types.d.ts' */

export const KINDS = { web: 'Web application', spa: 'Single-page app', native: 'Native app', saml: 'SAML' };

/**
 * The kind of an application, in words.
 * @param {Schema<'Application'>} application
 */
export function kindOf(application) {
  return application.protocol === 'saml' ? KINDS.saml : KINDS[application.application_type];
}

/**
 * The state of an application.
 * @param {Schema<'Application'>} application
 */
export function stateOf(application) {
  if (application.enabled) return badge('Enabled', 'active');
  const waits = application.protocol !== 'saml' && application.awaits_approval;
  return waits ? badge('Waits for approval', 'invited') : badge('Disabled', 'suspended');
}

/** @param {string} id */
export const applicationAddress = (id) => `/admin/applications/${encodeURIComponent(id)}`;

const NONE = 'There are no applications yet.';

/** @type {Array<Column<Schema<'Application'>>>} */
const COLUMNS = [
  {
    label: 'Name',
    sort: 'name',
    cell: (row) =>
      el(
        'span',
        { class: 'named' },
        row.usage?.logo_url
          ? el('img', { class: 'small-picture', src: row.usage?.logo_url, alt: '' })
          : el(
              'span',
              { class: 'small-picture', 'aria-hidden': 'true' },
              el('bdi', {}, [...row.name][0]?.toUpperCase()),
            ),
        link(applicationAddress(row.id), el('bdi', {}, row.name)),
        copyIcon(t`the ID of ${row.name}`, row.id),
      ),
  },
  {
    label: 'Kind',
    cell: (row) =>
      el(
        'span',
        {},
        badge(kindOf(row), 'kind'),
        row.protocol !== 'saml' &&
          row.registered_by &&
          badge(t`Registered by itself: ${row.registered_by.token_name}`, 'calm'),
      ),
  },
  {
    label: 'State',
    cell: stateOf,
  },
  {
    label: 'Users',
    figure: true,
    cell: ({ usage }) => `${usage?.more_users ? translated('over ') : ''}${figure(usage?.users ?? 0)}`,
  },
  { label: 'Last sign-in', cell: ({ usage }) => moment(usage?.last_sign_in_at) },
];

/**
 * The number of applications, as far as the first page of the list contains them.
 * @param {number} count
 * @param {boolean} isMore
 */
function countOf(count, isMore) {
  if (isMore) return t`more than ${figure(count)} applications`;
  return count === 1 ? t`${figure(count)} application` : t`${figure(count)} applications`;
}

/**
 * @param {Context} context
 */
export async function applications({ may }) {
  const sorted = order('order', 'name', [
    ['name', 'Name, A to Z'],
    ['-name', 'Name, Z to A'],
  ]);
  const controls = [
    text('q', 'Name or ID', { type: 'search' }),
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
    sorted,
  ];
  const total = el('p', { class: 'muted total', role: 'status' });
  const list = await searched(
    controls,
    ({ order: by = 'name', ...values }, after) => get('/applications', { ...values, order: by, after }),
    table(COLUMNS, [], {
      empty: may('applications:write') ? nothing(NONE, '/admin/applications/new', 'Connect an application') : NONE,
      unmatched: 'There is no such application.',
      caption: 'Applications',
      order: sorted,
    }),
    {
      nameOf: (row) => row.name,
      total,
      onpage: ({ items, next }) => {
        total.textContent = countOf(items.length, Boolean(next));
      },
    },
  );
  return screen(
    {
      title: 'Applications',
      lead: 'What users sign in to.',
      actions: [
        way('/admin/applications/registration-tokens', 'Initial access tokens'),
        way('/admin/applications/authorization-details-types', 'Types of authorization details'),
        may('applications:write') && way('/admin/applications/new', 'Connect an application', 'primary'),
      ],
    },
    list,
  );
}
