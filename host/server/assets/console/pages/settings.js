// The settings of the instance, and the source of each.

import { get } from '../api.js';
import { text } from '../form.js';
import { badge, code, el, screen, searched } from '../view.js';

/** @import { Schema } from '../types.d.ts' */

export async function settings() {
  const { items } = await get('/settings');
  const list = await searched(
    [text('q', 'Key', { type: 'search' })],
    async ({ q }) => ({ items: items.filter(({ key }) => key.includes((q ?? '').toLowerCase())) }),
    [
      { label: 'Key', cell: (row) => code(row.key) },
      { label: 'Value', cell: shown },
      {
        label: 'From',
        cell: (row) =>
          el(
            'span',
            {},
            badge(row.source, row.source === 'default' ? 'kind' : 'active'),
            row.variable && el('span', {}, ' ', code(row.variable)),
          ),
      },
    ],
    { empty: 'There is no such setting.', caption: 'Settings' },
  );
  return screen(
    {
      title: 'Settings',
      lead:
        'As this instance read them from its file and its environment when it started. To change one, change it ' +
        'there and restart the instance.',
    },
    list,
  );
}

/** @param {Schema<'Setting'>} setting */
function shown({ value, is_set: isSet, is_secret: isSecret }) {
  if (isSecret) return isSet ? 'Set, and not shown' : 'Not set';
  if (value === null || value === undefined) return 'Not set';
  return code(typeof value === 'string' ? value : JSON.stringify(value));
}
