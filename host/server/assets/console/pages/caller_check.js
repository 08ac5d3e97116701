// The check of a caller: the phone of a user shows who asks, and the caller types the number that the help desk reads
// aloud.

import { followed, post, remove } from '../api.js';
import { timeLeft } from '../durations.js';
import { t, translated } from '../language.js';
import { dialog, el } from '../view.js';
import { called } from './user_cell.js';

/** @import { Schema } from '../types.d.ts' */

/**
 * The result of each state, with its tone.
 * @type {Record<Exclude<Schema<'CallerCheckState'>, 'waiting'>, [tone: string, text: string]>}
 */
const RESULTS = {
  approved: ['good', 'Approved: this user is on the phone.'],
  denied: ['bad', 'Denied: this user says that they are not on the phone. End the call.'],
  reported: ['bad', 'Reported: someone else calls in the name of this user. End the call, and settle the report.'],
  number_mismatch: ['bad', 'The number was wrong three times. Do not trust the caller.'],
  expired: ['warn', 'No answer in time. Do not trust the caller yet.'],
  ended: ['warn', 'The check ended without an answer. Do not trust the caller yet.'],
};

/**
 * Asks the phone of a user whether the user is on the line, and shows the answer.
 * @param {Schema<'User'>} user
 */
export async function verifyCaller(user) {
  const check = await post('/users/{id}/caller-checks', { id: user.id });
  const stop = new AbortController();
  const cancel = () => remove('/caller-checks/{id}', { id: check.id }).catch(() => {});
  addEventListener('pagehide', cancel);
  await dialog(t`Verify ${called(user)}`, (/** @type {(answer?: undefined) => void} */ close) => {
    const left = el('p', { class: 'muted', role: 'timer' });
    const remaining = () => Math.max(0, Math.round((Date.parse(check.expires_at) - Date.now()) / 1000));
    const bar = el('progress', { max: Math.max(1, remaining()), 'aria-hidden': 'true' });
    const tick = () => {
      const seconds = remaining();
      bar.value = seconds;
      left.textContent = seconds === 0 ? translated('The time expired.') : timeLeft(seconds);
    };
    tick();
    const clock = setInterval(tick, 1000);
    stop.signal.addEventListener('abort', () => clearInterval(clock));
    const result = el('p', { class: 'notice calm', role: 'status', id: 'caller-result' }, 'Waiting for the answer.');
    const question = el(
      'div',
      { class: 'stack' },
      el(
        'p',
        {},
        'The phone asks whether the user speaks with you. Read this number aloud; the caller types it there:',
      ),
      el('p', { class: 'number', id: 'caller-number' }, el('strong', {}, check.number ?? '')),
      el('div', { class: 'clock' }, bar, left),
    );
    const end = el('button', { type: 'button', class: 'button', onclick: () => close() }, 'Cancel the check');
    const show = (/** @type {string} */ tone, /** @type {string} */ text) => {
      clearInterval(clock);
      question.hidden = true;
      result.className = `notice ${tone}`;
      result.textContent = translated(text);
      end.textContent = translated('Close');
    };
    answer(check.id, stop.signal).then(
      (state) => show(...RESULTS[state]),
      () => show('warn', 'The answer could not be read. Try again.'),
    );
    return [
      question,
      result,
      el('p', { class: 'muted' }, 'The check signs nobody in, and changes nothing. The result is in the audit log.'),
      el('div', { class: 'actions' }, end),
    ];
  });
  stop.abort();
  removeEventListener('pagehide', cancel);
  await cancel();
}

/**
 * The state of a check once it has an answer.
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function answer(id, signal) {
  for await (const { state } of followed('/caller-checks/{id}', id, { signal, isShown: true })) {
    if (state !== 'waiting') return state;
  }
  return 'ended';
}
