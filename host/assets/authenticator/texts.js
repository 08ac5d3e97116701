// What the app says, in the language of whoever has it. A message is a list of parts: a text, { value: name }, or
// { plural: name, one: parts, ..., other: parts } by the plural categories of the language.

import messages from './messages.js';

/** The language of the page, a BCP 47 tag. */
export const language = document.documentElement.lang;

const plurals = new Intl.PluralRules(language);

// Marks that turn the direction of what stands around them have no place in a name.
const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

function fill(parts, values, put) {
  return parts.flatMap((part) => {
    if (typeof part === 'string') return [part];
    if (part.plural) return fill(part[plurals.select(values[part.plural])] ?? part.other, values, put);
    return [put(values[part.value])];
  });
}

/** A message as text. */
export function text(id, values = {}) {
  return fill(messages[id], values, (value) => String(value).replace(MARKS, '')).join('');
}

/** A message as a list of texts and elements: what comes from people is kept apart in its direction. */
export function phrase(id, values = {}) {
  return fill(messages[id], values, (value) => {
    const element = document.createElement('bdi');
    element.textContent = value;
    return element;
  });
}

/** How dates and times are written: as in the person's region, if they have set one for this language. */
export const region = navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language;
