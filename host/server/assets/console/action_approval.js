// Protected actions: the administrator approves each on a device before the server executes it.

import { cancelActionApproval, followed, Problem } from './api.js';
import { timeLeft } from './durations.js';
import { translated } from './language.js';
import { dialog, el } from './view.js';

/** @import { Schema } from './types.d.ts' */

/**
 * How a wait for an action approval ended: its state, `dropped` if the administrator cancelled it, or `failed` if its
 * state could not be read.
 * @typedef {Exclude<Schema<'ActionApprovalState'>, 'pending'> | 'dropped' | 'failed'} Outcome
 */

/**
 * Shows a pending action approval, and waits for its decision. Returns whether it was approved.
 * @param {Schema<'ActionApproval'>} approval
 */
export async function showActionApproval(approval) {
  const stop = new AbortController();
  const gone = () => cancelActionApproval(approval.id).catch(() => {});
  addEventListener('pagehide', gone);
  const outcome = await dialog('Approve on your phone', (/** @type {(outcome: Outcome) => void} */ close) => {
    const left = el('p', { class: 'muted', role: 'timer' });
    const remaining = () => Math.max(0, Math.round((Date.parse(approval.expires_at) - Date.now()) / 1000));
    const bar = el('progress', { max: Math.max(1, remaining()), 'aria-hidden': 'true' });
    const tick = () => {
      const seconds = remaining();
      bar.value = seconds;
      left.textContent = seconds === 0 ? translated('The time expired.') : timeLeft(seconds);
    };
    tick();
    const clock = setInterval(tick, 1000);
    stop.signal.addEventListener('abort', () => clearInterval(clock));
    // An approval was about a user who was deleted or erased, if the server deleted it.
    const failed = (/** @type {unknown} */ problem) =>
      close(problem instanceof Problem && problem.status === 404 ? 'ended' : 'failed');
    decision(approval.id, stop.signal).then(close, failed);
    return [
      el('p', { class: 'lead' }, el('bdi', {}, approval.summary)),
      el('p', {}, 'Your phone asks whether it was you. Type this number there:'),
      el('p', { class: 'number', id: 'approval-number' }, el('strong', {}, approval.number)),
      el('div', { class: 'clock' }, bar, left),
      el(
        'div',
        { class: 'actions' },
        el('button', { type: 'button', class: 'button', onclick: () => close('dropped') }, 'Cancel the action'),
      ),
    ];
  });
  stop.abort();
  removeEventListener('pagehide', gone);
  if (outcome === 'dropped' || outcome === undefined) await cancelActionApproval(approval.id).catch(() => {});
  if (outcome === 'denied' || outcome === 'ended' || outcome === 'failed') {
    const texts = {
      denied: 'You denied it on the phone. Nothing was changed.',
      ended:
        'The request expired, the number was wrong, or the object changed in the meantime. Nothing was changed. ' +
        'Start the action again.',
      failed: 'The decision could not be read. Nothing was changed; try again.',
    };
    await dialog('Not approved', (close) => [
      el('p', {}, texts[outcome]),
      el(
        'div',
        { class: 'actions' },
        el('button', { type: 'button', class: 'button primary', onclick: () => close() }, 'Close'),
      ),
    ]);
  }
  return outcome === 'approved';
}

/**
 * The state of an action approval once it is decided.
 * @param {string} id
 * @param {AbortSignal} signal
 */
async function decision(id, signal) {
  for await (const { state } of followed('/action-approvals/{id}', id, { signal, isShown: true })) {
    if (state !== 'pending') return state;
  }
  return 'failed';
}
