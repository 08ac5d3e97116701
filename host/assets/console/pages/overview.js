// How the host fares, and what to do first.

import { get } from '../api.js';
import { bars } from '../chart.js';
import { el, figure, link, panel, screen, section, way } from '../view.js';

export async function overview({ me, may }) {
  const content = may('overview:read') ? await counted(may) : [first(may)];
  return screen({ title: 'Overview', lead: `You are signed in as ${me.name ?? 'an administrator'}, with the role ${me.role}.` }, ...content);
}

async function counted(may) {
  const { users, applications, sign_ins: hours } = await get('/overview');
  const people = users.active + users.invited + users.suspended + users.terminated;
  const clients = applications.openid_connect + applications.saml;
  const tile = (to, number, label, about) => el('li', {}, link(to, el('strong', {}, figure(number)), el('b', {}, label), el('span', {}, about)));
  const sum = (of) => hours.reduce((total, hour) => total + of(hour), 0);
  const good = sum((hour) => hour.completed);
  const failed = sum((hour) => hour.failed);
  const at = (hour, options) => new Date(hour.from).toLocaleString('en-GB', options);
  return [
    clients === 0 && may('applications:write') && begin(),
    el('ul', { class: 'figures' },
      tile('/admin/users?state=active', users.active, users.active === 1 ? 'active user' : 'active users', `${figure(people)} in all, ${figure(users.invited)} invited, ${figure(users.suspended)} suspended`),
      tile('/admin/applications', clients, clients === 1 ? 'application' : 'applications', `${figure(applications.openid_connect)} OpenID Connect, ${figure(applications.saml)} SAML`),
      tile('/admin/audit?event=signed-in', good, good === 1 ? 'sign-in' : 'sign-ins', 'in the last 24 hours'),
      tile('/admin/audit', failed, failed === 1 ? 'failure' : 'failures', 'denied, disowned, or with a wrong number')),
    section('The last 24 hours', bars('Sign-ins', hours, [
      { name: 'signed in', tone: 'good', of: (hour) => hour.completed },
      { name: 'failed', tone: 'bad', of: (hour) => hour.failed },
    ], { label: (hour) => at(hour, { weekday: 'short', hour: '2-digit', minute: '2-digit' }), short: (hour) => at(hour, { hour: '2-digit', minute: '2-digit' }) })),
  ].filter(Boolean);
}

function begin() {
  return panel(el('h2', {}, 'Connect your first application'),
    el('p', {}, 'Tell Assent of the application, paste what it shows you into the application, and give people an account there. It takes a few minutes.'),
    el('div', { class: 'ways' }, way('/admin/applications/new', 'Connect an application', 'primary')));
}

function first(may) {
  return panel(el('p', {}, 'Look up a person to help them: their phones, their sessions, what happened in their name.'),
    may('users:read') && el('div', { class: 'ways' }, way('/admin/users', 'Find a person', 'primary')));
}
