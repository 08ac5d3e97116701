// Plain charts: bars over time, with the figures as a table for screen readers.

import { t, translated } from './language.js';
import { table } from './lists.js';
import { el, figure, more } from './view.js';

/** @import { ChartOptions, Column, Series } from './types.d.ts' */

/** The height of the bars, the space beside and below them for the axes, and the width of a label, in pixels. */
const HEIGHT = 140;
const LEFT = 44;
const TOP = 12;
const BELOW = 24;
const LABEL = 76;
const SVG = 'http://www.w3.org/2000/svg';

/**
 * An element of a drawing.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(Node | string)} children
 */
function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * The end of an axis for values up to `most`: an even number of whole units, so that its middle is a whole number.
 * Beyond ten units it is 1, 2 or 5 times a power of ten.
 * @param {number} most
 */
export function axisEnd(most) {
  if (most <= 10) return Math.max(2, 2 * Math.ceil(most / 2));
  const power = 10 ** Math.floor(Math.log10(most));
  return ([1, 2, 5].find((step) => step * power >= most) ?? 10) * power;
}

/**
 * The bars of one row: stacked if they are parts of a whole, otherwise side by side.
 * @template Row
 * @param {Row} row
 * @param {Array<Series<Row>>} series
 * @param {{ left: number, step: number, end: number, stacked: boolean, describe(row: Row): string, unit: string }} at
 */
function barsOf(row, series, { left, step, end, stacked, describe, unit }) {
  const room = step * 0.76;
  const width = stacked ? room : room / series.length;
  let below = 0;
  return series.map(({ name, tone, of }, index) => {
    const height = (of(row) / end) * HEIGHT;
    if (stacked) below += height;
    return svg(
      'rect',
      {
        x: left + step * 0.12 + (stacked ? 0 : index * width),
        y: TOP + HEIGHT - (stacked ? below : height),
        width: Math.max(1, width - (stacked ? 0 : 1)),
        height,
        class: `tone-${tone}`,
        rx: Math.min(2, height / 2),
      },
      svg('title', {}, `${describe(row)}: ${figure(of(row))}${unit} ${translated(name)}`),
    );
  });
}

/**
 * A line across the chart with its value.
 * @param {number} value
 * @param {number} end
 * @param {number} width
 * @param {string} unit
 */
function gridLine(value, end, width, unit) {
  const y = TOP + HEIGHT - (value / end) * HEIGHT;
  return [
    svg('line', { x1: LEFT, x2: width, y1: y, y2: y, class: value === 0 ? 'axis' : 'grid' }),
    svg('text', { x: LEFT - 8, y: y + 4, 'text-anchor': 'end', class: 'tick' }, `${figure(value)}${unit}`),
  ];
}

/**
 * Bars over time, one for each row. They are drawn for the width of the chart, so that texts have the same size on each
 * screen.
 * @template Row
 * @param {string} title
 * @param {Row[]} rows
 * @param {Array<Series<Row>>} series
 * @param {ChartOptions<Row>} options
 */
export function bars(title, rows, series, { label, short, unit = '', empty, stacked = true }) {
  const highest = rows.map((row) => {
    const values = series.map(({ of }) => of(row));
    return stacked ? values.reduce((sum, value) => sum + value, 0) : Math.max(0, ...values);
  });
  const end = axisEnd(Math.max(0, ...highest));
  const picture = svg('svg', {
    role: 'img',
    'aria-label': t`${translated(title)}. The figures are in the table below.`,
  });
  const draw = (/** @type {number} */ width) => {
    const step = (width - LEFT) / Math.max(1, rows.length);
    const every = Math.max(1, Math.ceil(LABEL / step));
    const left = (/** @type {number} */ place) => LEFT + place * step;
    picture.setAttribute('viewBox', `0 0 ${width} ${TOP + HEIGHT + BELOW}`);
    picture.replaceChildren(
      ...[end, end / 2, 0].flatMap((value) => gridLine(value, end, width, unit)),
      ...rows.flatMap((row, place) =>
        barsOf(row, series, { left: left(place), step, end, stacked, describe: label, unit }),
      ),
      ...rows.flatMap((row, place) => {
        const x = left(place) + step / 2;
        // A label in the middle of its bar, as far as the chart has room for it.
        if (place % every !== 0 || x + LABEL / 2 > width + 8) return [];
        return [svg('text', { x, y: TOP + HEIGHT + 18, 'text-anchor': 'middle', class: 'tick' }, short(row))];
      }),
    );
  };
  draw(720);
  new ResizeObserver(([{ contentRect }]) => {
    if (contentRect.width > 0) draw(Math.round(contentRect.width));
  }).observe(picture);
  const legend = el(
    'ul',
    { class: 'legend' },
    ...series.map(({ name, tone }) =>
      el('li', {}, el('span', { class: `dot tone-${tone}`, 'aria-hidden': 'true' }), name),
    ),
  );
  /** @type {Array<Column<Row>>} */
  const columns = [
    { label: 'When', cell: label },
    ...series.map(({ name, of }) => ({
      label: name,
      figure: true,
      cell: (/** @type {Row} */ row) => `${figure(of(row))}${unit}`,
    })),
  ];
  return el(
    'figure',
    { class: 'panel chart' },
    el('figcaption', {}, el('strong', {}, title), legend),
    highest.some((value) => value > 0) ? picture : el('p', { class: 'muted' }, empty),
    more('The figures', el('div', { class: 'lines' }, table(columns, [...rows].reverse(), { caption: title }))),
  );
}
