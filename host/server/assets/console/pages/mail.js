// Email in the settings: the preview of an invitation, and a test.

import { get, post } from '../api.js';
import { form, select, text } from '../form.js';
import { t } from '../language.js';
import { el, facts, notice, section } from '../view.js';

/** @import { Context, Schema } from '../types.d.ts' */

/**
 * @param {Context} context
 */
export async function mail({ may, me }) {
  const language = select('language', 'Language', [
    ['en', 'English'],
    ['de', 'German'],
  ]);
  const place = el('div', { 'aria-live': 'polite', class: 'stack' });
  const show = async () => {
    const value = language.read() === 'de' ? 'de' : 'en';
    place.replaceChildren(...preview(await get('/mail/preview', { language: value })));
  };
  language.write('en');
  language.element.addEventListener('input', show);
  await show();
  return section(
    'Invitation emails',
    !me.sends_mail &&
      notice('This server sends no email. Set the table [mail] in its settings to send invitations.', 'calm'),
    me.sends_mail && may('mail:send') && test(),
    el(
      'details',
      { class: 'panel' },
      el('summary', {}, 'Preview of the invitation'),
      el('div', { class: 'opened' }, language.element, place),
    ),
  );
}

function test() {
  const result = el('div', { 'aria-live': 'polite' });
  const made = form([text('to', 'Send a test email to', { type: 'email', needed: 'Enter an email address.' })], {
    submit: 'Send a test email',
    kind: '',
    asks: true,
    send: async ({ to }) => {
      result.replaceChildren();
      const { answer } = await post('/mail/test', {}, { to: to ?? '' });
      result.replaceChildren(notice(t`The SMTP server accepted the email: ${answer}`, 'calm'));
    },
  });
  return el('div', { class: 'panel stack' }, made, result);
}

/**
 * @param {Schema<'MailPreview'>} shown
 */
function preview({ from, subject, text: plain, html }) {
  return [
    facts([
      ['From', from],
      ['Subject', subject],
    ]),
    el('h3', {}, 'As HTML'),
    sanitized(html),
    el('h3', {}, 'As plain text'),
    el('pre', { tabindex: 0, class: 'wrapped' }, plain),
  ];
}

/**
 * The content of the email. Its styles and links are removed, because the policy of this page permits no styles.
 * @param {string} html
 */
function sanitized(html) {
  const page = new DOMParser().parseFromString(html.replaceAll(/ style="[^"]*"/g, ''), 'text/html');
  for (const link of page.querySelectorAll('a')) link.removeAttribute('href');
  const { lang, dir } = page.documentElement;
  return el('div', { class: 'mail', lang, dir }, ...page.body.childNodes);
}
