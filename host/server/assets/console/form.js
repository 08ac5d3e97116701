// Forms: fields that read and write values of the admin API, and show what it says of them.

import { button, el, explain, hush, notice } from './view.js';

/**
 * @typedef {import('./types.d.ts').Field} Field
 * @typedef {import('./types.d.ts').FieldOptions} FieldOptions
 * @typedef {import('./types.d.ts').FormElement} FormElement
 * @typedef {import('./types.d.ts').FormOptions} FormOptions
 * @typedef {import('./types.d.ts').Group} Group
 * @typedef {import('./types.d.ts').Part} FormPart
 */

let made = 0;

function freshId() {
  made += 1;
  return `field-${made}`;
}

/**
 * What all fields have: a label, a hint and a place for what is wrong.
 * @param {string} name
 * @param {string} label
 * @param {HTMLElement} control
 * @param {FieldOptions} [options]
 */
function field(name, label, control, { hint, wrap } = {}) {
  const id = freshId();
  const target = control;
  target.id = id;
  const about = hint && el('p', { class: 'hint', id: `${id}-hint` }, hint);
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
  target.setAttribute('aria-describedby', `${hint ? `${id}-hint ` : ''}${id}-error`);
  // What was wrong is not what is typed now.
  target.addEventListener('input', () => fail());
  const fail = (/** @type {string | undefined} */ message = undefined) => {
    error.textContent = message ?? '';
    if (message) target.setAttribute('aria-invalid', 'true');
    else target.removeAttribute('aria-invalid');
  };
  const text = el('label', { for: id }, label);
  const parts =
    wrap === 'after' ? [el('div', { class: 'choice' }, control, text), about, error] : [text, about, control, error];
  return {
    name,
    element: el('div', { class: 'field' }, ...parts.filter(Boolean)),
    fail,
    focus: () => target.focus(),
  };
}

/**
 * A line of text. An empty one is `none`: nothing, unless something else is said. `needed` says what is missing where
 * it may not be empty.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function text(name, label, { none, type = 'text', needed, placeholder, hint, mono = false, list } = {}) {
  const input = el('input', {
    type,
    'aria-required': needed && 'true',
    placeholder,
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    class: mono && 'mono',
    list,
  });
  return {
    ...field(name, label, input, { hint }),
    input,
    needed,
    isEmpty: () => input.value.trim() === '',
    read: () => (input.value.trim() === '' ? none : input.value.trim()),
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * A number.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function number(name, label, { min, max, hint } = {}) {
  const input = el('input', { type: 'number', min, max, inputmode: 'numeric' });
  return {
    ...field(name, label, input, { hint }),
    read: () => (input.value === '' ? undefined : Number(input.value)),
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * Several lines of text, as one value.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function area(name, label, { none, needed, hint, rows = 5 } = {}) {
  const input = el('textarea', { rows, spellcheck: 'false', autocomplete: 'off', class: 'mono' });
  return {
    ...field(name, label, input, { hint }),
    input,
    needed,
    isEmpty: () => input.value.trim() === '',
    read: () => (input.value.trim() === '' ? none : input.value),
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * A list of texts, one on each line. `check(line)` gives what is wrong with one, and is asked while it is typed.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function lines(name, label, { hint, needed, rows = 3, check } = {}) {
  const input = el('textarea', {
    rows,
    spellcheck: 'false',
    autocomplete: 'off',
    autocapitalize: 'none',
    class: 'mono',
    wrap: 'soft',
  });
  const base = field(name, label, input, { hint });
  const read = () =>
    input.value
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  if (check) {
    let timer;
    let round = 0;
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const mine = ++round;
        const found = await Promise.all(read().map((line) => check(line)));
        if (mine !== round) return;
        const wrong = found.flatMap((message, place) => {
          if (!message) return [];
          return [found.length > 1 ? `Line ${place + 1}: ${message}` : message];
        });
        base.fail(wrong.join('\n') || undefined);
      }, 350);
    });
  }
  return {
    ...base,
    input,
    needed,
    isEmpty: () => read().length === 0,
    read,
    write: (value) => {
      input.value = (value ?? []).join('\n');
    },
  };
}

/**
 * One of several values: [value, label] each.
 * @param {string} name
 * @param {string} label
 * @param {string[][]} options
 * @param {FieldOptions} [more]
 */
export function select(name, label, options, { hint, none } = {}) {
  const input = el('select', {}, ...options.map(([value, shown]) => el('option', { value }, shown)));
  return {
    ...field(name, label, input, { hint }),
    input,
    read: () => (input.value === '' ? none : input.value),
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * A file of the person's.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function file(name, label, { accept, hint } = {}) {
  const input = el('input', { type: 'file', accept });
  return { ...field(name, label, input, { hint }), input, read: () => input.files?.[0], write: () => {} };
}

/**
 * Yes or no.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function toggle(name, label, { hint } = {}) {
  const input = el('input', { type: 'checkbox' });
  return {
    ...field(name, label, input, { hint, wrap: 'after' }),
    input,
    read: () => input.checked,
    write: (value) => {
      input.checked = Boolean(value);
    },
  };
}

/**
 * Some of several values: [value, label] each.
 * @param {string} name
 * @param {string} label
 * @param {string[][]} options
 * @param {FieldOptions} [more]
 */
export function several(name, label, options, { hint } = {}) {
  const id = freshId();
  const boxes = options.map(([value, shown], place) => {
    const input = el('input', { type: 'checkbox', value, id: `${id}-${place}` });
    const choice = el('div', { class: 'choice' }, input, el('label', { for: `${id}-${place}` }, shown));
    return { input, choice };
  });
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
  const set = el(
    'fieldset',
    { class: 'field', 'aria-describedby': `${id}-error` },
    el('legend', {}, label),
    hint && el('p', { class: 'hint' }, hint),
    ...boxes.map(({ choice }) => choice),
    error,
  );
  return {
    name,
    element: set,
    fail: (message) => {
      error.textContent = message ?? '';
    },
    focus: () => boxes[0]?.input.focus(),
    read: () => boxes.filter(({ input }) => input.checked).map(({ input }) => input.value),
    write: (values) => {
      for (const { input } of boxes) input.checked = (values ?? []).includes(input.value);
    },
  };
}

/**
 * A value that only its JSON can say.
 * @param {string} name
 * @param {string} label
 * @param {FieldOptions} [options]
 */
export function jsonText(name, label, { hint, rows = 6, none } = {}) {
  const input = el('textarea', { rows, spellcheck: 'false', autocomplete: 'off', class: 'mono' });
  const base = field(name, label, input, { hint });
  return {
    ...base,
    input,
    read: () => {
      if (input.value.trim() === '') return none;
      try {
        return JSON.parse(input.value);
      } catch (cause) {
        throw Object.assign(new Error(`That is no JSON: ${/** @type {Error} */ (cause).message}`), { field: name });
      }
    },
    write: (value) => {
      input.value = value === undefined || value === null ? '' : JSON.stringify(value, null, 2);
    },
  };
}

/**
 * Rows of a list, each with the same cells: `cells()` makes the fields of a row. They are written and read as
 * objects, or, with `only`, as the value of that one cell.
 * @param {string} name
 * @param {string} label
 * @param {() => Field[]} cells
 * @param {FieldOptions} [options]
 */
export function rows(name, label, cells, { hint, add = 'Add' } = {}) {
  const list = el('div', { class: 'rows' });
  const error = el('p', { class: 'field-error', role: 'alert' });
  /** @type {Array<{ fields: Field[], element: HTMLElement }>} */
  const present = [];
  const append = (/** @type {any} */ value = undefined) => {
    const fields = cells();
    for (const one of fields) one.write(value?.[one.name]);
    const take = el('button', { type: 'button', class: 'button small quiet danger' }, 'Remove');
    const element = el('div', { class: 'row panel' }, ...fields.map((one) => one.element), take);
    const taken = { fields, element };
    take.addEventListener('click', () => {
      present.splice(present.indexOf(taken), 1);
      taken.element.remove();
      list.dispatchEvent(new Event('input', { bubbles: true }));
    });
    present.push(taken);
    list.append(taken.element);
    return fields;
  };
  const another = el('button', { type: 'button', class: 'button small', onclick: () => append()[0].focus() }, add);
  return {
    name,
    element: el(
      'fieldset',
      { class: 'field' },
      el('legend', {}, label),
      hint && el('p', { class: 'hint' }, hint),
      list,
      el('div', {}, another),
      error,
    ),
    fail(message, place, part) {
      const at = present[place]?.fields.find((one) => one.name === part) ?? present[place]?.fields[0];
      for (const { fields } of present) for (const one of fields) one.fail();
      error.textContent = at ? '' : (message ?? '');
      at?.fail(message);
    },
    focus: () => present[0]?.fields[0].focus(),
    parts: () => present.flatMap(({ fields }) => fields),
    read: () =>
      present.map(({ fields }) =>
        Object.fromEntries(fields.map((one) => [one.name, one.read()]).filter(([, value]) => value !== undefined)),
      ),
    write(values) {
      present.splice(0);
      list.replaceChildren();
      for (const value of values ?? []) append(value);
    },
  };
}

/**
 * Fields that belong together.
 * @param {string} title
 * @param {string | null} about
 * @param {...FormPart} fields
 * @returns {Group}
 */
export function group(title, about, ...fields) {
  return {
    group: true,
    fields,
    element: el(
      'section',
      { class: 'panel group' },
      el('h2', {}, title),
      about && el('p', { class: 'muted' }, about),
      ...fields.map((one) => one.element),
    ),
  };
}

/**
 * All the fields of a form, whether in groups or not.
 * @param {FormPart[]} parts
 * @returns {Field[]}
 */
function flat(parts) {
  return parts.flatMap((part) => {
    if ('group' in part) return flat(part.fields);
    return part.read ? [/** @type {Field} */ (part)] : [];
  });
}

/** The forms on the page. */
function forms() {
  return /** @type {NodeListOf<FormElement>} */ (document.querySelectorAll('form.form'));
}

/** Whether a form on the page holds something that was typed and not sent. */
export const isUnsaved = () => [...forms()].some((one) => one.isUnsaved());

/** Gives up what was typed: nobody is asked about it again. */
export function giveUpUnsaved() {
  for (const one of forms()) one.isUnsaved = () => false;
}

/**
 * A field's value as it stands, to be compared with another.
 * @param {Field} field
 */
function standing(field) {
  try {
    return JSON.stringify(field.read());
  } catch {
    // What can't be read was typed.
    return 'unreadable';
  }
}

/**
 * A form of fields and groups. `values` are what is in it at first; `send(values, changed, version)` gets everything,
 * and what is not as it was. What the API says of a member is shown at its field. Where what is changed has a
 * version, `reread` gives the newest `{ value, version }`, in case somebody else was quicker. `asks` is for a form
 * that changes nothing, so that nothing in it is lost.
 * @param {FormPart[]} parts
 * @param {FormOptions} options
 * @returns {FormElement}
 */
export function form(parts, { values = {}, version, reread, submit, send, cancel, kind = 'primary', asks = false }) {
  const fields = flat(parts);
  for (const one of fields) one.write(values[one.name]);
  let newest = version;
  let isSending = false;
  const read = () => {
    /** @type {Record<string, any>} */
    const now = {};
    for (const one of fields) {
      const value = one.read();
      if (value !== undefined) now[one.name] = value;
    }
    return now;
  };
  const before = Object.fromEntries(fields.map((one) => [one.name, standing(one)]));
  const told = el('div', { class: 'told' });
  const press = el('button', { type: 'submit', class: `button ${kind}` }, submit);
  const onsubmit = async (event) => {
    event.preventDefault();
    told.replaceChildren();
    hush();
    for (const one of fields) one.fail();
    const missing = fields
      .flatMap((one) => [one, ...(one.parts?.() ?? [])])
      .filter((one) => one.needed && one.isEmpty?.());
    for (const one of missing) one.fail(one.needed ?? undefined);
    if (missing.length > 0) return missing[0].focus();
    press.disabled = true;
    isSending = true;
    try {
      const now = read();
      const changed = Object.fromEntries(
        Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== before[name]),
      );
      await send(now, changed, newest);
    } catch (cause) {
      const problem = /** @type {any} */ (cause);
      if (problem?.status === 412 && reread) overtaken();
      else if (!problem?.dropped) tell(fields, told, problem);
    } finally {
      press.disabled = false;
      isSending = false;
    }
    return undefined;
  };
  // Somebody else was quicker: the newest values go into the fields that were left alone, and what was typed stays.
  const overtaken = () => {
    const anew = async () => {
      if (!reread) return;
      const { value, version: now } = await reread();
      newest = now;
      const both = [];
      for (const one of fields) {
        const typed = one.read();
        const isTyped = standing(one) !== before[one.name];
        one.write(value[one.name]);
        const theirs = standing(one);
        if (isTyped) {
          if (theirs !== before[one.name] && theirs !== JSON.stringify(typed)) both.push([one.name, theirs]);
          one.write(typed);
        }
        before[one.name] = theirs;
      }
      told.replaceChildren(
        notice(
          'The newest values are in the form, and what you typed is as you typed it. Look through it, then save.',
          'calm',
          ...both.map(([name, theirs]) =>
            el('p', {}, `Somebody else changed ${name} too, to: `, el('code', {}, theirs ?? 'nothing')),
          ),
        ),
      );
    };
    told.replaceChildren(
      notice(
        'Somebody else changed this meanwhile, so that nothing was saved.',
        'warn',
        el('div', { class: 'ways' }, button('Read it anew, and keep what I typed', anew)),
      ),
    );
    told.firstElementChild?.scrollIntoView({ block: 'nearest' });
  };
  const made = el(
    'form',
    { class: 'stack form', onsubmit, novalidate: true },
    ...parts.map((part) => part.element),
    told,
    el('div', { class: 'actions' }, press, cancel && el('a', { class: 'button', href: cancel }, 'Cancel')),
  );
  const hasChanges = () => !asks && !isSending && fields.some((one) => standing(one) !== before[one.name]);
  return Object.assign(made, { isUnsaved: hasChanges });
}

/**
 * Says at the fields what a problem is about, and the rest above them.
 * @param {Field[]} fields
 * @param {HTMLElement} told
 * @param {any} problem
 */
function tell(fields, told, problem) {
  const named = problem.field ? [{ pointer: `/${problem.field}`, detail: problem.message }] : (problem.errors ?? []);
  const left = [];
  let first;
  for (const error of named) {
    const [name, place, part] = error.pointer.split('/').slice(1);
    const at = fields.find((one) => one.name === name);
    if (!at) left.push(error);
    else
      at.fail(
        place !== undefined && !/^\d+$/.test(part ?? '') && /^\d+$/.test(place) && !part
          ? `${Number(place) + 1}: ${error.detail}`
          : error.detail,
        Number(place),
        part,
      );
    first ??= at;
  }
  if (named.length === 0 || left.length > 0 || !first) {
    told.replaceChildren(el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)));
    if (!first) told.firstElementChild?.scrollIntoView({ block: 'nearest' });
  }
  first?.focus();
}
