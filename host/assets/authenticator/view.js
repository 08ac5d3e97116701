// Small pieces that the app's screens are made of. Text always goes in as text, never as markup.

/**
 * An element: `el('p', { class: 'muted' }, 'Hello ', el('b', {}, name))`. An attribute that is a function is a listener;
 * `true` sets an attribute without a value; `false`, null and undefined leave it out.
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null && child !== false));
  return element;
}

const SHAPES = {
  check: 'M5.5 12.5l4.2 4.2L18.5 8',
  cross: 'M7 7l10 10M17 7L7 17',
  mark: 'M12 6.5v7M12 17.4v.1',
  shield: 'M12 4l6.5 2.4v5c0 4-2.7 7-6.5 8.6-3.8-1.6-6.5-4.6-6.5-8.6v-5zM9 12l2.2 2.2 4-4.2',
};

/** A round sign, only to be seen: `tone` is good, bad, warn or calm. */
export function sign(shape, tone) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  for (const [name, value] of Object.entries({ viewBox: '0 0 24 24', width: 24, height: 24 })) svg.setAttribute(name, value);
  const look = { d: SHAPES[shape], fill: 'none', stroke: 'currentColor', 'stroke-width': 2.2, 'stroke-linecap': 'round', 'stroke-linejoin': 'round' };
  for (const [name, value] of Object.entries(look)) path.setAttribute(name, value);
  svg.append(path);
  return el('span', { class: `sign ${tone}`, 'aria-hidden': 'true' }, svg);
}

/** A button. */
export function button(label, onclick, kind = '') {
  return el('button', { type: 'button', class: `button ${kind}`.trim(), onclick }, label);
}

/** A list of names and values. */
export function facts(pairs) {
  const rows = pairs.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, el('bdi', {}, value))));
  return el('dl', { class: 'facts' }, ...rows);
}

/** A banner. */
export function notice(text, tone, ...more) {
  return el('div', { class: `notice ${tone}` }, el('p', {}, text), ...more);
}

/** Moves the focus to an element that is no control, so that a screen reader goes on from there. */
export function focusOn(element) {
  element.setAttribute('tabindex', '-1');
  element.focus();
}

// What was said long ago must not be read as if it still held.
const SAID_MS = 10_000;
const silences = new Map();

/** Says a text to screen readers: politely, or at once where it is about what the person just did wrong. */
export function say(text, urgent = false) {
  const region = document.getElementById(urgent ? 'loud' : 'say');
  // The same text twice is news too.
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
  clearTimeout(silences.get(region));
  silences.set(region, setTimeout(() => (region.textContent = ''), SAID_MS));
}

/** Asks before something that can't be undone. Gives true for yes. */
export function ask(title, text, yes) {
  const dialog = document.getElementById('ask');
  document.getElementById('ask-title').textContent = title;
  document.getElementById('ask-text').textContent = text;
  document.getElementById('ask-yes').textContent = yes;
  dialog.returnValue = 'no';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'), { once: true });
  });
}
