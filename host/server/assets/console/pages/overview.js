// How the host fares, and what to do first.

import { get, query } from '../api.js';
import { bars } from '../chart.js';
import { badge, el, figure, link, panel, screen, section, table, tabs, way } from '../view.js';

/**
 * @param {import('../types.d.ts').Context} context
 */
export async function overview(context) {
  const { me, may } = context;
  const content = may('overview:read') ? await counted(context) : [first(may)];
  return screen(
    { title: 'Overview', lead: `You are signed in as ${me.name ?? 'an administrator'}, with the role ${me.role}.` },
    ...content,
  );
}

/**
 * @param {import('../types.d.ts').Context} context
 */
async function counted({ may, query: asked }) {
  const range = asked.get('range') === 'month' ? 'month' : 'day';
  /** @type {import('../types.d.ts').Read<'/overview'>} */
  const { users, applications, sign_ins: periods, responses } = await get(`/overview${query({ range })}`);
  const people = users.active + users.invited + users.suspended + users.terminated;
  const clients = applications.openid_connect + applications.saml;
  const tile = (to, number, label, about) =>
    el('li', {}, link(to, el('strong', {}, number), el('b', {}, label), el('span', {}, about)));
  const sum = (...names) =>
    periods.reduce((total, period) => total + names.reduce((all, name) => all + period[name], 0), 0);
  const [good, failed] = [sum('completed'), sum('denied', 'expired', 'failed')];
  const since = range === 'day' ? 'in the last 24 hours' : 'in the last 30 days';
  const at = (period, options) => new Date(period.from).toLocaleString('en-GB', options);
  const labels =
    range === 'day'
      ? {
          label: (period) => at(period, { weekday: 'short', hour: '2-digit', minute: '2-digit' }),
          short: (period) => at(period, { hour: '2-digit', minute: '2-digit' }),
        }
      : {
          label: (period) => at(period, { weekday: 'short', day: 'numeric', month: 'short' }),
          short: (period) => at(period, { day: 'numeric', month: 'short' }),
        };
  const seconds = (milliseconds) =>
    milliseconds === null || milliseconds === undefined ? 0 : Math.round(milliseconds / 100) / 10;
  return [
    clients === 0 && may('applications:write') && begin(),
    el(
      'ul',
      { class: 'figures' },
      tile(
        '/admin/users?state=active',
        figure(users.active),
        users.active === 1 ? 'active user' : 'active users',
        `${figure(people)} in all, ${figure(users.invited)} invited, ${figure(users.suspended)} suspended`,
      ),
      tile(
        '/admin/applications',
        figure(clients),
        clients === 1 ? 'application' : 'applications',
        `${figure(applications.openid_connect)} OpenID Connect, ${figure(applications.saml)} SAML`,
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
            link('/admin/audit?event=sign-in.denied', `${figure(sum('denied'))} denied`),
            `, ${figure(sum('expired'))} not decided, `,
            link('/admin/audit?event=sign-in.number-match-failed', `${figure(sum('failed'))} with a wrong number`),
          ),
        ),
      ),
    ),
    tabs('How far back', [
      ['/admin', 'The last 24 hours'],
      ['/admin?range=month', 'The last 30 days'],
    ]),
    bars(
      'Sign-ins',
      periods,
      [
        { name: 'signed in', tone: 'good', of: (period) => period.completed },
        { name: 'not decided', tone: 'warn', of: (period) => period.expired },
        { name: 'denied, or a wrong number', tone: 'bad', of: (period) => period.denied + period.failed },
      ],
      labels,
    ),
    bars(
      'How long people take to approve',
      periods,
      [
        { name: 'half of them at most', tone: 'calm', of: (period) => seconds(period.approved_ms_p50) },
        {
          name: '95 of 100 at most',
          tone: 'warn',
          of: (period) => seconds(period.approved_ms_p95) - seconds(period.approved_ms_p50),
          told: (period) => seconds(period.approved_ms_p95),
        },
      ],
      { ...labels, unit: ' s' },
    ),
    answers(responses),
  ].filter(Boolean);
}

const ENDPOINTS = {
  authorization: 'Authorization',
  token: 'Token',
  user_info: 'UserInfo',
  saml: 'SAML',
  administration: 'Admin API',
};

/** How long the host takes itself, without the time that people take. */
function answers(responses) {
  const time = (microseconds) =>
    `${(microseconds / 1000).toLocaleString('en-GB', { maximumFractionDigits: microseconds < 10_000 ? 1 : 0 })} ms`;
  const came = responses.filter(({ count }) => count > 0);
  return section(
    'How long this host takes to answer',
    el('p', { class: 'muted' }, 'Since it started. An answer that waits for a person is not among them.'),
    table(
      [
        { label: 'Endpoint', cell: ({ endpoint }) => ENDPOINTS[endpoint] ?? endpoint },
        { label: 'Answers', figure: true, cell: ({ count }) => figure(count) },
        { label: 'Half of them at most', figure: true, cell: ({ p50_us: half }) => time(half) },
        { label: '99 of 100 at most', figure: true, cell: ({ p99_us: most }) => time(most) },
        {
          label: 'Failures',
          figure: true,
          cell: ({ failures }) => (failures > 0 ? badge(figure(failures), 'terminated') : '0'),
        },
      ],
      came,
      { empty: 'It has answered nobody yet.', caption: 'Times of this host' },
    ),
  );
}

function begin() {
  return panel(
    el('h2', {}, 'Connect your first application'),
    el(
      'p',
      {},
      'Tell Assent of the application, paste what it shows you into the application, and give people an ' +
        'account there. It takes a few minutes.',
    ),
    el('div', { class: 'ways' }, way('/admin/applications/new', 'Connect an application', 'primary')),
  );
}

function first(may) {
  return panel(
    el('p', {}, 'Look up a person to help them: their phones, their sessions, what happened in their name.'),
    may('users:read') && el('div', { class: 'ways' }, way('/admin/users', 'Find a person', 'primary')),
  );
}
