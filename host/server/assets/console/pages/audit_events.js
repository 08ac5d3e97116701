// The events of the audit log: their groups, the severity of each, and a sentence about each entry.

import { t, translated } from '../language.js';
import { code, el, link } from '../view.js';
import { applicationAddress } from './applications.js';

/** @import { AuditDetail, Child, Context, Schema } from '../types.d.ts' */

/** @typedef {Schema<'AuditEntry'>} Entry */

/**
 * The tone of an entry: `calm`, `good`, `warn` for events that an administrator may want to check, `bad` for events
 * that remove access or may be an attack.
 * @typedef {'calm' | 'good' | 'warn' | 'bad'} Tone
 */

/**
 * The names in a sentence, as links if the administrator may follow them.
 * @typedef {object} Names
 * @property {Child} who the actor, at the beginning of a sentence
 * @property {Child} user the user of the event
 * @property {Child} application the application of the event
 * @property {Child} device the name of the device
 * @property {boolean} isOwn whether the actor is the user of the event
 * @property {AuditDetail} detail
 * @property {string[]} [fields] the names of the changed fields of a user
 */

/** @typedef {[label: string, tone: Tone, sentence: (names: Names) => Child[]]} EventText */

/** @param {Names} names */
const deviceOf = ({ device }) => (device ? ['the device ', device] : ['a device']);

/**
 * Whether a user or an account becomes active for the first time, as with the first device: this change of the state
 * needs no attention.
 * @param {AuditDetail} detail
 */
const isActivation = ({ before, after }) => String(before) === 'invited' && String(after) === 'active';

/**
 * The new state, in words.
 * @param {AuditDetail} detail
 */
const stateVerb = ({ before, after }) => {
  const states = { suspended: ' suspended ', terminated: ' terminated ', active: ' activated ', invited: ' invited ' };
  if (String(before) === 'suspended' && String(after) !== 'terminated') return ' lifted the suspension of ';
  return states[/** @type {keyof typeof states} */ (String(after))] ?? ' changed the state of ';
};

/**
 * The group of an entry, by its name at that time, or everyone.
 * @param {AuditDetail} detail
 */
const groupOf = ({ group_name: name }) => (typeof name === 'string' ? el('bdi', {}, name) : 'everyone');

/**
 * The type of authorization details of an entry.
 * @param {AuditDetail} detail
 */
const detailsTypeOf = ({ details_type: name }) => (typeof name === 'string' ? el('bdi', {}, name) : 'without a name');

/**
 * The initial access token of an entry, by its name at that time.
 * @param {AuditDetail} detail
 */
const tokenOf = ({ registration_token_name: ofApplication, name = ofApplication }) =>
  typeof name === 'string' ? el('bdi', {}, name) : 'a deleted token';

/**
 * The change by an update of an application.
 * @param {AuditDetail} detail
 */
const updateVerb = ({ before, after }) => {
  if (before?.enabled === undefined || before.enabled === after?.enabled) return ' changed ';
  return after?.enabled ? ' enabled ' : ' disabled ';
};

/**
 * The fields of a user, by their names on the page of the user.
 * @type {Record<string, string>}
 */
const USER_FIELDS = {
  login_name: 'Name at sign-in',
  email: 'Email address',
  console_role: 'Role in the console',
  name: 'Full name',
  given_name: 'Given name',
  family_name: 'Family name',
  middle_name: 'Middle name',
  nickname: 'Nickname',
  phone_number: 'Telephone number',
  website: 'Website',
  profile: 'Profile page',
  picture: 'Picture',
  gender: 'Gender',
  birthdate: 'Birth date',
  zoneinfo: 'Time zone',
  locale: 'Language',
  address: 'Postal address',
  email_verified: 'Verification of the email address',
  phone_number_verified: 'Verification of the telephone number',
};

/**
 * The change of a user: of the role, or of the named fields. After an erasure, the names of the fields are gone.
 * @param {Names} names
 * @returns {Child[]}
 */
function userChange({ who, user, detail, fields = [] }) {
  const known = fields.filter((name) => USER_FIELDS[name]);
  if (known.length === 0) return [who, ' changed the user ', user];
  if (known.join() !== 'console_role')
    return [who, ' changed the user ', user, ': ', known.map((name) => translated(USER_FIELDS[name])).join(', ')];
  const role = detail.after?.console_role;
  if (typeof role !== 'string') return [who, ' removed the role of ', user];
  return [who, ' changed the role of ', user, ' to ', translated(role[0].toUpperCase() + role.slice(1))];
}

/**
 * The names of the changed members.
 * @param {AuditDetail[]} details
 */
const changedMembers = (details) => [
  ...new Set(details.flatMap(({ before, after }) => [before, after]).flatMap((state) => Object.keys(state ?? {}))),
];

/**
 * Each group with its events, in the order of the filter.
 * @type {Array<[group: string, events: Record<string, EventText>]>}
 */
export const GROUPS = [
  [
    'Sign-in',
    {
      'sign-in.completed': ['Signed in', 'good', ({ user, application }) => [user, ' signed in to ', application]],
      'sign-in.requested': [
        'Sign-in requested',
        'calm',
        ({ user, application, detail }) => [
          'Sign-in to ',
          application,
          ' requested for ',
          user,
          detail.prompted === false && '; no device was asked',
        ],
      ],
      'sign-in.approved': [
        'Sign-in approved',
        'good',
        ({ user, application, detail }) => [
          user,
          detail.method === 'passkey' ? ' signed in with a passkey to ' : ' approved a sign-in to ',
          application,
        ],
      ],
      'sign-in.rejected': [
        'Sign-in rejected',
        'warn',
        ({ user, application }) => [user, ' approved, and may not sign in to ', application],
      ],
      'sign-in.denied': [
        'Sign-in denied',
        'warn',
        ({ user, application }) => [user, ' denied a sign-in to ', application],
      ],
      'sign-in.reported': [
        'Sign-in reported',
        'bad',
        ({ user, application }) => [user, ' reported a sign-in to ', application, ' that was not theirs'],
      ],
      'sign-in.cancelled': [
        'Sign-in cancelled',
        'calm',
        ({ user, application }) => ['The sign-in of ', user, ' to ', application, ' was cancelled in the browser'],
      ],
      'sign-in.expired': [
        'Sign-in expired',
        'calm',
        ({ user, application }) => ['The request of a sign-in of ', user, ' to ', application, ' expired'],
      ],
      'report.settled': [
        'Report settled',
        'calm',
        ({ who, user, detail }) => [
          who,
          ' settled the report of ',
          user,
          detail.end_cooldown === true && '; ended the pause',
          detail.end_sessions === true && '; ended the sessions',
          Boolean(detail.revoke_device) && '; removed a device',
        ],
      ],
      'sign-in.number-match-failed': [
        'Wrong number typed',
        'warn',
        ({ user, application }) => [user, ' typed a wrong number for a sign-in to ', application],
      ],
      'cooldown.started': ['Requests paused', 'warn', ({ user }) => ['Sign-in requests for ', user, ' are paused']],
      'cooldown.lifted': ['Requests resumed', 'calm', ({ user }) => [user, ' resumed sign-in requests']],
      'backchannel.stopped': [
        'Requests stopped',
        'calm',
        ({ user, application }) => [user, ' stopped the requests of ', application],
      ],
      'backchannel.permitted': [
        'Requests permitted',
        'calm',
        ({ user, application }) => [user, ' permitted the requests of ', application, ' again'],
      ],
    },
  ],
  [
    'Sessions and permissions',
    {
      'session.signed-out': ['Signed out', 'calm', ({ user }) => [user, ' signed out']],
      'session.ended': ['Session ended', 'warn', ({ who, user }) => [who, ' ended sessions of ', user]],
      'consent.granted': [
        'Permission given',
        'calm',
        ({ user, application }) => [user, ' gave ', application, ' permission'],
      ],
      'consent.withdrawn': [
        'Permission withdrawn',
        'warn',
        ({ who, user, application }) => [who, ' withdrew the permission of ', application, ' for ', user],
      ],
      'refresh-token.reused': [
        'Refresh token reused',
        'bad',
        ({ user, application }) => ['A refresh token of ', application, ' was used twice: access for ', user, ' ended'],
      ],
      'backchannel-result.abandoned': [
        'Result not delivered',
        'bad',
        ({ application }) => ['The result of a request without a browser did not reach ', application],
      ],
      'tokens.revoked': ['All tokens revoked', 'bad', ({ who }) => [who, ' revoked all access and refresh tokens']],
      'database.restored': [
        'Backup restored',
        'bad',
        ({ who }) => [who, ' restored a backup: all sessions and tokens ended'],
      ],
    },
  ],
  [
    'Devices and recovery',
    {
      'enrolment.link-created': [
        'Enrolment link created',
        'calm',
        ({ who, user }) => [who, ' created a link to enrol a device of ', user],
      ],
      'invitation.sent': ['Invitation sent', 'good', ({ user }) => ['The invitation of ', user, ' was sent by email']],
      'invitation.failed': [
        'Invitation not sent',
        'bad',
        ({ user }) => ['The email with the invitation of ', user, ' was given up'],
      ],
      'invitation.resent': [
        'Invitation link replaced',
        'calm',
        ({ who, user }) => [who, ' replaced the invitation link of ', user, '; the earlier link ended'],
      ],
      'invitation.withdrawn': [
        'Setup link withdrawn',
        'warn',
        ({ who, user }) => [who, ' withdrew the setup link of ', user],
      ],
      'device.enrolled': [
        'Device enrolled',
        'good',
        ({ user, device }) => [user, ' enrolled a device', device && ': ', device],
      ],
      'device.renamed': ['Device renamed', 'calm', (names) => [names.user, ' renamed a device to ', names.device]],
      'device.revoked': [
        'Device removed',
        'warn',
        (names) => [names.who, ' removed ', ...deviceOf(names), ' of ', names.user],
      ],
      'passkey.added': [
        'Passkey added',
        'good',
        (names) => [names.user, ' protected ', ...deviceOf(names), ' with face, finger or PIN'],
      ],
      'passkey.removed': [
        'Passkey removed',
        'warn',
        (names) => [names.user, ' removed face, finger or PIN from ', ...deviceOf(names)],
      ],
      'passkey.sign-in-allowed': [
        'Sign-in with a passkey allowed',
        'good',
        (names) => [names.user, ' agreed to sign in with the passkey of ', ...deviceOf(names)],
      ],
      'passkey.sign-in-stopped': [
        'Sign-in with a passkey stopped',
        'calm',
        (names) => [names.user, ' no longer signs in with the passkey of ', ...deviceOf(names)],
      ],
      'passkey.clone-suspected': [
        'Copied passkey suspected',
        'bad',
        (names) => ['A passkey of ', names.user, ' may have been copied, on ', ...deviceOf(names)],
      ],
      'recovery.codes-created': ['Recovery codes created', 'calm', ({ user }) => [user, ' created recovery codes']],
      'recovery.code-used': ['Recovery code used', 'warn', ({ user }) => [user, ' used a recovery code']],
      'recovery.failed': [
        'Recovery failed',
        'warn',
        ({ user }) => ['A wrong or used recovery code was tried for ', user],
      ],
      'external-authenticator.set': [
        'External authenticator set up',
        'warn',
        ({ who, user }) => [who, ' set up an external authenticator for ', user],
      ],
      'external-authenticator.removed': [
        'External authenticator removed',
        'warn',
        ({ who, user }) => [who, ' removed an external authenticator of ', user],
      ],
    },
  ],
  [
    'Users',
    {
      'user.created': ['User created', 'calm', ({ who, user }) => [who, ' created the user ', user]],
      'user.updated': ['User changed', 'calm', userChange],
      'user.lifecycle-changed': [
        'State of a user changed',
        'warn',
        ({ who, user, isOwn, detail }) =>
          isOwn && isActivation(detail) ? [user, ' became active'] : [who, stateVerb(detail), user],
      ],
      'user.erased': ['User erased', 'bad', ({ who, user }) => [who, ' erased the personal data of ', user]],
      'user.deleted': ['User deleted', 'bad', ({ who, user }) => [who, ' deleted ', user]],
      'users.exported': ['Users exported', 'warn', ({ who }) => [who, ' exported users']],
      'users.imported': ['Users imported', 'warn', ({ who }) => [who, ' imported users']],
    },
  ],
  [
    'Access to applications',
    {
      'account.created': [
        'Access given',
        'calm',
        ({ who, user, application }) => [who, ' gave ', user, ' access to ', application],
      ],
      'account.updated': [
        'Account changed',
        'calm',
        ({ who, user, application }) => [who, ' changed the account of ', user, ' in ', application],
      ],
      'account.lifecycle-changed': [
        'State of an account changed',
        'warn',
        ({ who, user, application, isOwn, detail }) =>
          isOwn && isActivation(detail)
            ? ['The account of ', user, ' in ', application, ' became active']
            : [who, stateVerb(detail), 'the account of ', user, ' in ', application],
      ],
      'account.deleted': [
        'Access removed',
        'warn',
        ({ who, user, application }) => [who, ' removed the access of ', user, ' to ', application],
      ],
      'access.exported': [
        'Access exported',
        'warn',
        ({ who, user, application, detail }) =>
          detail.denied === undefined
            ? [who, ' exported the access of ', user]
            : [who, ' exported the users with access to ', application],
      ],
      'accounts.exported': [
        'Accounts exported',
        'warn',
        ({ who, application }) => [who, ' exported the accounts of ', application],
      ],
      'accounts.imported': [
        'Accounts imported',
        'warn',
        ({ who, application }) => [who, ' imported accounts of ', application],
      ],
    },
  ],
  [
    'Groups',
    {
      'group.created': ['Group created', 'calm', ({ who, detail }) => [who, ' created the group ', groupOf(detail)]],
      'group.updated': ['Group changed', 'calm', ({ who, detail }) => [who, ' changed the group ', groupOf(detail)]],
      'group.deleted': ['Group deleted', 'bad', ({ who, detail }) => [who, ' deleted the group ', groupOf(detail)]],
      'group.member-added': [
        'Member added',
        'calm',
        ({ who, user, detail }) => [who, ' added ', user, ' to the group ', groupOf(detail)],
      ],
      'group.member-removed': [
        'Member removed',
        'warn',
        ({ who, user, detail }) => [who, ' removed ', user, ' from the group ', groupOf(detail)],
      ],
      'group.members-exported': [
        'Members exported',
        'warn',
        ({ who, detail }) => [who, ' exported the members of the group ', groupOf(detail)],
      ],
      'application.access-assigned': [
        'Access of a group given',
        'warn',
        ({ who, application, detail }) => [who, ' gave ', groupOf(detail), ' access to ', application],
      ],
      'application.access-removed': [
        'Access of a group removed',
        'warn',
        ({ who, application, detail }) => [who, ' removed the access of ', groupOf(detail), ' to ', application],
      ],
    },
  ],
  [
    'Applications',
    {
      'application.created': [
        'Application created',
        'calm',
        ({ who, application }) => [who, ' created the application ', application],
      ],
      'application.registered': [
        'Application registered itself',
        'warn',
        ({ application, detail }) => ['The application ', application, ' registered itself with ', tokenOf(detail)],
      ],
      'registration-token.created': [
        'Initial access token created',
        'warn',
        ({ who, detail }) => [who, ' created the initial access token ', tokenOf(detail)],
      ],
      'registration-token.deleted': [
        'Initial access token deleted',
        'warn',
        ({ who, detail }) => [who, ' deleted the initial access token ', tokenOf(detail)],
      ],
      'details-type.registered': [
        'Type of authorization details registered',
        'warn',
        ({ who, detail }) => [who, ' registered the type of authorization details ', detailsTypeOf(detail)],
      ],
      'details-type.deleted': [
        'Type of authorization details deleted',
        'warn',
        ({ who, detail }) => [who, ' deleted the type of authorization details ', detailsTypeOf(detail)],
      ],
      'application.updated': [
        'Application changed',
        'calm',
        ({ who, application, detail }) => [who, updateVerb(detail), 'the application ', application],
      ],
      'application.deleted': [
        'Application deleted',
        'bad',
        ({ who, application }) => [who, ' deleted the application ', application],
      ],
      'application.metadata-applied': [
        'Metadata applied',
        'calm',
        ({ who, application }) => [who, ' updated ', application, ' from its metadata'],
      ],
      'application.secret-rotated': [
        'Client secret rotated',
        'warn',
        ({ who, application }) => [who, ' rotated the client secret of ', application],
      ],
      'application.secret-created': [
        'Client secret created',
        'warn',
        ({ who, application }) => [who, ' created a client secret for ', application],
      ],
      'application.secret-deleted': [
        'Client secret deleted',
        'warn',
        ({ who, application }) => [who, ' deleted a client secret of ', application],
      ],
      'application.logo-set': ['Logo set', 'calm', ({ who, application }) => [who, ' set the logo of ', application]],
      'application.logo-removed': [
        'Logo removed',
        'calm',
        ({ who, application }) => [who, ' removed the logo of ', application],
      ],
      'certificate.published': [
        'Certificate published',
        'calm',
        ({ who, application }) => [who, ' published the next certificate of ', application],
      ],
      'certificate.activated': [
        'Certificate activated',
        'calm',
        ({ who, application }) => [who, ' activated the next certificate of ', application],
      ],
      'certificate.withdrawn': [
        'Certificate withdrawn',
        'warn',
        ({ who, application }) => [who, ' withdrew a certificate of ', application],
      ],
      'test-sign-in.started': [
        'Test sign-in started',
        'calm',
        ({ who, application }) => [who, ' started a test sign-in to ', application],
      ],
      'test-sign-in.ended': [
        'Test sign-in ended',
        'calm',
        ({ who, application }) => ['The test sign-in of ', who, ' to ', application, ' ended'],
      ],
      'claims.compared': [
        'Plugin tried',
        'calm',
        ({ who, user, application }) => [who, ' tried a plugin with the claims of ', user, ' for ', application],
      ],
    },
  ],
  [
    'Server',
    {
      'signing-key.published': ['Signing key published', 'calm', ({ who }) => [who, ' published the next signing key']],
      'signing-key.activated': ['Signing key activated', 'calm', ({ who }) => [who, ' activated the next signing key']],
      'signing-key.revoked': ['Signing key revoked', 'bad', ({ who }) => [who, ' revoked a signing key']],
      'sealing-key.created': [
        'Sealing key created',
        'calm',
        () => ['The server created a sealing key for a new master key'],
      ],
      'sealing-key.deleted': ['Sealing keys deleted', 'calm', () => ['The server deleted replaced sealing keys']],
      'plugins.reloaded': ['Plugins reloaded', 'calm', ({ who }) => [who, ' reloaded the plugins']],
      'plugins.rolled-back': ['Plugins rolled back', 'warn', ({ who }) => [who, ' rolled the plugins back']],
      'mail.tested': ['Test email sent', 'calm', ({ who }) => [who, ' sent a test email']],
      'admin-token.created': ['Admin token created', 'warn', ({ who }) => [who, ' created an admin token']],
    },
  ],
];

/** @type {Record<string, EventText>} */
const EVENTS = Object.assign({}, ...GROUPS.map(([, events]) => events));

/** The result of an approval request for a protected action, instead of a sign-in. */
/** @type {Record<string, string>} */
const ACTIONS = {
  'sign-in.requested': ' asked for an approval: ',
  'sign-in.approved': ' approved: ',
  'sign-in.denied': ' denied: ',
  'sign-in.reported': ' reported a request that was not theirs: ',
  'sign-in.number-match-failed': ' typed a wrong number for: ',
};

/**
 * The result of the check of a caller, instead of a sign-in.
 * @type {Record<string, string>}
 */
const CALLER_CHECKS = {
  'sign-in.requested': ' was asked: are you on the phone?',
  'sign-in.approved': ' is on the phone with the help desk',
  'sign-in.denied': ' is not on the phone with the help desk',
  'sign-in.reported': ' reported the question of the help desk: it was not their call',
  'sign-in.number-match-failed': ' typed a wrong number for the help desk',
  'sign-in.cancelled': ' did not have to answer the help desk',
  'sign-in.expired': ' did not answer the help desk',
};

/**
 * The filter of events: the events of each group in order. An unknown event is in no group.
 * @param {string[]} known the events of the server
 * @returns {Array<[group: string, options: Array<[value: string, label: string]>]>}
 */
export function eventOptions(known) {
  /** @type {Array<[string, Array<[string, string]>]>} */
  const groups = GROUPS.map(([group, events]) => [
    group,
    Object.entries(events)
      .filter(([name]) => known.includes(name))
      .map(([name, [label]]) => [name, label]),
  ]);
  const others = known.filter((name) => !EVENTS[name]);
  return others.length === 0 ? groups : [...groups, ['Others', others.map((name) => [name, name])]];
}

/**
 * The tone of an entry.
 * @param {Entry} entry
 * @returns {Tone}
 */
export function toneOf({ event, detail }) {
  const tone = EVENTS[event]?.[1] ?? 'calm';
  return event.endsWith('.lifecycle-changed') && isActivation(detail) ? 'good' : tone;
}

/**
 * A name that links to its page; the end of its id if it was deleted.
 * @param {string} kind
 * @param {string} address
 * @param {string | null | undefined} name
 * @param {string} id
 * @param {boolean} leads
 */
function named(kind, address, name, id, leads) {
  if (!name) return el('span', { title: id }, t`a deleted ${translated(kind)} (…${id.slice(-8)})`);
  const shown = el('bdi', { title: id }, name);
  return leads ? link(address, shown) : shown;
}

/**
 * The user with this id.
 * @param {string} id
 * @param {string | null | undefined} name
 * @param {Context['may']} may
 */
const userNamed = (id, name, may) => named('user', `/admin/users/${id}`, name, id, may('users:read'));

/**
 * The actor of an entry, at the beginning of a sentence. A device acts for its user.
 * @param {Entry} entry
 * @param {Context['may']} may
 * @returns {Child}
 */
function actorOf({ actor, user_id: user, user_name: name }, may) {
  const { kind, id } = actor;
  if (kind === 'user' && id) return userNamed(id, actor.name, may);
  if (kind === 'device' && user) return userNamed(user, name, may);
  if (kind === 'application' && id)
    return named('application', applicationAddress(id), actor.name, id, may('applications:read'));
  if (kind === 'channel') return el('span', {}, 'The channel ', el('bdi', {}, id ?? ''));
  return kind === 'admin_token' ? 'An admin token' : kind === 'server' ? 'The server' : kind.replaceAll('_', ' ');
}

/**
 * The target of a protected action, with the current names.
 * @param {Entry} entry
 */
function actionOf({ detail, target_user_name: user, target_application_name: application }) {
  /** @type {AuditDetail} */
  const { action, target_user: userId, target_application: applicationId } = detail;
  if (typeof action !== 'string') return undefined;
  const gone = (userId && !user) || (applicationId && !application);
  const targets = gone ? 'deleted since' : [user, application].filter(Boolean).join(', ');
  const kind = action.replaceAll('-', ' ');
  return el('span', {}, kind, targets !== '' && ' (', targets !== '' && el('bdi', {}, targets), targets !== '' && ')');
}

/**
 * An entry as a sentence.
 * @param {Entry} entry
 * @param {Context['may']} may
 * @returns {Child[]}
 */
export function sentenceOf(entry, may) {
  const { event, user_id: userId, application_id: applicationId } = entry;
  /** @type {AuditDetail} */
  const detail = entry.detail;
  /** @type {AuditDetail} */
  const personal = entry.personal;
  const user = userId ? userNamed(userId, entry.user_name, may) : 'an unknown name';
  const action = actionOf(entry);
  if (action && ACTIONS[event]) return [user, ACTIONS[event], action];
  if (typeof detail.caller_check === 'string' && CALLER_CHECKS[event]) return [user, CALLER_CHECKS[event]];
  const application = applicationId
    ? named(
        'application',
        applicationAddress(applicationId),
        entry.application_name,
        applicationId,
        may('applications:read'),
      )
    : 'Assent';
  const device = personal.new_name ?? personal.name;
  const names = {
    who: actorOf(entry, may),
    user,
    application,
    device: typeof device === 'string' && device !== '' ? el('bdi', {}, device) : undefined,
    isOwn: entry.actor.kind === 'device' || entry.actor.id === userId,
    detail,
    fields: event === 'user.updated' ? changedMembers([detail, personal]) : [],
  };
  const known = EVENTS[event];
  if (known) return known[2](names);
  return [
    names.who,
    ': ',
    code(event),
    userId ? ' ' : '',
    userId ? user : '',
    applicationId ? ' ' : '',
    applicationId && application,
  ];
}

/**
 * A sentence as a text.
 * @param {Child[]} sentence
 */
export const textOf = (sentence) =>
  sentence.map((part) => (part instanceof Node ? part.textContent : part || '')).join('');
