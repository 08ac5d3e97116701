// The signing keys of ID tokens.

import { get, post } from '../api.js';
import { table } from '../lists.js';
import { ask, badge, button, code, el, moment, say, screen } from '../view.js';

/** @import { Context, Schema } from '../types.d.ts' */

/** @type {Record<Schema<'SigningKeyStage'>, string>} */
const STAGES = {
  signing: 'signs',
  published: 'published, signs next',
  retired: 'no longer signs, still published',
  archived: 'archived: only for old tokens',
  revoked: 'revoked',
  expired: 'expired',
};

/**
 * @param {Context} context
 */
export async function keys({ may, reload }) {
  const { items } = await get('/keys');
  const writes = may('keys:write');
  const rotate = (/** @type {boolean} */ now) => async () => {
    const text = now
      ? 'The next key signs in about five minutes, because applications may cache the present keys for that long.'
      : 'A new key is published now, and signs when applications had time to read it.';
    if (!(await ask('Rotate the keys?', text, 'Rotate'))) return;
    await post('/keys/rotate', {}, { now });
    await reload();
    say('The keys were rotated.');
  };
  const revoke = async (/** @type {Schema<'SigningKey'>} */ { kid }) => {
    if (
      !(await ask(
        'Revoke this key?',
        'Revoke only if this key may be compromised: all tokens it signed stop working. Another key signs.',
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
            STAGES[row.stage],
            row.stage === 'signing' ? 'active' : row.stage === 'revoked' ? 'terminated' : row.stage,
          ),
      },
      { label: 'Since', cell: (row) => moment(row.since) },
      { label: 'Until', cell: (row) => (row.until ? moment(row.until) : '') },
      ...(writes
        ? [
            {
              label: 'Actions',
              cell: (/** @type {Schema<'SigningKey'>} */ row) =>
                ['signing', 'published', 'retired'].includes(row.stage)
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
      lead: 'These keys sign ID tokens. They are rotated automatically. SAML applications have their own certificates.',
      actions: writes ? [button('Rotate', rotate(false)), button('Rotate now', rotate(true))] : [],
    },
    el('div', {}, list),
  );
}
