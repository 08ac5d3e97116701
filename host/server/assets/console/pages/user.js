// One user: profile, accounts, devices, sessions and activity.

import { byName } from '../../names.js';
import { get, getVersion, Problem, patch, post, put, remove } from '../api.js';
import { apiSentence } from '../api_texts.js';
import { area, FieldError, folded, form, group, select, text, toggle } from '../form.js';
import { t, translated } from '../language.js';
import { table } from '../lists.js';
import {
  ask,
  badge,
  button,
  code,
  el,
  facts,
  figure,
  link,
  makeReadOnly,
  moment,
  notice,
  panel,
  say,
  screen,
  section,
  tabs,
} from '../view.js';
import { applicationsOfUser } from './access.js';
import { applicationAddress } from './applications.js';
import { entries } from './audit.js';
import { verifyCaller } from './caller_check.js';
import { canSend, FIRST_LINK, sendInvitation, showNewLink } from './invitation_link.js';
import { alertMarks, reportsOf } from './reports.js';
import { confirmAddresses } from './unconfirmed.js';
import { called, userAddress } from './user_cell.js';
import { groupsOfUser } from './user_groups.js';
import { enrolledCell, openLinks } from './user_links.js';
import { ROLES, roleName } from './users.js';

/** @import { Child, Column, Context, PageFunction, Schema } from '../types.d.ts' */

/**
 * The claims of the profile that are texts.
 * @typedef {Omit<Schema<'Profile'>, 'address' | 'email_verified' | 'phone_number_verified'>} TextClaims
 */

/**
 * The fields of the address.
 * @typedef {{ [Name in keyof Schema<'Address'> as `address_${Name}`]?: string | null }} AddressValues
 */

/**
 * A page about one user, below the name and the links to the other pages.
 * @param {(user: Schema<'User'>, version: string | null, context: Context) => Child[] | Promise<Child[]>} content
 * @returns {PageFunction}
 */
function page(content) {
  return async (context, { id }) => {
    const { value: user, version } = await getVersion('/users/{id}', { id });
    const at = userAddress(user.id);
    const [listed, reports, shown] = await Promise.all([
      listedUser(user),
      reportsOf(user.id, context),
      content(user, version, context),
    ]);
    return screen(
      {
        title: user.profile.name ?? user.name,
        isName: true,
        lead: [user.name, user.email].filter(Boolean).join(' · '),
        back: ['/admin/users', 'Users'],
        // A terminated user can't use the role.
        badges: [
          badge(user.state),
          user.console_role && user.state !== 'terminated' && badge(roleName(user.console_role), 'kind'),
          ...(listed ? alertMarks(listed) : []),
        ],
        actions: [
          context.may('users:verify') && user.state === 'active' && button('Verify a caller', () => verifyCaller(user)),
        ],
      },
      reports || '',
      await summaryOf(user, listed),
      tabs('Parts of the user', [
        [at, 'Profile'],
        [`${at}/devices`, 'Devices'],
        [`${at}/sessions`, 'Sessions and consents'],
        [`${at}/accounts`, 'Access', context.may('accounts:read')],
        [`${at}/groups`, 'Groups', context.may('accounts:read')],
        [`${at}/activity`, 'Activity'],
      ]),
      ...shown,
    );
  };
}

/**
 * The user as lists show it: with the last sign-in, the open reports, and the pause.
 * @param {Schema<'User'>} user
 */
async function listedUser({ id }) {
  const { items } = await get('/users', { q: id, limit: 1 });
  return items.find((one) => one.id === id);
}

/**
 * The facts that administrators need first, as links: the last sign-in, and the devices.
 * @param {Schema<'User'>} user
 * @param {Schema<'ListedUser'> | undefined} listed
 */
async function summaryOf({ id }, listed) {
  const { items: devices } = await get('/users/{id}/devices', { id });
  const at = userAddress(id);
  const last = listed?.last_sign_in_at;
  const count = devices.length === 1 ? t`${1} device` : t`${figure(devices.length)} devices`;
  return el(
    'p',
    { class: 'about-user' },
    link(`${at}/activity`, 'Last sign-in: ', moment(last)),
    ' · ',
    link(`${at}/devices`, devices.length === 0 ? 'No device' : count),
  );
}

/** @typedef {[name: keyof TextClaims, label: string, hint?: string]} Claim */

/** @type {Claim[]} */
const CLAIMS = [
  ['name', 'Full name'],
  ['given_name', 'Given name'],
  ['family_name', 'Family name'],
  ['phone_number', 'Telephone number', 'With the country, such as +49 30 123456.'],
];

/**
 * The claims that few users have.
 * @type {Claim[]}
 */
const RARE_CLAIMS = [
  ['middle_name', 'Middle name'],
  ['nickname', 'Nickname'],
  ['website', 'Website'],
  ['profile', 'Profile page'],
  ['picture', 'Picture', 'Its address.'],
  ['gender', 'Gender'],
  ['birthdate', 'Birth date', 'As 1815-12-10.'],
  ['zoneinfo', 'Time zone', 'Such as Europe/London.'],
  ['locale', 'Language', 'Such as en-GB.'],
];

/**
 * Member, label, hint, and the number of lines if it may have several.
 * @type {Array<[keyof Schema<'Address'>, string, string?, number?]>}
 */
const ADDRESS = [
  ['street_address', 'Street and number', undefined, 2],
  ['postal_code', 'Postal code'],
  ['locality', 'Town'],
  ['region', 'State or region'],
  ['country', 'Country'],
  ['formatted', 'The whole address', 'As it stands on an envelope, in lines.', 4],
];

/**
 * A field of the address.
 * @param {(typeof ADDRESS)[number]} member
 */
const addressField = ([name, label, hint, rows]) =>
  rows
    ? area(addressFieldName(name), label, { none: null, hint, rows })
    : text(addressFieldName(name), label, { none: null, hint });

/**
 * The name of the field of a member of the address. In a form, names are unique.
 * @template {keyof Schema<'Address'>} Name
 * @param {Name} name
 * @returns {`address_${Name}`}
 */
const addressFieldName = (name) => `address_${name}`;

/**
 * @param {Schema<'User'>} user
 * @param {string | null} version
 * @param {Context} context
 */
async function profile(user, version, context) {
  const { may, me, reload } = context;
  const manages = may('users:manage');
  const writes = mayChange(user, context);
  // If no value may be changed, the page says so once.
  const onlyManagers = manages || !writes ? undefined : 'Only an admin or an owner may change it.';
  const claim = (/** @type {Claim} */ [name, label, hint]) => text(name, label, { none: null, hint });
  const email = text('email', 'Email address', {
    none: '',
    type: 'email',
    hint: onlyManagers,
  });
  const signsInAs = text('name_at_sign_in', 'Name at sign-in', {
    needed: 'Enter a name.',
    hint: onlyManagers,
  });
  const confirm = button('Confirm the email address', async () => {
    await confirmAddresses([user.id]);
    await reload();
  });
  const unconfirmed =
    user.email && !user.email_confirmed && user.state !== 'terminated'
      ? [
          notice(
            user.state === 'invited'
              ? 'The email address is not confirmed, so SAML applications do not receive it. It is confirmed when an ' +
                  'admin or an owner confirms it, or when the user opens an invitation that was sent to it.'
              : 'The email address is not confirmed, so SAML applications do not receive it. It is confirmed when an ' +
                  'admin or an owner confirms it.',
            'warn',
            manages && writes && el('div', { class: 'ways' }, confirm),
          ),
        ]
      : [];
  email.input.disabled = !manages;
  signsInAs.input.disabled = !manages;
  const verified = manages
    ? [
        toggle('email_verified', 'The email address was verified'),
        toggle('phone_number_verified', 'The telephone number was verified'),
      ]
    : [];
  const made = form(
    [
      group('Signing in', null, signsInAs, email),
      group('What applications may receive', null, ...CLAIMS.map(claim), ...verified),
      folded(
        'More attributes',
        ...RARE_CLAIMS.map(claim),
        group('Postal address', 'For applications with the scope address.', ...ADDRESS.map(addressField)),
      ),
    ],
    {
      bar: true,
      values: profileShown(user),
      version,
      reread: async () => {
        const { value, version: newest } = await getVersion('/users/{id}', { id: user.id });
        return { value: profileShown(value), version: newest };
      },
      submit: 'Save',
      send: async (_values, { name_at_sign_in: name, email: address, ...changed }, newest) => {
        const rest = profileChange(changed);
        const change = {
          ...(name !== undefined && { name }),
          ...(address !== undefined && { email: address }),
          ...(Object.keys(rest).length > 0 && { profile: rest }),
        };
        if (Object.keys(change).length === 0) return say('Nothing was changed.');
        try {
          await patch('/users/{id}', { id: user.id }, change, newest);
        } catch (problem) {
          if (problem instanceof Problem) problem.errors = problem.errors.map(errorOfField);
          throw problem;
        }
        await reload();
        return say('Saved.');
      },
    },
  );
  const own = me.id === user.id;
  const ids = section(
    'IDs',
    facts([
      ['ID', code(user.id)],
      ['DID (user_did)', code(user.did)],
      ['sub', code(user.sub)],
      ['Created', moment(user.created_at)],
      ['Changed', moment(user.updated_at)],
    ]),
  );
  if (!writes || user.state === 'terminated') makeReadOnly(made);
  if (!may('users:write')) {
    const name = me.role && roleName(me.role);
    return [column(...unconfirmed, notice(t`Your role, ${name}, can read this but not change it.`, 'calm'), made, ids)];
  }
  return [
    column(
      ...unconfirmed,
      state(user, version, context),
      may('roles:write') && role(user, version, own, reload),
      made,
      ids,
      manages && writes && erasure(user, version, context),
    ),
  ];
}

/**
 * The parts of a page, with the width of its form.
 * @param {...Child} parts
 */
const column = (...parts) => el('div', { class: 'column' }, ...parts);

/**
 * A user in the structure of the profile's form: each member of the address is a field.
 * @param {Schema<'User'>} user
 */
function profileShown(user) {
  const { address, ...profile } = user.profile;
  /** @type {AddressValues} */
  const lines = {};
  for (const [name] of ADDRESS) lines[addressFieldName(name)] = address?.[name];
  return { ...profile, ...lines, name_at_sign_in: user.name, email: user.email };
}

/**
 * The changed members of the profile; those of the address are an object in it.
 * @param {Omit<Schema<'Profile'>, 'address'> & AddressValues} changed
 * @returns {Schema<'Profile'>}
 */
function profileChange(changed) {
  const others = { ...changed };
  /** @type {Schema<'Address'>} */
  const address = {};
  for (const [name] of ADDRESS) {
    const field = addressFieldName(name);
    if (changed[field] !== undefined) address[name] = changed[field];
    delete others[field];
  }
  return Object.keys(address).length > 0 ? { ...others, address } : others;
}

/**
 * An error with the name of its field. An error of the profile begins with the member, followed by a sentence that
 * begins with a capital letter.
 * @param {Schema<'FieldProblem'>} error
 */
function errorOfField(error) {
  const [, begin, rest, detail] = /^(\w)(\w*): (.*)$/s.exec(error.detail) ?? [];
  if (error.pointer === '/profile' && begin)
    return { pointer: `/${begin.toLowerCase()}${rest}`, detail: apiSentence(detail) };
  return error.pointer === '/name' ? { ...error, pointer: '/name_at_sign_in' } : error;
}

/**
 * The reason why the administrator may not change a user who has a role in the console; undefined if there is none.
 * @param {Schema<'User'>} user
 * @param {Schema<'Me'>} me
 */
function barrier({ console_role: role }, me) {
  if (role === 'owner' && me.role !== 'owner') return 'This user is an owner. Only an owner may change the user.';
  if (role && me.role === 'support')
    return 'This user has a role in the console. Only an owner or an admin may change the user.';
  return undefined;
}

/**
 * Whether the administrator may change the user.
 * @param {Schema<'User'>} user
 * @param {Context} context
 */
const mayChange = (user, { may, me }) => may('users:write') && barrier(user, me) === undefined;

/**
 * The state of the user, and the actions that change it.
 * @param {Schema<'User'>} user
 * @param {string | null} version
 * @param {Context} context
 */
function state(user, version, { may, me, reload }) {
  const setState = async (/** @type {Schema<'LifecycleState'>} */ to, /** @type {string} */ message) => {
    const { value } = await patch('/users/{id}', { id: user.id }, { state: to }, version);
    await reload();
    say(value.state === to ? message : 'The user is invited again. Send a new link: the earlier one ended.');
  };
  const texts = {
    invited: 'Invited: the user has no device yet to approve with.',
    active: 'Active: the user can sign in.',
    suspended: 'Suspended: the user can’t sign in until you lift the suspension.',
    terminated: 'Terminated: the user can never sign in again. The audit log stays.',
  };
  const suspend = () =>
    ask(
      t`Suspend ${called(user)}?`,
      user.state === 'invited'
        ? 'An open invitation link ends. You can lift the suspension again, and then create a new link.'
        : 'Every session and every token of the user ends at once, and applications are notified. ' +
            'You can lift it again.',
      'Suspend',
    ).then((yes) => (yes ? setState('suspended', 'The user is suspended.') : undefined));
  const terminate = () =>
    ask(
      t`Terminate ${called(user)} permanently?`,
      'Their sessions end and their devices stop working. This can’t be undone.',
      'Terminate',
      user.name,
    ).then((yes) => (yes ? setState('terminated', 'The user is terminated.') : undefined));
  const why = barrier(user, me);
  if (why) return panel(el('h2', {}, 'State'), el('p', {}, texts[user.state]), el('p', { class: 'muted' }, why));
  return panel(
    el('h2', {}, 'State'),
    el('p', {}, texts[user.state]),
    el(
      'div',
      { class: 'ways' },
      user.state === 'suspended' &&
        button('Lift the suspension', () => setState('active', 'The user can sign in again.'), 'primary'),
      (user.state === 'active' || user.state === 'invited') && button('Suspend', suspend),
      user.state !== 'terminated' && may('users:manage') && button('Terminate', terminate, 'danger'),
    ),
  );
}

/**
 * @param {Schema<'User'>} user
 * @param {string | null} version
 * @param {boolean} own whether it is the administrator's own user
 * @param {Context['reload']} reload
 */
function role(user, version, own, reload) {
  const made = form([select('console_role', 'Role', [['', 'None'], ...ROLES], { none: null })], {
    values: { console_role: user.console_role },
    submit: 'Change the role',
    kind: '',
    send: async ({ console_role: to }) => {
      if (
        own &&
        !(await ask(
          'Change your own role?',
          'You may lose rights that only another owner can grant you again.',
          'Change it',
        ))
      )
        return;
      await patch('/users/{id}', { id: user.id }, { console_role: to }, version);
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
 * @param {Schema<'User'>} user
 * @param {string | null} version
 * @param {Context} context
 */
function erasure(user, version, { go, reload }) {
  const erase = async () => {
    if (
      !(await ask(
        t`Erase the personal data of ${called(user)}?`,
        'Name, addresses and profile are erased, from the audit log as well. The user stays under an erased name, ' +
          'so that no other user gets its ids. This can’t be undone.',
        'Erase',
        user.name,
      ))
    )
      return;
    await post('/users/{id}/erase', { id: user.id });
    await reload();
    say('The personal data were erased.');
  };
  const drop = async () => {
    if (
      !(await ask(
        t`Delete ${called(user)}?`,
        'All accounts, devices and consents are deleted, and personal data in the audit log. This can’t be undone.',
        'Delete',
        user.name,
      ))
    )
      return;
    await remove('/users/{id}', { id: user.id }, version);
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
        'If a user leaves, terminate the user. Then erase the personal data if the law requires it. ' +
          'Delete only users created by mistake.',
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
 * @param {Schema<'User'>} user
 * @param {string | null} _version
 * @param {Context} context
 */
async function devices(user, _version, context) {
  const { handover, reload } = context;
  const { id } = user;
  const writes = mayChange(user, context) && user.state !== 'terminated';
  const [{ items: devices }, { unused: left }, { items: addresses }, links] = await Promise.all([
    get('/users/{id}/devices', { id }),
    get('/users/{id}/recovery-codes', { id }),
    get('/users/{id}/external-authenticators', { id }),
    openLinks(id, writes, reload),
  ]);
  const revoke = async (/** @type {Schema<'Device'>} */ row) => {
    if (
      !(await ask(
        t`Remove ${row.name}?`,
        'The device can no longer approve, and the sessions that it approved end.',
        'Remove it',
      ))
    )
      return;
    await remove('/devices/{id}', { id: row.id });
    await reload();
    say('The device was removed.');
  };
  const list = table(
    [
      { label: 'Device', cell: (row) => row.name },
      { label: 'Protection and features', cell: featuresOf },
      { label: 'Enrolled', cell: enrolledCell },
      { label: 'Last used', cell: (row) => moment(row.used_at) },
      ...actionColumn(writes, (row) => button('Remove', () => revoke(row), 'danger')),
    ],
    devices,
    { empty: 'No device: this user can’t approve a sign-in yet.', caption: 'Devices' },
  );
  // The holder of the first link becomes the user, so only administrators who may give access receive it. An active
  // user had a device, which may be lost and removed. The server knows the exceptions.
  const hadOne = user.state === 'active' || devices.length > 0 || addresses.length > 0;
  const mayReceive = hadOne || context.may('accounts:write');
  const sends = canSend(user, context.me);
  const enrol = button(
    devices.length === 0 ? 'Create a link to enrol a device' : 'Create a link to enrol another device',
    () => showNewLink(user, context.me).then(reload),
    sends ? '' : 'primary',
  );
  const send = button('Send the invitation by email', () => sendInvitation(user), 'primary');
  if (writes && (handover.enrol || handover.send)) {
    history.replaceState(null, '');
    // This runs after the page is shown, as if the administrator had pressed the button.
    if (handover.send && sends) setTimeout(() => send.click());
    else if (mayReceive) setTimeout(() => enrol.click());
  }
  return [
    section(
      'Devices',
      list,
      writes && (sends || mayReceive) && el('div', { class: 'ways' }, sends && send, mayReceive && enrol),
      writes && user.state === 'invited' && !sends && !mayReceive && notice(withoutLink(context.me), 'calm'),
    ),
    links,
    section(
      'Recovery codes',
      el(
        'p',
        {},
        left === 0
          ? 'There are none: without a device, the user needs a link from an administrator.'
          : t`${left} are left. The user can create new ones in the authenticator.`,
      ),
    ),
    ...(addresses.length > 0 || writes ? [channels(user, addresses, writes, reload)] : []),
  ];
}

/**
 * What to do for an invited user, if the administrator can neither create a link nor have the server send it.
 * @param {Schema<'Me'>} me
 */
const withoutLink = (me) =>
  me.sends_mail ? 'The user has no email address. Ask an owner or an admin to create the first link.' : FIRST_LINK;

/**
 * The protection and the uses of a device, as badges.
 * @param {Schema<'Device'>} device
 */
function featuresOf({ has_passkey: isProtected, passkey_sign_in: signsIn, has_push: hasPush }) {
  return el(
    'span',
    { class: 'badges' },
    isProtected ? badge('Face, finger or PIN', 'active') : badge('No face, finger or PIN', 'none'),
    signsIn && badge('Passkey sign-in', 'kind'),
    hasPush && badge('Notifications', 'kind'),
  );
}

/**
 * A column of buttons, for administrators who may make changes.
 * @template Row
 * @param {boolean} writes
 * @param {(row: Row) => Child} cell
 * @returns {Array<Column<Row>>}
 */
const actionColumn = (writes, cell) => (writes ? [{ label: 'Actions', cell }] : []);

/**
 * The user's authenticators of other vendors.
 * @param {Schema<'User'>} user
 * @param {Array<Schema<'ExternalAuthenticator'>>} addresses
 * @param {boolean} writes
 * @param {Context['reload']} reload
 */
function channels({ id }, addresses, writes, reload) {
  const removeAddress = async (/** @type {string} */ channel) => {
    if (!(await ask('Remove this authenticator?', 'Sign-ins are not sent there any more.', 'Remove it'))) return;
    await remove('/users/{id}/external-authenticators/{channel}', { id, channel });
    await reload();
  };
  const list = table(
    [
      { label: 'Channel', cell: (row) => row.channel },
      { label: 'Address', cell: (row) => row.identifier },
      ...actionColumn(writes, (row) => button('Remove', () => removeAddress(row.channel), 'danger')),
    ],
    addresses,
    { empty: 'None.', caption: 'External authenticators' },
  );
  const made = form(
    [
      text('channel', 'Channel', {
        hint: 'The name of the plugin that carries approvals to a vendor’s authenticator.',
      }),
      text('address', 'Identifier', { hint: 'The identifier of the user at the vendor.' }),
    ],
    {
      submit: 'Add',
      kind: '',
      send: async ({ channel, address }) => {
        if (!channel) throw new FieldError('channel', 'Name the channel.');
        await put('/users/{id}/external-authenticators/{channel}', { id, channel }, { identifier: address ?? '' });
        await reload();
      },
    },
  );
  return el(
    'details',
    { class: 'panel', open: addresses.length > 0 },
    el('summary', {}, 'External authenticators'),
    el('div', { class: 'opened' }, list, writes && made),
  );
}

/**
 * The browser of a session, or that an application asked for it without one.
 * @param {Schema<'Session'>} session
 */
const browserOf = ({ browser, without_browser: isBackchannel }) =>
  isBackchannel ? translated('Approved without a browser') : (browser ?? translated('Unknown'));

/**
 * @param {Schema<'User'>} user
 * @param {string | null} _version
 * @param {Context} context
 */
async function sessions(user, _version, context) {
  const { may, reload } = context;
  const { id } = user;
  const [{ items: open }, { items: consents }] = await Promise.all([
    get('/users/{id}/sessions', { id }),
    get('/users/{id}/consents', { id }),
  ]);
  consents.sort(byName((row) => row.application_name));
  const writes = mayChange(user, context);
  const end = async (/** @type {string} */ session) => {
    await remove('/users/{id}/sessions/{session}', { id, session });
    await reload();
    say('The session ended.');
  };
  const endAll = async () => {
    if (
      !(await ask(
        t`End every session of ${called(user)}?`,
        'The user is signed out everywhere. Applications with back-channel logout are notified.',
        'End them',
      ))
    )
      return;
    await remove('/users/{id}/sessions', { id });
    await reload();
    say('Every session ended.');
  };
  const withdraw = async (/** @type {Schema<'Consent'>} */ row) => {
    if (
      !(await ask(
        t`Withdraw the consent for ${row.application_name}?`,
        'The user is asked again at the next sign-in.',
        'Withdraw it',
      ))
    )
      return;
    await remove('/users/{id}/consents/{application}', { id, application: row.application_id });
    await reload();
    say('The consent was withdrawn.');
  };
  return [
    section(
      'Sessions',
      table(
        [
          { label: 'Browser', cell: browserOf },
          { label: 'Where', cell: (row) => row.ip_address ?? (row.without_browser ? '' : translated('Unknown')) },
          { label: 'Signed in', cell: (row) => moment(row.signed_in_at) },
          { label: 'Last used', cell: (row) => moment(row.used_at ?? row.signed_in_at) },
          { label: 'Applications', cell: (row) => row.applications },
          ...actionColumn(writes, (row) => button('End', () => end(row.id))),
        ],
        open,
        { empty: 'No open sessions.', caption: 'Sessions' },
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
                ? link(applicationAddress(row.application_id), el('bdi', {}, row.application_name))
                : row.application_name,
          },
          { label: 'May know', cell: (row) => row.scopes.join(', ') },
          { label: 'Since', cell: (row) => moment(row.granted_at) },
          { label: 'Until', cell: (row) => moment(row.expires_at) },
          ...actionColumn(writes, (row) => button('Withdraw', () => withdraw(row))),
        ],
        consents,
        { empty: 'None.', caption: 'Consents' },
      ),
    ),
  ];
}

/**
 * @param {Schema<'User'>} user
 * @param {string | null} _version
 * @param {Context} context
 */
async function activity(user, _version, context) {
  return [
    notice('What the user did, and what was changed about the user, newest first.', 'calm'),
    await entries((after) => get('/users/{id}/activity', { id: user.id, after }), context),
  ];
}

export const userPages = {
  profile: page(profile),
  devices: page(devices),
  sessions: page(sessions),
  accounts: page((user, _version, context) => applicationsOfUser(user, context)),
  groups: page((user, _version, context) => groupsOfUser(user, context)),
  activity: page(activity),
};
