// The icons of the console: lines of 24 by 24, in the colour of the text beside them.

const SVG = 'http://www.w3.org/2000/svg';

/** The paths of each icon. */
const PATHS = {
  overview: 'M4 13h6V4H4v9Zm0 7h6v-4H4v4Zm10 0h6v-9h-6v9Zm0-16v4h6V4h-6Z',
  applications: 'M4 4h7v7H4V4Zm9 0h7v7h-7V4ZM4 13h7v7H4v-7Zm9 0h7v7h-7v-7Z',
  users: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7 9c0-4 3-6 7-6s7 2 7 6M16 3.5a4 4 0 0 1 0 7M18 14.5c2.5.8 4 2.7 4 5.5',
  groups: 'M7 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6Zm10 0a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM2 19c0-6 10-6 10 0c0-6 10-6 10 0',
  claims: 'M2 12s4-7 10-7 10 7 10 7-4 7-10 7S2 12 2 12Zm10 3a3 3 0 1 0 0-6 3 3 0 0 0 0 6Z',
  plugins: 'M9 3v5M15 3v5M6 8h12v4a6 6 0 0 1-12 0V8Zm6 10v3',
  keys: 'M8 19a5 5 0 1 0 0-10 5 5 0 0 0 0 10Zm3.5-8.5L20 2m-4 4 3 3',
  audit: 'M6 3h9l4 4v14H6V3Zm3 8h7M9 15h7M9 7h3',
  settings: 'M4 7h10m4 0h2M4 17h2m4 0h10M16 5v4M8 15v4',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm5-2 5 5',
  copy: 'M8 8h12v12H8V8Zm-3 8H4V4h12v1',
  portal: 'M10 4H5v16h14v-5M13 4h7v7M20 4l-9 9',
  calm: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-10v5m0-8.5v.1',
  open: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Z',
  good: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm-4-9 3 3 5-6',
  warn: 'M12 4 2.5 20h19L12 4Zm0 6v5m0 2.4v.1',
  bad: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM9 9l6 6m0-6-6 6',
};

/** @typedef {keyof typeof PATHS} IconName */

/**
 * An icon, which has no text for screen readers.
 * @param {IconName} name
 */
export function icon(name) {
  const drawing = document.createElementNS(SVG, 'svg');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', PATHS[name]);
  drawing.setAttribute('viewBox', '0 0 24 24');
  drawing.setAttribute('class', 'icon');
  drawing.setAttribute('aria-hidden', 'true');
  drawing.setAttribute('focusable', 'false');
  drawing.append(path);
  return drawing;
}
