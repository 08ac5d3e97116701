// The settings of the instance: what each is for, its value with its unit, and its source.

import { get } from '../api.js';
import { text, toggle } from '../form.js';
import { t, translated } from '../language.js';
import { searched, table } from '../lists.js';
import { loadSettingTexts, settingText } from '../setting_texts.js';
import { badge, code, el, figure, json, screen } from '../view.js';
import { mail } from './mail.js';

/** @import { Column, Context, ListElement, Schema } from '../types.d.ts' */

/** @typedef {Schema<'Setting'>} Setting */

/**
 * The groups by the first part of the key, in their order. Others follow, each under its own name.
 * @type {Record<string, string>}
 */
const GROUPS = {
  '': 'General',
  branding: 'Branding and language',
  session: 'Sessions',
  lifetimes: 'Lifetimes',
  approvals: 'Approvals',
  rate_limits: 'Rate limits',
  plugins: 'Plugins',
  mail: 'Email',
  saml: 'SAML',
  keys: 'Keys',
  http: 'Listeners and proxies',
  egress: 'Outgoing requests',
  database: 'Database',
  audit: 'Audit log',
  geoip: 'GeoIP',
  log: 'Log',
};

/**
 * The units of plain numbers, by the last part of the key.
 * @type {Record<string, string>}
 */
const UNITS = {
  per_minute: 'per minute',
  burst: 'at once',
  open_sign_ins_per_ip: 'sign-ins',
  open_sign_ins_total: 'sign-ins',
  connections_per_network: 'connections',
  read_connections: 'connections',
  write_connections: 'connections',
};

/** @type {Record<string, string>} */
const TIMES = { ms: 'millisecond', s: 'second', m: 'minute', h: 'hour', d: 'day' };

/** @type {Array<Column<Setting>>} */
const COLUMNS = [
  {
    label: 'Setting',
    cell: (row) =>
      el(
        'div',
        { class: 'setting' },
        code(row.key),
        row.description && el('p', { class: 'muted small' }, ...inline(row.description)),
      ),
  },
  { label: 'Value', cell: shown },
  {
    label: 'From',
    cell: (row) => el('span', { class: 'badges' }, badge(row.source, 'kind'), row.variable && code(row.variable)),
  },
];

/**
 * @param {Context} context
 */
export async function settings(context) {
  const [found] = await Promise.all([get('/settings'), loadSettingTexts()]);
  const items = found.items.map((one) => ({ ...one, description: settingText(one.description ?? '') }));
  const list = await searched(
    [text('q', 'Name or description', { type: 'search' }), toggle('changed', 'Only changed')],
    async ({ q, changed }) => ({
      items: items.filter((one) => fits(one, q ?? '') && (!changed || one.source !== 'default')),
    }),
    grouped(),
  );
  return screen(
    {
      title: 'Settings',
      lead:
        'As this instance read them from its file and its environment when it started. To change one, change it ' +
        'there and restart the instance.',
    },
    await mail(context),
    list,
  );
}

/**
 * @param {Setting} setting
 * @param {string} wanted
 */
function fits({ key, description }, wanted) {
  const all = `${key} ${translated(GROUPS[groupOf(key)] ?? '')} ${description ?? ''}`.toLowerCase();
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** @param {string} key */
const groupOf = (key) => (key.includes('.') ? key.slice(0, key.indexOf('.')) : '');

/**
 * A table for each group of settings.
 * @returns {ListElement<Setting>}
 */
function grouped() {
  const place = el('div', { class: 'stack' });
  const add = (/** @type {Setting[]} */ found) => {
    /** @type {Map<string, Setting[]>} */
    const groups = new Map(Object.keys(GROUPS).map((group) => [group, []]));
    for (const setting of found) {
      const group = groupOf(setting.key);
      groups.set(group, [...(groups.get(group) ?? []), setting]);
    }
    const tables = [...groups]
      .filter(([, members]) => members.length > 0)
      .map(([group, members]) => {
        const title = GROUPS[group] ?? group;
        const heading = el('h2', { tabindex: -1 }, title);
        return { title, heading, element: el('section', {}, heading, table(COLUMNS, members, { caption: title })) };
      });
    const empty = el('p', { class: 'empty' }, 'There is no such setting.');
    place.replaceChildren(
      ...(tables.length > 1 ? [sections(tables)] : []),
      ...(tables.length > 0 ? tables.map(({ element }) => element) : [empty]),
    );
  };
  return Object.assign(place, { add, clear: () => place.replaceChildren() });
}

/**
 * Links to the sections of the page.
 * @param {Array<{ title: string, heading: HTMLElement }>} tables
 */
function sections(tables) {
  const jump = (/** @type {HTMLElement} */ heading) => (/** @type {Event} */ event) => {
    // The address of the page stays, because the console shows the page of each address again.
    event.preventDefault();
    heading.scrollIntoView({ block: 'start' });
    heading.focus({ preventScroll: true });
  };
  return el(
    'nav',
    { class: 'tabs sections', 'aria-label': 'Sections' },
    el(
      'ul',
      {},
      ...tables.map(({ title, heading }) => el('li', {}, el('a', { href: '#console', onclick: jump(heading) }, title))),
    ),
  );
}

/**
 * A value in words.
 * @param {Setting} setting
 */
function shown({ key, value, is_set: isSet, is_secret: isSecret }) {
  if (isSecret) return translated(isSet ? 'Set, and not shown' : 'Not set');
  if (value === null || value === undefined) return translated('Not set');
  if (typeof value === 'boolean') return translated(value ? 'On' : 'Off');
  if (typeof value === 'number') {
    const unit = UNITS[key.slice(key.lastIndexOf('.') + 1)];
    return [figure(value), unit && translated(unit)].filter(Boolean).join(' ');
  }
  if (Array.isArray(value) && value.length === 0) return translated('None');
  if (Array.isArray(value) && value.some((one) => typeof one === 'object'))
    return folded(value.length === 1 ? t`${1} entry` : t`${figure(value.length)} entries`, value);
  if (!Array.isArray(value) && typeof value === 'object') return folded('Show the value', value);
  if (typeof value !== 'string') return code(JSON.stringify(value));
  const time = /^(\d+)(ms|s|m|h|d)$/.exec(value);
  if (!time) return value === '' ? translated('Empty') : code(value);
  const [, number, unit] = time;
  return `${figure(Number(number))} ${translated(number === '1' ? TIMES[unit] : `${TIMES[unit]}s`)}`;
}

/**
 * A long value, which a press shows.
 * @param {string} label
 * @param {unknown} value
 */
const folded = (label, value) => el('details', {}, el('summary', {}, label), json(value));

/**
 * A description: what stands between backquotes is code.
 * @param {string} description
 */
const inline = (description) => description.split('`').map((part, index) => (index % 2 === 1 ? code(part) : part));
