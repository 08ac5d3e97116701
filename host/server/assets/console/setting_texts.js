// The descriptions of settings in the language of the console. They are long, so only the pages that show or search
// settings load their catalogue.

import { curly } from './api_texts.js';
import { catalogueOf } from './language.js';

/**
 * The German text of each description.
 * @type {ReadonlyArray<[string, string]>}
 */
let texts = [];

/** Loads the catalogue, if the console is German. */
export async function loadSettingTexts() {
  if (texts.length === 0) useSettingTexts(await catalogueOf('german_settings.json'));
}

/**
 * Sets the catalogue: German texts by the English ones.
 * @param {Record<string, string>} catalogue
 */
export function useSettingTexts(catalogue) {
  texts = Object.entries(catalogue);
}

/**
 * The description of a setting. The description of its table may come first.
 * @param {string} description
 * @returns {string}
 */
export function settingText(description) {
  const whole = texts.find(([english]) => english === description);
  if (whole) return whole[1];
  const [table, german] = texts.find(([english]) => description.startsWith(`${english} `)) ?? [];
  return table === undefined ? curly(description) : `${german} ${settingText(description.slice(table.length + 1))}`;
}
