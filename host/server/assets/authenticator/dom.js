// The page itself: puts descriptions of elements into it, moves the focus, speaks to screen readers, asks before a
// deletion.

import { present } from './view.js';

/**
 * @typedef {import('./types.d.ts').Piece} Piece
 * @typedef {import('./types.d.ts').Attribute} Attribute
 */

const SVG = 'http://www.w3.org/2000/svg';

/** What each element was made of. @type {WeakMap<Node, Piece>} */
const pieces = new WeakMap();

/** @param {Event} event */
function dispatch(event) {
  const target = /** @type {Node} */ (event.currentTarget);
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
  // What the user types is in the property; the attribute is only where it began. Written as it is, the caret stays.
  if (name === 'value' && 'value' in element) {
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

/**
 * The node that is there already for a child: the first that is left of the same kind.
 * @param {Node[]} left
 * @param {Piece | string | Node} child
 */
function taken(left, child) {
  const at = left.findIndex((node) => {
    if (child instanceof Node) return node === child;
    if (typeof child === 'string') return node instanceof Text;
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
  const nodes = children.map((child) => taken(left, child) ?? made(child));
  for (const node of left) parent.removeChild(node);
  nodes.forEach((node, index) => {
    if (parent.childNodes[index] !== node) parent.insertBefore(node, parent.childNodes[index] ?? null);
    const child = children[index];
    if (typeof child === 'string') {
      if (node instanceof Text && node.data !== child) node.data = child;
    } else if (!(child instanceof Node)) {
      shape(/** @type {Element} */ (node), child);
    }
  });
}

/**
 * Makes the content of an element what the descriptions say. What is there already stays: its focus, its caret, and
 * what a screen reader reads.
 * @param {Element} parent
 * @param {import('./types.d.ts').Child[]} children
 */
export function show(parent, children) {
  const focused = document.activeElement;
  const caret = focused instanceof HTMLInputElement ? [focused.selectionStart, focused.selectionEnd] : null;
  fill(parent, present(children));
  // What moved in the page lost the focus, so it gets it back.
  if (focused instanceof HTMLElement && focused !== document.activeElement && focused.isConnected) {
    focused.focus({ preventScroll: true });
    if (caret && focused instanceof HTMLInputElement) focused.setSelectionRange(caret[0], caret[1]);
  }
}

/**
 * Moves the focus to the element of a selector. One that is no control can take it too, so that a screen reader goes
 * on from there.
 * @param {string} selector
 */
export function focusOn(selector) {
  const element = document.querySelector(selector);
  if (!(element instanceof HTMLElement)) return;
  if (element.tabIndex < 0) element.setAttribute('tabindex', '-1');
  element.focus();
}

/**
 * Whether the focus is in the element of a selector.
 * @param {string} selector
 */
export function isFocusIn(selector) {
  return Boolean(document.activeElement?.closest(selector));
}

/** Whether the focus is nowhere: its element left the page, or was disabled. */
export function isFocusLost() {
  return document.activeElement === null || document.activeElement === document.body;
}

/** Whether the focus may move by itself: it is nowhere, or on a text or a part of the page that it was moved to. */
export function isFocusFree() {
  const focused = document.activeElement;
  if (document.querySelector('dialog[open]') !== null) return false;
  return isFocusLost() || (focused instanceof HTMLElement && focused.getAttribute('tabindex') === '-1');
}

// What was said long ago must not be read as if it still held.
const SAID_MS = 10_000;
/** @type {Map<Element, number>} */
const silences = new Map();

/**
 * Says a text to screen readers: politely, or at once where it is about what the user just did wrong.
 * @param {string} text
 * @param {boolean} [urgent]
 */
export function say(text, urgent = false) {
  const region = document.getElementById(urgent ? 'loud' : 'say');
  if (region === null) return;
  // The same text twice is announced too.
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
 * Asks before something that can't be undone. Returns true for yes.
 * @param {string} title
 * @param {string} text
 * @param {string} yes
 * @returns {Promise<boolean>}
 */
export function ask(title, text, yes) {
  const dialog = /** @type {HTMLDialogElement} */ (document.getElementById('ask'));
  // A second question, such as by a link, must not change the words of the open one.
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
