// The elements of the console's pages. A text is always inserted as text, never as markup.

import { Problem } from './api.js';
import { icon } from './icons.js';
import { locale, t, translated } from './language.js';

/** @import { Attributes, Child, Page } from './types.d.ts' */

/** The attributes that screen readers read. */
const SPOKEN = new Set(['aria-label', 'title', 'label', 'placeholder', 'alt', 'data-label']);

/** The elements with text that is never a text of the console: names that users chose, and texts for programs. */
const AS_WRITTEN = new Set(['bdi', 'code', 'pre', 'time']);

/**
 * An element: `el('p', { class: 'muted' }, 'Hello ', el('b', {}, name))`. An attribute that is a function is a
 * listener; `true` sets an attribute without a value; `false`, null and undefined leave it out. A text of the console
 * is translated.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  // A browser that translates the page must not change names, codes and other values.
  if (tag === 'bdi' || tag === 'code') element.translate = false;
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, SPOKEN.has(name) ? translated(String(value)) : String(value));
  }
  element.append(
    ...children.flatMap((child) => {
      if (child === null || child === undefined || child === false) return [];
      return typeof child === 'string' && !AS_WRITTEN.has(tag) ? translated(child) : child;
    }),
  );
  return element;
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
 * A page: its title, a link back (address and label), its actions and its content. `isName` is for a title that is a
 * name, which no language changes.
 * @param {{
 *   title: string, isName?: boolean, lead?: Child, back?: [string, string], badges?: Child[], actions?: Child[]
 * }} head
 * @param {...Child} content
 * @returns {Page}
 */
export function screen({ title: given, isName = false, lead, back, badges = [], actions = [] }, ...content) {
  const title = isName ? given : translated(given);
  return {
    title,
    body: [
      back && el('p', { class: 'back' }, link(back[0], back[1])),
      el(
        'div',
        { class: 'head' },
        el(
          'div',
          { class: 'head-text' },
          el('h1', { tabindex: -1 }, el('bdi', {}, title), ...badges.flatMap((one) => (one ? [' ', one] : []))),
          lead && el('p', { class: 'lead' }, lead),
        ),
        actions.some(Boolean) && el('div', { class: 'ways' }, ...actions),
      ),
      ...content,
    ].flatMap((part) => part || []),
  };
}

/**
 * A part of a page, with its own heading.
 * @param {string} title
 * @param {...Child} content
 */
export function section(title, ...content) {
  return el('section', {}, el('h2', {}, title), ...content);
}

/**
 * A part of a page that has buttons beside its heading.
 * @param {string} title
 * @param {Child[]} actions
 * @param {...Child} content
 */
export function sectionWithActions(title, actions, ...content) {
  const buttons = actions.some(Boolean) && el('div', { class: 'ways' }, ...actions);
  return el('section', {}, el('div', { class: 'head section-head' }, el('h2', {}, title), buttons), ...content);
}

/**
 * A panel.
 * @param {...Child} content
 */
export function panel(...content) {
  return el('div', { class: 'panel' }, ...content);
}

/**
 * A link to a page of the console.
 * @param {string} address
 * @param {...Child} content
 */
export function link(address, ...content) {
  return el('a', { href: address }, ...content);
}

/**
 * A link that looks like a button.
 * @param {string} address
 * @param {string} label
 * @param {string} [kind]
 */
export function way(address, label, kind = '') {
  return el('a', { href: address, class: `button small ${kind}`.trim() }, label);
}

/**
 * A button that opens a list of further actions. A press elsewhere or Escape closes it.
 * @param {string} label
 * @param {...Child} items
 */
export function menu(label, ...items) {
  const shown = items.flatMap((item) => (item ? [el('li', {}, item)] : []));
  const opener = el('summary', { class: 'button small' }, label);
  const whole = el('details', { class: 'menu' }, opener, el('ul', {}, ...shown));
  const close = (/** @type {Event} */ event) => {
    const isInside = event.target instanceof Node && whole.contains(event.target);
    if (event instanceof KeyboardEvent ? event.key !== 'Escape' : isInside) return;
    if (event instanceof KeyboardEvent && isInside) opener.focus();
    whole.open = false;
  };
  whole.addEventListener('toggle', () => {
    for (const type of ['pointerdown', 'keydown']) {
      if (whole.open) document.addEventListener(type, close);
      else document.removeEventListener(type, close);
    }
  });
  return whole;
}

/**
 * The text of an empty list, with a link to the page that adds a first row.
 * @param {string} text
 * @param {string} address
 * @param {string} label
 */
export function nothing(text, address, label) {
  return el('div', { class: 'nothing-yet' }, el('p', {}, text), el('div', { class: 'ways' }, way(address, label)));
}

/**
 * A button that is disabled while it works, and sends the event `worked` afterwards. A failure is shown beside it.
 * @param {string} label
 * @param {(event: MouseEvent) => unknown} work
 * @param {string} [kind]
 */
export function button(label, work, kind = '') {
  const pressed = async (/** @type {MouseEvent} */ event) => {
    clearFailure(self);
    const hadFocus = document.activeElement === self;
    self.disabled = true;
    try {
      await work(event);
    } catch (problem) {
      showFailure(self, problem);
    } finally {
      self.disabled = false;
      // A disabled button loses the focus.
      if (hadFocus && self.isConnected && document.activeElement === document.body) self.focus();
      self.dispatchEvent(new Event('worked', { bubbles: true }));
    }
  };
  const self = el('button', { type: 'button', class: `button small ${kind}`.trim(), onclick: pressed }, label);
  return self;
}

/**
 * The element after which failures of a control are shown: its row of buttons, or its table.
 * @param {Element} control
 */
function failurePlace(control) {
  const place = control.closest('.ways, .actions, tr') ?? control;
  return place instanceof HTMLTableRowElement ? (place.closest('table') ?? place) : place;
}

/**
 * Removes the failures that are shown beside a control.
 * @param {Element} control
 */
function clearFailure(control) {
  const around = failurePlace(control).parentElement;
  for (const old of around?.querySelectorAll(':scope > .failed') ?? []) old.remove();
}

/**
 * Shows a failure beside a control, which replaces an earlier one.
 * @param {Element} control
 * @param {unknown} problem
 */
function showFailure(control, problem) {
  clearFailure(control);
  if (problem instanceof Problem && problem.dropped) return;
  failurePlace(control).after(el('div', { class: 'notice bad failed', role: 'alert' }, ...explain(problem)));
}

/**
 * Disables the fields of a form and removes its buttons, if the administrator may only read its values.
 * @param {Element} form
 */
export function makeReadOnly(form) {
  form.querySelector('.actions')?.remove();
  for (const control of form.querySelectorAll('input, textarea, select, button'))
    control.toggleAttribute('disabled', true);
}

/**
 * A failure in words.
 * @param {unknown} problem
 * @returns {Array<Node | string>}
 */
export function explain(problem) {
  if (problem instanceof Problem && problem.status === 401)
    return [
      el(
        'p',
        {},
        'Your session expired. ',
        el('a', { href: '/admin', target: '_blank', rel: 'noopener' }, 'Sign in in another tab'),
        ', then try again here: nothing that you typed is lost.',
      ),
    ];
  if (!(problem instanceof Error)) return [el('p', {}, 'That did not work.')];
  if (!(problem instanceof Problem)) return [el('p', {}, ...withCode(translated(problem.message)))];
  const { title, status } = problem;
  const errors = problem.errors.filter(({ detail }) => detail !== problem.message);
  const named = errors.map(({ pointer, detail }) =>
    el('li', {}, ...withCode(`${pointer.replace(/^\//, '')}: ${detail}`)),
  );
  return [
    title && el('p', {}, el('strong', {}, title)),
    el('p', {}, ...withCode(problem.message)),
    named.length > 0 && el('ul', {}, ...named),
    status === 412 &&
      el(
        'div',
        { class: 'ways' },
        button('Read it again', () => dispatchEvent(new Event('reread'))),
      ),
  ].flatMap((part) => part || []);
}

/**
 * A state, as a small label.
 * @param {Child} text
 * @param {string} [state]
 */
export function badge(text, state = String(text)) {
  return el('span', { class: 'badge', 'data-state': state }, text);
}

/**
 * A list of names and values; a name without a value is omitted.
 * @param {Array<[string, unknown]>} pairs
 */
export function facts(pairs) {
  const rows = pairs.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return el(
    'dl',
    { class: 'facts' },
    ...rows.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, shown(value)))),
  );
}

/**
 * A value in words.
 * @param {unknown} value
 * @returns {Node | string}
 */
export function shown(value) {
  if (value === '') return '';
  if (value instanceof Node) return value;
  if (Array.isArray(value))
    return value.length === 0 ? translated('None') : el('ul', {}, ...value.map((one) => el('li', {}, shown(one))));
  if (typeof value === 'boolean') return translated(value ? 'Yes' : 'No');
  return el('bdi', {}, String(value));
}

/**
 * An id, an address, or another text that a program reads.
 * @param {string} text
 */
export function code(text) {
  return el('code', {}, text);
}

/**
 * A name that a program reads, such as `phone_number_verified`. A narrow place breaks it after an underscore or a dot.
 * @param {string} name
 */
export function codeName(name) {
  const parts = name.split(/(?<=[_.])/);
  return el('code', {}, ...parts.flatMap((part, index) => (index > 0 ? [el('wbr'), part] : [part])));
}

/**
 * A text in which back-ticks mark code.
 * @param {string} text
 * @returns {Array<HTMLElement | string>}
 */
export function withCode(text) {
  return text.split('`').map((part, index) => (index % 2 === 1 ? code(part) : part));
}

/**
 * A time, in the time zone of the browser: a recent one relative to now, unless it must be `exact`, with seconds.
 * @param {string | null | undefined} text
 * @param {{ exact?: boolean }} [options]
 */
export function moment(text, { exact = false } = {}) {
  if (!text) return translated('Never');
  const date = new Date(text);
  if (Number.isNaN(date.valueOf())) return String(text);
  const timeStyle = exact ? 'medium' : 'short';
  const absolute = date.toLocaleString(locale(), { dateStyle: 'medium', timeStyle });
  const ago = relative(date);
  const title = exact ? [ago, text].filter(Boolean).join(', ') : `${absolute} (${text})`;
  return el('time', { datetime: text, title }, exact ? absolute : (ago ?? absolute));
}

/** The units of relative times, each with its length in seconds, and how long ago they are used. */
/** @type {Array<[Intl.RelativeTimeFormatUnit, number, number]>} */
const UNITS = [
  ['second', 1, 60],
  ['minute', 60, 3600],
  ['hour', 3600, 86_400],
  ['day', 86_400, 7 * 86_400],
];

/**
 * A time relative to now: "5 minutes ago". Undefined from a week on.
 * @param {Date} date
 */
function relative(date) {
  const seconds = (date.valueOf() - Date.now()) / 1000;
  const unit = UNITS.find(([, , until]) => Math.abs(seconds) < until);
  if (!unit) return undefined;
  return new Intl.RelativeTimeFormat(locale(), { numeric: 'auto' }).format(Math.trunc(seconds / unit[1]), unit[0]);
}

/**
 * A number with separated thousands.
 * @param {number} number
 */
export function figure(number) {
  return number.toLocaleString(locale());
}

/**
 * A text with a button that copies it.
 * @param {string} text
 * @param {string} [label]
 * @param {{ wide?: boolean }} [options]
 */
export function copyable(text, label = 'Copy', { wide = false } = {}) {
  const press = copyButton('Copy', label, () => text);
  press.setAttribute('aria-label', t`Copy ${translated(label)}`);
  return el(
    'div',
    { class: wide ? 'copyable wide-copy' : 'copyable' },
    wide ? el('pre', { tabindex: 0 }, el('code', {}, text)) : el('code', {}, text),
    press,
  );
}

/**
 * A button that copies a text. If the browser does not permit that, the text beside it is selected.
 * @param {string} caption
 * @param {string} label the name of the text
 * @param {() => string} text
 */
export function copyButton(caption, label, text) {
  const press = el('button', { type: 'button', class: 'button small copy' }, caption);
  press.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text());
      press.textContent = translated('Copied');
      const what = translated(label);
      say(t`${what[0].toUpperCase() + what.slice(1)} was copied.`);
    } catch {
      press.textContent = translated('Select it');
      if (press.previousElementSibling) getSelection()?.selectAllChildren(press.previousElementSibling);
    }
    setTimeout(() => {
      press.textContent = translated(caption);
    }, 3000);
  });
  return press;
}

/**
 * A small button that copies a text, with an icon instead of a label.
 * @param {string} label the name of the text
 * @param {string} text
 */
export function copyIcon(label, text) {
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    const what = translated(label);
    say(t`${what[0].toUpperCase() + what.slice(1)} was copied.`);
  };
  const press = button('', copy, 'quiet');
  const name = t`Copy ${translated(label)}`;
  press.setAttribute('aria-label', name);
  press.title = name;
  press.append(icon('copy'));
  return press;
}

/**
 * Offers a file for download.
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * A button that saves a table as a file. The request has the headers of the console, which a link would not send.
 * @param {string} label
 * @param {string} file its name
 * @param {() => Promise<string>} read
 */
export function exportButton(label, file, read) {
  return button(label, async () => download(file, 'text/csv;charset=utf-8', await read()));
}

/**
 * Links to the pages about an object: the address and the label of each, and whether it is the current one.
 * @param {string} label
 * @param {Array<[string, string, boolean?]>} links
 */
export function tabs(label, links) {
  const here = location.pathname + (links.some(([address]) => address.includes('?')) ? location.search : '');
  return el(
    'nav',
    { class: 'tabs', 'aria-label': label },
    el(
      'ul',
      {},
      ...links.map(
        ([address, text, isShown = true]) =>
          isShown && el('li', {}, el('a', { href: address, 'aria-current': address === here && 'page' }, text)),
      ),
    ),
  );
}

/**
 * The id of the heading of a section, by which an address of the page names the section.
 * @param {string} title the English title
 */
export function anchorOf(title) {
  const words = title.toLowerCase().match(/[a-z]+/g) ?? [];
  return ['section', ...words].join('-');
}

/**
 * The current section. It is the section that a link led to while it is visible, otherwise the last one that begins in
 * the upper half of the window or above it, and at the end of the page the last one that is visible.
 * @param {HTMLElement[]} headings
 */
function sectionInView(headings) {
  const topOf = (/** @type {HTMLElement} */ heading) => heading.getBoundingClientRect().top;
  const chosen = headings.find((one) => one === document.activeElement);
  if (chosen && topOf(chosen) >= 0 && topOf(chosen) < innerHeight) return chosen;
  // The last sections never reach the middle of the window, if they are short.
  const { scrollHeight } = document.documentElement;
  if (scrollY > 0 && scrollY + innerHeight >= scrollHeight - 2)
    return headings.filter((one) => topOf(one) < innerHeight).at(-1) ?? headings[0];
  return headings.filter((one) => topOf(one) < innerHeight / 2).at(-1) ?? headings[0];
}

/**
 * Marks the link to the section in view, whenever a heading crosses the middle of the window. Returns a function that
 * marks the link to a heading at once.
 * @param {HTMLElement[]} headings
 * @param {HTMLAnchorElement[]} links one for each heading
 */
function markSectionInView(headings, links) {
  const mark = (/** @type {HTMLElement} */ current) => {
    for (const [index, one] of links.entries()) {
      if (headings[index] === current) one.setAttribute('aria-current', 'true');
      else one.removeAttribute('aria-current');
    }
  };
  const observer = new IntersectionObserver(
    () => {
      // Before the page is shown, the headings have no positions.
      if (headings[0].isConnected) mark(sectionInView(headings));
    },
    { rootMargin: '0px 0px -50% 0px' },
  );
  for (const heading of headings) observer.observe(heading);
  let wasShown = false;
  const scrolled = () => {
    if (headings[0].isConnected) {
      wasShown = true;
      mark(sectionInView(headings));
    } else if (wasShown) {
      // Another page is shown now.
      removeEventListener('scroll', scrolled);
    }
  };
  addEventListener('scroll', scrolled, { passive: true });
  mark(headings[0]);
  return mark;
}

/**
 * Links to the sections of a page. Each heading has an id, and may be the summary of a folded section.
 * @param {HTMLElement[]} headings
 */
export function contents(headings) {
  const jump = (/** @type {HTMLElement} */ heading) => (/** @type {Event} */ event) => {
    // The browser would go to another entry of its history, for which the console shows the page again.
    event.preventDefault();
    history.replaceState(history.state, '', `#${heading.id}`);
    const folded = heading.closest('details');
    if (folded) folded.open = true;
    heading.scrollIntoView({ block: 'start' });
    heading.focus({ preventScroll: true });
    mark(heading);
  };
  const links = headings.map((heading) =>
    el('a', { href: `#${heading.id}`, onclick: jump(heading) }, el('bdi', {}, heading.textContent)),
  );
  const mark = markSectionInView(headings, links);
  return el(
    'nav',
    { class: 'contents', 'aria-labelledby': 'contents-title' },
    el('h2', { id: 'contents-title' }, 'On this page'),
    el('ul', {}, ...links.map((one) => el('li', {}, one))),
  );
}

/**
 * A value as JSON.
 * @param {unknown} value
 */
export function json(value) {
  return el('pre', { tabindex: 0 }, el('code', {}, JSON.stringify(value, null, 2)));
}

/**
 * A panel that the user can unfold.
 * @param {string} label
 * @param {...Child} content
 */
export function more(label, ...content) {
  return el('details', { class: 'panel' }, el('summary', {}, label), el('div', { class: 'opened' }, ...content));
}

/** @type {number | undefined} */
let silence;

/**
 * Shows a message for a few seconds, and announces it to screen readers.
 * @param {string} text
 */
export function say(text) {
  const spoken = translated(text);
  const region = document.getElementById('said');
  if (region === null) return;
  region.textContent = region.textContent === spoken ? `${spoken}\u00a0` : spoken;
  clearTimeout(silence);
  silence = window.setTimeout(() => {
    region.textContent = '';
  }, 6000);
}

/** Removes the message, because it is about an earlier action. */
export function clearMessage() {
  document.getElementById('said')?.replaceChildren();
}

/**
 * A window over the page. `content(close)` returns its content. The argument of `close` is the answer; it is undefined
 * for Escape.
 * @template Answer
 * @param {string} title
 * @param {(close: (answer?: Answer) => void, window: HTMLDialogElement) => Child[]} content
 * @returns {Promise<Answer | undefined>}
 */
export function dialog(title, content) {
  return new Promise((resolve) => {
    /** @type {Answer | undefined} */
    let answer;
    const close = (/** @type {Answer | undefined} */ value = undefined) => {
      answer = value;
      window.close();
    };
    const heading = el('h2', { id: 'dialog-title', tabindex: -1 }, title);
    const window = el('dialog', { 'aria-labelledby': 'dialog-title', class: 'over' });
    window.append(heading, ...content(close, window).flatMap((part) => part || []));
    window.addEventListener('close', () => {
      window.remove();
      resolve(answer);
    });
    document.body.append(window);
    window.showModal();
    const field = window.querySelector('input, textarea, select');
    (field instanceof HTMLElement ? field : heading).focus();
  });
}

/**
 * Asks before an irreversible action. The administrator must type `name`, if there is one. Returns true for yes.
 * @param {string} title
 * @param {Child} text
 * @param {string} yes
 * @param {string} [name]
 * @returns {Promise<boolean>}
 */
export async function ask(title, text, yes, name) {
  return (
    (await dialog(title, (close) => {
      const typed = el('input', { id: 'typed', autocomplete: 'off', spellcheck: 'false' });
      const error = el('p', { class: 'field-error', id: 'typed-error', role: 'alert' });
      const submit = (/** @type {Event} */ event) => {
        event.preventDefault();
        if (name !== undefined && typed.value.trim() !== name.trim()) {
          typed.setAttribute('aria-invalid', 'true');
          error.textContent = translated('The name is different.');
          typed.focus();
          return;
        }
        close(true);
      };
      const field =
        name !== undefined &&
        el(
          'div',
          { class: 'field' },
          el('label', { for: 'typed' }, 'To continue, type ', el('bdi', {}, el('b', {}, name))),
          typed,
          error,
        );
      return [
        el(
          'form',
          { onsubmit: submit, class: 'stack' },
          el('p', {}, text),
          field,
          el(
            'div',
            { class: 'actions' },
            el('button', { class: 'button danger', type: 'submit' }, yes),
            el('button', { class: 'button', type: 'button', onclick: () => close(false) }, 'Cancel'),
          ),
        ),
      ].filter(Boolean);
    })) === true
  );
}

/**
 * A window like `dialog` with something that is shown only once. Neither Escape nor the Back button of a phone closes
 * it, only `close`; and the page asks before the administrator leaves it.
 * @template Answer
 * @param {string} title
 * @param {(close: (answer?: Answer) => void, window: HTMLDialogElement) => Child[]} content
 * @returns {Promise<Answer | undefined>}
 */
export function dialogOnce(title, content) {
  return dialog(title, (close, window) => {
    showsOnce(window, close);
    window.addEventListener('keydown', (event) => {
      if (event.key === 'Escape') event.preventDefault();
    });
    window.addEventListener('cancel', (event) => event.preventDefault());
    // A browser may close it all the same, for example at the second Escape. `close` removes the mark first.
    window.addEventListener(
      'close',
      (event) => {
        if (!isShownOnce(window)) return;
        event.stopImmediatePropagation();
        window.showModal();
      },
      { capture: true },
    );
    return content((answer) => {
      forgetShown(window);
      close(answer);
    }, window);
  });
}

/** What is shown only once, with the function that takes it away. @type {Map<HTMLElement, () => void>} */
const shownOnce = new Map();

/**
 * Marks an element with something that is shown only once, until `forgetShown`.
 * @param {HTMLElement} element
 * @param {() => void} takeAway called if the administrator leaves the page nevertheless
 */
export function showsOnce(element, takeAway) {
  shownOnce.set(element, takeAway);
}

/** @param {HTMLElement} element */
export function forgetShown(element) {
  shownOnce.delete(element);
}

/** @param {HTMLElement} element */
const isShownOnce = (element) => shownOnce.has(element);

/** Whether the page shows something that it never shows again. */
export function showsSomethingOnce() {
  return [...shownOnce.keys()].some((element) => element.isConnected);
}

/** Takes away what is shown only once, because the administrator leaves it. */
export function takeAwayShown() {
  for (const [element, takeAway] of shownOnce) {
    forgetShown(element);
    takeAway();
  }
}

/**
 * Shows a secret that is never shown again.
 * @param {string} title
 * @param {string} text
 * @param {string} secret
 * @param {string} [kept] how the server stores it
 * @param {Child} [more] further values that contain it
 */
export function showOnce(title, text, secret, kept = 'Assent keeps a digest of it', more = undefined) {
  return dialogOnce(title, (close) => [
    el('p', {}, text),
    copyable(secret, title.toLowerCase(), { wide: secret.includes('\n') }),
    more,
    notice(t`It is only shown now. ${translated(kept)}, and never shows it again.`, 'warn'),
    el(
      'div',
      { class: 'actions' },
      el('button', { class: 'button primary', type: 'button', onclick: () => close() }, 'I have stored it'),
    ),
  ]);
}
