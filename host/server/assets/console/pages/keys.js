// The signing keys of ID tokens.

import { get, post } from '../api.js';
import { t } from '../language.js';
import { table } from '../lists.js';
import { ask, badge, button, copyButton, el, moment, panel, say, screen } from '../view.js';

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

/** How many characters of a key's id are shown. */
const SHOWN = 12;

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
    const title = now ? 'Rotate the keys immediately?' : 'Publish the next key?';
    if (!(await ask(title, text, now ? 'Rotate' : 'Publish'))) return;
    await post('/keys/rotate', {}, { now });
    await reload();
    say(now ? 'The keys were rotated.' : 'The next key is published.');
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
      { label: 'Key', cell: keyId },
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
    },
    writes &&
      panel(
        el(
          'div',
          { class: 'about-action' },
          button('Publish next key', rotate(false)),
          el('p', { class: 'muted' }, 'It signs after the time of the setting keys.publish_ahead, by default one day.'),
        ),
        el(
          'div',
          { class: 'about-action' },
          button('Rotate immediately', rotate(true)),
          el(
            'p',
            { class: 'muted' },
            'Only if a key may be compromised. The next key signs in about five minutes. The old one stays valid ' +
              'until you revoke it.',
          ),
        ),
      ),
    el('div', {}, list),
  );
}

/**
 * The beginning of a key's id, with a button that copies the whole.
 * @param {Schema<'SigningKey'>} key
 */
function keyId({ kid }) {
  const short = kid.slice(0, SHOWN);
  const copy = copyButton('Copy', 'the key id', () => kid);
  copy.setAttribute('aria-label', t`Copy the key id ${short}`);
  return el('div', { class: 'short-id' }, el('code', { title: kid }, `${short}…`), copy);
}
