// Plain charts: bars over time, with the figures as a table for screen readers.

import { el, figure, more, table } from './view.js';

/** @import { ChartOptions, Series } from './types.d.ts' */

const WIDTH = 720;
const HEIGHT = 120;
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
 * Bars of stacked parts, one bar for each row.
 * @template Row
 * @param {string} title
 * @param {Row[]} rows
 * @param {Array<Series<Row>>} series
 * @param {ChartOptions<Row>} options
 */
export function bars(title, rows, series, { label, short, unit = '' }) {
  const sums = rows.map((row) => series.reduce((sum, { of }) => sum + of(row), 0));
  const most = Math.max(1, ...sums);
  const step = WIDTH / Math.max(1, rows.length);
  const drawn = rows.flatMap((row, place) => {
    let below = 0;
    return series.map(({ name, tone, of, told = of }) => {
      const height = (of(row) / most) * HEIGHT;
      below += height;
      const bar = svg('rect', {
        x: place * step + step * 0.12,
        y: HEIGHT - below,
        width: step * 0.76,
        height,
        class: `tone-${tone}`,
        rx: Math.min(2, height / 2),
      });
      bar.append(svg('title', {}, `${label(row)}: ${figure(told(row))}${unit} ${name}`));
      return bar;
    });
  });
  const every = Math.ceil(rows.length / 8);
  const ticks = rows.flatMap((row, place) => {
    if (place % every !== 0) return [];
    const text = svg('text', { x: place * step + step / 2, y: HEIGHT + 18, 'text-anchor': 'middle', class: 'tick' });
    text.textContent = short(row);
    return [text];
  });
  const top = svg('text', { x: 0, y: -6, class: 'tick' });
  top.textContent = `${figure(most)}${unit}`;
  const picture = svg(
    'svg',
    {
      viewBox: `-2 -20 ${WIDTH + 4} ${HEIGHT + 44}`,
      role: 'img',
      'aria-label': `${title}. The figures are in the table below.`,
    },
    svg('line', { x1: 0, x2: WIDTH, y1: 0, y2: 0, class: 'grid' }),
    svg('line', { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: 'axis' }),
    top,
    ...drawn,
    ...ticks,
  );
  const legend = el(
    'ul',
    { class: 'legend' },
    ...series.map(({ name, tone }) =>
      el('li', {}, el('span', { class: `dot tone-${tone}`, 'aria-hidden': 'true' }), name),
    ),
  );
  const columns = [
    { label: 'When', cell: label },
    ...series.map(({ name, of, told = of }) => ({
      label: name,
      figure: true,
      cell: (/** @type {Row} */ row) => `${figure(told(row))}${unit}`,
    })),
  ];
  return el(
    'figure',
    { class: 'panel chart' },
    el('figcaption', {}, el('strong', {}, title), legend),
    picture,
    more('The figures', table(columns, [...rows].reverse(), { caption: title })),
  );
}
