// Small parts of the app's screens: descriptions of elements, which dom.js puts into the page. Text is always inserted
// as text, never as markup.

/**
 * @typedef {import('./types.d.ts').Piece} Piece
 * @typedef {import('./types.d.ts').Child} Child
 * @typedef {import('./types.d.ts').Attribute} Attribute
 */

/**
 * The visible children: a false condition leaves none.
 * @param {Child[]} children
 * @returns {Array<Piece | string | Node>}
 */
export function present(children) {
  return children.flatMap((child) =>
    child === null || child === undefined || child === false || child === '' ? [] : [child],
  );
}

/**
 * The description of an element: `el('p', { class: 'muted' }, 'Hello ', el('b', {}, name))`. An attribute that is a
 * function is a listener; `true` sets an attribute without a value; `false`, null and undefined leave it out. A `key`
 * names the element among its siblings: only a description with the same key takes over its element in the page. The
 * default key of a button is its label, so that no button becomes another one under a finger, or under the focus.
 * @param {string} tag
 * @param {Record<string, Attribute>} [attributes]
 * @param {...Child} children
 * @returns {Piece}
 */
export function el(tag, { key, ...rest } = {}, ...children) {
  const shown = present(children);
  const label = tag === 'button' ? shown.filter((child) => typeof child === 'string').join('') : '';
  // A browser that translates the page must not change names, codes and other values.
  const attributes = tag === 'bdi' || tag === 'code' ? { translate: 'no', ...rest } : rest;
  return { tag, identity: `${tag} ${key ?? attributes.id ?? label}`, attributes, children: shown };
}

const SHAPES = {
  check: 'M5.5 12.5l4.2 4.2L18.5 8',
  cross: 'M7 7l10 10M17 7L7 17',
  mark: 'M12 6.5v7M12 17.4v.1',
  barred: 'M12 4l6.5 2.4v5c0 4-2.7 7-6.5 8.6-3.8-1.6-6.5-4.6-6.5-8.6v-5zM9 12h6',
  shield: 'M12 4l6.5 2.4v5c0 4-2.7 7-6.5 8.6-3.8-1.6-6.5-4.6-6.5-8.6v-5zM9 12l2.2 2.2 4-4.2',
};

/** @typedef {keyof typeof SHAPES} Shape */

/**
 * A round sign without a text for screen readers: `tone` is good, bad, warn or calm.
 * @param {Shape} shape
 * @param {string} tone
 */
export function sign(shape, tone) {
  const look = { fill: 'none', stroke: 'currentColor', 'stroke-width': 2.2 };
  const path = el('path', { d: SHAPES[shape], ...look, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' });
  const drawing = el('svg', { viewBox: '0 0 24 24', width: 24, height: 24 }, path);
  return el('span', { class: `sign ${tone}`, 'aria-hidden': 'true' }, drawing);
}

/**
 * A button.
 * @param {string} label
 * @param {() => unknown} onclick
 * @param {string} [kind]
 * @param {Record<string, Attribute>} [more]
 */
export function button(label, onclick, kind = '', more = {}) {
  return el('button', { type: 'button', class: `button ${kind}`.trim(), onclick: () => onclick(), ...more }, label);
}

/**
 * A list of names and values.
 * @param {string[][]} pairs
 */
export function facts(pairs) {
  const rows = pairs.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, el('bdi', {}, value))));
  return el('dl', { class: 'facts' }, ...rows);
}

/**
 * Texts from outside, joined by commas or similar separators. The direction of each is isolated.
 * @param {string[]} texts
 * @param {string} [between]
 * @returns {Child[]}
 */
export function joined(texts, between = ', ') {
  return texts.filter(Boolean).flatMap((known, index) => [...(index > 0 ? [between] : []), el('bdi', {}, known)]);
}

/**
 * A banner.
 * @param {string} text
 * @param {string} tone
 * @param {...Child} more
 */
export function notice(text, tone, ...more) {
  return el('div', { class: `notice ${tone}` }, el('p', {}, text), ...more);
}

/**
 * An error, which is hidden while it is empty. The element stays in the page, so that screen readers announce its text.
 * @param {string} error
 * @param {Record<string, Attribute>} [more]
 */
export function complaint(error, more = {}) {
  return el('p', { key: 'error', class: 'field-error', role: 'alert', hidden: error === '', ...more }, error);
}

/**
 * A card with a single text, in its middle.
 * @param {string} key
 * @param {string} words
 */
export function waiting(key, words) {
  return el('div', { key, class: 'card ready' }, el('p', { class: 'muted', role: 'status' }, words));
}

/**
 * An image from the server, as a URL. As an image it cannot run scripts.
 * @param {string} svg
 */
export function picture(svg) {
  return `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
}
