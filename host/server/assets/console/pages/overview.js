// The figures of the server, and the first steps.

import { get } from '../api.js';
import { bars } from '../chart.js';
import { locale, t, translated } from '../language.js';
import { table } from '../lists.js';
import { badge, el, figure, link, panel, screen, section, tabs, way } from '../view.js';
import { gettingStarted } from './getting_started.js';
import { alerts, noAlerts } from './reports.js';
import { roleName } from './users.js';

/** @import { ChartOptions, Child, Context, Schema } from '../types.d.ts' */

/**
 * @param {Context} context
 */
export async function overview(context) {
  const { me, may } = context;
  const shown = may('users:read') ? await alerts(context) : [];
  const content = may('overview:read')
    ? await figures(context)
    : [may('users:read') && !shown.some(Boolean) && noAlerts(), firstStep(may)];
  const role = me.role ? roleName(me.role) : '';
  return screen(
    {
      title: 'Overview',
      lead: t`You are signed in as ${me.name ?? translated('an administrator')}, with the role ${role}.`,
    },
    ...shown,
    ...content,
  );
}

/**
 * @param {Context} context
 */
async function figures(context) {
  const { may, query: asked } = context;
  const range = asked.get('range') === 'month' ? 'month' : 'day';
  const found = await get('/overview', { range });
  const { users, applications, sign_ins: periods, response_times: responses } = found;
  const started = await gettingStarted(context, found);
  const allUsers = users.active + users.invited + users.suspended + users.terminated;
  const clients = applications.openid_connect + applications.saml;
  const sum = (/** @type {Outcome} */ outcome) => periods.reduce((total, period) => total + period[outcome], 0);
  const since = range === 'day' ? 'in the last 24 hours' : 'in the last 30 days';
  const labels = range === 'day' ? HOURS : DAYS;
  // Exactly the counted entries: those since the beginning of the first period, without those about actions.
  const entriesOf = (/** @type {string} */ event) => {
    const query = new URLSearchParams({ event, subject: 'other', from: periods[0]?.from ?? '' });
    return may('audit:read') ? `/admin/audit?${query}` : undefined;
  };
  const ended = (
    /** @type {Outcome} */ outcome,
    /** @type {string} */ event,
    /** @type {(n: string) => string} */ words,
  ) => part(entriesOf(event), words(figure(sum(outcome))));
  const good = sum('completed');
  const failed = sum('denied') + sum('reported') + sum('number_mismatches');
  const open = sum('cancelled') + sum('expired');
  return [
    started ?? (clients === 0 && may('applications:write') && firstApplication()),
    el(
      'ul',
      { class: 'figures' },
      tile('/admin/users?state=active', figure(users.active), users.active === 1 ? 'active user' : 'active users', [
        part('/admin/users', t`${figure(allUsers)} in all`),
        part('/admin/users?state=invited', t`${figure(users.invited)} invited`),
        part('/admin/users?state=suspended', t`${figure(users.suspended)} suspended`),
      ]),
      tile('/admin/applications', figure(clients), clients === 1 ? 'application' : 'applications', [
        part('/admin/applications?protocol=openid_connect', t`${figure(applications.openid_connect)} OpenID Connect`),
        part('/admin/applications?protocol=saml', t`${figure(applications.saml)} SAML`),
      ]),
      tile(entriesOf('sign-in.completed'), figure(good), good === 1 ? 'sign-in' : 'sign-ins', [el('span', {}, since)]),
      tile(undefined, figure(failed), 'denied, reported or wrong', [
        ended('denied', 'sign-in.denied', (n) => t`${n} sign-ins denied`),
        ended('reported', 'sign-in.reported', (n) => t`${n} reported`),
        ended('number_mismatches', 'sign-in.number-match-failed', (n) => t`${n} wrong numbers typed`),
      ]),
      tile(undefined, figure(open), 'without a decision', [
        ended('cancelled', 'sign-in.cancelled', (n) => t`${n} cancelled in the browser`),
        ended('expired', 'sign-in.expired', (n) => t`${n} expired`),
      ]),
    ),
    el('p', { class: 'muted' }, 'Sign-ins only; approvals of actions in the console are not counted.'),
    tabs('Period', [
      ['/admin', 'The last 24 hours'],
      ['/admin?range=month', 'The last 30 days'],
    ]),
    bars(
      'Sign-ins',
      periods,
      [
        { name: 'signed in', tone: 'good', of: (period) => period.completed },
        { name: 'cancelled or expired', tone: 'warn', of: (period) => period.cancelled + period.expired },
        { name: 'denied or reported', tone: 'bad', of: (period) => period.denied + period.reported },
      ],
      { ...labels, empty: 'No sign-ins in this period.' },
    ),
    bars(
      'Time to approval',
      periods,
      [
        { name: 'Median', tone: 'calm', of: (period) => seconds(period.approval_ms_p50) },
        { name: '95th percentile', tone: 'warn', of: (period) => seconds(period.approval_ms_p95) },
      ],
      { ...labels, unit: ' s', empty: 'No approvals in this period.', stacked: false },
    ),
    responseTimes(responses),
  ];
}

/**
 * The outcome of a sign-in, or a typed wrong number.
 * @typedef {'completed' | 'denied' | 'reported' | 'number_mismatches' | 'cancelled' | 'expired'} Outcome
 */

/**
 * A figure that links to a list of exactly what it counts, with the figures of its parts.
 * @param {string | undefined} to
 * @param {string} number
 * @param {string} label
 * @param {Child[]} parts
 */
function tile(to, number, label, parts) {
  const whole = [el('strong', {}, number), el('b', {}, label)];
  const separated = parts.flatMap((one, index) => (index > 0 ? [' · ', one] : [one]));
  return el('li', {}, el('div', {}, ...(to ? [link(to, ...whole)] : whole), el('span', {}, ...separated)));
}

/**
 * A part of a figure, with a link to its list.
 * @param {string | undefined} to
 * @param {string} words
 */
const part = (to, words) => (to ? link(to, words) : el('span', {}, words));

/**
 * The beginning of a period.
 * @param {Schema<'SignIns'>} period
 * @param {Intl.DateTimeFormatOptions} options
 */
const begins = ({ from }, options) => new Date(from).toLocaleString(locale(), options);

/** @type {Pick<ChartOptions<Schema<'SignIns'>>, 'label' | 'short'>} */
const HOURS = {
  label: (period) => begins(period, { weekday: 'short', hour: '2-digit', minute: '2-digit' }),
  short: (period) => begins(period, { hour: '2-digit', minute: '2-digit' }),
};

/** @type {Pick<ChartOptions<Schema<'SignIns'>>, 'label' | 'short'>} */
const DAYS = {
  label: (period) => begins(period, { weekday: 'short', day: 'numeric', month: 'short' }),
  short: (period) => begins(period, { day: 'numeric', month: 'short' }),
};

/**
 * The seconds with one decimal; 0 only for a period without approvals.
 * @param {number | null | undefined} milliseconds
 */
const seconds = (milliseconds) =>
  milliseconds === null || milliseconds === undefined ? 0 : Math.max(0.1, Math.round(milliseconds / 100) / 10);

/** @type {Record<Schema<'EndpointGroup'>, string>} */
const ENDPOINTS = {
  authorization: 'Authorization',
  token: 'Token',
  userinfo: 'UserInfo',
  saml: 'SAML',
  admin_api: 'Admin API',
  discovery: 'Discovery and keys',
  introspection: 'Introspection',
  revocation: 'Revocation',
  pushed_request: 'Pushed requests',
  backchannel: 'Back-channel requests',
  device_authorization: 'Codes for other devices',
  registration: 'Registration of applications',
  sign_in: 'Sign-in pages',
  authenticator: 'Authenticator',
  portal: 'Portal',
  other: 'Other',
};

/**
 * The response times of the server, without the waits for users.
 * @param {Array<Schema<'ResponseTimes'>>} responses
 */
function responseTimes(responses) {
  const time = (/** @type {number} */ microseconds) =>
    t`${(microseconds / 1000).toLocaleString(locale(), { maximumFractionDigits: microseconds < 10_000 ? 1 : 0 })} ms`;
  const measured = responses.filter(({ count }) => count > 0);
  return section(
    'Response times of this instance',
    el('p', { class: 'muted' }, 'Since start-up. Excludes requests waiting for approval.'),
    table(
      [
        { label: 'Endpoint', cell: ({ endpoint }) => translated(ENDPOINTS[endpoint] ?? endpoint) },
        { label: 'Responses', figure: true, cell: ({ count }) => figure(count) },
        { label: 'Median', figure: true, cell: ({ p50_us: half }) => time(half) },
        { label: '99th percentile', figure: true, cell: ({ p99_us: most }) => time(most) },
        {
          label: 'Failures',
          figure: true,
          cell: ({ failures }) => (failures > 0 ? badge(figure(failures), 'terminated') : '0'),
        },
      ],
      measured,
      { empty: 'No responses yet.', caption: 'Response times' },
    ),
  );
}

function firstApplication() {
  return panel(
    el('h2', {}, 'Connect your first application'),
    el(
      'p',
      {},
      'Register the application, paste the values that Assent shows into it, and give users an account. It ' +
        'takes a few minutes.',
    ),
    el('div', { class: 'ways' }, way('/admin/applications/new', 'Connect an application', 'primary')),
  );
}

/**
 * The first step for administrators who may not read the figures.
 * @param {Context['may']} may
 */
function firstStep(may) {
  return panel(
    el('p', {}, 'Find a user to help them: their devices, sessions and activity.'),
    may('users:read') && el('div', { class: 'ways' }, way('/admin/users', 'Find a user', 'primary')),
  );
}
