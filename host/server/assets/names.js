// The order of names, and the search for them. The portal and the console use it.

/**
 * Letters that Unicode does not decompose, and their form in the transform Latin-ASCII of CLDR. All forms of a Greek
 * sigma are one letter.
 * @type {Readonly<Record<string, string>>}
 */
const LETTERS = { ß: 'ss', æ: 'ae', đ: 'd', ħ: 'h', ı: 'i', ł: 'l', œ: 'oe', ø: 'o', ς: 'σ' };

/**
 * The form in which names are searched: without case, accents and width, so that "armel" finds "Ärmel". It is that of
 * `search_form` of the server.
 * @param {string} text
 */
export const searchForm = (text) =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
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
