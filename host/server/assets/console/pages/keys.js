// The signing keys of ID tokens.

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
  const signing = all.filter(({ stage }) => stage === 'signing');
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
      ),
    el('div', {}, list),
  );
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
