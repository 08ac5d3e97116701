// The texts that the API returns, such as errors, in the language of the console. The API returns English texts. The
// catalogue has the texts of the server's sources, with {values}.

import { catalogueOf, translated } from './language.js';

/**
 * The German texts of those without values.
 * @type {ReadonlyMap<string, string>}
 */
let exact = new Map();

/**
 * The texts with values, as patterns. A text with more characters of its own comes earlier.
 * @type {ReadonlyArray<{ pattern: RegExp, names: string[], german: string }>}
 */
let patterns = [];

/** A value in a text, or a doubled brace. In German `!` marks a value that is a text of the API. */
const PLACE = /\{\{|\}\}|\{(\w*)(!?)\}/g;

/** Loads the catalogue, if the console is German. */
export async function loadApiTexts() {
  useApiTexts(await catalogueOf('german_messages.json'));
}

/**
 * Sets the catalogue: German texts by the English ones.
 * @param {Record<string, string>} texts
 */
export function useApiTexts(texts) {
  const whole = new Map();
  const found = [];
  for (const [english, german] of Object.entries(texts)) {
    const { source, names, length } = patternOf(english);
    if (names.length === 0)
      whole.set(
        filled(english, () => ''),
        filled(german, () => ''),
      );
    else found.push({ pattern: new RegExp(`^${source}$`, 's'), names, german, length });
  }
  exact = whole;
  patterns = found.sort((one, other) => other.length - one.length);
}

/**
 * The regular expression of a text with values, the names of the values, and the number of its own characters.
 * @param {string} text
 */
function patternOf(text) {
  const escaped = (/** @type {string} */ part) => part.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  /** @type {string[]} */
  const names = [];
  let source = '';
  let length = 0;
  let end = 0;
  let number = 0;
  for (const { 0: place, 1: name, index } of text.matchAll(PLACE)) {
    const own = text.slice(end, index) + (name === undefined ? place[0] : '');
    source += escaped(own);
    length += own.length;
    end = index + place.length;
    if (name === undefined) continue;
    source += '(.*?)';
    names.push(name || String(number++));
  }
  const rest = text.slice(end);
  return { source: source + escaped(rest), names, length: length + rest.length };
}

/**
 * A text with its values inserted. A value without a name is named by its number.
 * @param {string} text
 * @param {(name: string, isText: boolean) => string} value
 */
function filled(text, value) {
  let number = 0;
  return text.replaceAll(PLACE, (place, name, mark) =>
    name === undefined ? place[0] : value(name || String(number++), mark === '!'),
  );
}

/**
 * A text of the API in the language of the console, such as an error. Texts of the console are translated too, because
 * the console creates some errors itself; any other text stays unchanged.
 * @param {string} text
 * @returns {string}
 */
export function apiText(text) {
  const core = text.trim();
  const known = exact.get(core);
  if (known !== undefined) return text.replace(core, () => known);
  for (const { pattern, names, german } of patterns) {
    const values = pattern.exec(text)?.slice(1);
    if (values)
      return filled(german, (name, isText) => {
        const value = values[names.indexOf(name)] ?? '';
        return isText ? apiText(value) : value;
      });
  }
  return curly(translated(text));
}

/**
 * A text with typographic apostrophes. The API and the descriptions of settings have ASCII apostrophes.
 * @param {string} text
 */
export const curly = (text) => text.replaceAll(/(?<=\p{L})'(?=(?:s|t|re|ll|ve|d)\b)|(?<=s)'(?= )/gu, '’');

/** A first word without special characters, which is not the name of a setting or an address. */
const FIRST_WORD = /^\p{Ll}[\p{L}'’-]*(?=[,;:.]?(?:\s|$))/u;

/**
 * A text of the API, as a sentence in the language of the console. Some texts of the API are parts of sentences,
 * because other texts contain them.
 * @param {string} text
 * @returns {string}
 */
export function apiSentence(text) {
  const known = apiText(text).trim();
  const begun = known.replace(FIRST_WORD, (word) => word[0].toUpperCase() + word.slice(1));
  return begun === '' || /[.!?…:]$/.test(begun) ? begun : `${begun}.`;
}
