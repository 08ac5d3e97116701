// One person: who it is, their accounts, phones, sessions, and what happened in their name.

import { get, getVersion, patch, path, post, put, query, remove } from '../api.js';
import { area, form, group, lines, select, text, toggle } from '../form.js';
import {
  ask,
  badge,
  button,
  code,
  copyable,
  dialog,
  disableAll,
  el,
  facts,
  link,
  moment,
  notice,
  pages,
  panel,
  say,
  screen,
  section,
  table,
  tabs,
} from '../view.js';
import { accountAddress } from './account.js';
import { applicationAddress } from './applications.js';
import { entries } from './audit.js';
import { picker } from './picker.js';
import { ROLES, userAddress } from './users.js';

/**
 * @param {import('../types.d.ts').Context} context
 * @param {any} id
 * @param {any} fill
 */
async function page({ may }, id, fill) {
  /** @type {import('../types.d.ts').Versioned<import('../types.d.ts').Schema<'User'>>} */
  const { value: user, version } = await getVersion(path`/users/${id}`);
  const at = userAddress(user.id);
  const parts = [
    [at, 'Profile'],
    [`${at}/devices`, 'Phones'],
    [`${at}/sessions`, 'Sessions and consents'],
    may('accounts:read') && [`${at}/accounts`, 'Accounts'],
    [`${at}/activity`, 'Activity'],
  ].flatMap((part) => (part ? [part] : []));
  const badges = [badge(user.state), user.console_role && badge(user.console_role, 'kind')].filter(Boolean);
  return screen(
    {
      title: user.profile.name ?? user.name,
      lead: [user.name, user.email].filter(Boolean).join(' · '),
      back: ['/admin/users', 'Users'],
      badges,
    },
    tabs('Parts of the user', parts),
    ...(await fill(user, version)),
  );
}

const CLAIMS = [
  ['name', 'Full name'],
  ['given_name', 'Given name'],
  ['family_name', 'Family name'],
  ['middle_name', 'Middle name'],
  ['nickname', 'Nickname'],
  ['phone_number', 'Telephone number', 'With the country, such as +49 30 123456.'],
  ['website', 'Website'],
  ['profile', 'Profile page'],
  ['picture', 'Picture', 'Its address.'],
  ['gender', 'Gender'],
  ['birthdate', 'Birth date', 'As 1815-12-10.'],
  ['zoneinfo', 'Time zone', 'Such as Europe/London.'],
  ['locale', 'Language', 'Such as en-GB.'],
];

/** @type {Array<[string, string, string?, number?]>} */
const ADDRESS = [
  ['street_address', 'Street and number', undefined, 2],
  ['postal_code', 'Postal code'],
  ['locality', 'Town'],
  ['region', 'State or region'],
  ['country', 'Country'],
  ['formatted', 'The whole address', 'As it stands on an envelope, in lines.', 4],
];

/**
 * A field of the address: several lines where it may have them.
 * @param {(typeof ADDRESS)[number]} member
 */
const addressField = ([name, label, hint, rows]) =>
  (rows ? area : text)(`address_${name}`, label, { none: null, hint, rows });

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} version
 * @param {import('../types.d.ts').Context} context
 */
async function profile(user, version, context) {
  const { may, me, reload } = context;
  const manages = may('users:manage');
  const claims = CLAIMS.map(([name, label, hint]) => text(name, label, { none: null, hint }));
  const address = text('email', 'E-mail address', {
    none: '',
    type: 'email',
    hint: manages ? undefined : 'Only an admin or an owner may change it.',
  });
  const signsInAs = text('name_at_sign_in', 'Name at sign-in', {
    needed: 'expected a name',
    hint: manages ? undefined : 'Only an admin or an owner may change it.',
  });
  address.input.disabled = !manages;
  signsInAs.input.disabled = !manages;
  const vouched = manages
    ? [
        toggle('email_verified', 'The e-mail address was verified'),
        toggle('phone_number_verified', 'The telephone number was verified'),
      ]
    : [];
  const ofAddress = (one) =>
    Object.fromEntries(ADDRESS.map(([name]) => [`address_${name}`, one.profile.address?.[name]]));
  const shown = (one) => ({ ...one.profile, ...ofAddress(one), name_at_sign_in: one.name, email: one.email });
  const made = form(
    [
      group('Signing in', null, signsInAs, address),
      group('What applications may be told', null, ...claims, ...vouched),
      group('Postal address', 'For applications with the scope address.', ...ADDRESS.map(addressField)),
    ],
    {
      values: shown(user),
      version,
      reread: async () => {
        const { value, version: newest } = await getVersion(path`/users/${user.id}`);
        return { value: shown(value), version: newest };
      },
      submit: 'Save',
      send: async (_values, { name_at_sign_in: name, email, ...changed }, newest) => {
        const rest = inRecords(changed);
        const change = {
          ...(name !== undefined && { name }),
          ...(email !== undefined && { email }),
          ...(Object.keys(rest).length > 0 && { profile: rest }),
        };
        if (Object.keys(change).length === 0) return say('Nothing was changed.');
        await patch(path`/users/${user.id}`, change, newest).catch((problem) => Promise.reject(ofMembers(problem)));
        await reload();
        return say('Saved.');
      },
    },
  );
  const own = me.id === user.id;
  const ids = section(
    'Ids',
    facts([
      ['Id', code(user.id)],
      ['DID (user_did)', code(user.did)],
      ['sub', code(user.sub)],
      ['Made', moment(user.created_at)],
      ['Changed', moment(user.updated_at)],
    ]),
  );
  if (!may('users:write') || user.state === 'terminated') {
    disableAll(made);
    if (!may('users:write')) return [made, ids];
  }
  return [
    state(user, version, context),
    may('roles:write') && role(user, version, own, reload),
    made,
    ids,
    manages && erasure(user, version, context),
  ].filter(Boolean);
}

/** Changed members of the profile, those of the address in a record of their own. */
function inRecords(changed) {
  const members = Object.entries(changed);
  const address = members
    .filter(([name]) => name.startsWith('address_'))
    .map(([name, value]) => [name.slice('address_'.length), value]);
  const others = members.filter(([name]) => !name.startsWith('address_'));
  return Object.fromEntries(address.length > 0 ? [...others, ['address', Object.fromEntries(address)]] : others);
}

/** A problem of the profile names the member before the sentence; of the name at sign-in it has another field here. */
function ofMembers(problem) {
  problem.errors = (problem.errors ?? []).map((error) => {
    const [, member, detail] = /^(\w+): (.*)$/s.exec(error.detail) ?? [];
    if (error.pointer === '/profile' && member) return { pointer: `/${member}`, detail };
    return error.pointer === '/name' ? { ...error, pointer: '/name_at_sign_in' } : error;
  });
  return problem;
}

/**
 * What the person may do, and how that is changed.
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} version
 * @param {import('../types.d.ts').Context} context
 */
function state(user, version, { may, reload }) {
  const set = async (to, said) => {
    await patch(path`/users/${user.id}`, { state: to }, version);
    await reload();
    say(said);
  };
  const texts = {
    invited: 'Invited: there is no phone yet to approve with.',
    active: 'Active: the person can sign in.',
    suspended: 'Suspended: nobody can sign in as this person until it is lifted.',
    terminated: 'Terminated: this person will never sign in again. The audit trail is kept.',
  };
  const suspend = () =>
    ask(
      'Suspend this person?',
      'Every session and every token in their name ends at once, and applications are told. It can be lifted again.',
      'Suspend',
    ).then((yes) => (yes ? set('suspended', 'The person is suspended.') : undefined));
  const terminate = () =>
    ask(
      'Close this user for good?',
      "Every session and every token ends at once, and the phones are of no use any more. This can't be undone.",
      'Terminate',
      user.name,
    ).then((yes) => (yes ? set('terminated', 'The user is terminated.') : undefined));
  return panel(
    el('h2', {}, 'State'),
    el('p', {}, texts[user.state]),
    el(
      'div',
      { class: 'ways' },
      user.state === 'suspended' &&
        button('Lift the suspension', () => set('active', 'The person may sign in again.'), 'primary'),
      (user.state === 'active' || user.state === 'invited') && button('Suspend', suspend),
      user.state !== 'terminated' && may('users:manage') && button('Terminate', terminate, 'danger'),
    ),
  );
}

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} version
 * @param {any} own
 * @param {any} reload
 */
function role(user, version, own, reload) {
  const made = form([select('console_role', 'Role', ROLES, { none: null })], {
    values: { console_role: user.console_role },
    submit: 'Change the role',
    kind: '',
    send: async ({ console_role: to }) => {
      if (
        own &&
        !(await ask(
          'Change your own role?',
          'You may lose the way back: another owner would have to give it to you again.',
          'Change it',
        ))
      )
        return;
      await patch(path`/users/${user.id}`, { console_role: to }, version);
      await reload();
      say('The role was changed.');
    },
  });
  return el(
    'details',
    { class: 'panel' },
    el('summary', {}, 'Role in the console'),
    el('div', { class: 'opened' }, made),
  );
}

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} version
 * @param {import('../types.d.ts').Context} context
 */
function erasure(user, version, { go, reload }) {
  const erase = async () => {
    if (
      !(await ask(
        'Erase who this was?',
        'Name, addresses and profile go, from the audit log as well. The user stays under an erased name, so ' +
          "that its ids are never another's. This can't be undone.",
        'Erase',
        user.name,
      ))
    )
      return;
    await post(path`/users/${user.id}/erase`);
    await reload();
    say('The personal data were erased.');
  };
  const drop = async () => {
    if (
      !(await ask(
        'Delete this user?',
        "With all accounts, phones and consents; what says who it was goes from the audit log. This can't be undone.",
        'Delete',
        user.name,
      ))
    )
      return;
    await remove(path`/users/${user.id}`, version);
    await go('/admin/users');
    say('The user was deleted.');
  };
  return el(
    'details',
    { class: 'panel' },
    el('summary', {}, 'Erase or delete'),
    el(
      'div',
      { class: 'opened' },
      el(
        'p',
        {},
        'Who left is terminated, then erased where the law asks for it. To delete is for what was made by mistake.',
      ),
      el(
        'div',
        { class: 'ways' },
        user.state === 'terminated' && button('Erase personal data', erase, 'danger'),
        button('Delete', drop, 'danger'),
      ),
    ),
  );
}

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} _version
 * @param {import('../types.d.ts').Context} context
 */
async function devices(user, _version, context) {
  const { may, wish, reload } = context;
  const writes = may('users:write') && user.state !== 'terminated';
  /**
   * @type {[
   *   import('../types.d.ts').Read<'/users/{id}/devices'>,
   *   import('../types.d.ts').Read<'/users/{id}/recovery-codes'>,
   *   import('../types.d.ts').Read<'/users/{id}/external-authenticators'>,
   * ]}
   */
  const [{ items: phones }, { left }, { items: addresses }] = await Promise.all([
    get(path`/users/${user.id}/devices`),
    get(path`/users/${user.id}/recovery-codes`),
    get(path`/users/${user.id}/external-authenticators`),
  ]);
  const revoke = async (row) => {
    if (
      !(await ask(
        `Remove ${row.name}?`,
        'It approves nothing any more, and the sessions that it approved end.',
        'Remove it',
      ))
    )
      return;
    await remove(path`/devices/${row.id}`);
    await reload();
    say('The phone was removed.');
  };
  const list = table(
    [
      { label: 'Phone', cell: (row) => row.name },
      { label: 'Asks for face, finger or PIN', cell: (row) => row.has_passkey },
      { label: 'Push', cell: (row) => row.has_push },
      { label: 'Enrolled', cell: (row) => moment(row.created_at) },
      { label: 'Last used', cell: (row) => moment(row.used_at) },
      ...(writes ? [{ label: 'Do', cell: (row) => button('Remove', () => revoke(row), 'danger') }] : []),
    ],
    phones,
    { empty: "No phone: this person can't approve a sign-in yet.", caption: 'Phones' },
  );
  const enrol = button(
    phones.length === 0 ? 'Make a link to enrol a phone' : 'Make a link to enrol another phone',
    () => enrolmentLink(user),
    'primary',
  );
  if (writes && wish === 'enrol') {
    history.replaceState(null, '');
    // Once the page is there, as if it had been pressed.
    setTimeout(() => enrol.click());
  }
  return [
    section('Phones', list, writes && el('div', { class: 'ways' }, enrol)),
    section(
      'Recovery codes',
      el(
        'p',
        {},
        left === 0
          ? "There are none: without a phone only an administrator's link helps."
          : `${left} are left. The person makes new ones in the authenticator.`,
      ),
    ),
    ...(addresses.length > 0 || writes ? [channels(user, addresses, writes, reload)] : []),
  ];
}

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 */
async function enrolmentLink(user) {
  const { link: address, expires_at: until } = await post(path`/users/${user.id}/enrolments`);
  await dialog('A link to enrol a phone', (close) => [
    el(
      'p',
      {},
      'Give it to the person, on a way that is theirs alone: whoever opens it first becomes able to sign in ' +
        'as them. It is good once.',
    ),
    copyable(address, 'the link', { wide: true }),
    el('p', { class: 'muted' }, 'Until ', moment(until), '. It is not shown again.'),
    el(
      'div',
      { class: 'actions' },
      el('button', { class: 'button primary', type: 'button', onclick: () => close() }, 'Done'),
    ),
  ]);
}

/**
 * Where a vendor's authenticator reaches the person.
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {any} addresses
 * @param {any} writes
 * @param {any} reload
 */
function channels(user, addresses, writes, reload) {
  const list = table(
    [
      { label: 'Channel', cell: (row) => row.channel },
      { label: 'Address', cell: (row) => row.address },
      ...(writes
        ? [
            {
              label: 'Do',
              cell: (row) =>
                button(
                  'Remove',
                  async () => {
                    if (!(await ask('Remove this address?', 'Sign-ins are not sent there any more.', 'Remove it')))
                      return;
                    await remove(path`/users/${user.id}/external-authenticators/${row.channel}`);
                    await reload();
                  },
                  'danger',
                ),
            },
          ]
        : []),
    ],
    addresses,
    { empty: 'None.', caption: 'Addresses for other authenticators' },
  );
  const made = form(
    [
      text('channel', 'Channel', {
        hint: "The name of the plugin that carries approvals to a vendor's authenticator.",
      }),
      text('address', 'Address', { hint: 'What the vendor knows the person by.' }),
    ],
    {
      submit: 'Add',
      kind: '',
      send: async ({ channel, address }) => {
        if (!channel) throw Object.assign(new Error('Name the channel.'), { field: 'channel' });
        await put(path`/users/${user.id}/external-authenticators/${channel}`, { address: address ?? '' });
        await reload();
      },
    },
  );
  return el(
    'details',
    { class: 'panel', open: addresses.length > 0 },
    el('summary', {}, 'Other authenticators'),
    el('div', { class: 'opened' }, list, writes && made),
  );
}

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} _version
 * @param {import('../types.d.ts').Context} context
 */
async function sessions(user, _version, { may, reload }) {
  /**
   * @type {[
   *   import('../types.d.ts').Read<'/users/{id}/sessions'>,
   *   import('../types.d.ts').Read<'/users/{id}/consents'>,
   * ]}
   */
  const [{ items: open }, { items: consents }] = await Promise.all([
    get(path`/users/${user.id}/sessions`),
    get(path`/users/${user.id}/consents`),
  ]);
  const writes = may('users:write');
  const end = async (row) => {
    await remove(path`/users/${user.id}/sessions/${row.id}`);
    await reload();
    say('The session ended.');
  };
  const endAll = async () => {
    if (
      !(await ask(
        'End every session?',
        'The person is signed out everywhere. Applications that take part in back-channel logout are told.',
        'End them',
      ))
    )
      return;
    await remove(path`/users/${user.id}/sessions`);
    await reload();
    say('Every session ended.');
  };
  const withdraw = async (row) => {
    if (
      !(await ask(
        `Withdraw the consent for ${row.application_name}?`,
        'The person is asked again at the next sign-in.',
        'Withdraw it',
      ))
    )
      return;
    await remove(path`/users/${user.id}/consents/${row.application_id}`);
    await reload();
    say('The consent was withdrawn.');
  };
  const act = (label, does, kind) =>
    writes ? [{ label: 'Do', cell: (row) => button(label, () => does(row), kind) }] : [];
  return [
    section(
      'Sessions',
      table(
        [
          { label: 'Browser', cell: (row) => row.browser ?? 'Unknown' },
          { label: 'Where', cell: (row) => row.address ?? 'Unknown' },
          { label: 'Signed in', cell: (row) => moment(row.begun_at) },
          { label: 'Last used', cell: (row) => moment(row.used_at) },
          { label: 'Applications', cell: (row) => row.applications },
          ...act('End', end),
        ],
        open,
        { empty: 'Signed in nowhere.', caption: 'Sessions' },
      ),
      writes && open.length > 0 && el('div', { class: 'ways' }, button('End every session', endAll, 'danger')),
    ),
    section(
      'Consents',
      table(
        [
          {
            label: 'Application',
            cell: (row) =>
              may('applications:read')
                ? link(applicationAddress(row.application_id), row.application_name)
                : row.application_name,
          },
          { label: 'May know', cell: (row) => row.scopes.join(', ') },
          { label: 'Since', cell: (row) => moment(row.granted_at) },
          { label: 'Until', cell: (row) => moment(row.expires_at) },
          ...act('Withdraw', withdraw),
        ],
        consents,
        { empty: 'None.', caption: 'Consents' },
      ),
    ),
  ];
}

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} _version
 * @param {import('../types.d.ts').Context} context
 */
async function accounts(user, _version, { may, reload }) {
  const list = await pages(
    (after) => get(`${path`/users/${user.id}/accounts`}${query({ after })}`),
    [
      {
        label: 'Application',
        cell: (row) =>
          may('applications:read')
            ? link(applicationAddress(row.application_id), row.application_name ?? row.application_id)
            : (row.application_name ?? row.application_id),
      },
      { label: 'Account', cell: (row) => link(accountAddress(row.id), row.name) },
      { label: 'Roles', cell: (row) => row.roles.join(', ') || 'None' },
      { label: 'State', cell: (row) => badge(row.state) },
    ],
    { empty: 'This person can get into no application yet.', caption: 'Accounts' },
  );
  if (!may('accounts:write') || !may('applications:read')) return [list];
  const application = picker('application', 'Application', {
    load: (q) => get(`/applications${query({ q, limit: 8 })}`),
    label: (one) => one.name,
  });
  const made = form(
    [
      application,
      text('name', 'Account name', { hint: "Without it, the person's name." }),
      lines('roles', 'Roles', { rows: 2, hint: 'One on each line.' }),
    ],
    {
      submit: 'Give access',
      send: async ({ application: chosen, ...values }) => {
        if (!chosen) throw Object.assign(new Error('Choose an application from the list.'), { field: 'application' });
        await post(path`/applications/${chosen}/accounts`, { ...values, user_id: user.id });
        await reload();
        say('The account was made.');
      },
    },
  );
  return [
    list,
    el(
      'details',
      { class: 'panel' },
      el('summary', {}, 'Give access to an application'),
      el('div', { class: 'opened' }, made),
    ),
  ];
}

/**
 * @param {import('../types.d.ts').Schema<'User'>} user
 * @param {string | null} _version
 * @param {import('../types.d.ts').Context} context
 */
async function activity(user, _version, context) {
  return [
    notice("What was done in the person's name, and what was done to the user, the latest first.", 'calm'),
    await entries((after) => get(`${path`/users/${user.id}/activity`}${query({ after })}`), context),
  ];
}

export const userPages = Object.fromEntries(
  Object.entries({ profile, devices, sessions, accounts, activity }).map(([name, fill]) => [
    name,
    (context, { id }) => page(context, id, (user, version) => fill(user, version, context)),
  ]),
);
