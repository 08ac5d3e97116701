// Open invitations: the invited users with their inviters, the state of the emails, and links for many users at once.

import { get, post } from '../api.js';
import { apiText } from '../api_texts.js';
import { select } from '../form.js';
import { language, t, translated } from '../language.js';
import { searched, table } from '../lists.js';
import { rowSelection } from '../select_box.js';
import {
  ask,
  badge,
  button,
  el,
  figure,
  forgetShown,
  link,
  moment,
  nothing,
  notice,
  say,
  screen,
  showsOnce,
} from '../view.js';
import { picture } from './invitation_link.js';

/** @import { Column, Context, List, Schema } from '../types.d.ts' */

/** @typedef {Schema<'Invitation'>} Invitation */
/** @typedef {Schema<'InvitationDelivery'>} Delivery */

const NO_INVITATIONS = 'No open invitations.';
// The users in one request. The response has a QR code for each.
const MOST = 25;
/** The text for a missing value. */
const NO_VALUE = '–';

/** @type {Array<['' | Schema<'InvitationState'>, string]>} */
const STATES = [
  ['', 'Any'],
  ['no_link', 'Without a link'],
  ['link', 'Link handed over'],
  ['queued', 'Email waiting'],
  ['sent', 'Email sent'],
  ['failed', 'Email failed'],
  ['expired', 'Expired'],
];
const TONES = { no_link: 'draft', link: 'kind', queued: 'kind', sent: 'active', failed: 'suspended', expired: 'draft' };

/** @param {Schema<'InvitationState'>} state */
const stateBadge = (state) => badge(new Map(STATES).get(state) ?? state, TONES[state]);

/**
 * The inviter of the user.
 * @param {Invitation} row
 */
function inviter(row) {
  if (!row.inviter_kind) return row.created_at ? translated('Unknown') : NO_VALUE;
  if (row.inviter_kind === 'user') return row.inviter_name ?? translated('A deleted user');
  return translated(row.inviter_kind === 'application' ? 'An application' : 'The operator');
}

/**
 * A past or future time.
 * @param {string | null | undefined} time
 */
const timeOr = (time) => (time ? moment(time) : NO_VALUE);

/**
 * The columns, without that of the check boxes.
 * @param {boolean} writes whether the administrator may create links
 * @returns {Array<Column<Invitation>>}
 */
const columnsFor = (writes) => [
  { label: 'User', cell: (row) => link(`/admin/users/${row.user_id}/devices`, el('bdi', {}, row.display_name)) },
  {
    label: 'Email',
    cell: (row) => (row.email ? el('bdi', { class: 'email' }, row.email) : translated('None')),
  },
  {
    label: 'State',
    cell: (row) =>
      el(
        'div',
        { class: 'about' },
        el('div', {}, stateBadge(row.state)),
        row.sent_at && el('p', { class: 'small muted' }, moment(row.sent_at)),
        row.delivery_error && el('p', { class: 'small muted' }, apiText(row.delivery_error)),
        writes && row.has_console_role && el('p', { class: 'small muted' }, 'The user’s page creates a new link.'),
      ),
  },
  { label: 'Invited by', cell: inviter },
  { label: 'Link created', cell: (row) => timeOr(row.created_at) },
  { label: 'Expires', cell: (row) => timeOr(row.expires_at) },
];

/**
 * The number of invitations, in words. The server does not count them, so those of a first page are counted here.
 * @param {List<Invitation>} page
 */
function countOf({ items, next }) {
  if (items.length === 0) return '';
  if (next) return t`More than ${figure(items.length)} invitations`;
  return items.length === 1 ? t`${1} invitation` : t`${figure(items.length)} invitations`;
}

/**
 * @param {Context} context
 */
export async function invitations({ may, me }) {
  const writes = may('users:write');
  const status = el('p', { role: 'status' });
  const total = el('p', { class: 'muted total', role: 'status' });
  const chosen = rowSelection({
    nameOf: (/** @type {Invitation} */ row) => (row.has_console_role ? undefined : row.name),
    changed: (count) => {
      bar.hidden = count === 0;
      status.textContent = count === 1 ? t`${1} invitation selected` : t`${figure(count)} invitations selected`;
    },
  });
  const users = () => chosen.selected().map((row) => row.user_id);
  const actions = el('div', { class: 'ways' });
  const bar = el(
    'div',
    { class: 'panel bulk no-print', hidden: true, role: 'region', 'aria-label': 'Selected invitations' },
    status,
    actions,
  );
  const list = await searched(
    [select('state', 'State', STATES, { none: '' })],
    async (values, after) => get('/invitations', { ...values, after }),
    table([...(writes ? [chosen.column] : []), ...columnsFor(writes)], [], {
      empty: writes ? nothing(NO_INVITATIONS, '/admin/users/new', 'Invite a user') : NO_INVITATIONS,
      unmatched: 'No invitation fits the filter.',
      caption: 'Open invitations',
    }),
    {
      total,
      above: writes ? [chosen.press, bar] : [],
      onpage: (/** @type {List<Invitation>} */ page) => {
        chosen.clear();
        total.textContent = countOf(page);
      },
    },
  );
  const place = el('div', { 'aria-live': 'polite', class: 'stack' });
  /** @param {Delivery} delivery */
  const create = async (delivery) => {
    const created = await inBatches(users(), (part) => post('/invitations', {}, { users: part, delivery }));
    const items = created.flatMap((one) => one.items).sort(byName);
    await list.fill();
    // An earlier sheet stays: its links are not shown again.
    for (const note of place.querySelectorAll(':scope > :not(.sheet)')) note.remove();
    place.prepend(...result(items, delivery));
    place.querySelector('h2')?.focus();
  };
  const withdraw = async () => {
    const withdrawn = users();
    const yes =
      withdrawn.length === 1
        ? await ask(
            'Withdraw this invitation?',
            'The link ends at once. The user stays, and you can invite the user again.',
            'Withdraw',
          )
        : await ask(
            t`Withdraw ${figure(withdrawn.length)} invitations?`,
            'The links end at once. The users stay, and you can invite them again.',
            'Withdraw',
          );
    if (!yes) return;
    const results = await inBatches(withdrawn, (part) => post('/invitations/withdraw', {}, { users: part }));
    const count = results.reduce((sum, one) => sum + one.withdrawn, 0);
    await list.fill();
    for (const user of withdrawn) place.querySelector(`[data-user="${CSS.escape(user)}"]`)?.remove();
    say(count === 1 ? 'One invitation was withdrawn.' : t`${figure(count)} invitations were withdrawn.`);
  };
  actions.append(
    ...(me.sends_mail ? [button('Send by email', () => create('email'), 'primary')] : []),
    ...(may('accounts:write') ? [button('Create links to print', () => create('link'))] : []),
    button('Withdraw', withdraw, 'danger'),
    button('Select none', chosen.clear, 'quiet'),
  );
  return screen(
    {
      title: 'Open invitations',
      lead: 'Users who have not enrolled a device yet. A new link ends the earlier one of the same user.',
      back: ['/admin/users', 'Users'],
    },
    place,
    list,
  );
}

/**
 * The order of the sheet: by full name, as the language sorts it.
 * @param {Schema<'CreatedInvitation'>} one
 * @param {Schema<'CreatedInvitation'>} other
 */
function byName(one, other) {
  return (
    one.display_name.localeCompare(other.display_name, language(), { numeric: true }) ||
    one.name.localeCompare(other.name, language(), { numeric: true })
  );
}

/**
 * Sends requests for some users at a time.
 * @template Answer
 * @param {string[]} users
 * @param {(users: string[]) => Promise<Answer>} send
 */
async function inBatches(users, send) {
  /** @type {Answer[]} */
  const answers = [];
  for (let at = 0; at < users.length; at += MOST) answers.push(await send(users.slice(at, at + MOST)));
  return answers;
}

/**
 * The created links as a sheet to print, or a message.
 * @param {Array<Schema<'CreatedInvitation'>>} items
 * @param {Delivery} delivery
 * @returns {HTMLElement[]}
 */
function result(items, delivery) {
  const skipped = items.filter((one) => one.skipped);
  const made = items.filter((one) => !one.skipped);
  const notes = skipped.map(({ name, skipped: why }) => notice(t`${name} was skipped: ${apiText(why ?? '')}.`, 'warn'));
  if (delivery === 'email') {
    if (made.length > 0)
      say(made.length === 1 ? t`${1} email is being sent.` : t`${figure(made.length)} emails are being sent.`);
    return notes;
  }
  if (made.length === 0) return notes;
  const done = () => {
    forgetShown(sheet);
    sheet.remove();
  };
  const sheet = el(
    'section',
    { class: 'sheet' },
    el('h2', { tabindex: -1 }, 'Links to hand over'),
    el(
      'p',
      { class: 'no-print' },
      'Print them now: the links are not shown again. Give each one privately to its own user.',
    ),
    el(
      'div',
      { class: 'ways no-print' },
      button('Print', () => window.print(), 'primary'),
      button('I have handed them over', done),
    ),
    el('ul', { class: 'sheet-entries' }, ...made.map(entry)),
  );
  showsOnce(sheet, done);
  return [...notes, sheet];
}

/**
 * An entry of the sheet.
 * @param {Schema<'CreatedInvitation'>} one
 */
function entry({ user_id: user, display_name: name, name: login, link: address, qr_code: code, expires_at: until }) {
  return el(
    'li',
    { 'data-user': user },
    el('h3', {}, el('bdi', {}, name)),
    el('p', {}, 'Name at sign-in: ', el('bdi', {}, login)),
    code && picture(code, t`QR code of the link of ${login}`),
    el('p', {}, 'Scan this code with your phone, or open the link there. It works once.'),
    el('p', { class: 'small' }, el('code', {}, address ?? '')),
    until && el('p', { class: 'small' }, 'Valid until ', moment(until, { exact: true })),
  );
}
