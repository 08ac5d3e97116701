// The signing keys of ID tokens.

import { get, post } from '../api.js';
import { ask, badge, button, code, el, moment, say, screen, table } from '../view.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** @type {Record<Schema<'KeyStage'>, string>} */
const STAGES = {
  signing: 'signs',
  published: 'published, signs next',
  retired: 'signs no more, still published',
  remembered: 'known for old tokens alone',
  revoked: 'revoked',
  over: 'over',
};

/**
 * @param {Context} context
 */
export async function keys({ may, reload }) {
  const { items } = await get('/keys');
  const writes = may('keys:write');
  const rotate = (/** @type {boolean} */ now) => async () => {
    const text = now
      ? "The next key signs at once. Applications that keep our keys and don't look again refuse tokens until they do."
      : 'A new key is published now, and signs once applications had time to learn of it.';
    if (!(await ask('Rotate the keys?', text, 'Rotate'))) return;
    await post('/keys/rotate', {}, { now });
    await reload();
    say('The keys were rotated.');
  };
  const revoke = async (/** @type {Schema<'Key'>} */ { kid }) => {
    if (
      !(await ask(
        'Revoke this key?',
        'Every ID token that it signed is refused from now on, and another key signs. Do it when the key may ' +
          'be known to somebody.',
        'Revoke it',
      ))
    )
      return;
    await post('/keys/{kid}/revoke', { kid });
    await reload();
    say('The key was revoked.');
  };
  const list = table(
    [
      { label: 'Key', cell: (row) => code(row.kid) },
      { label: 'Algorithm', cell: (row) => row.alg },
      {
        label: 'State',
        cell: (row) =>
          badge(
            STAGES[row.state],
            row.state === 'signing' ? 'active' : row.state === 'revoked' ? 'terminated' : row.state,
          ),
      },
      { label: 'Since', cell: (row) => moment(row.since) },
      { label: 'Until', cell: (row) => (row.until ? moment(row.until) : '') },
      ...(writes
        ? [
            {
              label: 'Do',
              cell: (/** @type {Schema<'Key'>} */ row) =>
                ['signing', 'published', 'retired'].includes(row.state)
                  ? button('Revoke', () => revoke(row), 'danger')
                  : '',
            },
          ]
        : []),
    ],
    items,
    { caption: 'Keys' },
  );
  return screen(
    {
      title: 'Keys',
      lead:
        'ID tokens are signed with these. They are rotated by themselves; SAML applications have certificates ' +
        'of their own.',
      actions: writes ? [button('Rotate', rotate(false)), button('Rotate at once', rotate(true))] : [],
    },
    el('div', {}, list),
  );
}
