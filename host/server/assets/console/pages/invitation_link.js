// A new link of a user: to copy, to scan, or to send.

import { post } from '../api.js';
import { t, translated } from '../language.js';
import { button, copyable, copyButton, dialogOnce, el, moment, say } from '../view.js';

/** @import { Schema } from '../types.d.ts' */

/**
 * A QR code from the server.
 * @param {string} svg
 * @param {string} label
 */
export function picture(svg, label) {
  const source = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  return el('img', { class: 'qr', src: source, alt: label, width: 220, height: 220 });
}

/**
 * A link that opens a message in the administrator's own email program.
 * @param {string} to
 * @param {Schema<'InvitationMessage'>} message
 */
function mailto(to, { subject, text }) {
  const query = `subject=${encodeURIComponent(subject)}&body=${encodeURIComponent(text.replaceAll('\n', '\r\n'))}`;
  return `mailto:${encodeURIComponent(to).replaceAll('%40', '@')}?${query}`;
}

/**
 * Sends an invitation by email. The user's earlier link is no longer valid.
 * @param {Schema<'User'>} user
 */
export async function sendInvitation(user) {
  const { items } = await post('/invitations', {}, { users: [user.id], delivery: 'email' });
  const [{ skipped }] = items;
  if (skipped) throw new Error(t`No email was sent: ${translated(skipped)}.`);
  say(t`The invitation is being sent to ${user.email}.`);
}

/**
 * Whether the server can send a user's invitation.
 * @param {Schema<'User'>} user
 * @param {Schema<'Me'>} me
 */
export const canSend = (user, me) => me.sends_mail && user.state === 'invited' && !user.console_role && !!user.email;

/** For administrators who can neither create the first link of a user nor have the server send it. */
export const FIRST_LINK =
  'This server sends no email, and only an owner or an admin may create the first link of a user. Ask one of them.';

/**
 * Creates a link for a user and shows it.
 * @param {Schema<'User'>} user
 * @param {Schema<'Me'>} me
 */
export async function showNewLink(user, me) {
  const created = await post('/users/{id}/enrolments', { id: user.id });
  const { link, expires_at: until, qr_code: code, message } = created;
  await dialogOnce('A link to enrol a device', (/** @type {() => void} */ close) => {
    const send = async () => {
      await sendInvitation(user);
      close();
    };
    return [
      el(
        'p',
        {},
        'Send this link privately. Anyone who opens it first can sign in as this user. It works once and expires ',
        moment(until, { exact: true }),
        '. It is not shown again.',
      ),
      copyable(link, 'the link', { wide: true }),
      code && el('p', { class: 'muted' }, 'Or let the user scan it with a phone:'),
      code && picture(code, 'QR code of the link'),
      el(
        'div',
        { class: 'ways' },
        message && copyButton('Copy a message', 'the message', () => `${message.subject}\n\n${message.text}`),
        message &&
          user.email &&
          !me.sends_mail &&
          el('a', { class: 'button small', href: mailto(user.email, message) }, 'Write an email'),
        canSend(user, me) && button('Send by email instead', send),
      ),
      canSend(user, me) && el('p', { class: 'muted small' }, 'The email has a new link. This one ends then.'),
      el(
        'div',
        { class: 'actions' },
        el('button', { class: 'button primary', type: 'button', onclick: () => close() }, 'Done'),
      ),
    ];
  });
}
