// The figures of the server, and the first steps.

import { get } from '../api.js';
import { bars } from '../chart.js';
import { locale, t, translated } from '../language.js';
import { table } from '../lists.js';
import { badge, el, figure, link, panel, screen, section, tabs, way } from '../view.js';
import { gettingStarted } from './getting_started.js';
import { roleName } from './users.js';

/** @import { ChartOptions, Context, Schema } from '../types.d.ts' */

/**
 * @param {Context} context
 */
export async function overview(context) {
  const { me, may } = context;
  const content = may('overview:read') ? await figures(context) : [firstStep(may)];
  const role = me.role ? roleName(me.role) : '';
  return screen(
    {
      title: 'Overview',
      lead: t`You are signed in as ${me.name ?? translated('an administrator')}, with the role ${role}.`,
    },
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
  const [good, expired, failed] = [sum('completed'), sum('expired'), sum('denied') + sum('number_mismatches')];
  const since = range === 'day' ? 'in the last 24 hours' : 'in the last 30 days';
  const labels = range === 'day' ? HOURS : DAYS;
  return [
    started ?? (clients === 0 && may('applications:write') && firstApplication()),
    el(
      'ul',
      { class: 'figures' },
      tile(
        '/admin/users?state=active',
        figure(users.active),
        users.active === 1 ? 'active user' : 'active users',
        t`${figure(allUsers)} in all, ${figure(users.invited)} invited, ${figure(users.suspended)} suspended`,
      ),
      tile(
        '/admin/applications',
        figure(clients),
        clients === 1 ? 'application' : 'applications',
        t`${figure(applications.openid_connect)} OpenID Connect, ${figure(applications.saml)} SAML`,
      ),
      tile('/admin/audit?event=sign-in.completed', figure(good), good === 1 ? 'sign-in' : 'sign-ins', since),
      el(
        'li',
        {},
        el(
          'div',
          {},
          el('strong', {}, figure(failed)),
          el('b', {}, failed === 1 ? 'failure' : 'failures'),
          el(
            'span',
            {},
            link('/admin/audit?event=sign-in.denied', t`${figure(sum('denied'))} denied`),
            ', ',
            link(
              '/admin/audit?event=sign-in.number-match-failed',
              t`${figure(sum('number_mismatches'))} with a wrong number`,
            ),
          ),
        ),
      ),
      el(
        'li',
        {},
        el(
          'div',
          {},
          el('strong', {}, figure(expired)),
          el('b', {}, 'without a decision'),
          el('span', {}, 'The approval request expired.'),
        ),
      ),
    ),
    tabs('Period', [
      ['/admin', 'The last 24 hours'],
      ['/admin?range=month', 'The last 30 days'],
    ]),
    bars(
      'Sign-ins',
      periods,
      [
        { name: 'signed in', tone: 'good', of: (period) => period.completed },
        { name: 'no decision', tone: 'warn', of: (period) => period.expired },
        { name: 'denied, or a wrong number', tone: 'bad', of: (period) => period.denied + period.number_mismatches },
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
 * The outcome of a sign-in.
 * @typedef {'completed' | 'denied' | 'expired' | 'number_mismatches'} Outcome
 */

/**
 * A figure that links to a list.
 * @param {string} to
 * @param {string} number
 * @param {string} label
 * @param {string} about
 */
const tile = (to, number, label, about) =>
  el('li', {}, link(to, el('strong', {}, number), el('b', {}, label), el('span', {}, about)));

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
