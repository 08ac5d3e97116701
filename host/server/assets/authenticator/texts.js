// The texts of the app, in the user's language. A message is a list of parts: a text, `{ value: name }`, or `{ plural:
// name, one: parts, ..., other: parts }` by the plural categories of the language.

import messages from './messages.js';
import { el } from './view.js';

/**
 * @typedef {import('./types.d.ts').Piece} Piece
 * @typedef {Record<string, string | number>} Values
 * @typedef {import('./messages.js').Part} Part
 */

/** The language of the page, a BCP 47 tag. */
export const language = document.documentElement.lang;

const plurals = new Intl.PluralRules(language);

// Marks that change the direction of the surrounding text are removed from names.
const MARKS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * @template T
 * @param {Part[]} parts
 * @param {Values} values
 * @param {(value: string | number) => T} put
 * @returns {Array<T | string>}
 */
function fill(parts, values, put) {
  return parts.flatMap((part) => {
    if (typeof part === 'string') return [part];
    if ('plural' in part) return fill(part[plurals.select(Number(values[part.plural]))] ?? part.other, values, put);
    return [put(values[part.value])];
  });
}

/**
 * A message as text.
 * @param {string} id
 * @param {Values} [values]
 */
export function text(id, values = {}) {
  return fill(messages[id], values, (value) => String(value).replace(MARKS, '')).join('');
}

/**
 * A message as a list of texts and elements: the direction of texts from users is isolated.
 * @param {string} id
 * @param {Values} [values]
 * @returns {Array<Piece | string>}
 */
export function phrase(id, values = {}) {
  return fill(messages[id], values, (value) => el('bdi', {}, String(value)));
}

/**
 * The remaining time in words, which are those of the sign-in page and of the console.
 * @param {number} seconds
 */
export function timeLeft(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return text('app-seconds', { seconds: whole });
  const minutes = Math.floor(whole / 60);
  if (whole % 60 === 0) return text('app-minutes-whole', { minutes });
  return text('app-minutes', { minutes, seconds: whole % 60 });
}

/** The format of dates and times: that of the user's region, if the browser has one for this language. */
export const region = navigator.languages.find((tag) => tag.split('-')[0] === language) ?? language;

/**
 * A day in words. `seconds` is Unix time, as in the functions below.
 * @param {number} seconds
 */
export function day(seconds) {
  return new Date(seconds * 1000).toLocaleDateString(region, { dateStyle: 'medium' });
}

/**
 * A time of day in words.
 * @param {number} seconds
 */
export function timeOfDay(seconds) {
  return new Date(seconds * 1000).toLocaleTimeString(region, { hour: '2-digit', minute: '2-digit' });
}

/**
 * A past time in words: of today without the day.
 * @param {number} seconds
 * @param {number} now
 */
export function recentMoment(seconds, now) {
  return day(seconds) === day(now) ? timeOfDay(seconds) : moment(seconds);
}

/**
 * A day and a time in words.
 * @param {number} seconds
 */
export function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString(region, { dateStyle: 'medium', timeStyle: 'short' });
}
