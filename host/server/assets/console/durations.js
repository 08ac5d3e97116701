// Durations: the values of settings, and remaining times.

import { locale, t, translated } from './language.js';

/**
 * The units of settings, each with its length in milliseconds and its name.
 * @type {Record<string, [length: number, name: string]>}
 */
const UNITS = {
  ms: [1, 'millisecond'],
  s: [1000, 'second'],
  m: [60_000, 'minute'],
  h: [3_600_000, 'hour'],
  d: [86_400_000, 'day'],
};

/**
 * A duration of the settings, such as `90s`; undefined if the value is not a duration.
 * @param {unknown} value
 * @returns {{ number: number, unit: string } | undefined}
 */
function parsed(value) {
  const parts = typeof value === 'string' ? /^(\d+)(ms|s|m|h|d)$/.exec(value) : null;
  return parts ? { number: Number(parts[1]), unit: parts[2] } : undefined;
}

/**
 * A duration of the settings in words: "2 minutes". Undefined if the value is not a duration.
 * @param {unknown} value
 */
export function durationText(value) {
  const duration = parsed(value);
  if (!duration) return undefined;
  const { number, unit } = duration;
  return counted(number, UNITS[unit][1]);
}

/**
 * @param {number} number
 * @param {string} name
 */
function counted(number, name) {
  return `${number.toLocaleString(locale())} ${translated(number === 1 ? name : `${name}s`)}`;
}

/**
 * A duration of the settings in milliseconds; undefined if the value is not a duration.
 * @param {unknown} value
 */
export function durationMs(value) {
  const duration = parsed(value);
  return duration && duration.number * UNITS[duration.unit][0];
}

/**
 * The remaining time, in the words of the authenticator: "1 minute 58 seconds left".
 * @param {number} seconds
 */
export function timeLeft(seconds) {
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60];
  const parts = [minutes > 0 && counted(minutes, 'minute'), (rest > 0 || minutes === 0) && counted(rest, 'second')];
  return t`${parts.filter(Boolean).join(' ')} left`;
}
