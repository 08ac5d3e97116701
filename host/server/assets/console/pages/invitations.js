// Open invitations: the invited users with their inviters, the state of the emails, and links for many users at once.

import { byName } from '../../names.js';
import { get, Problem, post } from '../api.js';
import { apiText } from '../api_texts.js';
import { inBatches } from '../batches.js';
import { select } from '../form.js';
import { t, translated } from '../language.js';
import { searched, table } from '../lists.js';
import { rowSelection } from '../select_box.js';
import {
  ask,
  badge,
  button,
  el,
  explain,
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
import { FIRST_LINK, picture } from './invitation_link.js';

/** @import { Progress } from '../batches.js' */
/** @import { Column, Context, List, Schema } from '../types.d.ts' */

/** @typedef {Schema<'Invitation'>} Invitation */
/** @typedef {Schema<'InvitationDelivery'>} Delivery */
/** @typedef {Schema<'CreatedInvitation'>} Created */

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
  const creates = may('accounts:write');
  const status = el('p', { role: 'status' });
  const total = el('p', { class: 'muted total', role: 'status' });
  const chosen = rowSelection({
    nameOf: (/** @type {Invitation} */ row) => (row.has_console_role ? undefined : row.name),
    changed: (count) => {
      bar.hidden = count === 0;
      status.textContent = count === 1 ? t`${1} invitation selected` : t`${figure(count)} invitations selected`;
    },
  });
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
      nameOf: (/** @type {Invitation} */ row) => row.display_name,
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
    const users = idsOf(inOrderOfNames(chosen.selected()));
    const { show, sent } = results(place);
    const send = (/** @type {string[]} */ part) => post('/invitations', {}, { users: part, delivery });
    const progress = await inBatches(users, MOST, send, ({ items }) => show(items));
    await list.fill();
    place.prepend(...interruption(progress, users.length));
    if (sent() > 0) say(sent() === 1 ? t`${1} email is being sent.` : t`${figure(sent())} emails are being sent.`);
    place.querySelector('h2')?.focus();
  };
  const withdraw = async () => {
    const withdrawn = idsOf(chosen.selected());
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
    let count = 0;
    const send = (/** @type {string[]} */ part) => post('/invitations/withdraw', {}, { users: part });
    const progress = await inBatches(withdrawn, MOST, send, (answer, part) => {
      count += answer.withdrawn;
      for (const user of part) place.querySelector(`[data-user="${CSS.escape(user)}"]`)?.remove();
    });
    await list.fill();
    removeNotes(place);
    place.prepend(...interruption(progress, withdrawn.length));
    say(count === 1 ? 'One invitation was withdrawn.' : t`${figure(count)} invitations were withdrawn.`);
  };
  actions.append(
    ...(me.sends_mail ? [button('Send by email', () => create('email'), 'primary')] : []),
    ...(creates ? [button('Create links to print', () => create('link'))] : []),
    button('Withdraw', withdraw, 'danger'),
    button('Select none', chosen.clear, 'quiet'),
  );
  return screen(
    {
      title: 'Open invitations',
      lead: 'Users who have not enrolled a device yet. A new link ends the earlier one of the same user.',
      back: ['/admin/users', 'Users'],
    },
    writes && !creates && !me.sends_mail && notice(FIRST_LINK, 'calm'),
    place,
    list,
  );
}

/** @param {Invitation[]} rows */
const idsOf = (rows) => rows.map((row) => row.user_id);

/**
 * The users in the order of their full names, and of their names at sign-in.
 * @template {{ name: string, display_name: string }} One
 * @param {One[]} users
 */
const inOrderOfNames = (users) =>
  [...users].sort(byName(({ name }) => name)).sort(byName(({ display_name: name }) => name));

/**
 * The notice that a later request was denied or failed, after earlier ones succeeded.
 * @param {Progress} progress
 * @param {number} all the number of users
 */
function interruption({ done, problem }, all) {
  if (done === all) return [];
  const count = t`Done for ${figure(done)} of ${figure(all)} users. Select the others again.`;
  const why = problem instanceof Problem && problem.dropped ? [] : explain(problem);
  return [el('div', { class: 'notice warn', role: 'alert' }, el('p', {}, count), ...why)];
}

/**
 * Removes the notes of an earlier action. A sheet stays, because its links are not shown again.
 * @param {HTMLElement} place
 */
function removeNotes(place) {
  for (const note of place.querySelectorAll(':scope > :not(.sheet)')) note.remove();
}

/**
 * The results of one action at a place: `show` adds those of a request, the links to one sheet; `sent` returns the
 * number of emails.
 * @param {HTMLElement} place
 */
function results(place) {
  /** @type {ReturnType<typeof sheetOf> | undefined} */
  let sheet;
  let isFirst = true;
  let sent = 0;
  /** @param {Created[]} items */
  const show = (items) => {
    if (isFirst) removeNotes(place);
    isFirst = false;
    const [made, skipped] = [true, false].map((isMade) => items.filter((one) => !one.skipped === isMade));
    const linked = inOrderOfNames(made.filter((one) => one.link));
    sent += made.length - linked.length;
    if (linked.length > 0) {
      // The administrator may have closed the sheet meanwhile.
      if (!sheet?.element.isConnected) {
        sheet = sheetOf();
        place.prepend(sheet.element);
      }
      sheet.add(linked);
    }
    place.prepend(
      ...inOrderOfNames(skipped).map(({ name, skipped: why }) =>
        notice(t`${name} was skipped: ${apiText(why ?? '')}.`, 'warn'),
      ),
    );
  };
  return { show, sent: () => sent };
}

/** A sheet of links to print, to which `add` adds entries. */
function sheetOf() {
  const entries = el('ul', { class: 'sheet-entries' });
  const done = () => {
    forgetShown(element);
    element.remove();
  };
  const element = el(
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
    entries,
  );
  showsOnce(element, done);
  return { element, add: (/** @type {Created[]} */ links) => entries.append(...links.map(entry)) };
}

/**
 * An entry of the sheet.
 * @param {Created} one
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
