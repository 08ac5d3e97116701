// The theme of the console: that of the system, or the light or the dark one. This browser stores the choice.

import { el } from './view.js';

/** @typedef {'system' | 'light' | 'dark'} Theme */

const KEY = 'assent-console-theme';

/** @type {Array<[Theme, string]>} */
const THEMES = [
  ['system', 'As the system'],
  ['light', 'Light'],
  ['dark', 'Dark'],
];

/**
 * The condition of each rule in the stylesheet.
 * @type {WeakMap<CSSMediaRule, string>}
 */
const conditions = new WeakMap();

/**
 * Activates the rules of the stylesheets for a theme, also those with the operator's colours.
 * @param {Theme} theme
 */
function apply(theme) {
  document.documentElement.style.colorScheme = theme === 'system' ? '' : theme;
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  for (const rule of rules) {
    if (!(rule instanceof CSSMediaRule)) continue;
    const condition = conditions.get(rule) ?? rule.media.mediaText;
    conditions.set(rule, condition);
    const [, scheme] = /prefers-color-scheme:\s*(light|dark)/.exec(condition) ?? [];
    if (scheme) rule.media.mediaText = theme === 'system' ? condition : theme === scheme ? 'all' : 'not all';
  }
}

/** The stored theme of this browser. */
function remembered() {
  try {
    const stored = localStorage.getItem(KEY);
    return THEMES.map(([theme]) => theme).find((theme) => theme === stored) ?? 'system';
  } catch {
    return 'system';
  }
}

/** Applies the stored theme. Returns a field that changes it. */
export function themeSwitch() {
  const input = el('select', { id: 'theme' }, ...THEMES.map(([value, label]) => el('option', { value }, label)));
  input.value = remembered();
  apply(remembered());
  input.addEventListener('change', () => {
    const theme = /** @type {Theme} */ (input.value);
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // The browser stores nothing, so the theme lasts as long as the page.
    }
    apply(theme);
  });
  return el('div', { class: 'field' }, el('label', { for: 'theme' }, 'Theme'), input);
}
