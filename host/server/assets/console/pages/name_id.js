// The note about the NameID of an assertion.

import { t } from '../language.js';

const EMAIL_ADDRESS = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';

/**
 * The note about a NameID with a value that does not match its format; undefined if there is nothing to note.
 * @param {{ format?: string | null, value?: string | null }} nameId
 */
export function nameIdNote({ format, value }) {
  if (format !== EMAIL_ADDRESS || !value || /^[^\s@]+@[^\s@]+$/.test(value)) return undefined;
  return t`The NameID ${value} is not an email address, but its format is emailAddress. Many applications reject it, or\
 create another user. Use the email address as its source, or the format unspecified.`;
}
