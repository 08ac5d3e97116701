// One application: how to connect it, its settings, its credentials, its accounts.

import { get, getFile, getVersion, Problem, patch, post, put, remove } from '../api.js';
import { apiSentence } from '../api_texts.js';
import { form } from '../form.js';
import { importer } from '../importer.js';
import { t } from '../language.js';
import {
  anchorOf,
  ask,
  badge,
  button,
  contents,
  el,
  exportButton,
  link,
  makeReadOnly,
  notice,
  panel,
  say,
  screen,
  showOnce,
  tabs,
} from '../view.js';
import { usersWithAccess } from './access.js';
import { applicationAddress, kindOf, stateOf } from './applications.js';
import { assignments } from './assignments.js';
import { askedUsers, mayAsk } from './backchannel_requests.js';
import { previewOf } from './claims.js';
import { clientFields } from './client_fields.js';
import { storageText } from './client_secrets.js';
import { credentials } from './credentials.js';
import { guide } from './guide.js';
import { managementNotice } from './management.js';
import { metadataOf } from './metadata.js';
import { fromForm, providerFields, toForm } from './provider_fields.js';
import { registrationNotice } from './registration_tokens.js';
import { security } from './security.js';
import { testSignIn } from './test_sign_in.js';
import { unconfirmedUsers } from './unconfirmed.js';
import { roleName } from './users.js';

/** @import { Child, Context, PageFunction, Schema } from '../types.d.ts' */

/**
 * @param {string} at
 * @returns {[string, string, boolean]}
 */
const securityLink = (at) => [`${at}/security`, 'Security', true];

/**
 * A page about one application, below its name and the links to its other pages.
 * @param {(application: Schema<'Application'>, version: string | null, context: Context) =>
 *   Child[] | Promise<Child[]>} content
 * @returns {PageFunction}
 */
function page(content) {
  return async (context, { id }) => {
    const { may, handover } = context;
    const { value, version } = await getVersion('/applications/{id}', { id });
    const at = applicationAddress(id);
    /** @type {Array<[string, string, boolean]>} */
    const links = [
      [at, 'Connect', true],
      [`${at}/settings`, 'Settings', true],
      [`${at}/credentials`, value.protocol === 'saml' ? 'Certificates' : 'Credentials', true],
      ...(value.protocol === 'saml' ? [] : [securityLink(at)]),
      [`${at}/accounts`, 'Access', may('accounts:read')],
      [`${at}/asked`, 'Requests', mayAsk(value) && may('audit:read')],
      [`${at}/claims`, 'Claims', may('claims:read')],
      [`${at}/try`, 'Test sign-in', may('applications:write')],
      [`${at}/delete`, 'Delete', may('applications:write')],
    ];
    return screen(
      {
        title: value.name,
        isName: true,
        back: ['/admin/applications', 'Applications'],
        badges: [badge(kindOf(value), 'kind'), !value.enabled && stateOf(value)],
      },
      tabs('Parts of the application', links),
      disabledNotice(value, version, context),
      managementNotice(value.managed_by),
      value.protocol !== 'saml' && registrationNotice(value.registered_by),
      ...(handover.notes ?? []).map((note) => notice(apiSentence(note), 'warn')),
      ...(await content(value, version, context)),
    );
  };
}

/**
 * @param {Schema<'Application'>} application
 * @param {string | null} version
 * @param {Context} context
 */
async function settings(application, version, context) {
  const { me, may, reload } = context;
  const writes = may('applications:write');
  const made =
    application.protocol === 'saml'
      ? providerForm(application, version, context)
      : clientForm(application, version, context);
  if (!writes) makeReadOnly(made);
  const name = me.role && roleName(me.role);
  const unconfirmed = await unconfirmedUsers(application, context);
  const column = el(
    'div',
    { class: 'column' },
    ...unconfirmed,
    !writes && notice(t`Your role, ${name}, can read this but not change it.`, 'calm'),
    made,
    writes && application.protocol === 'saml' && metadata(application, reload),
    writes && logo(application),
    writes && availability(application, version, reload),
  );
  return [el('div', { class: 'with-contents' }, contents(headingsOf(column)), column)];
}

/**
 * The headings of the sections, without those inside another section.
 * @param {HTMLElement} column
 */
function headingsOf(column) {
  const selector = ['.form > .group > h2', '.form > details > summary', ':scope > .panel > :is(h2, summary)'].join();
  return /** @type {HTMLElement[]} */ ([...column.querySelectorAll(selector)]);
}

/**
 * Why no user can sign in to an application. One that waits for its approval can be approved here.
 * @param {Schema<'Application'>} application
 * @param {string | null} version
 * @param {Context} context
 */
function disabledNotice(application, version, { may, reload }) {
  const { id, name, enabled } = application;
  if (enabled) return undefined;
  if (application.protocol === 'saml' || !application.awaits_approval)
    return notice('This application is disabled. No user can sign in to it.', 'warn');
  const approve = async () => {
    const yes = await ask(
      t`Approve ${name}?`,
      'Its tokens work, and users to whom you grant access can sign in. Read its settings first: it chose them itself.',
      'Approve',
    );
    if (!yes) return;
    await patch('/applications/{id}', { id }, { enabled: true }, version);
    await reload();
    say('The application is approved.');
  };
  return notice(
    'This application registered or changed itself, and waits for approval. No user can sign in to it.',
    'warn',
    may('applications:write') && el('div', { class: 'ways' }, button('Approve', approve, 'primary')),
  );
}

/**
 * Disables the application, or enables it again.
 * @param {Schema<'Application'>} application
 * @param {string | null} version
 * @param {Context['reload']} reload
 */
function availability({ id, name, enabled }, version, reload) {
  const set = async (/** @type {boolean} */ isEnabled) => {
    await patch('/applications/{id}', { id }, { enabled: isEnabled }, version);
    await reload();
    say(isEnabled ? 'The application is enabled.' : 'The application is disabled.');
  };
  const disable = async () => {
    const yes = await ask(
      t`Disable ${name}?`,
      'Until you enable it again, no user can sign in to it and its tokens do not work. Settings and accounts stay. ' +
        'Afterwards its users sign in again.',
      'Disable it',
    );
    if (yes) await set(false);
  };
  return panel(
    el('h2', { id: anchorOf('Availability'), tabindex: -1 }, 'Availability'),
    el('p', {}, enabled ? 'Users with an account can sign in to it.' : 'Disabled. Its settings and accounts are kept.'),
    el(
      'div',
      { class: 'ways' },
      enabled
        ? button('Disable this application', disable, 'danger')
        : button('Enable this application', () => set(true), 'primary'),
    ),
  );
}

/**
 * @param {Schema<'Client'>} client
 * @param {string | null} version
 * @param {Context} context
 */
function clientForm({ id, ...client }, version, { may, reload }) {
  return form(clientFields(client.application_type, { owner: may('roles:write') }), {
    bar: true,
    values: client,
    version,
    reread: () => readAs('openid_connect', id),
    submit: 'Save',
    send: async (_values, changed, newest) => {
      if (Object.keys(changed).length === 0) return say('Nothing was changed.');
      const { value } = await patch('/applications/{id}', { id }, changed, newest);
      if ('client_secret' in value && value.client_secret)
        await showOnce(
          'The client secret',
          'The change needs a new one. The old one is no longer valid.',
          value.client_secret,
          storageText(value),
        );
      await reload();
      return say('Saved.');
    },
  });
}

/**
 * @param {Schema<'ServiceProvider'>} provider
 * @param {string | null} version
 * @param {Context} context
 */
function providerForm({ id, ...provider }, version, { reload, go }) {
  return form(providerFields(), {
    bar: true,
    values: toForm(provider),
    version,
    reread: async () => {
      const newest = await readAs('saml', id);
      return { ...newest, value: toForm(newest.value) };
    },
    submit: 'Save',
    send: async (_values, changed, newest) => {
      if (Object.keys(changed).length === 0) return say('Nothing was changed.');
      const { value } = await patch('/applications/{id}', { id }, fromForm(changed), newest);
      if ('notes' in value && value.notes) await go(`${applicationAddress(id)}/settings`, { notes: value.notes });
      else await reload();
      return say('Saved.');
    },
  });
}

/**
 * Reads an application of a protocol. The protocol of an application never changes.
 * @template {Schema<'Application'>['protocol']} Protocol
 * @param {Protocol} protocol
 * @param {string} id
 */
async function readAs(protocol, id) {
  const { value, version } = await getVersion('/applications/{id}', { id });
  if (value.protocol !== protocol) throw new Error(t`The application does not use ${protocol}.`);
  return { value: /** @type {Extract<typeof value, { protocol: Protocol }>} */ (value), version };
}

/**
 * The logo that users see beside the name.
 * @param {Schema<'Application'>} application
 */
function logo(application) {
  const { id } = application;
  const place = el('div', {});
  const show = (/** @type {Schema<'Logo'> | undefined} */ picture) =>
    place.replaceChildren(
      picture
        ? el('img', { class: 'picture', src: picture.url, alt: 'The current logo' })
        : el('p', { class: 'muted' }, 'No logo yet.'),
    );
  const file = el('input', { type: 'file', id: 'logo-file', accept: 'image/png,image/jpeg,image/webp' });
  const set = button('Use the chosen file', async () => {
    const chosen = file.files?.[0];
    if (!chosen) throw new Error('Choose a file first.');
    const type = chosen.type || 'application/octet-stream';
    show(await put('/applications/{id}/logo', { id }, await chosen.arrayBuffer(), { type }));
    say('The logo was set.');
  });
  const take = button('Remove the logo', async () => {
    await remove('/applications/{id}/logo', { id });
    show(undefined);
  });
  const load = async () => {
    if (!element.open || place.childElementCount > 0) return;
    try {
      show(await get('/applications/{id}/logo', { id }));
    } catch (problem) {
      if (!(problem instanceof Problem) || problem.status !== 404) throw problem;
      show(undefined);
    }
  };
  const element = el(
    'details',
    { class: 'panel', ontoggle: load },
    el('summary', { id: anchorOf('Logo') }, 'Logo'),
    el(
      'div',
      { class: 'opened' },
      place,
      el('div', { class: 'field' }, el('label', { for: 'logo-file' }, 'Logo file'), file),
      el('div', { class: 'ways' }, set, take),
    ),
  );
  return element;
}

/**
 * The settings beside the current values of the service provider's metadata.
 * @param {Schema<'ServiceProvider'>} application
 * @param {Context['reload']} reload
 */
function metadata(application, reload) {
  const { id } = application;
  const place = el('div', {});
  const compare = async (/** @type {Schema<'MetadataRefresh'>} */ given) => {
    const shown = await post('/applications/{id}/metadata', { id }, given);
    const text = (/** @type {unknown} */ value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));
    if (shown.changes.length === 0)
      return place.replaceChildren(notice('The metadata and the settings are the same.', 'calm'));
    return place.replaceChildren(
      ...shown.notes.map((note) => notice(apiSentence(note), 'warn')),
      el(
        'dl',
        { class: 'differences' },
        ...shown.changes.flatMap(({ field, from, to }) => [
          el('dt', {}, field),
          el('dd', {}, el('del', {}, text(from)), el('ins', {}, text(to))),
        ]),
      ),
      el(
        'div',
        { class: 'ways' },
        button(
          'Apply these changes',
          async () => {
            await post('/applications/{id}/metadata', { id }, { ...given, apply: true, digest: shown.digest });
            await reload();
            say('The metadata was applied.');
          },
          'primary',
        ),
      ),
    );
  };
  const file = el('input', { type: 'file', id: 'metadata-file', accept: '.xml,application/samlmetadata+xml,text/xml' });
  const ways = el(
    'div',
    { class: 'ways' },
    application.metadata_url && button('Read it again from its URL', () => compare({})),
    button('Compare with the chosen file', async () => {
      const chosen = file.files?.[0];
      if (!chosen) throw new Error('Choose a file first.');
      await compare({ metadata: await metadataOf(chosen) });
    }),
  );
  return el(
    'details',
    { class: 'panel' },
    el('summary', { id: anchorOf('Compare with its metadata') }, 'Compare with its metadata'),
    el(
      'div',
      { class: 'opened' },
      el('p', {}, 'The differences are shown first; nothing is changed until you apply them.'),
      el('div', { class: 'field' }, el('label', { for: 'metadata-file' }, 'Metadata file'), file),
      ways,
      place,
    ),
  );
}

/**
 * @param {Schema<'Application'>} application
 * @param {Context} context
 */
async function access(application, context) {
  const { may } = context;
  const { items: known } = await get('/applications/{id}/roles', { id: application.id });
  const transfer =
    may('accounts:write') &&
    el(
      'details',
      { class: 'panel' },
      el('summary', {}, 'Import and export accounts'),
      el(
        'div',
        { class: 'opened' },
        el(
          'div',
          { class: 'ways' },
          exportButton('Export all accounts', 'accounts.csv', () =>
            getFile('/applications/{id}/accounts/export', { id: application.id }),
          ),
        ),
        importer(
          (file, parameters, options) =>
            post('/applications/{id}/accounts/import', { id: application.id, ...parameters }, file, options),
          [
            el(
              'p',
              {},
              'The first line names the columns: user (a name, an email address or an ID), name, roles, state. ' +
                'The server checks the file first.',
            ),
          ],
          'The list above shows them.',
          ['user', 'name', 'roles', 'state'],
        ),
      ),
    );
  return [await assignments(application, known, context), await usersWithAccess(application, known, context, transfer)];
}

/**
 * @param {Schema<'Application'>} application
 * @param {string | null} version
 * @param {Context} context
 */
function removal(application, version, { go }) {
  const press = button(
    'Delete this application',
    async () => {
      const yes = await ask(
        t`Delete ${application.name}?`,
        'No user can sign in to it any more. Its accounts, tokens and consents are deleted with it.' +
          ' This can’t be undone.',
        'Delete it',
        application.name,
      );
      if (!yes) return;
      await remove('/applications/{id}', { id: application.id }, version);
      await go('/admin/applications');
      say('The application was deleted.');
    },
    'danger',
  );
  return [
    panel(
      el('h2', {}, 'Delete it'),
      el(
        'p',
        {},
        'This deletes the application and everyone’s access to it. To pause it, ',
        link(`${applicationAddress(application.id)}/settings`, 'disable it'),
        ' instead.',
      ),
      el('div', { class: 'ways' }, press),
    ),
  ];
}

export const applicationPages = {
  guide: page((application, _version, context) => guide(application, context)),
  settings: page(settings),
  credentials: page(credentials),
  security: page(security),
  accounts: page((application, _version, context) => access(application, context)),
  asked: page((application, _version, context) => askedUsers(application, context)),
  claims: page((application, _version, context) => previewOf(application, context)),
  testSignIn: page((application, _version, context) => testSignIn(application, context)),
  remove: page(removal),
};
