// The language of the console: English, or German by a catalogue of its texts. This browser stores the choice.

/** @typedef {'en' | 'de'} Language */

const KEY = 'assent-console-language';

/** @type {ReadonlyArray<readonly [Language, string]>} */
export const LANGUAGES = [
  ['en', 'English'],
  ['de', 'Deutsch'],
];

/** @type {Language} */
let current = 'en';

/**
 * The German text of each English one.
 * @type {ReadonlyMap<string, string>}
 */
let catalogue = new Map();

/** The language of the console. */
export const language = () => current;

/** The locale of dates and numbers. */
export const locale = () => (current === 'de' ? 'de-DE' : 'en-GB');

/**
 * The language that this browser stored, otherwise the one that it prefers.
 * @returns {Language}
 */
function preferred() {
  const byBrowser = navigator.language.startsWith('de') ? 'de' : 'en';
  try {
    const stored = localStorage.getItem(KEY);
    return LANGUAGES.map(([one]) => one).find((one) => one === stored) ?? byBrowser;
  } catch {
    return byBrowser;
  }
}

/**
 * Stores a language in this browser, for the next time that the console is loaded.
 * @param {Language} chosen
 */
export function remember(chosen) {
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // The browser stores nothing, so the console stays in its language.
  }
}

/**
 * The catalogue in a file: German texts by the English ones. Undefined if the server does not send it.
 * @param {string} file
 * @returns {Promise<Record<string, string> | undefined>}
 */
async function loaded(file) {
  try {
    const answer = await fetch(`/assets/console/${file}`, { redirect: 'error' });
    return answer.ok ? await answer.json() : undefined;
  } catch {
    // The server is not reachable, and the console reports that by itself.
    return undefined;
  }
}

/** Loads the catalogue, if the language needs it. Without the catalogue the console is English. */
export async function loadLanguage() {
  const texts = preferred() === 'de' ? await loaded('german.json') : undefined;
  if (texts) {
    catalogue = new Map(Object.entries(texts));
    current = 'de';
  }
  document.documentElement.lang = current;
}

/**
 * Another catalogue, if the console is German; otherwise an empty one.
 * @param {string} file
 */
export async function catalogueOf(file) {
  return (current === 'de' && (await loaded(file))) || {};
}

/**
 * A text of the console in its language; any other text unchanged. Spaces around the text stay, because a text may be a
 * part of a sentence.
 * @param {string} text
 */
export function translated(text) {
  const known = catalogue.get(text);
  if (known !== undefined) return known;
  const core = text.trim();
  const found = catalogue.get(core);
  return found === undefined ? text : text.replace(core, () => found);
}

/**
 * A text with values in it: t`Delete ${name}?`. In the catalogue it is "Delete {}?".
 * @param {TemplateStringsArray} parts
 * @param {...(string | number | null | undefined)} values
 */
export function t(parts, ...values) {
  const pieces = translated(parts.join('{}')).split('{}');
  return pieces.map((piece, index) => piece + (values[index] ?? '')).join('');
}
