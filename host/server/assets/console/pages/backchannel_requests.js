// What an application asked users without a browser, and how they answered.

import { get } from '../api.js';
import { table } from '../lists.js';
import { badge, el, figure, link, moment, notice, section } from '../view.js';
import { userAddress } from './user_cell.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** The number of requests that the page shows. */
const SHOWN = 100;

const GRANT = 'urn:openid:params:grant-type:ciba';

/**
 * Whether an application may ask users without a browser.
 * @param {Schema<'Application'>} application
 */
export const mayAsk = (application) => application.protocol !== 'saml' && application.grant_types.includes(GRANT);

/**
 * Each outcome in words, with the state of its badge.
 * @type {Record<Schema<'BackchannelOutcome'>, [text: string, state: string]>}
 */
const OUTCOMES = {
  waiting: ['Waiting', 'invited'],
  approved: ['Approved', 'active'],
  denied: ['Denied', 'suspended'],
  reported: ['Reported', 'terminated'],
  expired: ['Expired', 'kind'],
  not_shown: ['Not shown', 'kind'],
  withdrawn: ['Ended', 'kind'],
  number_mismatch: ['Wrong number', 'suspended'],
};

/** @param {Schema<'BackchannelRequest'>} request */
const outcomeOf = ({ outcome }) => {
  const [text, state] = OUTCOMES[outcome];
  return badge(text, state);
};

/**
 * The requests of an application, and their counts by the day.
 * @param {Schema<'Application'>} application
 * @param {Context} context
 */
export async function askedUsers({ id }, { may }) {
  const [{ items: requests, next }, { items: days }] = await Promise.all([
    get('/applications/{id}/backchannel-requests', { id, limit: SHOWN }),
    get('/applications/{id}/backchannel-requests/days', { id }),
  ]);
  const reported = days.reduce((sum, day) => sum + day.reported, 0);
  return [
    reported > 0 && notice('Users reported requests of this application. Find out who sent them.', 'warn'),
    section(
      'Requests by day',
      el(
        'p',
        { class: 'muted' },
        'The last 30 days, in UTC. No device showed a request of a stopped or paused application.',
      ),
      table(
        [
          { label: 'Day', cell: (row) => row.from.slice(0, 10) },
          { label: 'Asked', figure: true, cell: (row) => figure(row.requests) },
          { label: 'Approved', figure: true, cell: (row) => figure(row.approved) },
          { label: 'Denied', figure: true, cell: (row) => figure(row.denied) },
          { label: 'Reported', figure: true, cell: (row) => figure(row.reported) },
          { label: 'Expired', figure: true, cell: (row) => figure(row.expired) },
          { label: 'Not shown', figure: true, cell: (row) => figure(row.not_shown) },
        ],
        days,
        { empty: 'It asked no one in the last 30 days.', caption: 'Requests by day' },
      ),
    ),
    section(
      'Last requests',
      table(
        [
          {
            label: 'User',
            cell: (row) =>
              may('users:read')
                ? link(userAddress(row.user_id), el('bdi', {}, row.user_name))
                : el('bdi', {}, row.user_name),
          },
          { label: 'Asked', cell: (row) => moment(row.requested_at) },
          { label: 'Message', cell: (row) => el('bdi', {}, row.message ?? '') },
          { label: 'May know', cell: (row) => row.scopes.join(', ') },
          { label: 'Outcome', cell: outcomeOf },
          { label: 'Answered', cell: (row) => (row.decided_at ? moment(row.decided_at) : '') },
          { label: 'Device', cell: (row) => el('bdi', {}, row.device_name ?? '') },
        ],
        requests,
        { empty: 'It asked no one in the last 30 days.', caption: 'Last requests' },
      ),
      next && el('p', { class: 'muted' }, 'There are more.'),
    ),
  ];
}
