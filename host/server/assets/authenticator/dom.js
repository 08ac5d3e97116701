// The page itself: renders descriptions of elements, moves the focus, notifies screen readers, asks before a deletion.

import { present } from './view.js';

/**
 * @typedef {import('./types.d.ts').Piece} Piece
 * @typedef {import('./types.d.ts').Attribute} Attribute
 */

const SVG = 'http://www.w3.org/2000/svg';

/** The description of each element. @type {WeakMap<Node, Piece>} */
const pieces = new WeakMap();

/** The field in which an input method composes a text: nothing may replace its value. @type {EventTarget | null} */
let composing = null;

document.addEventListener('compositionstart', ({ target }) => {
  composing = target;
});
document.addEventListener('compositionend', (event) => {
  composing = null;
  const listener = event.target instanceof Node && pieces.get(event.target)?.attributes.oninput;
  if (typeof listener === 'function') listener(event);
});

/** @param {Event} event */
function dispatch(event) {
  const target = /** @type {Node} */ (event.currentTarget);
  // The text of a composition counts at its end.
  if (event.type === 'input' && target === composing) return;
  const listener = pieces.get(target)?.attributes[`on${event.type}`];
  if (typeof listener === 'function') listener(event);
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {Attribute} value
 * @param {Attribute} before
 */
function setAttribute(element, name, value, before) {
  if (typeof value === 'function' || typeof before === 'function') {
    if (typeof before !== 'function') element.addEventListener(name.slice(2), dispatch);
    return;
  }
  // The property contains the text that the user types; the attribute is only its initial value. Setting only a changed
  // value keeps the caret.
  if (name === 'value' && 'value' in element) {
    if (element === composing) return;
    const written = element instanceof HTMLProgressElement ? Number(value) : String(value ?? '');
    if (element.value !== written) element.value = written;
    return;
  }
  if (value === before) return;
  if (value === true) element.setAttribute(name, '');
  else if (value === false || value === null || value === undefined) element.removeAttribute(name);
  else element.setAttribute(name, String(value));
}

/**
 * @param {Element} element
 * @param {Piece} piece
 */
function shape(element, piece) {
  const before = pieces.get(element)?.attributes ?? {};
  pieces.set(element, piece);
  for (const name of Object.keys(before)) {
    if (!(name in piece.attributes)) setAttribute(element, name, undefined, before[name]);
  }
  for (const [name, value] of Object.entries(piece.attributes)) setAttribute(element, name, value, before[name]);
  fill(element, piece.children);
}

/** @param {Piece | string | Node} child */
function made(child) {
  if (child instanceof Node) return child;
  if (typeof child === 'string') return document.createTextNode(child);
  const inDrawing = child.tag === 'svg' || child.tag === 'path';
  return inDrawing ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
}

/** The texts of each element as this script wrote them. @type {WeakMap<Element, string>} */
const written = new WeakMap();

/**
 * The existing node for a child: the first of the same kind among the remaining ones. A browser that translates the
 * page puts a `font` in the place of a text, which stays as long as the text does.
 * @param {Node[]} left
 * @param {Piece | string | Node} child
 * @param {boolean} isSame whether the texts of the element are those that this script wrote
 */
function taken(left, child, isSame) {
  const at = left.findIndex((node) => {
    if (child instanceof Node) return node === child;
    if (typeof child === 'string') return node instanceof Text || (isSame && node.nodeName === 'FONT');
    return pieces.get(node)?.identity === child.identity;
  });
  return at < 0 ? null : left.splice(at, 1)[0];
}

/**
 * @param {Element} parent
 * @param {Array<Piece | string | Node>} children
 */
function fill(parent, children) {
  const left = [...parent.childNodes];
  const texts = JSON.stringify(children.filter((child) => typeof child === 'string'));
  const isSame = written.get(parent) === texts;
  written.set(parent, texts);
  const nodes = children.map((child) => taken(left, child, isSame) ?? made(child));
  for (const node of left) parent.removeChild(node);
  nodes.forEach((node, index) => {
    if (parent.childNodes[index] !== node) parent.insertBefore(node, parent.childNodes[index] ?? null);
    const child = children[index];
    if (typeof child === 'string') {
      if (!isSame && node instanceof Text && node.data !== child) node.data = child;
    } else if (!(child instanceof Node)) {
      shape(/** @type {Element} */ (node), child);
    }
  });
}

/**
 * Updates the content of an element to match the descriptions. Existing elements stay, with their focus, their caret,
 * and the position of a screen reader.
 * @param {Element} parent
 * @param {import('./types.d.ts').Child[]} children
 */
export function show(parent, children) {
  const focused = document.activeElement;
  const caret = focused instanceof HTMLInputElement ? [focused.selectionStart, focused.selectionEnd] : null;
  fill(parent, present(children));
  // An element that moved in the page lost the focus, so it gets it back.
  if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
    if (caret && focused instanceof HTMLInputElement) focused.setSelectionRange(caret[0], caret[1]);
  }
}

/**
 * Moves the focus to the element of a selector. An element that is not a control can get it too, so that a screen
 * reader continues there.
 * @param {string} selector
 */
export function focusOn(selector) {
  const element = document.querySelector(selector);
  if (!(element instanceof HTMLElement)) return;
  if (element.tabIndex < 0) element.setAttribute('tabindex', '-1');
  // The browser would centre the field of a request, and could move the title out of the visible area. The card is at
  // the beginning of the page.
  const card = element.closest('.card.request');
  if (card) window.scrollTo({ top: 0, behavior: 'instant' });
  element.focus({ preventScroll: card !== null });
  // A card that is taller than the visible area may show only one end.
  if (card) element.scrollIntoView({ block: 'nearest', behavior: 'instant' });
}

/**
 * Whether the focus is in the element of a selector.
 * @param {string} selector
 */
export function isFocusIn(selector) {
  return Boolean(document.activeElement?.closest(selector));
}

/** Whether no element has the focus: its element left the page, or was disabled. */
export function isFocusLost() {
  return document.activeElement === null || document.activeElement === document.body;
}

/**
 * Whether the focus may move automatically: no element has it, or a text or a part of the page has it, to which it was
 * moved.
 */
export function isFocusFree() {
  const focused = document.activeElement;
  if (document.querySelector('dialog[open]') !== null) return false;
  return isFocusLost() || (focused instanceof HTMLElement && focused.getAttribute('tabindex') === '-1');
}

// An old announcement must not be read as if it were current.
const SAID_MS = 10_000;
/** @type {Map<Element, number>} */
const silences = new Map();

/**
 * Announces a text to screen readers: politely, or at once if it is about an error of the user.
 * @param {string} text
 * @param {boolean} [urgent]
 */
export function say(text, urgent = false) {
  const region = document.getElementById(urgent ? 'loud' : 'say');
  if (region === null) return;
  // A repeated text is announced again.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
  clearTimeout(silences.get(region));
  silences.set(
    region,
    window.setTimeout(() => {
      region.textContent = '';
    }, SAID_MS),
  );
}

/**
 * Asks before an irreversible action. Returns true for yes.
 * @param {string} title
 * @param {string} text
 * @param {string} yes
 * @returns {Promise<boolean>}
 */
export function ask(title, text, yes) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('ask'));
  // A second question, for example from a link, must not replace the texts of the open one.
  if (dialog.open) return Promise.resolve(false);
  for (const [id, words] of [
    ['ask-title', title],
    ['ask-text', text],
    ['ask-yes', yes],
  ]) {
    const element = document.getElementById(id);
    if (element) element.textContent = words;
  }
  dialog.returnValue = 'no';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}
