// The parts that the lists of access share: filters, totals, files, and who gave the access.

import { select } from '../form.js';
import { t, translated } from '../language.js';
import { button, download, el, figure, link } from '../view.js';
import { applicationAddress } from './applications.js';
import { userAddress } from './user_cell.js';

/** @import { Child, Context, Schema } from '../types.d.ts' */

/** @typedef {Schema<'Access'>['via'][number]['by']} Giver */

/** The filter for the last use. */
export const useFilter = () =>
  select('unused', 'Last used', [
    ['', 'At any time or never'],
    ['never', 'Never'],
    ['90-days', 'Not for 90 days'],
  ]);

/**
 * The totals of a list, above it. `show` takes the first page.
 */
export function totalsLine() {
  const element = el('p', { class: 'muted total', role: 'status' });
  const show = (/** @type {{ items: unknown[], totals?: Schema<'AccessTotals'> }} */ { totals }) => {
    element.textContent = totals ? totalsText(totals) : '';
  };
  return { element, show };
}

/** @param {Schema<'AccessTotals'>} totals */
function totalsText({ entries, denied, never_used: never, unused_90_days: unused, more }) {
  const counts = t`${figure(denied)} denied, ${figure(never)} never used, ${figure(unused)} not used for 90 days`;
  return more ? t`More than 1,000; of the first 1,000: ${counts}` : t`${figure(entries)} in all: ${counts}`;
}

/**
 * Buttons that save a list as a file, with its filters: CSV for a spreadsheet, JSON for a program.
 * @param {string} name the name of the file without its end
 * @param {(format: 'csv' | 'json') => Promise<string>} read
 */
export const exports = (name, read) => [
  button('Export as CSV', async () => download(`${name}.csv`, 'text/csv;charset=utf-8', await read('csv'))),
  button('Export as JSON', async () => download(`${name}.json`, 'application/json', await read('json'))),
];

/**
 * Who gave access, with a link.
 * @param {Giver} by
 * @param {Context['may']} may
 * @returns {Child}
 */
export function giver(by, may) {
  if (!by) return translated('Unknown');
  const { kind, id, name } = by;
  if (kind === 'server') return translated('The server');
  if (kind === 'admin_token') return translated('An admin token');
  if (!name || !id) return translated(kind === 'user' ? 'A deleted user' : 'Unknown');
  const shown = el('bdi', {}, name);
  if (kind === 'user') return may('users:read') ? link(userAddress(id), shown) : shown;
  return may('applications:read') ? link(applicationAddress(id), shown) : shown;
}
