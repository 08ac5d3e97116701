// A new application: its kind, then the necessary settings.

import { post } from '../api.js';
import { area, fieldPanel, form, text } from '../form.js';
import { t, translated } from '../language.js';
import { recipeOf } from '../recipes.js';
import { el, link, notice, screen } from '../view.js';
import { applicationAddress } from './applications.js';
import { name as clientName, redirectUris } from './client_fields.js';
import { LARGEST_METADATA, metadataOf } from './metadata.js';
import { acs, entityId, providerName } from './provider_fields.js';
import { programs, recipeForm } from './recipe.js';

/** @import { Context, Schema } from '../types.d.ts' */

/**
 * Kind, title, description, and the name of the protocol.
 * @type {Array<[Schema<'ApplicationType'> | 'saml', string, string, string]>}
 */
const KINDS = [
  [
    'web',
    'Web application',
    'Runs on a server that keeps a secret: Grafana, GitLab, Nextcloud, your own back end.',
    'OpenID Connect',
  ],
  ['spa', 'Single-page app', 'Runs only in the browser, so it can keep no secret. Uses PKCE.', 'OpenID Connect'],
  ['native', 'Native app', 'Installed on a phone or a computer, or a command line. Uses PKCE.', 'OpenID Connect'],
  ['saml', 'SAML service provider', 'Software that asks for SAML 2.0 or an identity provider’s metadata.', 'SAML 2.0'],
];

/**
 * @param {Context} context
 */
export async function newApplication(context) {
  const recipe = await recipeOf(context.query.get('recipe'));
  if (recipe) return recipeForm(context, context.query.get('recipe') ?? '', recipe);
  const chosen = context.query.get('kind');
  const known = KINDS.find(([kind]) => kind === chosen);
  if (!known) return choose();
  const [kind, title] = known;
  return kind === 'saml' ? saml(context) : client(context, kind, title);
}

function choose() {
  const cards = KINDS.map(([id, title, about, protocol]) =>
    el(
      'li',
      {},
      link(
        `/admin/applications/new?kind=${id}`,
        el('strong', {}, title),
        el('span', {}, about),
        el('span', { class: 'badge' }, protocol),
      ),
    ),
  );
  return screen(
    {
      title: 'Connect an application',
      lead: 'What kind of application is it?',
      back: ['/admin/applications', 'Applications'],
    },
    el('ul', { class: 'tiles' }, ...cards),
    programs(),
  );
}

/**
 * @param {Context} context
 * @param {Schema<'ApplicationType'>} type
 * @param {string} title
 */
function client({ go }, type, title) {
  const made = form([fieldPanel(clientName(), redirectUris(type, 'Enter at least one redirect URI.'))], {
    submit: 'Connect it',
    cancel: '/admin/applications',
    send: async (values) => {
      const application = await post('/applications', {}, { ...values, application_type: type });
      await go(applicationAddress(application.id));
    },
  });
  return screen(
    {
      title: t`New ${translated(title === 'Web application' ? 'web application' : title.toLowerCase())}`,
      lead: 'We’ve chosen sensible defaults. You can change them later.',
      back: ['/admin/applications/new', 'Another kind'],
    },
    made,
  );
}

/**
 * @param {Context} context
 */
function saml({ go, query, handover }) {
  const source = query.get('from') ?? 'file';
  const address = (/** @type {string} */ from) => `/admin/applications/new?kind=saml&from=${from}`;
  const sources = el(
    'nav',
    { class: 'tabs', 'aria-label': 'Where its values come from' },
    el(
      'ul',
      {},
      ...[
        ['file', 'Metadata as a file'],
        ['address', 'Metadata by address'],
        ['hand', 'By hand'],
      ].map(([id, label]) =>
        el(
          'li',
          {},
          el(
            'a',
            { href: address(id), 'aria-current': id === source && 'page', onclick: (event) => change(event, id) },
            label,
          ),
        ),
      ),
    ),
  );
  // Each source needs the name, which is typed once.
  const change = (/** @type {MouseEvent} */ event, /** @type {string} */ id) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(address(id), { name: name.read() });
  };
  const name = providerName(source === 'hand' ? undefined : null);
  const metadata = area('metadata', 'Metadata', {
    rows: 10,
    needed: 'Choose a file, or paste its text.',
    hint: 'The XML of the service provider: choose the file, or paste it.',
  });
  const file = el('input', {
    type: 'file',
    accept: '.xml,application/samlmetadata+xml,text/xml',
    'aria-label': 'Metadata file',
  });
  file.addEventListener('change', async () => {
    const chosen = file.files?.[0];
    if (chosen) metadata.write(chosen.size > LARGEST_METADATA ? '' : await metadataOf(chosen));
    metadata.fail(
      chosen && chosen.size > LARGEST_METADATA
        ? 'The file is too large for metadata of one service provider.'
        : undefined,
    );
  });
  metadata.input.before(file);
  const metadataUrl = text('metadata_url', 'Address of the metadata', {
    type: 'url',
    needed: 'Enter an address.',
    hint: 'Assent must be able to read it, with https.',
  });
  const fields =
    source === 'hand'
      ? fieldPanel(name, entityId(), acs())
      : fieldPanel(name, source === 'address' ? metadataUrl : metadata);
  const made = form([fields], {
    submit: 'Connect it',
    cancel: '/admin/applications',
    values: { name: handover.name, acs: [{}] },
    send: async (values) => {
      const application = await post('/applications', {}, { ...values, protocol: 'saml' });
      await go(applicationAddress(application.id), 'notes' in application ? { notes: application.notes } : {});
    },
  });
  return screen(
    {
      title: 'New SAML service provider',
      lead: 'Its metadata has everything that Assent needs; without it, two values are enough.',
      back: ['/admin/applications/new', 'Another kind'],
    },
    sources,
    made,
    el(
      'div',
      { class: 'column' },
      notice('Afterwards you get the address of Assent’s own metadata, which goes into the service provider.', 'calm'),
    ),
  );
}
