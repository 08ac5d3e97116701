// The search of the complete console: pages, users, applications, settings and references of error pages.

import { byName, matcher } from '../names.js';
import { get, Problem } from './api.js';
import { icon } from './icons.js';
import { t, translated } from './language.js';
import { applicationAddress } from './pages/applications.js';
import { loadSettingTexts, settingText } from './setting_texts.js';
import { dialog, el, explain, link } from './view.js';

/** @import { Context } from './types.d.ts' */

/** The maximum number of results of each kind. */
const MOST = 5;
const PAUSE_MS = 200;

/**
 * A result: its address, its name, whether that is a text of the console, and a second text to distinguish it.
 * @typedef {{ to: string, name: string, isText?: boolean, about?: string | null }} Result
 */

/** @typedef {[kind: string, results: Result[]]} Group */

/**
 * The kinds of results, each found for a typed text. Objects are sorted by their names.
 * @param {Context['may']} may
 * @param {Array<[address: string, label: string]>} pages
 * @returns {Array<(text: string) => Promise<Group>>}
 */
function kinds(may, pages) {
  /** @type {Promise<Array<{ key: string, description?: string | null }>> | undefined} */
  let settings;
  const sorted = (/** @type {Result[]} */ results) => results.sort(byName(({ name }) => name));
  /** @type {Array<(text: string) => Promise<Group>>} */
  const all = [
    async (text) => {
      const fits = matcher(text);
      const found = pages.filter(([, label]) => fits(translated(label)));
      return ['Pages', found.map(([to, name]) => ({ to, name, isText: true }))];
    },
  ];
  if (may('users:read'))
    all.push(async (q) => {
      const { items } = await get('/users', { q, limit: MOST });
      return ['Users', sorted(items.map(({ id, name, email }) => ({ to: `/admin/users/${id}`, name, about: email })))];
    });
  if (may('accounts:read'))
    all.push(async (q) => {
      const { items } = await get('/groups', { q, limit: MOST });
      return ['Groups', sorted(items.map(({ id, name }) => ({ to: `/admin/groups/${id}`, name })))];
    });
  if (may('applications:read'))
    all.push(async (q) => {
      const { items } = await get('/applications', { q, limit: MOST });
      return ['Applications', sorted(items.map(({ id, name }) => ({ to: applicationAddress(id), name })))];
    });
  if (may('settings:read'))
    all.push(async (text) => {
      settings ??= Promise.all([get('/settings'), loadSettingTexts()]).then(([{ items }]) => items);
      const fits = matcher(text);
      const found = (await settings).filter((one) => fits(`${one.key} ${settingText(one.description ?? '')}`));
      return ['Settings', found.slice(0, MOST).map(({ key }) => ({ to: `/admin/settings?q=${key}`, name: key }))];
    });
  if (may('audit:read'))
    all.push(async (text) => {
      const isReference = /^[0-9a-f]{8}$/i.test(text);
      const name = text.toUpperCase();
      return ['References of error pages', isReference ? [{ to: `/admin/audit?reference=${name}`, name }] : []];
    });
  return all;
}

/**
 * The results of all kinds, as lists of links.
 * @param {Group[]} groups
 */
function shown(groups) {
  return groups
    .filter(([, results]) => results.length > 0)
    .map(([kind, results]) =>
      el(
        'section',
        {},
        el('h3', {}, kind),
        el(
          'ul',
          {},
          ...results.map(({ to, name, isText, about }) =>
            el('li', {}, link(to, isText ? name : el('bdi', {}, name)), about && el('span', { class: 'muted' }, about)),
          ),
        ),
      ),
    );
}

/**
 * Opens the search.
 * @param {Context['may']} may
 * @param {Array<[address: string, label: string]>} pages
 */
async function open(may, pages) {
  const finders = kinds(may, pages);
  let round = 0;
  await dialog('Search', (close) => {
    const input = el('input', { id: 'search', type: 'search', autocomplete: 'off', spellcheck: 'false' });
    const status = el('p', { class: 'hidden-text', role: 'status' });
    const results = el('div', { class: 'results' });
    const find = async () => {
      const mine = ++round;
      const text = input.value.trim();
      if (text === '') {
        status.textContent = '';
        return results.replaceChildren();
      }
      try {
        const groups = await Promise.all(finders.map((finder) => finder(text)));
        if (mine !== round) return undefined;
        const count = groups.reduce((sum, [, found]) => sum + found.length, 0);
        status.textContent = count === 0 ? translated('Nothing found.') : t`${count} found`;
        results.replaceChildren(...(count === 0 ? [el('p', { class: 'empty' }, 'Nothing found.')] : shown(groups)));
      } catch (problem) {
        if (mine !== round || (problem instanceof Problem && problem.status === 401)) return undefined;
        results.replaceChildren(el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)));
      }
      return undefined;
    };
    /** @type {number | undefined} */
    let timer;
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = window.setTimeout(find, PAUSE_MS);
    });
    // This runs after the press has led to the page.
    results.addEventListener('click', (event) => {
      if (event.target instanceof Element && event.target.closest('a')) setTimeout(close);
    });
    const submit = (/** @type {Event} */ event) => {
      event.preventDefault();
      results.querySelector('a')?.click();
    };
    return [
      el(
        'form',
        { class: 'stack', role: 'search', onsubmit: submit },
        el(
          'div',
          { class: 'field' },
          el('label', { for: 'search' }, 'Users, applications, settings, pages, or the reference of an error page'),
          input,
        ),
      ),
      status,
      results,
      el(
        'div',
        { class: 'actions' },
        el('button', { type: 'button', class: 'button', onclick: () => close() }, 'Close'),
      ),
    ];
  });
}

/** Whether a key press is for a field. */
const isTyping = () => document.activeElement?.matches('input, textarea, select, [contenteditable]') ?? false;

/**
 * The button that opens the search. "/" and Ctrl+K do so too.
 * @param {Context['may']} may
 * @param {Array<[address: string, label: string]>} pages
 */
export function searchButton(may, pages) {
  const start = () => {
    if (!document.querySelector('dialog[open]')) open(may, pages);
  };
  document.addEventListener('keydown', (event) => {
    const isShortcut = event.key === '/' && !isTyping() && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isShortcut && !((event.ctrlKey || event.metaKey) && event.key === 'k')) return;
    event.preventDefault();
    start();
  });
  return el(
    'button',
    { type: 'button', class: 'button find', 'aria-keyshortcuts': '/ Control+K', onclick: start },
    icon('search'),
    'Search',
    el('kbd', { 'aria-hidden': 'true' }, '/'),
  );
}
