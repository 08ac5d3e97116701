// What an application would be told of a person, and which plugin says so, without a sign-in.

import { get, path, post, query } from '../api.js';
import { file, form, jsonText, select, several, text } from '../form.js';
import { badge, code, el, json, more, notice, panel, screen, section, table } from '../view.js';
import { applicationAddress } from './applications.js';
import { picker } from './picker.js';

const SINKS = {
  'id-token': 'ID token',
  userinfo: 'UserInfo',
  introspection: 'Introspection',
  'saml-assertion': 'Assertion',
};
const DEEDS = { told: 'told', added: 'added', overwrote: 'in place of another value', removed: 'removed' };

/**
 * The page of its own: the application is chosen first.
 * @param {import('../types.d.ts').Context} context
 */
export async function claims(context) {
  const application = picker('application', 'Application', {
    load: (q) => get(`/applications${query({ q, limit: 8 })}`),
    label: (one) => one.name,
    chosen: (one) => context.go(`${applicationAddress(one.id)}/claims`),
  });
  return screen(
    {
      title: 'Claims preview',
      lead:
        'What an application would be told of a person, without a sign-in: made as a sign-in would, by the same' +
        ' code.',
    },
    panel(application.element),
  );
}

/**
 * The preview of one application.
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {import('../types.d.ts').Context} context
 */
export async function previewOf(application, context) {
  const saml = application.protocol === 'saml';
  const labelled = (account) =>
    [account.name, account.user_name !== account.name && account.user_name].filter(Boolean).join(' · ');
  const account = (name, label) =>
    picker(name, label, {
      load: (q) => get(`${path`/applications/${application.id}/accounts`}${query({ q, limit: 8 })}`),
      label: labelled,
    });
  const first = account('account', 'Account');
  const second = account('second', 'Compare with another account');
  const scopes = saml
    ? []
    : [
        several(
          'scopes',
          'Scopes',
          application.scopes.filter((scope) => scope !== 'offline_access').map((scope) => [scope, scope]),
        ),
      ];
  const place = el('div', { 'aria-live': 'polite' });
  const load = (id, scope) =>
    get(`${path`/applications/${application.id}/claims-preview`}${query({ account: id, scope })}`);

  const asked = context.query.get('account');
  const known = asked && (await get(path`/accounts/${asked}`));
  const shown = form(
    [
      {
        group: true,
        fields: [first, ...scopes, second],
        element: panel(first.element, ...scopes.map((one) => one.element), second.element),
      },
    ],
    {
      submit: 'Preview',
      asks: true,
      values: { account: known || undefined, scopes: 'scopes' in application ? application.scopes : undefined },
      send: async (values) => {
        if (!values.account) throw Object.assign(new Error('Choose an account from the list.'), { field: 'account' });
        const scope = values.scopes?.join(' ');
        const previews = await Promise.all(
          [values.account, values.second].filter(Boolean).map((id) => load(id, scope)),
        );
        place.replaceChildren(
          ...(previews.length === 1 ? one(previews[0]) : two(...previews, [first, second].map(shownName))),
        );
      },
    },
  );
  const comparison =
    context.may('plugins:write') && candidate(application, first, scopes[0], (await get('/plugins')).plugins);
  if (known && known.application_id === application.id) setTimeout(() => shown.requestSubmit());
  return [shown, place, comparison].filter(Boolean);
}

/** What is chosen in a picker, as it is shown there. */
const shownName = (chosen) => chosen.element.querySelector('input').value;

const words = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

/** What each place would be told. */
function one({ sinks }) {
  const shown = sinks
    .filter((preview) => preview.stopped?.plugin || preview.origins.length > 0 || sinks.length === 1)
    .map((preview) =>
      section(
        SINKS[preview.sink] ?? preview.sink,
        preview.scope &&
          el('p', {}, 'Active scopes: ', ...preview.scope.split(' ').flatMap((scope) => [badge(scope, 'kind'), ' '])),
        preview.stopped?.plugin && stopped(preview.stopped),
        preview.token?.slim_id_token &&
          notice(
            'This application has slim_id_token on: the claims of its scopes are not in the ID token, and ' +
              'UserInfo tells them.',
            'calm',
          ),
        values(preview),
        steps(preview.steps),
      ),
    );
  return [...byHost(sinks), ...shown];
}

/**
 * What the host itself stops is the same in each place, and said once. What would be told once it is mended is shown
 * below.
 */
function byHost(sinks, name) {
  const found = sinks.find((preview) => preview.stopped && !preview.stopped.plugin);
  return found ? [stopped(found.stopped, name)] : [];
}

/** The name is said where there are two. */
function stopped({ plugin, outcome, reason }, name) {
  const whose = name ? `${name}: ` : '';
  if (!plugin) return notice(`${whose}Nobody would be signed in: ${reason}.`, 'bad');
  const words =
    outcome === 'denied'
      ? `Nobody would be signed in: the plugin ${plugin} refuses this person: ${reason}`
      : `The sign-in would fail: the plugin ${plugin} failed: ${reason}`;
  return notice(whose + words, 'bad');
}

function claimShown(preview, name) {
  if (preview.claims) return preview.claims[name];
  const found = (preview.attributes ?? []).filter((attribute) => attribute.name === name);
  return found.length === 0 ? undefined : found.flatMap((attribute) => attribute.values).join(', ');
}

function source({ plugin, what, scope, format }) {
  if (format) return `Assent, as ${format.split(':').pop()}`;
  return el(
    'span',
    {},
    plugin ? badge(plugin, 'kind') : 'Assent',
    what !== 'told' && ` ${DEEDS[what] ?? what}`,
    scope && ` for the scope ${scope}`,
  );
}

/** A value that no preview can know. */
const MADE = 'made at the sign-in';

/** What the host says beside what it says of the person: first what is known, last what only a sign-in makes. */
function ofHost({ token, name_id: name, claims }) {
  const told = (row) => ({ what: 'told', ...row });
  const first = [];
  if (name)
    first.push(
      told({ name: 'NameID', value: name.value ?? undefined, made: name.value === null, format: name.format }),
    );
  // Where a plugin stops it there is no token at all.
  if (!token || !claims) return [first, []];
  first.push(...['iss', 'aud'].map((known) => told({ name: known, value: token[known] })));
  return [first, token.at_sign_in.map((known) => told({ name: known, made: true }))];
}

function values(preview) {
  const [first, last] = ofHost(preview);
  const shown = (row) => {
    if (row.what === 'removed') return el('span', { class: 'muted' }, 'removed');
    if (row.made) return el('span', { class: 'muted' }, MADE);
    return el('span', { class: 'value' }, row.value ?? words(claimShown(preview, row.name)));
  };
  return table(
    [
      { label: preview.sink === 'saml-assertion' ? 'Attribute' : 'Claim', cell: ({ name }) => code(name) },
      { label: 'Value', cell: shown },
      { label: 'From', cell: source },
    ],
    [...first, ...preview.origins, ...last],
    { empty: 'Nothing.', caption: SINKS[preview.sink] },
  );
}

function steps(all) {
  if (all.length === 0) return el('p', { class: 'muted' }, 'No plugin is asked here.');
  return more(
    `What each plugin did (${all.length})`,
    ...all.map((step) =>
      el(
        'div',
        { class: 'step' },
        el(
          'p',
          {},
          el('strong', {}, step.plugin),
          ` ${step.component} ${step.version} `,
          badge(step.outcome.replace('_', ' '), step.outcome === 'changed' ? 'active' : 'suspended'),
        ),
        step.reason && el('p', {}, step.reason),
        el(
          'p',
          { class: 'muted small' },
          `${(step.time_us / 1000).toLocaleString('en-GB')} ms, ${step.fuel.toLocaleString('en-GB')} units of fuel`,
        ),
        step.changes.length > 0 && json(step.changes),
      ),
    ),
  );
}

/** Two accounts side by side: what is not the same is marked. */
function two(left, right, [one, other]) {
  const named = ({ name_id: name }) => (name ? (name.value ?? MADE) : '');
  return [
    ...byHost(left.sinks, one),
    ...byHost(right.sinks, other),
    ...left.sinks.map((preview, place) => {
      const beside = right.sinks[place];
      const names = [...new Set([...preview.origins, ...beside.origins].map(({ name }) => name))];
      const rows = names.map((name) => ({
        name,
        left: words(claimShown(preview, name)),
        right: words(claimShown(beside, name)),
      }));
      if (preview.name_id || beside.name_id)
        rows.unshift({ name: 'NameID', left: named(preview), right: named(beside) });
      const cell = (side) => (row) =>
        el(row.left === row.right ? 'span' : 'mark', { class: 'value' }, row[side] || 'nothing');
      return section(
        SINKS[preview.sink] ?? preview.sink,
        preview.stopped?.plugin && stopped(preview.stopped, one),
        beside.stopped?.plugin && stopped(beside.stopped, other),
        table(
          [
            { label: 'Name', cell: ({ name }) => code(name) },
            { label: one, cell: cell('left') },
            { label: other, cell: cell('right') },
          ],
          rows,
          { caption: `${SINKS[preview.sink]} of both accounts` },
        ),
        el(
          'p',
          { class: 'muted' },
          `${rows.filter((row) => row.left !== row.right).length} of ${rows.length} are not the same.`,
        ),
      );
    }),
  ];
}

// In place of a plugin's name: the candidate has one of its own.
const NEW = '+';

/**
 * The plugins of today beside one that is thought of.
 * @param {import('../types.d.ts').Schema<'Application'>} application
 * @param {any} account
 * @param {any} scopes
 * @param {any} loaded
 */
function candidate(application, account, scopes, loaded) {
  const place = el('div', { 'aria-live': 'polite' });
  const mappers = loaded
    .filter(({ role }) => role === 'claim-mapper')
    .map(({ plugin }) => [plugin, `In place of ${plugin}`]);
  const plugin = select('plugin', 'Where it runs', [...mappers, [NEW, 'After all the others, as a new one']]);
  const name = text('name', 'Name of the new one', { mono: true });
  const component = file('component', 'Component', {
    accept: '.wasm,application/wasm',
    hint: "A .wasm file; without one, today's component with other settings.",
  });
  const config = jsonText('config', 'Settings', { hint: "JSON; without them, today's settings." });
  const isNew = () => plugin.read() === NEW;
  const choose = () => (name.element.hidden = !isNew());
  plugin.input.addEventListener('change', choose);
  const made = form([plugin, name, component, config], {
    values: { plugin: mappers[0]?.[0] ?? NEW },
    submit: 'Compare',
    asks: true,
    kind: '',
    send: async (said) => {
      const id = account.read();
      if (!id) throw new Error('Choose an account above first.');
      if (isNew() && !said.name) throw Object.assign(new Error('A new plugin needs a name.'), { field: 'name' });
      place.replaceChildren(el('p', { class: 'muted' }, 'It is loaded and run…'));
      const found = await post(path`/applications/${application.id}/claims-preview`, {
        account: id,
        ...(scopes && { scope: scopes.read().join(' ') }),
        candidate: {
          plugin: isNew() ? said.name : said.plugin,
          ...(said.component && { component: await base64(said.component) }),
          ...(said.config && { config: said.config }),
        },
      }).catch((problem) => {
        place.replaceChildren();
        problem.errors = (problem.errors ?? []).map((error) => ({
          ...error,
          pointer: error.pointer.replace(/^\/candidate(?=\/)/, ''),
        }));
        throw problem;
      });
      place.replaceChildren(...differences(found));
    },
  });
  choose();
  return el(
    'details',
    { class: 'panel' },
    el('summary', {}, 'Compare with a candidate plugin'),
    el(
      'div',
      { class: 'opened' },
      el(
        'p',
        {},
        'Runs a component, or other settings, for this one preview, in the same sandbox and with the same ' +
          'rights. Nothing of it is kept.',
      ),
      made,
      place,
    ),
  );
}

function differences({ candidate: after, differences: found }) {
  const broken = [
    ...byHost(after.sinks),
    ...after.sinks.filter((sink) => sink.stopped?.plugin).map(({ stopped: end }) => stopped(end)),
  ];
  if (found.length === 0) return [...broken, notice('Nothing would be different.', 'calm')];
  return [
    ...broken,
    table(
      [
        { label: 'Where', cell: (row) => SINKS[row.sink] ?? row.sink },
        { label: 'What', cell: (row) => code(row.path) },
        { label: 'Today', cell: (row) => el('del', {}, words(row.today)) },
        { label: 'With the candidate', cell: (row) => el('ins', {}, words(row.candidate)) },
      ],
      found,
      { caption: 'Differences' },
    ),
  ];
}

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
