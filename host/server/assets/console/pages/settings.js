// The settings of the instance: the purpose of each, its value with its unit, and its source.

import { matcher } from '../../names.js';
import { get } from '../api.js';
import { durationText } from '../durations.js';
import { text, toggle } from '../form.js';
import { t, translated } from '../language.js';
import { searched, table } from '../lists.js';
import { loadSettingTexts, settingText } from '../setting_texts.js';
import { badge, code, codeName, el, figure, json, screen, withCode } from '../view.js';
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
  receipts: 'Receipts',
  geoip: 'GeoIP',
  log: 'Log',
  metrics: 'Metrics',
  telemetry: 'Traces and metrics',
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

/**
 * A text whose words with a hyphen, such as "sign-in", stay on one line.
 * @param {string} text
 */
const unbroken = (text) => text.replaceAll(/\b(sign|E)-(?=(ins?|Mails?)\b)/gi, '$1\u2011');

/** @type {Array<Column<Setting>>} */
const COLUMNS = [
  {
    label: 'Setting',
    cell: (row) =>
      el(
        'div',
        { class: 'setting' },
        codeName(row.key),
        row.description && el('p', { class: 'muted small' }, ...withCode(unbroken(row.description))),
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
    async ({ q, changed }) => {
      const fits = matcher(q ?? '');
      return { items: items.filter((one) => fits(searchedText(one)) && (!changed || isChanged(one))) };
    },
    grouped(),
  );
  return screen(
    {
      title: 'Settings',
      lead:
        'As this instance read them from its file and its environment when it started. To change one, change it ' +
        'there and restart the instance.',
    },
    list,
    await mail(context),
  );
}

/** @param {Setting} setting */
const searchedText = ({ key, description }) => `${key} ${translated(GROUPS[groupOf(key)] ?? '')} ${description ?? ''}`;

/** @param {string} key */
const groupOf = (key) => (key.includes('.') ? key.slice(0, key.indexOf('.')) : '');

/**
 * A table for each group of settings, folded unless there is a search, or the address names the group.
 * @returns {ListElement<Setting>}
 */
function grouped() {
  const place = el('div', { class: 'stack' });
  let isSearched = false;
  const filter = (/** @type {boolean} */ isInUse) => {
    isSearched = isInUse;
  };
  const add = (/** @type {Setting[]} */ found) => {
    /** @type {Map<string, Setting[]>} */
    const groups = new Map(Object.keys(GROUPS).map((group) => [group, []]));
    for (const setting of found) {
      const group = groupOf(setting.key);
      groups.set(group, [...(groups.get(group) ?? []), setting]);
    }
    const sections = [...groups]
      .filter(([, members]) => members.length > 0)
      .map(([group, members]) => section(group, members, isSearched));
    const empty = el('p', { class: 'empty' }, 'There is no such setting.');
    place.replaceChildren(...(sections.length > 0 ? sections : [empty]));
  };
  return Object.assign(place, { add, filter, clear: () => place.replaceChildren() });
}

/**
 * A group of settings. The address names the group that was opened last, so that users can share a link to it.
 * @param {string} group
 * @param {Setting[]} members
 * @param {boolean} isSearched
 */
function section(group, members, isSearched) {
  const title = GROUPS[group] ?? group;
  const id = `settings-${group || 'general'}`;
  const name = () => {
    if (!element.open) history.replaceState(history.state, '', `#${id}`);
  };
  const count = members.length === 1 ? t`${1} setting` : t`${figure(members.length)} settings`;
  const changed = members.filter(isChanged).length;
  const [set, unset] = [members.filter(hasValue), members.filter((one) => !hasValue(one))];
  const element = el(
    'details',
    { class: 'panel', id, open: isSearched || location.hash === `#${id}` },
    el(
      'summary',
      { onclick: name },
      el('h2', {}, title),
      ' ',
      el('span', { class: 'count' }, count),
      ...(changed > 0 ? [' ', badge(t`${figure(changed)} changed`, 'kind')] : []),
    ),
    el(
      'div',
      { class: 'opened' },
      set.length > 0 && table(COLUMNS, set, { caption: title }),
      unset.length > 0 && unsetSettings(title, unset, isSearched),
    ),
  );
  return element;
}

/**
 * The settings without a value. On a narrow screen each is a card, so they are folded.
 * @param {string} title
 * @param {Setting[]} members
 * @param {boolean} isSearched
 */
function unsetSettings(title, members, isSearched) {
  const isWide = matchMedia('(min-width: 56rem)').matches;
  return el(
    'details',
    { open: isSearched || isWide },
    el('summary', {}, 'Not set', ' ', el('span', { class: 'count' }, figure(members.length))),
    table(COLUMNS, members, { caption: t`${translated(title)}: not set` }),
  );
}

/**
 * Whether the operator set the value.
 * @param {Setting} setting
 */
const isChanged = ({ source }) => source !== 'default';

/**
 * Whether a setting has a value.
 * @param {Setting} setting
 */
const hasValue = ({ value, is_set: isSet, is_secret: isSecret }) =>
  isSecret ? isSet : value !== null && value !== undefined;

/**
 * A value in words.
 * @param {Setting} setting
 */
function shown(setting) {
  const { key, value, is_secret: isSecret } = setting;
  if (!hasValue(setting)) return translated('Not set');
  if (isSecret) return translated('Set, and not shown');
  if (typeof value === 'boolean') return translated(value ? 'On' : 'Off');
  if (typeof value === 'number') {
    const unit = UNITS[key.slice(key.lastIndexOf('.') + 1)];
    return [figure(value), unit && translated(unit)].filter(Boolean).join(' ');
  }
  if (Array.isArray(value) && value.length === 0) return translated('None');
  if (Array.isArray(value) && value.some((one) => typeof one === 'object'))
    return folded(value.length === 1 ? t`${1} entry` : t`${figure(value.length)} entries`, value);
  if (Array.isArray(value)) return value.map(textShown);
  if (typeof value === 'object') return folded('Show the value', value);
  return textShown(value);
}

/**
 * A text, which may be a duration, or another value.
 * @param {unknown} value
 */
function textShown(value) {
  if (typeof value !== 'string') return code(JSON.stringify(value));
  return durationText(value) ?? (value === '' ? translated('Empty') : code(value));
}

/**
 * A long value, which the user can unfold.
 * @param {string} label
 * @param {unknown} value
 */
const folded = (label, value) => el('details', {}, el('summary', {}, label), json(value));
