// One application: what to paste into it, its settings, how it proves who it is, who has an account there.

import { get, getVersion, patch, path, post, put, query, remove } from '../api.js';
import { form, lines, select, text } from '../form.js';
import {
  ask,
  badge,
  button,
  disableAll,
  el,
  link,
  moment,
  notice,
  panel,
  say,
  screen,
  searched,
  showOnce,
  tabs,
} from '../view.js';
import { accountAddress } from './account.js';
import { applicationAddress, kindOf } from './applications.js';
import { previewOf } from './claims.js';
import { clientFields } from './client_fields.js';
import { credentials } from './credentials.js';
import { guide, keptAs } from './guide.js';
import { metadataOf } from './metadata.js';
import { picker } from './picker.js';
import { fromForm, providerFields, toForm } from './provider_fields.js';
import { testSignIn } from './test_sign_in.js';
import { importer } from './users.js';

/**
 * A page about one application, below its name and the links to its other pages.
 * @param {import('../types.d.ts').Context} context
 * @param {any} id
 * @param {any} fill
 */
async function page({ may, wish }, id, fill) {
  /** @type {import('../types.d.ts').Versioned<import('../types.d.ts').Schema<'Application'>>} */
  const { value, version } = await getVersion(path`/applications/${id}`);
  const at = applicationAddress(id);
  const parts = [
    [at, 'Connect'],
    [`${at}/settings`, 'Settings'],
    [`${at}/credentials`, value.protocol === 'saml' ? 'Certificates' : 'Credentials'],
    may('accounts:read') && [`${at}/accounts`, 'Accounts'],
    may('claims:read') && [`${at}/claims`, 'Claims'],
    may('applications:write') && [`${at}/try`, 'Try sign-in'],
    may('applications:write') && [`${at}/delete`, 'Delete'],
  ].flatMap((part) => (part ? [part] : []));
  return screen(
    { title: value.name, back: ['/admin/applications', 'Applications'], badges: [badge(kindOf(value), 'kind')] },
    tabs('Parts of the application', parts),
    ...(wish?.notes ?? []).map((note) => notice(note, 'warn')),
    ...(await fill(value, version)),
  );
}

/**
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {string | null} version
 * @param {import('../types.d.ts').Context} context
 */
async function settings(application, version, { me, may, reload, go }) {
  const saml = application.protocol === 'saml';
  const fields = saml ? providerFields() : clientFields(application.application_type, { owner: may('roles:write') });
  const made = form(fields, {
    values: saml ? toForm(application) : application,
    version,
    reread: async () => {
      const newest = await getVersion(path`/applications/${application.id}`);
      return saml ? { ...newest, value: toForm(newest.value) } : newest;
    },
    submit: 'Save',
    send: async (_values, changed, newest) => {
      if (Object.keys(changed).length === 0) return say('Nothing was changed.');
      const said = saml ? fromForm(changed) : changed;
      const kept = await patch(path`/applications/${application.id}`, said, newest);
      if (kept.value.client_secret)
        await showOnce(
          'The client secret',
          'The change needs a new one. The one before is worth nothing any more.',
          kept.value.client_secret,
          keptAs(kept.value),
        );
      if (kept.value.notes) await go(`${applicationAddress(application.id)}/settings`, { notes: kept.value.notes });
      else await reload();
      say('Saved.');
      return undefined;
    },
  });
  if (!may('applications:write')) {
    disableAll(made);
    return [notice(`Your role, ${me.role}, reads settings and does not change them.`, 'calm'), made];
  }
  return [saml && metadata(application, reload), logo(application), made].filter(Boolean);
}

/**
 * The picture that people see beside the name.
 * @param {import('../types.d.ts').Schema<'Application'>} application
 */
function logo(application) {
  const address = path`/applications/${application.id}/logo`;
  const place = el('div', {});
  const show = (picture) =>
    place.replaceChildren(
      picture
        ? el('img', { class: 'picture', src: picture.address, alt: 'The picture as it is' })
        : el('p', { class: 'muted' }, 'It has none.'),
    );
  const file = el('input', { type: 'file', id: 'logo-file', accept: 'image/png,image/jpeg,image/webp' });
  const set = button('Use the chosen file', async () => {
    const chosen = file.files?.[0];
    if (!chosen) throw new Error('Choose a file first.');
    show(await put(address, await chosen.arrayBuffer(), { type: chosen.type || 'application/octet-stream' }));
    say('The picture was set.');
  });
  const take = button('Take it away', async () => {
    await remove(address);
    show(undefined);
  });
  const load = async (event) => {
    if (!event.target.open || place.childElementCount > 0) return;
    show(await get(address).catch((problem) => (problem.status === 404 ? undefined : Promise.reject(problem))));
  };
  return el(
    'details',
    { class: 'panel', ontoggle: load },
    el('summary', {}, 'Picture'),
    el(
      'div',
      { class: 'opened' },
      place,
      el('div', { class: 'field' }, el('label', { for: 'logo-file' }, 'Picture file'), file),
      el('div', { class: 'ways' }, set, take),
    ),
  );
}

/**
 * The settings beside what the service provider's metadata says now.
 * @param {import('../types.d.ts').Schema<'ServiceProvider'>} application
 * @param {any} reload
 */
function metadata(application, reload) {
  const place = el('div', {});
  const compare = async (given) => {
    const shown = await post(path`/applications/${application.id}/metadata`, given);
    const text = (value) => (typeof value === 'string' ? value : JSON.stringify(value, null, 1));
    if (shown.changes.length === 0)
      return place.replaceChildren(notice('The metadata says what is registered.', 'calm'));
    return place.replaceChildren(
      ...shown.notes.map((note) => notice(note, 'warn')),
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
            await post(path`/applications/${application.id}/metadata`, { ...given, apply: true, digest: shown.digest });
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
    application.metadata_url && button('Read it again from its address', () => compare({})),
    button('Compare with the chosen file', async () => {
      const chosen = file.files?.[0];
      if (!chosen) throw new Error('Choose a file first.');
      await compare({ metadata: await metadataOf(chosen) });
    }),
  );
  return el(
    'details',
    { class: 'panel' },
    el('summary', {}, 'Its metadata has changed?'),
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

const STATES = [
  ['', 'Any'],
  ['active', 'Active'],
  ['invited', 'Invited'],
  ['suspended', 'Suspended'],
  ['terminated', 'Terminated'],
];

/**
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {import('../types.d.ts').Context} context
 */
async function accounts(application, { may, reload }) {
  const list = await searched(
    [
      text('q', 'Account or person', {
        type: 'search',
        hint: "How the account's name, or the person's name or e-mail address begins.",
      }),
      select('state', 'State', STATES, { none: '' }),
    ],
    (values, after) => get(`${path`/applications/${application.id}/accounts`}${query({ ...values, after })}`),
    [
      { label: 'Account', cell: (row) => link(accountAddress(row.id), row.name) },
      {
        label: 'Person',
        cell: (row) =>
          may('users:read')
            ? link(`/admin/users/${row.user_id}`, row.user_name ?? row.user_id)
            : (row.user_name ?? row.user_id),
      },
      { label: 'Roles', cell: (row) => row.roles.join(', ') || 'None' },
      { label: 'State', cell: (row) => badge(row.state) },
      { label: 'Made', cell: (row) => moment(row.created_at) },
    ],
    { empty: 'Nobody has such an account.', caption: 'Accounts' },
  );
  const transfer =
    may('accounts:write') &&
    el(
      'details',
      { class: 'panel' },
      el('summary', {}, 'Import and export'),
      el(
        'div',
        { class: 'opened' },
        el(
          'div',
          { class: 'ways' },
          el(
            'a',
            {
              class: 'button small',
              download: 'accounts.csv',
              href: `/admin/api/v1${path`/applications/${application.id}/accounts/export`}`,
            },
            'Export all accounts',
          ),
        ),
        importer(
          path`/applications/${application.id}/accounts/import`,
          [
            el(
              'p',
              {},
              'The first line names the columns: person (a name, an address or an id), name, roles, state. ' +
                'The file is checked first.',
            ),
          ],
          'The list below shows them.',
        ),
      ),
    );
  return [may('accounts:write') && newAccount(application, reload), transfer, list].filter(Boolean);
}

/**
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {any} reload
 */
function newAccount(application, reload) {
  const person = picker('user_id', 'Person', {
    hint: 'How the name or the e-mail address begins.',
    load: (q) => get(`/users${query({ q, limit: 8 })}`),
    label: (user) => [user.name, user.email].filter(Boolean).join(' · '),
  });
  const made = form(
    [
      person,
      text('name', 'Account name', { hint: "What the application calls the person; without it, the person's name." }),
      lines('roles', 'Roles', { rows: 2, hint: 'One on each line, as the application knows them.' }),
    ],
    {
      submit: 'Give access',
      send: async (values) => {
        if (!values.user_id) throw Object.assign(new Error('Choose a person from the list.'), { field: 'user_id' });
        await post(path`/applications/${application.id}/accounts`, values);
        await reload();
        say('The account was made.');
      },
    },
  );
  return el(
    'details',
    { class: 'panel' },
    el('summary', {}, 'Give a person access'),
    el('div', { class: 'opened' }, made),
  );
}

/**
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {string | null} version
 * @param {import('../types.d.ts').Context} context
 */
function removal(application, version, { go }) {
  const press = button(
    'Delete this application',
    async () => {
      const yes = await ask(
        `Delete ${application.name}?`,
        'Nobody can sign in to it any more. Its accounts, its tokens and what people consented to are deleted' +
          " with it. This can't be undone.",
        'Delete it',
        application.name,
      );
      if (!yes) return;
      await remove(path`/applications/${application.id}`, version);
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
        'Its accounts go with it, and everybody who is signed in to it through Assent has to find another ' +
          'way. If it only has to stop for a while, suspend the accounts.',
      ),
      el('div', { class: 'ways' }, press),
    ),
  ];
}

export const applicationPages = {
  guide: (context, { id }) => page(context, id, (application) => guide(application, context)),
  settings: (context, { id }) => page(context, id, (application, version) => settings(application, version, context)),
  credentials: (context, { id }) =>
    page(context, id, (application, version) => credentials(application, version, context)),
  accounts: (context, { id }) => page(context, id, (application) => accounts(application, context)),
  claims: (context, { id }) => page(context, id, (application) => previewOf(application, context)),
  testSignIn: (context, { id }) => page(context, id, (application) => testSignIn(application, context)),
  remove: (context, { id }) => page(context, id, (application, version) => removal(application, version, context)),
};
