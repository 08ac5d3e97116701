// Small pieces that the console's pages are made of. Text always goes in as text, never as markup.

/**
 * @typedef {import('./types.d.ts').Child} Child
 * @typedef {import('./types.d.ts').Column} Column
 * @typedef {import('./types.d.ts').Field} Field
 * @typedef {import('./types.d.ts').Listed} Listed
 * @typedef {import('./types.d.ts').Page} Page
 * @typedef {import('./types.d.ts').TableElement} TableElement
 * @typedef {import('./types.d.ts').TableOptions} TableOptions
 * @typedef {Record<string, any>} Attributes
 */

/**
 * An element: `el('p', { class: 'muted' }, 'Hello ', el('b', {}, name))`. An attribute that is a function is a
 * listener; `true` sets an attribute without a value; `false`, null and undefined leave it out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(
    ...children.flatMap((child) => (child === null || child === undefined || child === false ? [] : [child])),
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
 * What a page is: its title, what leads back, what can be done, and what it shows.
 * @param {{ title: string, lead?: Child, back?: string[], badges?: Child[], actions?: Child[] }} head
 * @param {...Child} content
 * @returns {Page}
 */
export function screen({ title, lead, back, badges = [], actions = [] }, ...content) {
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
          el('h1', { tabindex: -1 }, el('bdi', {}, title), ...badges.flatMap((one) => [' ', one])),
          lead && el('p', { class: 'lead' }, lead),
        ),
        actions.some(Boolean) && el('div', { class: 'ways' }, ...actions),
      ),
      ...content,
    ].flatMap((part) => part || []),
  };
}

/**
 * A part of a page, under a heading of its own.
 * @param {string} title
 * @param {...Child} content
 */
export function section(title, ...content) {
  return el('section', {}, el('h2', {}, title), ...content);
}

/**
 * A box.
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
 * A button that can't be pressed twice while it works. What goes wrong is told beside it.
 * @param {string} label
 * @param {(event: Event) => unknown} work
 * @param {string} [kind]
 */
export function button(label, work, kind = '') {
  const pressed = async (event) => {
    const self = event.currentTarget;
    forget(self);
    self.disabled = true;
    try {
      await work(event);
    } catch (problem) {
      fail(self, problem);
    } finally {
      self.disabled = false;
    }
  };
  return el('button', { type: 'button', class: `button small ${kind}`.trim(), onclick: pressed }, label);
}

/** Takes back what was told beside an element; gives the place of it. */
function forget(element) {
  const place = element.closest('.ways, .actions, tr') ?? element;
  const around = place.tagName === 'TR' ? place.closest('table') : place;
  for (const old of around.parentElement?.querySelectorAll(':scope > .failed') ?? []) old.remove();
  return place;
}

/**
 * Tells of a problem beside an element, in place of what was told there before.
 * @param {Element} element
 * @param {any} problem
 */
export function fail(element, problem) {
  const place = forget(element);
  if (problem?.dropped) return;
  const told = el('div', { class: 'notice bad failed', role: 'alert' }, ...explain(problem));
  const table = place.tagName === 'TR' ? place.closest('table') : null;
  (table ?? place).after(told);
}

/**
 * Disables every control of an element, for who may read it and not change it.
 * @param {Element} element
 */
export function disableAll(element) {
  for (const control of element.querySelectorAll('input, textarea, select, button'))
    control.toggleAttribute('disabled', true);
}

/**
 * A problem in words.
 * @param {any} problem
 * @returns {Array<Node | string>}
 */
export function explain(problem) {
  if (problem?.status === 401)
    return [
      el(
        'p',
        {},
        'Your session is over. ',
        el('a', { href: '/admin', target: '_blank', rel: 'noopener' }, 'Sign in in another tab'),
        ', then try again here: nothing that you typed is lost.',
      ),
    ];
  if (!(problem instanceof Error)) return [el('p', {}, 'That did not work.')];
  const { title, status, errors: all = [] } = /** @type {Partial<import('./api.js').Problem>} */ (problem);
  const errors = all.filter(({ detail }) => detail !== problem.message);
  const named = errors.map(({ pointer, detail }) => el('li', {}, `${pointer.replace(/^\//, '')}: ${detail}`));
  return [
    title && el('p', {}, el('strong', {}, title)),
    el('p', {}, problem.message),
    named.length > 0 && el('ul', {}, ...named),
    status === 412 &&
      el(
        'div',
        { class: 'ways' },
        button('Read it anew', () => dispatchEvent(new Event('reread'))),
      ),
  ].flatMap((part) => part || []);
}

/**
 * A state, as a small label.
 * @param {string} text
 * @param {string} [state]
 */
export function badge(text, state = text) {
  return el('span', { class: 'badge', 'data-state': state }, text);
}

/**
 * A list of names and values; what has no value is left out.
 * @param {Array<[string, unknown] | unknown[]>} pairs
 */
export function facts(pairs) {
  const rows = pairs.filter(([, value]) => value !== null && value !== undefined && value !== false);
  return el(
    'dl',
    { class: 'facts' },
    ...rows.map(([name, value]) => el('div', {}, el('dt', {}, String(name)), el('dd', {}, shown(value)))),
  );
}

/**
 * @param {unknown} value
 * @returns {Node | string}
 */
function shown(value) {
  if (value === '') return '';
  if (value instanceof Node) return value;
  if (Array.isArray(value))
    return value.length === 0 ? 'None' : el('ul', {}, ...value.map((one) => el('li', {}, shown(one))));
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  return el('bdi', {}, String(value));
}

/** Text of a fixed kind: an id, an address. */
export function code(text) {
  return el('code', {}, text);
}

/**
 * A moment, in the reader's own time.
 * @param {string | null | undefined} text
 */
export function moment(text) {
  if (!text) return 'Never';
  const date = new Date(text);
  if (Number.isNaN(date.valueOf())) return String(text);
  return el(
    'time',
    { datetime: text, title: text },
    date.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' }),
  );
}

/** A number with its thousands apart. */
export function figure(number) {
  return Number(number).toLocaleString('en-GB');
}

/**
 * Text that can be copied with one press.
 * @param {string} text
 * @param {string} [label]
 * @param {{ wide?: boolean }} [options]
 */
export function copyable(text, label = 'Copy', { wide = false } = {}) {
  const press = el('button', { type: 'button', class: 'button small copy', 'aria-label': `Copy ${label}` }, 'Copy');
  press.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(text);
      press.textContent = 'Copied';
      say(`${label} copied`);
    } catch {
      press.textContent = 'Select it';
      if (press.previousElementSibling) getSelection()?.selectAllChildren(press.previousElementSibling);
    }
    setTimeout(() => {
      press.textContent = 'Copy';
    }, 3000);
  });
  return el(
    'div',
    { class: wide ? 'copyable wide-copy' : 'copyable' },
    wide ? el('pre', { tabindex: 0 }, el('code', {}, text)) : el('code', {}, text),
    press,
  );
}

/** A file for the person to keep. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  el('a', { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/**
 * A table; on a narrow screen a list. Of each column: `label`, `cell(row)` and, on figures, `figure: true`. The first
 * column names the row.
 * @param {Column[]} columns
 * @param {any[]} rows
 * @param {TableOptions} [options]
 * @returns {TableElement}
 */
export function table(columns, rows, { empty = 'None.', caption } = {}) {
  const body = el('tbody', { role: 'rowgroup' });
  const made = el(
    'table',
    { role: 'table' },
    caption && el('caption', { class: 'hidden-text' }, caption),
    el(
      'thead',
      { role: 'rowgroup' },
      el(
        'tr',
        { role: 'row' },
        ...columns.map(({ label, figure: isFigure }) =>
          el('th', { role: 'columnheader', scope: 'col', class: isFigure && 'figure' }, label),
        ),
      ),
    ),
    body,
  );
  const none = el('p', { class: 'empty' }, empty);
  const whole = el('div', { class: 'table' }, made, none);
  const add = (more) => {
    body.append(...more.map((row) => line(columns, row)));
    made.hidden = body.childElementCount === 0;
    none.hidden = !made.hidden;
  };
  add(rows);
  return Object.assign(whole, { add, clear: () => body.replaceChildren() });
}

function line(columns, row) {
  const [first, ...others] = columns;
  return el(
    'tr',
    { role: 'row' },
    el('th', { role: 'rowheader', scope: 'row' }, shown(first.cell(row))),
    ...others.map(({ label, cell, figure: isFigure }) =>
      el('td', { role: 'cell', 'data-label': label, class: isFigure && 'figure' }, shown(cell(row) ?? '')),
    ),
  );
}

/**
 * A list that comes by pages: `load(after)` gives `{ items, next }`.
 * @param {(after?: string) => Promise<Listed>} load
 * @param {Column[]} columns
 * @param {TableOptions} [options]
 */
export async function pages(load, columns, options) {
  const rows = table(columns, [], options);
  const rest = el('div', { class: 'ways more' });
  const more = async (/** @type {string | undefined} */ after = undefined) => {
    const { items, next } = await load(after);
    rows.add(items);
    rest.replaceChildren(...(next ? [button('Show more', () => more(next))] : []));
  };
  await more();
  return el('div', {}, rows, rest);
}

/**
 * A list that is searched: its fields are the controls, `load(values, after)` gives `{ items, next }`. What is
 * searched for stays in the address, so that going back finds it again.
 * @param {Field[]} controls
 * @param {(values: any, after?: string) => Promise<Listed>} load
 * @param {Column[]} columns
 * @param {TableOptions} [options]
 */
export async function searched(controls, load, columns, options) {
  const rows = table(columns, [], options);
  const rest = el('div', { class: 'ways more' });
  const status = el('p', { class: 'hidden-text', role: 'status' });
  const problem = el('div', {});
  const fields = controls.map((control) => control.element);
  const address = new URL(location.href);
  for (const control of controls) control.write(address.searchParams.get(control.name) ?? '');
  let round = 0;
  const fill = async (/** @type {string | undefined} */ after = undefined) => {
    const mine = ++round;
    const values = Object.fromEntries(controls.map((control) => [control.name, control.read()]));
    try {
      const { items, next } = await load(values, after);
      if (mine !== round) return;
      if (!after) rows.clear();
      rows.add(items);
      rest.replaceChildren(...(next ? [button('Show more', () => fill(next))] : []));
      status.textContent =
        items.length === 0 ? 'Nothing found.' : `${items.length} shown${next ? ', and there are more' : ''}.`;
      problem.replaceChildren();
    } catch (failure) {
      if (mine !== round) return;
      rows.clear();
      rest.replaceChildren();
      problem.replaceChildren(el('div', { class: 'notice bad', role: 'alert' }, ...explain(failure)));
    }
  };
  let timer;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const here = new URL(location.href);
      for (const control of controls) {
        if (control.read()) here.searchParams.set(control.name, control.read());
        else here.searchParams.delete(control.name);
      }
      history.replaceState(history.state, '', here);
      fill();
    }, 200);
  };
  for (const field of fields) field.addEventListener('input', changed);
  await fill();
  const form = el(
    'form',
    {
      class: 'search',
      role: 'search',
      onsubmit: (event) => {
        event.preventDefault();
        changed();
      },
    },
    ...fields,
  );
  return el('div', {}, form, problem, status, rows, rest);
}

/**
 * A line of links to the parts of one thing.
 * @param {string} label
 * @param {string[][]} links
 */
export function tabs(label, links) {
  const here = location.pathname + (links.some(([address]) => address.includes('?')) ? location.search : '');
  return el(
    'nav',
    { class: 'tabs', 'aria-label': label },
    el(
      'ul',
      {},
      ...links.map(([address, text]) =>
        el('li', {}, el('a', { href: address, 'aria-current': address === here && 'page' }, text)),
      ),
    ),
  );
}

/** JSON, as it is. */
export function json(value) {
  return el('pre', { tabindex: 0 }, el('code', {}, JSON.stringify(value, null, 2)));
}

/** What opens. */
export function more(label, ...content) {
  return el('details', { class: 'panel' }, el('summary', {}, label), el('div', { class: 'opened' }, ...content));
}

const silences = { timer: 0 };

/** Says a text to everybody: on the screen for a moment, and to screen readers. */
export function say(text) {
  const region = document.getElementById('said');
  if (region === null) return;
  region.textContent = region.textContent === text ? `${text}\u00a0` : text;
  clearTimeout(silences.timer);
  silences.timer = window.setTimeout(() => {
    region.textContent = '';
  }, 6000);
}

/** Takes back what was said: it is not about what is done now. */
export function hush() {
  document.getElementById('said')?.replaceChildren();
}

/**
 * A window over the page. `content(close)` makes what is in it; what `close` is called with is the answer, undefined
 * for Escape.
 * @param {string} title
 * @param {(close: (answer?: any) => void, window: HTMLDialogElement) => Child[]} content
 * @returns {Promise<any>}
 */
export function dialog(title, content) {
  return new Promise((resolve) => {
    let answer;
    const close = (/** @type {unknown} */ value = undefined) => {
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
 * Asks before something that can't be undone. With `name` that has to be typed. Gives true for yes.
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
      const submit = (event) => {
        event.preventDefault();
        if (name !== undefined && typed.value.trim() !== name.trim()) {
          typed.setAttribute('aria-invalid', 'true');
          error.textContent = 'That is another name.';
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
          el('label', { for: 'typed' }, 'To go on, type ', el('bdi', {}, el('b', {}, name))),
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

/** Shows a secret that is never shown again. */
export function showOnce(title, text, secret, kept = 'Assent keeps a digest of it') {
  return dialog(title, (close, window) => {
    // Escape would lose it.
    window.addEventListener('cancel', (event) => event.preventDefault());
    return [
      el('p', {}, text),
      copyable(secret, title.toLowerCase(), { wide: secret.includes('\n') }),
      notice(`It is shown this once. ${kept}, and does not show it again.`, 'warn'),
      el(
        'div',
        { class: 'actions' },
        el('button', { class: 'button primary', type: 'button', onclick: () => close() }, 'I have kept it'),
      ),
    ];
  });
}
