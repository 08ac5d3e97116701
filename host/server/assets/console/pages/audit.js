// The audit log: its search, and the verification of its hash chain.

import { matcher } from '../../names.js';
import { get } from '../api.js';
import { apiText } from '../api_texts.js';
import { groupedSelect, select, text } from '../form.js';
import { locale, t, translated } from '../language.js';
import { pages, rowList, searched, valuesOf } from '../lists.js';
import { button, code, download, el, explain, facts, figure, moment, more, notice, panel, screen } from '../view.js';
import { auditEntry } from './audit_entry.js';
import { eventOptions, sentenceOf, textOf } from './audit_events.js';
import { picker } from './picker.js';
import { foundUser } from './user_cell.js';

/** @import { Context, Field, Schema } from '../types.d.ts' */

/** @typedef {'action' | 'other'} Subject */

/**
 * The search: days are those of the browser, and both are included.
 * @typedef {{ text?: string, event?: string, user?: string, application?: string, actor?: string, since?: string,
 *   until?: string, subject?: Subject, from?: string }} Search
 */

/**
 * A page of entries, and the number of entries that were searched for it.
 * @typedef {Schema<'List_AuditEntry'> & { looked?: number }} EntryPage
 */

// The numbers of entries that a text search looks through at once, and that it shows.
const LOOKED = 2000;
const SHOWN = 50;
const MOST_EXPORTED = 10_000;

/**
 * Whether a text is the id of a user or an application. Deleted ones can only be found by their id.
 * @param {string} text
 */
const isId = (text) => /^[0-9a-f]{32}$|^did:[a-z]+:\S+$/.test(text);

/**
 * The time at which a day of the browser begins, or `later` days after it.
 * @param {string | undefined} day
 * @param {number} [later]
 */
function startOf(day, later = 0) {
  if (!day) return undefined;
  const [year, month, date] = day.split('-').map(Number);
  const begins = new Date(year, month - 1, date + later);
  return Number.isNaN(begins.valueOf()) ? undefined : begins.toISOString();
}

/**
 * A day in the browser's time zone, `ago` days before today.
 * @param {number} ago
 */
function dayAgo(ago) {
  const now = new Date();
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - ago);
  const two = (/** @type {number} */ number) => String(number).padStart(2, '0');
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

/**
 * Entries of the log that match a search. The server applies all filters but the text, for which this function searches
 * the sentences and all values of the entries.
 * @param {Search} search
 * @param {Context['may']} may
 * @param {string} [after]
 * @returns {Promise<EntryPage>}
 */
async function find({ text: wanted = '', since, until, from, ...filters }, may, after) {
  const query = { ...filters, since: startOf(since) ?? from, until: startOf(until, 1) };
  if (wanted === '') return get('/audit', { ...query, after });
  const fits = matcher(wanted);
  const items = [];
  let looked = 0;
  /** @type {string | null | undefined} */
  let next = after;
  do {
    /** @type {Schema<'List_AuditEntry'>} */
    const page = await get('/audit', { ...query, after: next, limit: 200 });
    items.push(...page.items.filter((entry) => fits(`${textOf(sentenceOf(entry, may))} ${JSON.stringify(entry)}`)));
    looked += page.items.length;
    next = page.next;
  } while (next && items.length < SHOWN && looked < LOOKED);
  return { items, next, looked };
}

/**
 * Entries of the log, page by page.
 * @param {(after?: string) => Promise<Schema<'List_AuditEntry'>>} load
 * @param {Context} context
 */
export function entries(load, context) {
  return pages(load, list('No activity yet.', context));
}

/**
 * @param {string} empty
 * @param {Context} context
 */
const list = (empty, context) =>
  rowList((/** @type {Schema<'AuditEntry'>} */ entry) => auditEntry(entry, context), { empty, label: 'Entries' });

/**
 * @param {Context['may']} may
 * @param {string[]} events
 */
function searchFields(may, events) {
  const user = (/** @type {'user' | 'actor'} */ name, /** @type {string} */ label) =>
    may('users:read')
      ? picker(name, label, {
          load: (q) => get('/users', { q, limit: 8 }),
          label: (one) => foundUser(one),
          isId,
        })
      : text(name, t`${translated(label)} (ID)`);
  const application = may('applications:read')
    ? picker('application', 'About the application', {
        load: (q) => get('/applications', { q, limit: 8 }),
        label: (one) => one.name,
        isId,
      })
    : text('application', 'About the application (ID)');
  const since = text('since', 'From', { type: 'date' });
  const until = text('until', 'To', { type: 'date' });
  return {
    since,
    until,
    controls: [
      text('text', 'Text', { type: 'search' }),
      groupedSelect('event', 'Event', 'Any', eventOptions(events)),
      user('user', 'About the user'),
      application,
      user('actor', 'By the user'),
      select('subject', 'About', [
        ['', 'Any'],
        ['other', 'Sign-ins and all others'],
        ['action', 'Actions in the console and the portal'],
      ]),
      since,
      until,
      exactBegin(() => since.focus()),
    ],
  };
}

/**
 * The exact time from which the figures of the overview count. It is only in the address of the page, and shown as an
 * active filter.
 * @param {() => void} focus what receives the focus when the filter is removed
 * @returns {Field<'from', string | undefined>}
 */
function exactBegin(focus) {
  /** @type {string | undefined} */
  let value;
  const input = el('input', { type: 'hidden', id: 'exact-begin' });
  return {
    name: 'from',
    element: el('div', { hidden: true }, el('label', {}, 'Since'), input),
    fail: () => {},
    focus,
    read: () => value,
    write: (text) => {
      const date = new Date(text ?? '');
      value = Number.isNaN(date.valueOf()) ? undefined : date.toISOString();
      input.value = value ? date.toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'short' }) : '';
    },
  };
}

/**
 * @param {Context} context
 */
export async function audit(context) {
  const { may, query } = context;
  const { items: events } = await get('/audit/events');
  const { since, until, controls } = searchFields(may, events);
  const values = () => /** @type {Search} */ (valuesOf(controls));
  const preset = (/** @type {string} */ label, /** @type {string} */ from) =>
    el(
      'button',
      {
        type: 'button',
        class: 'button small',
        onclick: () => {
          since.write(from);
          until.write('');
          since.element.dispatchEvent(new Event('input', { bubbles: true }));
        },
      },
      label,
    );
  const looked = el('p', { class: 'muted small', role: 'status' });
  let refresh = async () => {};
  const found = await searched(
    controls,
    (search, after) => find(/** @type {Search} */ (search), may, after),
    list('There is no such entry.', context),
    {
      chips: true,
      above: [
        el(
          'div',
          { class: 'ways presets' },
          preset('Today', dayAgo(0)),
          preset('Last 7 days', dayAgo(6)),
          preset('Any time', ''),
          button('Refresh', () => refresh()),
        ),
        looked,
      ],
      onpage: (/** @type {EntryPage} */ page) => {
        looked.textContent =
          page.looked === undefined
            ? ''
            : t`Looked through ${figure(page.looked)} entries, the newest first.` +
              (page.next ? translated(' Show more looks through older ones.') : '');
      },
    },
  );
  refresh = () => found.fill();
  const place = el('div', { 'aria-live': 'polite' });
  return screen(
    {
      title: 'Audit log',
      lead: 'Every change and every security event, in a hash chain.',
      actions: [verification(place), exported(place, values, may)],
    },
    place,
    reference(query.get('reference') ?? ''),
    found,
  );
}

/**
 * Verifies the hash chain.
 * @param {HTMLElement} place
 */
function verification(place) {
  return button('Check the hash chain', async () => {
    const result = await get('/audit/verification');
    place.replaceChildren(
      panel(
        result.valid
          ? notice(
              t`The last ${figure(result.entries)} entries are intact.`,
              'calm',
              el('p', {}, 'To verify the whole log, run ', code('assent audit verify'), ' on the server.'),
            )
          : notice(t`The hash chain is broken: ${apiText(result.broken?.message ?? 'unknown')}`, 'bad'),
        facts([
          ['Checked entries', figure(result.entries)],
          ['From', result.first && moment(result.first.at, { exact: true })],
          ['To', result.last && moment(result.last.at, { exact: true })],
          ['Digest of the last one', code(result.digest)],
        ]),
      ),
    );
  });
}

/**
 * Exports the results of the search.
 * @param {HTMLElement} place
 * @param {() => Search} values
 * @param {Context['may']} may
 */
function exported(place, values, may) {
  return button('Export the results', async () => {
    const search = values();
    const found = [];
    /** @type {string | null | undefined} */
    let after;
    do {
      /** @type {EntryPage} */
      const page = await find(search, may, after ?? undefined);
      found.push(...page.items);
      after = page.next;
    } while (after && found.length < MOST_EXPORTED);
    download('audit.jsonl', 'application/jsonl', found.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    if (after)
      place.replaceChildren(
        notice('The first 10,000 entries were exported. The command "assent audit export" has no such limit.', 'warn'),
      );
  });
}

/**
 * Looks up the reference of an error page: at once, if the address has one.
 * @param {string} given
 */
function reference(given) {
  const input = el('input', { id: 'reference', autocomplete: 'off', spellcheck: 'false', class: 'mono', size: 12 });
  const result = el('div', { 'aria-live': 'polite' });
  const lookUp = async (/** @type {Event} */ event) => {
    event.preventDefault();
    const wanted = input.value.trim();
    if (wanted === '') return input.focus();
    try {
      const page = await get('/error-references/{reference}', { reference: wanted });
      result.replaceChildren(
        facts([
          ['Reference', code(page.reference)],
          ['Request ID', code(page.request_id)],
          ['Shown', moment(page.at, { exact: true })],
          ['Page', t`${page.page} (status ${page.status})`],
          ['Cause', page.cause],
        ]),
      );
    } catch (problem) {
      result.replaceChildren(el('div', { class: 'notice warn', role: 'alert' }, ...explain(problem)));
    }
  };
  const form = el(
    'form',
    { class: 'stack', onsubmit: lookUp },
    el(
      'div',
      { class: 'field' },
      el('label', { for: 'reference' }, 'Reference number'),
      el('p', { class: 'hint' }, 'Eight letters and digits, at the end of the page, such as 4F0A91BC.'),
      input,
    ),
    el('div', { class: 'ways' }, el('button', { type: 'submit', class: 'button small' }, 'Look it up')),
  );
  const made = more('Look up the reference number of an error page', form, result);
  if (given !== '') {
    made.open = true;
    input.value = given;
    lookUp(new Event('submit'));
  }
  return made;
}
