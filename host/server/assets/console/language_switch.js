// The choice of the console's language, and the texts of the frame from the server.

import { LANGUAGES, language, remember, translated } from './language.js';
import { el } from './view.js';

/** @import { Language } from './language.js' */

/** A field that changes the language. The page is reloaded, because each of its texts changes. */
export function languageSwitch() {
  // Each language has its own name, so that its speakers find it.
  const options = LANGUAGES.map(([value, label]) => el('option', { value, lang: value }, new Text(label)));
  const input = el('select', { id: 'language' }, ...options);
  input.value = language();
  input.addEventListener('change', () => {
    remember(/** @type {Language} */ (input.value));
    location.reload();
  });
  // The label is in both languages, because a reader may know only one of them.
  const label = language() === 'en' ? 'Language (Sprache)' : 'Sprache (Language)';
  return el('div', { class: 'field' }, el('label', { for: 'language' }, label), input);
}

/** Translates the frame around the page: the server sends it in English. */
export function translateFrame() {
  for (const one of document.querySelectorAll('nav[aria-label]'))
    one.setAttribute('aria-label', translated(one.getAttribute('aria-label') ?? ''));
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, (node) =>
    // Names that users chose are never texts of the console.
    node.parentElement?.closest('bdi, noscript') ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (node instanceof Text) node.data = translated(node.data);
  }
}
