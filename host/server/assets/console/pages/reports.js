// Users' reports that an approval request was not theirs, and the users whose requests are paused.

import { get, Problem, post } from '../api.js';
import { area, FieldError, form, select, toggle } from '../form.js';
import { t, translated } from '../language.js';
import { table } from '../lists.js';
import { button, dialog, el, explain, link, moment, notice, say, section } from '../view.js';
import { applicationAddress } from './applications.js';
import { userAddress } from './user_cell.js';

/** @import { Child, Context, Schema } from '../types.d.ts' */

/** @typedef {Schema<'Report'>} Report */

/** The number of reports and of paused users that the overview shows. */
const SHOWN = 20;

/**
 * What needs an administrator: the open reports as a banner, and below it the users whose requests are paused.
 * @param {Context} context
 */
export async function alerts(context) {
  const [reports, paused] = await Promise.all([
    get('/reports', { open: true, limit: SHOWN }),
    get('/cooldowns', { limit: SHOWN }),
  ]);
  return [
    reports.items.length > 0 && openReports(reports.items, Boolean(reports.next), context),
    paused.items.length > 0 &&
      section(
        'Paused users',
        el(
          'p',
          { class: 'muted' },
          'Sign-in requests with these names wait until the pause ends, or the user ends it.',
        ),
        table(
          [
            { label: 'User', cell: (row) => userLink(row.user_id, row.user_name) },
            { label: 'Pause ends', cell: (row) => moment(row.until) },
          ],
          paused.items,
          { caption: 'Paused users' },
        ),
        paused.next && el('p', { class: 'muted' }, 'There are more.'),
      ),
  ];
}

/**
 * The open reports of one user.
 * @param {string} user
 * @param {Context} context
 */
export async function reportsOf(user, context) {
  const { items, next } = await get('/reports', { user, open: true, limit: SHOWN });
  return items.length > 0 && openReports(items, Boolean(next), context);
}

/**
 * A banner with open reports.
 * @param {Report[]} reports
 * @param {boolean} isMore
 * @param {Context} context
 */
function openReports(reports, isMore, context) {
  const count = reports.length;
  return el(
    'section',
    { class: 'notice bad reports', role: 'region', 'aria-label': 'Reports' },
    el(
      'h2',
      {},
      isMore
        ? t`More than ${count} reports: “This wasn’t me”`
        : count === 1
          ? t`${1} report: “This wasn’t me”`
          : t`${count} reports: “This wasn’t me”`,
    ),
    el(
      'p',
      {},
      'A user says that someone else began a sign-in or an action in their name. A report stays here until an ' +
        'owner or an admin settles it.',
    ),
    el('ul', { class: 'entries', 'aria-label': 'Open reports' }, ...reports.map((one) => item(one, context))),
  );
}

/**
 * @param {Report} report
 * @param {Context} context
 */
function item(report, context) {
  const { application_id: id, application_name: name } = report;
  const application =
    report.kind === 'action'
      ? translated('an action in the console or the portal')
      : report.kind === 'caller_check'
        ? translated('the question whether the user is on the phone')
        : id
          ? context.may('applications:read')
            ? link(applicationAddress(id), el('bdi', {}, name ?? id))
            : el('bdi', {}, name ?? id)
          : translated('the console or the portal');
  const from = [report.requested_from, report.requested_with].filter(Boolean).join(' · ');
  const settle = button('Settle', () => settleReport(report, context), 'primary');
  settle.setAttribute('aria-label', t`Settle the report of ${report.user_name ?? report.user_id}`);
  return el(
    'li',
    { class: 'report' },
    el(
      'div',
      {},
      el('p', {}, userLink(report.user_id, report.user_name), ' · ', application, ' · ', moment(report.reported_at)),
      from && el('p', { class: 'muted' }, 'The request came from ', el('bdi', {}, from)),
    ),
    context.may('users:manage') && el('div', { class: 'ways' }, settle),
  );
}

/**
 * @param {string} id
 * @param {string | null | undefined} name
 */
const userLink = (id, name) => link(userAddress(id), el('bdi', {}, name ?? id));

/**
 * Asks for a note and the measures, and settles the report.
 * @param {Report} report
 * @param {Context} context
 */
async function settleReport({ id, user_id: user, user_name: name, device_id: reportedOn }, { reload }) {
  const { items: devices } = await get('/users/{id}/devices', { id: user });
  const device = select(
    'revoke_device',
    'Remove a device',
    [
      ['', 'None'],
      ...devices.map(
        (one) =>
          /** @type {[string, string]} */ ([
            one.id,
            one.id === reportedOn ? t`${one.name} (reported from it)` : one.name,
          ]),
      ),
    ],
    { none: '', hint: 'Only if someone else may have it. The sessions that it approved end too.' },
  );
  const settlement = await dialog(
    t`Settle the report of ${name ?? user}`,
    (/** @type {(answer?: Schema<'Settlement'>) => void} */ close) => [
      form(
        [
          area('note', 'Note', {
            needed: 'Write what you found out.',
            rows: 3,
            hint: 'What you found out and did. It is recorded in the audit log.',
          }),
          toggle('end_cooldown', 'End the pause of the user’s sign-in requests'),
          toggle('end_sessions', 'End all sessions of the user'),
          device,
        ],
        {
          submit: 'Settle the report',
          send: async ({ note, revoke_device: chosen, ...measures }) => {
            const words = (note ?? '').replace(/\s+/g, ' ').trim();
            if (words.length > 500) throw new FieldError('note', 'Use at most 500 characters.');
            close({ note: words, ...measures, ...(chosen && { revoke_device: chosen }) });
          },
          cancel: () => close(),
        },
      ),
    ],
  );
  if (!settlement) return;
  try {
    await post('/reports/{id}/settlement', { id }, settlement);
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 409) throw problem;
    // Another administrator was first, or the device was removed.
    await showConflict(problem);
    await reload();
    return;
  }
  await reload();
  say('The report is settled.');
}

/** @param {Problem} problem */
function showConflict(problem) {
  return dialog('The report was not settled', (/** @type {(answer?: undefined) => void} */ close) => [
    ...explain(problem).map((/** @type {Child} */ part) => el('div', {}, part)),
    el('div', { class: 'actions' }, el('button', { class: 'button', onclick: () => close() }, 'Close')),
  ]);
}

/**
 * The marks of a user in a list or at the head of the page.
 * @param {Schema<'ListedUser'>} user
 * @returns {Child[]}
 */
export function alertMarks({ open_reports: reports, paused_until: until }) {
  return [
    reports > 0 &&
      el(
        'span',
        { class: 'badge', 'data-state': 'terminated' },
        reports === 1 ? 'Reported a request' : t`${reports} reports`,
      ),
    until && el('span', { class: 'badge', 'data-state': 'suspended' }, 'Paused, ends ', moment(until)),
  ];
}

/** The reports for a role that reads nothing else. */
export const noAlerts = () => notice('There are no open reports, and no user’s requests are paused.', 'calm');
