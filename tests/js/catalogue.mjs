// The messages of the pages and of the authenticator, in the form that the server sends to scripts: lists of parts.

import { readFile } from 'node:fs/promises';

const folder = new URL('../../host/server/messages/', import.meta.url);

/** The beginning of a variant of a plural. */
const VARIANT = /^\s*\*?\[([a-z]+)\] */;

/**
 * Returns the parts of a pattern in the syntax of Fluent, with values and plurals, and the rest after it. A pattern
 * inside a plural ends before the next variant or the closing brace.
 */
function parsed(pattern, isVariant = false) {
  const parts = [];
  let rest = pattern;
  while (rest !== '') {
    const [text] = (isVariant ? /^(?:(?!\s*\n\s*\*?\[|\s*\})[^{])*/ : /^[^{]*/).exec(rest);
    if (text !== '') parts.push(text);
    rest = rest.slice(text.length);
    if (!rest.startsWith('{')) break;
    const [begin, name, arrow] = /^\{ *\$([a-z_]+) *(->|\})/.exec(rest);
    rest = rest.slice(begin.length);
    if (arrow === '}') {
      parts.push({ value: name });
      continue;
    }
    const plural = { plural: name };
    let variant = VARIANT.exec(rest);
    while (variant) {
      [plural[variant[1]], rest] = parsed(rest.slice(variant[0].length), true);
      variant = VARIANT.exec(rest);
    }
    parts.push(plural);
    rest = rest.replace(/^\s*\}/, '');
  }
  return [parts, rest];
}

/** Returns the messages of a language with an id prefix, by their ids. */
export async function messages(language, prefix) {
  const catalogue = await readFile(new URL(`${language}.ftl`, folder), 'utf8');
  const found = catalogue.matchAll(/^([a-z0-9-]+) =(.*(?:\n[ \t].*)*)/gm);
  const own = Array.from(found).filter(([, id]) => id.startsWith(prefix));
  return Object.fromEntries(own.map(([, id, pattern]) => [id, parsed(pattern.trim())[0]]));
}
