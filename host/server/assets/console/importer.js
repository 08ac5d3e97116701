// The import of a file of comma-separated values: its check, then its execution.

import { freshKey, Problem } from './api.js';
import { apiSentence } from './api_texts.js';
import { t, translated } from './language.js';
import { table } from './lists.js';
import { button, el, facts, figure, notice } from './view.js';

/** @import { ChangeOptions, Child, Schema } from './types.d.ts' */

// The server needs minutes for a large file.
const IMPORT_LIMIT_MS = 300_000;
// The problems of a key with which the server does not execute the request again.
const SPENT = ['response-lost', 'idempotency-key-reused'];
const INTERRUPTED =
  'The import was interrupted, and some rows may be imported. Check the file again to see which rows are left.';

/**
 * Imports a file of comma-separated values. The server validates it first.
 * @param {(file: ArrayBuffer, parameters: { dry_run?: boolean }, options: ChangeOptions) =>
 * Promise<Schema<'ImportResult'>>} send
 * @param {Child[]} about the requirements for the file
 * @param {Child} done shown after the import
 * @param {string[]} columns the columns of the template
 */
export function importer(send, about, done, columns) {
  const file = el('input', { type: 'file', id: 'import-file', accept: '.csv,text/csv' });
  const place = el('div', { 'aria-live': 'polite' });
  // One key for each file: the server imports it once, even if it is sent again.
  let key = freshKey();
  const sendFile = async (/** @type {boolean} */ isCheck) => {
    const chosen = file.files?.[0];
    if (!chosen) throw new Error('Choose a file first.');
    const options = { type: 'text/csv', limit: IMPORT_LIMIT_MS, key: isCheck ? freshKey() : key };
    return send(await chosen.arrayBuffer(), isCheck ? { dry_run: true } : {}, options);
  };
  const show = (/** @type {Schema<'ImportResult'>} */ result) =>
    place.replaceChildren(
      // The server rejects only the row that a simultaneous change overtook.
      ...(result.rejected > 0 && result.created + result.updated === 0
        ? [notice(rejection(result), 'bad')]
        : [
            facts([
              ['Rows', figure(result.rows)],
              [result.dry_run ? 'Would be created' : 'Created', figure(result.created)],
              [result.dry_run ? 'Would be updated' : 'Updated', figure(result.updated)],
              ['Unchanged', figure(result.unchanged)],
              ['Rejected, because of another change', result.rejected > 0 && figure(result.rejected)],
            ]),
          ]),
      ...(result.errors.length > 0
        ? [
            table(
              [
                { label: 'Line', cell: (row) => String(row.line) },
                { label: 'Column', cell: (row) => row.column ?? '' },
                { label: 'What is wrong', cell: (row) => apiSentence(row.detail) },
              ],
              result.errors,
              { caption: 'Wrong rows' },
            ),
          ]
        : []),
      result.dry_run && result.rejected === 0
        ? el(
            'div',
            { class: 'ways' },
            button(
              'Import',
              async () => {
                const imported = await sendFile(false).catch((problem) => {
                  // The server does not execute this key again, so the next import needs another.
                  if (problem instanceof Problem && problem.kind && SPENT.includes(problem.kind)) {
                    key = freshKey();
                    place.replaceChildren(notice(INTERRUPTED, 'warn'));
                    return undefined;
                  }
                  throw problem;
                });
                if (imported === undefined) return;
                key = freshKey();
                show(imported);
                if (imported.rejected === 0) place.append(notice('The file was imported.', 'calm'), el('p', {}, done));
              },
              'primary',
            ),
          )
        : '',
    );
  file.addEventListener('change', () => {
    key = freshKey();
    place.replaceChildren();
  });
  return el(
    'div',
    { class: 'panel' },
    ...about,
    el('p', {}, el('a', { href: template(columns), download: 'template.csv' }, 'Download a template (CSV)')),
    el('div', { class: 'field' }, el('label', { for: 'import-file' }, 'CSV file'), file),
    el(
      'div',
      { class: 'ways' },
      button('Check the file', async () => show(await sendFile(true))),
    ),
    place,
  );
}

/**
 * The reason why a file is not imported.
 * @param {Schema<'ImportResult'>} result
 */
function rejection({ rejected, rows }) {
  const count =
    rejected === 1
      ? t`${1} of ${figure(rows)} rows is not valid, so nothing is imported.`
      : t`${figure(rejected)} of ${figure(rows)} rows are not valid, so nothing is imported.`;
  return `${count} ${translated('Correct the file, then choose it again.')}`;
}

/**
 * The address of a file with these columns and no rows.
 * @param {string[]} columns
 */
const template = (columns) => `data:text/csv;charset=utf-8,${encodeURIComponent(`${columns.join(',')}\n`)}`;
