// The claims preview: the claims that an application would receive about a user, with their plugins, without a sign-in.

import { get, Problem, post } from '../api.js';
import { apiText } from '../api_texts.js';
import { FieldError, fieldPanel, file, form, jsonText, select, several, text } from '../form.js';
import { locale, t, translated } from '../language.js';
import { table } from '../lists.js';
import { badge, code, codeName, el, json, more, notice, panel, screen, section } from '../view.js';
import { applicationAddress } from './applications.js';
import { timeOf } from './audit_entry.js';
import { nameIdNote } from './name_id.js';
import { picker } from './picker.js';

/** @import { Context, Schema } from '../types.d.ts' */

/**
 * A row of a preview: the origin of a value, and the value itself if it is not among the claims. The values of a
 * sign-in share a row, which has their names.
 * @typedef {Schema<'ValueOrigin'> & { value?: string, atSignIn?: boolean, format?: string, names?: string[] }}
 *   PreviewRow
 */

/** @type {Record<Schema<'Sink'>, string>} */
const SINKS = {
  'id-token': 'ID token',
  userinfo: 'UserInfo',
  introspection: 'Introspection',
  'saml-assertion': 'Assertion',
};
/** @type {Record<Schema<'ValueChangeKind'>, string>} */
const CHANGES = { provided: 'provided', added: 'added', replaced: 'in place of another value', removed: 'removed' };

/**
 * The separate page: the administrator chooses the application first.
 * @param {Context} context
 */
export async function claims(context) {
  const application = picker('application', 'Application', {
    load: (q) => get('/applications', { q, limit: 8 }),
    label: (one) => one.name,
    chosen: (one) => context.go(`${applicationAddress(one.id)}/claims`),
  });
  return screen(
    {
      title: 'Claims preview',
      lead: 'What an application would receive about a user, without a sign-in. The same code runs at a sign-in.',
    },
    panel(application.element),
  );
}

/**
 * The preview of one application.
 * @param {Schema<'Application'>} application
 * @param {Context} context
 */
export async function previewOf(application, context) {
  const first = accountPicker('account', 'Account', application.id);
  const second = accountPicker('second', 'Compare with another account', application.id);
  const scopes = application.protocol === 'saml' ? undefined : scopeChoice(application.scopes);
  const place = el('div', { 'aria-live': 'polite' });

  const asked = context.query.get('account');
  const known = asked ? await get('/accounts/{id}', { id: asked }) : undefined;
  const isKnown = known && known.application_id === application.id;
  const shown = form([scopes ? fieldPanel(first, scopes, second) : fieldPanel(first, second)], {
    submit: 'Preview',
    asks: true,
    values: {
      account: isKnown ? ofAccount(known) : undefined,
      scopes: 'scopes' in application ? application.scopes : undefined,
    },
    send: async ({ account, second: other }) => {
      if (!account) throw new FieldError('account', 'Choose an account from the list.');
      const scope = scopes?.read().join(' ');
      const load = (/** @type {string} */ id) =>
        get('/applications/{id}/claims-preview', { id: application.id, ...parameter(id), scope });
      const [preview, beside] = await Promise.all([load(account), other && load(other)]);
      place.replaceChildren(...(beside ? two(preview, beside, [first.input.value, second.input.value]) : one(preview)));
    },
  });
  const comparison =
    context.may('plugins:write') && candidate(application, first, scopes, (await get('/plugins')).plugins);
  if (isKnown) setTimeout(() => shown.requestSubmit());
  return [shown, place, comparison];
}

/**
 * The subject of a preview: an account, or a user whose account an assignment implies.
 * @typedef {{ id: string, names: Array<string | false | null | undefined> }} Previewed
 */

const ACCOUNTS_SHOWN = 8;

/**
 * @param {Schema<'Account'>} account
 * @returns {Previewed}
 */
const ofAccount = ({ id, name, user_name: user }) => ({ id: `account ${id}`, names: [name, user !== name && user] });

/**
 * A user with access, used or not.
 * @param {Schema<'Access'>} access
 * @returns {Previewed}
 */
const ofAccess = ({ account, granted, user_id: user, user_name: name, display_name: full }) =>
  account
    ? {
        id: `account ${account.id}`,
        names: [account.name, account.name !== name && name, !granted && translated('access denied')],
      }
    : { id: `user ${user}`, names: [name, full !== name && full, granted ? t`no account yet` : t`access denied`] };

/**
 * @param {Schema<'User'>} user
 * @returns {Previewed}
 */
const ofUser = ({ id, name, email }) => ({ id: `user ${id}`, names: [name, email, translated('no access')] });

/**
 * The parameter of a preview for a choice.
 * @param {string} chosen
 */
function parameter(chosen) {
  const [kind, id] = chosen.split(' ');
  return kind === 'user' ? { user: id } : { account: id };
}

/**
 * The users with access, and after them users without it.
 * @param {string} application
 * @param {string} q
 */
async function previewed(application, q) {
  const { items: access } = await get('/applications/{id}/access', { id: application, q, limit: ACCOUNTS_SHOWN });
  if (access.length === ACCOUNTS_SHOWN) return { items: access.map(ofAccess) };
  const users = (await get('/users', { q, limit: ACCOUNTS_SHOWN })).items;
  const others = users.filter(({ id }) => !access.some(({ user_id: user }) => user === id));
  return { items: [...access.map(ofAccess), ...others.map(ofUser)].slice(0, ACCOUNTS_SHOWN) };
}

/**
 * A field that finds an account of the application.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {string} application
 */
const accountPicker = (name, label, application) =>
  picker(name, label, {
    load: (q) => previewed(application, q),
    hasOrder: true,
    label: ({ names }) => names.filter(Boolean).join(' · '),
  });

/** @param {Array<Schema<'Scope'>>} scopes */
const scopeChoice = (scopes) =>
  several(
    'scopes',
    'Scopes',
    scopes.filter((scope) => scope !== 'offline_access').map((scope) => [scope, scope]),
  );

/**
 * A value in words.
 * @param {unknown} value
 */
const words = (value) => (value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value));

/**
 * The values that each sink would receive.
 * @param {Schema<'ClaimsPreview'>} preview
 */
function one({ sinks }) {
  const shown = sinks
    .filter((preview) => preview.stopped?.plugin || preview.origins.length > 0 || sinks.length === 1)
    .map((preview) =>
      section(
        SINKS[preview.sink],
        preview.scope &&
          el('p', {}, 'Active scopes: ', ...preview.scope.split(' ').flatMap((scope) => [badge(scope, 'kind'), ' '])),
        preview.stopped?.plugin && stopped(preview.stopped),
        ...omissions(preview),
        preview.token?.slim_id_token &&
          notice(
            'This application has slim_id_token on: the claims of its scopes are not in the ID token, and ' +
              'UserInfo returns them.',
            'calm',
          ),
        values(preview),
        steps(preview.calls),
      ),
    );
  return [...byServer(sinks), ...shown];
}

/**
 * The reason why the server itself would stop the sign-in. It is the same in each sink, so it is shown once.
 * @param {Array<Schema<'SinkPreview'>>} sinks
 * @param {string} [name]
 */
function byServer(sinks, name) {
  const found = sinks.map((preview) => preview.stopped).find((reason) => reason && !reason.plugin);
  return found ? [stopped(found, name)] : [];
}

/**
 * The reason why a sign-in would stop. The name is that of the account, if there are two.
 * @param {Schema<'StoppedPreview'>} reason
 * @param {string} [name]
 */
function stopped({ plugin, outcome, reason }, name) {
  const whose = name ? `${name}: ` : '';
  if (!plugin) return notice(t`${whose}No user would be signed in: ${apiText(reason)}.`, 'bad');
  const words =
    outcome === 'denied'
      ? t`No user would be signed in: the plugin ${plugin} rejects this user: ${reason}`
      : t`The sign-in would fail: the plugin ${plugin} failed: ${reason}`;
  return notice(whose + words, 'bad');
}

/**
 * A notice for each plugin that failed and whose claims are omitted. The name is that of the account, if there are two.
 * @param {Schema<'SinkPreview'>} preview
 * @param {string} [name]
 */
function omissions({ calls }, name) {
  const whose = name ? `${name}: ` : '';
  return calls
    .filter(({ outcome }) => outcome === 'skipped')
    .map(({ plugin, reason }) =>
      notice(whose + t`The plugin ${plugin} failed, its claims are omitted: ${reason ?? ''}`, 'warn'),
    );
}

/**
 * The value of a claim or an attribute; undefined if the preview has none.
 * @param {Schema<'SinkPreview'>} preview
 * @param {string} name
 */
function claimShown(preview, name) {
  if (preview.claims) return preview.claims[name];
  const found = (preview.attributes ?? []).filter((attribute) => attribute.name === name);
  return found.length === 0 ? undefined : found.flatMap((attribute) => attribute.values).join(', ');
}

/**
 * The origin of a value. An assertion has no scopes, so an attribute with the name of a claim belongs to none.
 * @param {PreviewRow} row
 * @param {Schema<'Sink'>} sink
 */
function source({ plugin, change, scope, format }, sink) {
  if (format) return t`Assent, as ${format.split(':').pop()}`;
  return el(
    'span',
    { class: 'badges' },
    plugin ? badge(el('bdi', {}, plugin), 'kind') : badge('Assent', 'origin'),
    change !== 'provided' && el('span', { class: 'muted small' }, CHANGES[change]),
    scope && sink !== 'saml-assertion' && scopeBadge(scope),
  );
}

/**
 * The scope for which a value is provided.
 * @param {Schema<'Scope'>} scope
 */
const scopeBadge = (scope) =>
  badge(el('span', {}, el('span', { class: 'hidden-text' }, 'scope '), code(scope)), 'kind');

/** A value that is only known at a sign-in. */
const AT_SIGN_IN = 'set at sign-in';

/**
 * The server's own values, which are not about the user: first the known ones, then those of the sign-in in one row.
 * @param {Schema<'SinkPreview'>} preview
 * @returns {{ known: PreviewRow[], atSignIn: PreviewRow[] }}
 */
function serverValues({ token, name_id: nameId, claims }) {
  /** @type {PreviewRow[]} */
  const known = [];
  if (nameId) {
    const { value, format } = nameId;
    known.push({ change: 'provided', name: 'NameID', value: value ?? undefined, atSignIn: value === null, format });
  }
  // If a plugin stops the sign-in, there is no token.
  if (!token || !claims) return { known, atSignIn: [] };
  known.push(
    { change: 'provided', name: 'iss', value: token.iss },
    { change: 'provided', name: 'aud', value: token.aud },
  );
  const names = token.at_sign_in;
  return { known, atSignIn: names.length > 0 ? [{ change: 'provided', name: names[0], names, atSignIn: true }] : [] };
}

/**
 * The values of a sink, each with its origin.
 * @param {Schema<'SinkPreview'>} preview
 */
function values(preview) {
  const { known, atSignIn } = serverValues(preview);
  const shown = (/** @type {PreviewRow} */ row) => {
    if (row.change === 'removed') return el('span', { class: 'muted' }, 'removed');
    if (row.atSignIn) return el('span', { class: 'muted' }, AT_SIGN_IN);
    const value = row.value ?? claimShown(preview, row.name);
    return el('span', { class: 'value' }, el('bdi', {}, words(value)), ...dateOf(row.name, value));
  };
  const list = table(
    [
      { label: preview.sink === 'saml-assertion' ? 'Attribute' : 'Claim', cell: namesOf },
      { label: 'Value', cell: shown },
      { label: 'From', cell: (row) => source(row, preview.sink) },
    ],
    [...known, ...preview.origins, ...atSignIn],
    { empty: 'Nothing.', caption: SINKS[preview.sink] },
  );
  const note = preview.name_id && nameIdNote(preview.name_id);
  return el('div', { class: 'compact' }, list, note && el('div', { class: 'note' }, notice(note, 'warn')));
}

/**
 * The name of the value in a row, or the names of several.
 * @param {PreviewRow} row
 */
const namesOf = ({ name, names = [name] }) =>
  el('span', { class: 'names' }, ...names.flatMap((one, index) => [...(index > 0 ? [' '] : []), codeName(one)]));

/**
 * The text beside a number of seconds since 1970: the time.
 * @param {string} name
 * @param {unknown} value
 */
function dateOf(name, value) {
  const time = timeOf(name, value);
  return time ? [' ', el('span', { class: 'muted small' }, time)] : [];
}

/**
 * The calls of each plugin.
 * @param {Array<Schema<'PluginCall'>>} all
 */
function steps(all) {
  if (all.length === 0) return el('p', { class: 'muted' }, 'No plugin is called here.');
  return more(
    t`What each plugin did (${all.length})`,
    ...all.map((step) =>
      el(
        'div',
        { class: 'step' },
        el(
          'p',
          {},
          el('strong', {}, el('bdi', {}, step.plugin)),
          ` ${step.component} ${step.version} `,
          badge(step.outcome.replace('_', ' '), step.outcome === 'changed' ? 'active' : 'suspended'),
        ),
        step.reason && el('p', {}, step.reason),
        el(
          'p',
          { class: 'muted small' },
          t`${(step.time_us / 1000).toLocaleString(locale())} ms, ${step.fuel.toLocaleString(locale())} units of fuel`,
        ),
        step.changes.length > 0 && json(step.changes),
      ),
    ),
  );
}

/**
 * Two accounts side by side: the differences are marked.
 * @param {Schema<'ClaimsPreview'>} left
 * @param {Schema<'ClaimsPreview'>} right
 * @param {[string, string]} names
 */
function two(left, right, [one, other]) {
  const nameIdShown = (/** @type {Schema<'SinkPreview'>} */ { name_id: nameId }) =>
    nameId ? (nameId.value ?? AT_SIGN_IN) : '';
  return [
    ...byServer(left.sinks, one),
    ...byServer(right.sinks, other),
    ...left.sinks.map((preview, index) => {
      const beside = right.sinks[index];
      const names = [...new Set([...preview.origins, ...beside.origins].map(({ name }) => name))];
      const rows = names.map((name) => ({
        name,
        left: words(claimShown(preview, name)),
        right: words(claimShown(beside, name)),
      }));
      if (preview.name_id || beside.name_id)
        rows.unshift({ name: 'NameID', left: nameIdShown(preview), right: nameIdShown(beside) });
      const cell = (/** @type {'left' | 'right'} */ side) => (/** @type {(typeof rows)[number]} */ row) =>
        el(row.left === row.right ? 'span' : 'mark', { class: 'value' }, row[side] || translated('nothing'));
      return section(
        SINKS[preview.sink],
        preview.stopped?.plugin && stopped(preview.stopped, one),
        ...omissions(preview, one),
        beside.stopped?.plugin && stopped(beside.stopped, other),
        ...omissions(beside, other),
        table(
          [
            { label: 'Name', cell: ({ name }) => codeName(name) },
            { label: one, cell: cell('left') },
            { label: other, cell: cell('right') },
          ],
          rows,
          { caption: t`${translated(SINKS[preview.sink])} of both accounts` },
        ),
        el(
          'p',
          { class: 'muted' },
          t`${rows.filter((row) => row.left !== row.right).length} of ${rows.length} are different.`,
        ),
      );
    }),
  ];
}

// The value that replaces a plugin's name: the candidate has a name of its own.
const NEW = '+';

/**
 * Compares the loaded plugins with a candidate.
 * @param {Schema<'Application'>} application
 * @param {ReturnType<typeof accountPicker>} account
 * @param {ReturnType<typeof scopeChoice> | undefined} scopes
 * @param {Array<Schema<'PluginStatus'>>} loaded
 */
function candidate(application, account, scopes, loaded) {
  const place = el('div', { 'aria-live': 'polite' });
  /** @type {Array<[string, string]>} */
  const mappers = loaded
    .filter(({ role }) => role === 'claim-mapper')
    .map(({ plugin }) => [plugin, t`In place of ${plugin}`]);
  const plugin = select('plugin', 'Where it runs', [...mappers, [NEW, 'After all others, as a new plugin']]);
  const name = text('name', 'Name of the new plugin', { mono: true });
  const component = file('component', 'Component', {
    accept: '.wasm,application/wasm',
    hint: 'A .wasm file; without one, the current component with other settings.',
  });
  const config = jsonText('config', 'Settings', { hint: 'JSON; without them, the current settings.' });
  const isNew = () => plugin.read() === NEW;
  const choose = () => {
    name.element.hidden = !isNew();
  };
  plugin.input.addEventListener('change', choose);
  const made = form([plugin, name, component, config], {
    values: { plugin: mappers[0]?.[0] ?? NEW },
    submit: 'Compare',
    asks: true,
    kind: '',
    send: async (values) => {
      const id = account.read();
      if (!id) throw new Error('Choose an account above first.');
      const runsAs = isNew() ? values.name : values.plugin;
      if (!runsAs) throw new FieldError('name', 'A new plugin needs a name.');
      place.replaceChildren(el('p', { class: 'muted' }, 'Loading and running the plugin…'));
      const body = {
        ...parameter(id),
        ...(scopes && { scope: scopes.read().join(' ') }),
        candidate: {
          plugin: runsAs,
          ...(values.component && { component: await base64(values.component) }),
          ...(values.config && { config: values.config }),
        },
      };
      try {
        const found = await post('/applications/{id}/claims-preview', { id: application.id }, body);
        place.replaceChildren(...differences(found));
      } catch (problem) {
        place.replaceChildren();
        if (problem instanceof Problem)
          problem.errors = problem.errors.map(({ pointer, detail }) => ({
            pointer: pointer.replace(/^\/candidate(?=\/)/, ''),
            detail,
          }));
        throw problem;
      }
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
        'Runs a component, or other settings, only for this preview, in the same sandbox and with the same ' +
          'rights. Nothing is stored.',
      ),
      made,
      place,
    ),
  );
}

/**
 * The changes by the candidate.
 * @param {Schema<'ClaimsComparison'>} comparison
 */
function differences({ candidate: after, differences: found }) {
  const broken = [
    ...byServer(after.sinks),
    ...after.sinks.flatMap(({ stopped: reason }) => (reason?.plugin ? [stopped(reason)] : [])),
  ];
  if (found.length === 0) return [...broken, notice('No differences.', 'calm')];
  return [
    ...broken,
    table(
      [
        { label: 'Where', cell: (row) => SINKS[row.sink] },
        { label: 'What', cell: (row) => code(row.path) },
        { label: 'Current', cell: (row) => el('del', {}, words(row.current)) },
        { label: 'With the candidate', cell: (row) => el('ins', {}, words(row.candidate)) },
      ],
      found,
      { caption: 'Differences' },
    ),
  ];
}

/**
 * The bytes of a file, in base64.
 * @param {File} file
 */
async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = '';
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
