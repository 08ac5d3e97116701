// The signing keys of ID tokens and of receipts.

import { get, post } from '../api.js';
import { durationMs, durationText } from '../durations.js';
import { t } from '../language.js';
import { table } from '../lists.js';
import { ask, badge, button, copyButton, el, moment, say, screen } from '../view.js';

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

/** @type {Record<Schema<'SigningKeyPurpose'>, string>} */
const PURPOSES = { id_token: 'ID tokens', receipt: 'receipts' };

/** The number of displayed characters of a key's id. */
const SHOWN = 12;

/**
 * The values of the settings about the rotation, if the administrator may read settings.
 * @param {Context['may']} may
 * @returns {Promise<{ interval?: unknown, ahead?: unknown }>}
 */
async function rotationSettings(may) {
  if (!may('settings:read')) return {};
  const { items } = await get('/settings');
  const settingOf = (/** @type {string} */ wanted) => items.find(({ key }) => key === wanted)?.value;
  return { interval: settingOf('keys.rotation_interval'), ahead: settingOf('keys.publish_ahead') };
}

/**
 * The time when the next key begins to sign: that of the current key, if a next one is published, otherwise an interval
 * after the current key began. Undefined if it is not known.
 * @param {Array<Schema<'SigningKey'>>} all
 * @param {number | undefined} interval in milliseconds
 */
function nextRotation(all, interval) {
  const signing = all.filter(({ stage, purpose }) => stage === 'signing' && purpose === 'id_token');
  const times = signing.flatMap(({ since, until }) => {
    if (until) return [Date.parse(until)];
    return interval ? [Date.parse(since) + interval] : [];
  });
  return times.length === 0 ? undefined : new Date(Math.min(...times)).toISOString();
}

/**
 * @param {Context} context
 */
export async function keys({ may, reload }) {
  const [{ items }, { interval, ahead }] = await Promise.all([get('/keys'), rotationSettings(may)]);
  const next = nextRotation(items, durationMs(interval));
  const wait = durationText(ahead);
  const writes = may('keys:write');
  const rotateReceiptKey = async () => {
    const text = 'Only if the present key may be compromised. The next key signs receipts in about five minutes.';
    if (!(await ask('Rotate the key of receipts?', text, 'Rotate'))) return;
    const { changed } = await post('/keys/rotate', {}, { purpose: 'receipt', now: true });
    await reload();
    say(changed ? 'The key of receipts was rotated.' : 'Nothing changed: the next key was published before.');
  };
  const rotate = (/** @type {boolean} */ now) => async () => {
    const text = now
      ? 'The next key signs in about five minutes, because applications may cache the present keys for that long.'
      : 'A new key is published now, and signs when applications had time to read it.';
    const title = now ? 'Rotate the keys immediately?' : 'Publish the next key?';
    if (!(await ask(title, text, now ? 'Rotate' : 'Publish'))) return;
    const { changed } = await post('/keys/rotate', {}, { now });
    await reload();
    if (!changed) say('Nothing changed: the next key was published before.');
    else say(now ? 'The keys were rotated.' : 'The next key is published.');
  };
  const revoke = async (/** @type {Schema<'SigningKey'>} */ { kid, purpose }) => {
    const text =
      purpose === 'receipt'
        ? 'Revoke only if this key may be compromised: a receipt that it signed is valid only together with its ' +
          'entry in the audit log. Another key signs.'
        : 'Revoke only if this key may be compromised: all tokens it signed stop working. Another key signs.';
    if (!(await ask('Revoke this key?', text, 'Revoke it'))) return;
    await post('/keys/{kid}/revoke', { kid });
    await reload();
    say('The key was revoked.');
  };
  const list = table(
    [
      { label: 'Key', cell: keyId },
      { label: 'Signs', cell: (row) => PURPOSES[row.purpose] },
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
                isRevocable(row) ? button('Revoke', () => revoke(row), 'danger') : '',
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
        'These keys sign ID tokens and receipts. They are rotated automatically. SAML applications have their own ' +
        'certificates.',
    },
    next && el('p', {}, 'Next rotation: ', moment(next)),
    writes &&
      el(
        'div',
        { class: 'panel about-actions' },
        el(
          'div',
          { class: 'about-action' },
          button('Publish the next key', rotate(false)),
          el(
            'p',
            { class: 'muted' },
            wait
              ? t`It signs after ${wait}, the value of the setting keys.publish_ahead.`
              : 'It signs after the time of the setting keys.publish_ahead.',
          ),
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
        el(
          'div',
          { class: 'about-action' },
          button('Rotate the key of receipts', rotateReceiptKey),
          el(
            'p',
            { class: 'muted' },
            'Only if that key may be compromised. Its receipts stay valid until you revoke it.',
          ),
        ),
      ),
    el('div', {}, list),
  );
}

/**
 * Whether an administrator can revoke the key. An archived key of receipts is still in their key set.
 * @param {Schema<'SigningKey'>} key
 */
function isRevocable({ stage, purpose }) {
  return ['signing', 'published', 'retired'].includes(stage) || (purpose === 'receipt' && stage === 'archived');
}

/**
 * The beginning of a key's id, with a button that copies the complete id.
 * @param {Schema<'SigningKey'>} key
 */
function keyId({ kid }) {
  const short = kid.slice(0, SHOWN);
  const copy = copyButton('Copy', 'the key ID', () => kid);
  copy.setAttribute('aria-label', t`Copy the key ID ${short}`);
  return el('div', { class: 'short-id' }, el('code', { title: kid }, `${short}…`), copy);
}
