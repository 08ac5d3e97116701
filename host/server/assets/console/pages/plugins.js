// The plugins: the loaded ones, the permissions of each, and its metrics.

import { get, post } from '../api.js';
import { apiSentence } from '../api_texts.js';
import { locale, t, translated } from '../language.js';
import { table } from '../lists.js';
import {
  ask,
  badge,
  button,
  code,
  copyable,
  el,
  facts,
  figure,
  moment,
  more,
  notice,
  panel,
  say,
  screen,
} from '../view.js';

/** @import { Context, Schema } from '../types.d.ts' */

/**
 * @param {Context} context
 */
export async function plugins({ may, reload }) {
  const known = await get('/plugins');
  const writes = may('plugins:write');
  const exchange = async () => {
    if (
      !(await ask(
        'Reload the plugins?',
        'The instance reads the files and settings again. If one of them is not valid, nothing changes.',
        'Reload',
      ))
    )
      return;
    await post('/plugins/reload', {});
    await reload();
    say('The plugins were reloaded.');
  };
  const back = async () => {
    if (
      !(await ask(
        'Roll back to the previous plugins?',
        'The plugins from before the last reload run again, until the next reload or restart.',
        'Roll back',
      ))
    )
      return;
    await post('/plugins/rollback', {}, previous && { previous: previous.digest });
    await reload();
    say('The plugins were rolled back.');
  };
  const { last_reload: last, previous } = known;
  const news = [
    last?.error && notice(t`The last reload failed: ${apiSentence(last.error)}`, 'bad'),
    last?.needs_restart?.length &&
      notice(t`The instance needs a restart for: ${last.needs_restart.join(', ')}`, 'warn'),
    known.changed_on_disk && notice('The files or settings differ from the loaded ones.', 'warn'),
  ].flatMap((part) => part || []);
  const before =
    previous &&
    panel(
      el('h2', {}, 'Before the last reload'),
      el('p', {}, 'Loaded until ', moment(previous.at), ':'),
      table(
        [
          { label: 'Plugin', cell: (row) => row.plugin },
          { label: 'Version', cell: (row) => row.version },
          { label: 'Digest', cell: (row) => code(`${row.sha256.slice(0, 16)}…`) },
        ],
        previous.plugins,
        { caption: 'Previous plugins' },
      ),
    );
  return screen(
    {
      title: 'Plugins',
      lead:
        'Sandboxed components that decide what applications receive, and that carry approvals. They are listed ' +
        'in the settings of the server.',
      actions: writes ? [button('Reload', exchange), previous && button('Roll back', back)] : [],
    },
    ...news,
    ...(known.plugins.length === 0 ? [el('p', { class: 'empty' }, 'No plugins.')] : known.plugins.map(one)),
    before || '',
  );
}

/** The prefix of an attribute of an assertion in the list of the values that a plugin may write. */
const ATTRIBUTE = 'attribute:';

/**
 * The claims that a plugin adds, in a sentence.
 * @param {string[]} claims
 */
function claimsAdded(claims) {
  if (claims.includes('*')) return translated('Adds claims to tokens. The settings of the plugin name them.');
  return claims.length === 1
    ? t`Adds the claim ${claims[0]} to tokens.`
    : t`Adds these claims to tokens: ${claims.join(', ')}.`;
}

/**
 * The attributes that a plugin adds, in a sentence.
 * @param {string[]} attributes
 */
function attributesAdded(attributes) {
  if (attributes.includes('*'))
    return translated(
      'Adds attributes to SAML assertions. The settings of the plugin and of each application name them.',
    );
  return attributes.length === 1
    ? t`Adds the attribute ${attributes[0]} to SAML assertions.`
    : t`Adds these attributes to SAML assertions: ${attributes.join(', ')}.`;
}

/**
 * The purpose of a plugin, from its role and the values that it may write.
 * @param {Schema<'PluginStatus'>} plugin
 */
export function purpose({ role, grants }) {
  if (role.startsWith('delegated')) return 'Sends approval requests to the authenticators of another vendor.';
  if (role.startsWith('approval')) return 'Sends approval requests to devices.';
  if (grants.writes.length === 0) return 'Decides who may sign in to applications.';
  const claims = grants.writes.filter((name) => !name.startsWith(ATTRIBUTE));
  const attributes = grants.writes.flatMap((name) =>
    name.startsWith(ATTRIBUTE) ? [name.slice(ATTRIBUTE.length)] : [],
  );
  return [
    ...(claims.length > 0 ? [claimsAdded(claims)] : []),
    ...(attributes.length > 0 ? [attributesAdded(attributes)] : []),
  ].join(' ');
}

/**
 * The calls of a plugin in words, without kinds that never occurred.
 * @param {Schema<'PluginMetrics'>} metrics
 */
export function callsOf({ calls, denials, faults, rejected, queue_length: queued, suspensions }) {
  const parts = [
    denials > 0 && t`${figure(denials)} denied`,
    faults > 0 && t`${figure(faults)} failed`,
    rejected > 0 && t`${figure(rejected)} rejected`,
    queued > 0 && t`${figure(queued)} pending`,
    suspensions > 0 && t`${figure(suspensions)} times suspended`,
    faults === 0 && rejected === 0 && suspensions === 0 && translated('no errors'),
  ];
  return [figure(calls), ...parts.filter(Boolean)].join(', ');
}

/** @param {Schema<'PluginStatus'>} plugin */
function one(plugin) {
  const { grants, metrics } = plugin;
  const milliseconds = (/** @type {number} */ microseconds) =>
    t`${(microseconds / 1000).toLocaleString(locale(), { maximumFractionDigits: 2 })} ms`;
  const well = metrics.faults === 0;
  return el(
    'section',
    { class: 'panel plugin' },
    el(
      'h2',
      {},
      el('bdi', {}, plugin.plugin),
      ' ',
      el('span', { class: 'version' }, el('bdi', {}, plugin.version)),
      ' ',
      badge(well ? 'works' : t`${figure(metrics.faults)} faults`, well ? 'active' : 'suspended'),
    ),
    el('p', {}, purpose(plugin)),
    facts([
      ['May write', grants.writes.length === 0 ? translated('Nothing') : grants.writes.map(code)],
      ['May call', grants.hosts.length === 0 ? translated('No other host') : grants.hosts],
      ['Serves', grants.applications ? grants.applications.map(code) : translated('Every application')],
      ['Calls', metrics.calls === 0 ? translated('None yet') : callsOf(metrics)],
      [
        'Time of a call',
        metrics.calls > 0 &&
          t`Median ${milliseconds(metrics.time_us.p50)}, 99th percentile ${milliseconds(metrics.time_us.p99)}`,
      ],
    ]),
    more(
      'Component',
      facts([
        ['Name', plugin.component],
        ['Role', translated(plugin.role.replaceAll('-', ' '))],
        ['SHA-256 of the file', copyable(plugin.sha256, 'the digest')],
      ]),
    ),
  );
}
