// Shows times in the browser's time zone, and recent ones relative to now. Without the script pages show them in UTC.

import { byName, matcher } from './names.js';

const { lang } = document.documentElement;
// The page's language, in the variant of the user's region.
const spoken = navigator.languages.find((language) => language.startsWith(lang)) ?? lang;
const absolute = new Intl.DateTimeFormat(spoken, { dateStyle: 'long', timeStyle: 'short' });
const relative = new Intl.RelativeTimeFormat(spoken, { numeric: 'auto' });
/**
 * The units of relative times, each with its length in seconds, and the maximum distance at which it is used.
 * @type {Array<[Intl.RelativeTimeFormatUnit, number, number]>}
 */
const UNITS = [
  ['second', 1, 60],
  ['minute', 60, 3600],
  ['hour', 3600, 86_400],
  ['day', 86_400, 7 * 86_400],
];

/**
 * Shows a time relative to now.
 * @param {HTMLTimeElement} time
 */
function showTime(time) {
  const date = new Date(time.dateTime);
  const seconds = (date.valueOf() - Date.now()) / 1000;
  const unit = UNITS.find(([, , until]) => Math.abs(seconds) < until);
  time.title = absolute.format(date);
  time.textContent = unit ? relative.format(Math.trunc(seconds / unit[1]), unit[0]) : time.title;
}

/** @type {NodeListOf<HTMLTimeElement>} */
const moments = document.querySelectorAll('time[datetime]');
moments.forEach(showTime);

// Future times are counted down.
const toCome = [...moments].filter(({ dateTime }) => new Date(dateTime).valueOf() > Date.now());
if (toCome.length > 0) setInterval(() => toCome.forEach(showTime), 1000);

// The field for the name of a device replaces its buttons.
for (const renaming of document.querySelectorAll('.manage > details')) {
  if (!(renaming instanceof HTMLDetailsElement)) continue;
  const input = renaming.querySelector('input:not([type="hidden"])');
  renaming.addEventListener('toggle', () => {
    if (renaming.open && input instanceof HTMLInputElement) input.select();
  });
  renaming.querySelector('a')?.addEventListener('click', (event) => {
    event.preventDefault();
    renaming.querySelector('form')?.reset();
    renaming.open = false;
    renaming.querySelector('summary')?.focus();
  });
}

// The applications in the order of the user's language.
const list = document.querySelector('.applications');
const nameOf = (/** @type {Element} */ tile) => tile.querySelector('h3')?.textContent ?? '';
const compare = byName(nameOf);
// Those that the portal can open come first, as from the server.
const isElsewhere = (/** @type {Element} */ tile) => Number(tile.querySelector('.button') === null);
const inOrder = (/** @type {Element} */ one, /** @type {Element} */ other) =>
  isElsewhere(one) - isElsewhere(other) || compare(one, other);
list?.append(...[...list.children].sort(inOrder));

// The applications with the typed words in their names. Without a script all are shown, and there is no field.
const filter = /** @type {HTMLInputElement | null} */ (document.getElementById('filter'));
const field = filter?.closest('.field');
if (filter && field instanceof HTMLElement) {
  const tiles = [...document.querySelectorAll('.application')];
  const none = document.getElementById('no-match');
  field.hidden = false;
  filter.addEventListener('input', () => {
    const fits = matcher(filter.value);
    for (const tile of tiles) tile.toggleAttribute('hidden', !fits(nameOf(tile)));
    if (none) none.hidden = tiles.some((tile) => !tile.hasAttribute('hidden'));
  });
}
