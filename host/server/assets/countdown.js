// The remaining time in words, for pages with a countdown. The script runs in old browsers too.

/** @typedef {import('./authenticator/messages.js').Part} Part */

/**
 * The remaining time in words. The texts are lists of parts, as in authenticator/texts.js.
 * @param {Record<string, Part[]>} texts
 * @param {number} left in seconds
 */
// biome-ignore lint/correctness/noUnusedVariables: the script after this one in the same file calls it
function remainingTime(texts, left) {
  'use strict';

  // A browser without plural rules has two categories.
  var plurals = typeof Intl !== 'undefined' && Intl.PluralRules && new Intl.PluralRules(document.documentElement.lang);

  /** @param {number} count */
  function category(count) {
    return plurals ? plurals.select(count) : count === 1 ? 'one' : 'other';
  }

  /**
   * @param {Part[]} parts
   * @param {Record<string, number>} values
   * @returns {string}
   */
  function fill(parts, values) {
    var words = '';
    var part;
    var i;
    for (i = 0; i < parts.length; i += 1) {
      part = parts[i];
      if (typeof part === 'string') words += part;
      else if ('plural' in part) words += fill(part[category(values[part.plural])] || part.other, values);
      else words += values[part.value];
    }
    return words;
  }

  var minutes = Math.floor(left / 60);
  var seconds = left % 60;
  if (minutes === 0) return fill(texts['waiting-left'], { seconds: seconds });
  if (seconds === 0) return fill(texts['waiting-left-whole'], { minutes: minutes });
  return fill(texts['waiting-left-minutes'], { minutes: minutes, seconds: seconds });
}
