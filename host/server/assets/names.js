// The order of names, and the search for them. The portal and the console use it.

/**
 * Letters that Unicode does not decompose, and their form in the transform Latin-ASCII of CLDR. All forms of a Greek
 * sigma are one letter.
 * @type {Readonly<Record<string, string>>}
 */
const LETTERS = { ß: 'ss', æ: 'ae', đ: 'd', ħ: 'h', ı: 'i', ł: 'l', œ: 'oe', ø: 'o', ς: 'σ' };

/**
 * The marks that names are searched without: accents of Latin, Greek and Cyrillic letters, points of Hebrew and Arabic
 * letters, sound marks of Kana, and variation selectors. The marks of other scripts are vowels, without which a name
 * would be another one. It is the list of the server.
 */
const REMOVED_MARKS = new RegExp(
  '[\\u0300-\\u036f\\u0483-\\u0487\\u0591-\\u05bd\\u05bf\\u05c1-\\u05c2\\u05c4-\\u05c5\\u05c7\\u0610-\\u061a' +
    '\\u064b-\\u065f\\u0670\\u06d6-\\u06dc\\u06df-\\u06e4\\u06e7-\\u06e8\\u06ea-\\u06ed\\u1ab0-\\u1aff\\u1dc0-\\u1dff' +
    '\\u20d0-\\u20ff\\u3099-\\u309a\\ufe00-\\ufe0f\\ufe20-\\ufe2f\\u{e0100}-\\u{e01ef}]',
  'gu',
);

/**
 * The form in which names are searched: without case, accents and width, so that "armel" finds "Ärmel". It is that of
 * `search_form` of the server.
 * @param {string} text
 */
export const searchForm = (text) =>
  text
    .normalize('NFKD')
    .replace(REMOVED_MARKS, '')
    .toLowerCase()
    .replace(/[ßæđħıłœøς]/g, (letter) => LETTERS[letter])
    .trim();

/**
 * A function that returns whether a text contains each typed word.
 * @param {string} typed
 */
export function matcher(typed) {
  const words = searchForm(typed).split(/\s+/);
  return (/** @type {string} */ text) => {
    const form = searchForm(text);
    return words.every((word) => form.includes(word));
  };
}

/**
 * The order of rows by their names, in the language of the page. Numbers in names are compared by their value.
 * @template Row
 * @param {(row: Row) => string} nameOf
 */
export function byName(nameOf) {
  const { compare } = new Intl.Collator(document.documentElement.lang, { numeric: true });
  return (/** @type {Row} */ one, /** @type {Row} */ other) => compare(nameOf(one), nameOf(other));
}
