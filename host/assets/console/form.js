// Forms: fields that read and write values of the admin API, and show what it says of them.

import { button, el, explain, hush, notice } from './view.js';

let made = 0;

function field(name, label, control, { hint, wrap } = {}) {
  const id = `field-${(made += 1)}`;
  const target = control.matches?.('input, textarea, select') ? control : control.querySelector('input, textarea, select');
  target.id = id;
  const about = hint && el('p', { class: 'hint', id: `${id}-hint` }, hint);
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
  target.setAttribute('aria-describedby', `${hint ? `${id}-hint ` : ''}${id}-error`);
  // What was wrong is not what is typed now.
  target.addEventListener('input', () => fail());
  const fail = (message) => {
    error.textContent = message ?? '';
    if (message) target.setAttribute('aria-invalid', 'true');
    else target.removeAttribute('aria-invalid');
  };
  const text = el('label', { for: id }, label);
  const parts = wrap === 'after' ? [el('div', { class: 'choice' }, control, text), about, error] : [text, about, control, error];
  return {
    name,
    element: el('div', { class: 'field' }, ...parts.filter(Boolean)),
    fail,
    focus: () => target.focus(),
  };
}

/** A line of text. An empty one is `none`: nothing, unless something else is said. `needed` says what is missing where it may not be empty. */
export function text(name, label, { none, type = 'text', needed, placeholder, hint, mono = false, list } = {}) {
  const input = el('input', { type, 'aria-required': needed && 'true', placeholder, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', class: mono && 'mono', list });
  return { ...field(name, label, input, { hint }), input, needed, isEmpty: () => input.value.trim() === '', read: () => (input.value.trim() === '' ? none : input.value.trim()), write: (value) => (input.value = value ?? '') };
}

/** A number. */
export function number(name, label, { min, max, hint } = {}) {
  const input = el('input', { type: 'number', min, max, inputmode: 'numeric' });
  return { ...field(name, label, input, { hint }), read: () => (input.value === '' ? undefined : Number(input.value)), write: (value) => (input.value = value ?? '') };
}

/** Several lines of text, as one value. */
export function area(name, label, { none, needed, hint, rows = 5 } = {}) {
  const input = el('textarea', { rows, spellcheck: 'false', autocomplete: 'off', class: 'mono' });
  return { ...field(name, label, input, { hint }), input, needed, isEmpty: () => input.value.trim() === '', read: () => (input.value.trim() === '' ? none : input.value), write: (value) => (input.value = value ?? '') };
}

/** A list of texts, one on each line. `check(line)` gives what is wrong with one, and is asked while it is typed. */
export function lines(name, label, { hint, needed, rows = 3, check } = {}) {
  const input = el('textarea', { rows, spellcheck: 'false', autocomplete: 'off', autocapitalize: 'none', class: 'mono', wrap: 'soft' });
  const base = field(name, label, input, { hint });
  const read = () => input.value.split('\n').map((line) => line.trim()).filter((line) => line !== '');
  if (check) {
    let timer;
    let round = 0;
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        const mine = ++round;
        const found = await Promise.all(read().map(async (line, place) => [place, await check(line)]));
        if (mine !== round) return;
        const wrong = found.filter(([, message]) => message).map(([place, message]) => (found.length > 1 ? `Line ${place + 1}: ${message}` : message));
        base.fail(wrong.join('\n') || undefined);
      }, 350);
    });
  }
  return { ...base, input, needed, isEmpty: () => read().length === 0, read, write: (value) => (input.value = (value ?? []).join('\n')) };
}

/** One of several values: [value, label] each. */
export function select(name, label, options, { hint, none } = {}) {
  const input = el('select', {}, ...options.map(([value, shown]) => el('option', { value }, shown)));
  return { ...field(name, label, input, { hint }), input, read: () => (input.value === '' ? none : input.value), write: (value) => (input.value = value ?? '') };
}

/** A file of the person's. */
export function file(name, label, { accept, hint } = {}) {
  const input = el('input', { type: 'file', accept });
  return { ...field(name, label, input, { hint }), input, read: () => input.files[0], write: () => {} };
}

/** Yes or no. */
export function toggle(name, label, { hint } = {}) {
  const input = el('input', { type: 'checkbox' });
  return { ...field(name, label, input, { hint, wrap: 'after' }), input, read: () => input.checked, write: (value) => (input.checked = Boolean(value)) };
}

/** Some of several values: [value, label] each. */
export function several(name, label, options, { hint } = {}) {
  const id = `field-${(made += 1)}`;
  const boxes = options.map(([value, shown], place) => {
    const input = el('input', { type: 'checkbox', value, id: `${id}-${place}` });
    return [input, el('div', { class: 'choice' }, input, el('label', { for: `${id}-${place}` }, shown))];
  });
  const error = el('p', { class: 'field-error', id: `${id}-error`, role: 'alert' });
  const set = el('fieldset', { class: 'field', 'aria-describedby': `${id}-error` }, el('legend', {}, label), hint && el('p', { class: 'hint' }, hint), ...boxes.map(([, choice]) => choice), error);
  return {
    name,
    element: set,
    fail: (message) => (error.textContent = message ?? ''),
    focus: () => boxes[0]?.[0].focus(),
    read: () => boxes.filter(([input]) => input.checked).map(([input]) => input.value),
    write: (values) => boxes.forEach(([input]) => (input.checked = (values ?? []).includes(input.value))),
  };
}

/** A value that only its JSON can say. */
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
        throw Object.assign(new Error(`That is no JSON: ${cause.message}`), { field: name });
      }
    },
    write: (value) => (input.value = value === undefined || value === null ? '' : JSON.stringify(value, null, 2)),
  };
}

/**
 * Rows of a list, each with the same cells: `cells()` makes the fields of a row. They are written and read as objects, or, with
 * `only`, as the value of that one cell.
 */
export function rows(name, label, cells, { hint, add = 'Add' } = {}) {
  const list = el('div', { class: 'rows' });
  const error = el('p', { class: 'field-error', role: 'alert' });
  const present = [];
  const append = (value) => {
    const fields = cells();
    for (const one of fields) one.write(value?.[one.name]);
    const taken = { fields };
    const take = el('button', { type: 'button', class: 'button small quiet danger' }, 'Remove');
    taken.element = el('div', { class: 'row panel' }, ...fields.map((one) => one.element), take);
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
    element: el('fieldset', { class: 'field' }, el('legend', {}, label), hint && el('p', { class: 'hint' }, hint), list, el('div', {}, another), error),
    fail(message, place, part) {
      const at = present[place]?.fields.find((one) => one.name === part) ?? present[place]?.fields[0];
      present.forEach(({ fields }) => fields.forEach((one) => one.fail()));
      error.textContent = at ? '' : message ?? '';
      at?.fail(message);
    },
    focus: () => present[0]?.fields[0].focus(),
    parts: () => present.flatMap(({ fields }) => fields),
    read: () => present.map(({ fields }) => Object.fromEntries(fields.map((one) => [one.name, one.read()]).filter(([, value]) => value !== undefined))),
    write(values) {
      present.splice(0);
      list.replaceChildren();
      for (const value of values ?? []) append(value);
    },
  };
}

/** Fields that belong together. */
export function group(title, about, ...fields) {
  return { group: true, fields, element: el('section', { class: 'panel group' }, el('h2', {}, title), about && el('p', { class: 'muted' }, about), ...fields.map((one) => one.element)) };
}

/** All the fields of a form, whether in groups or not. */
function flat(parts) {
  return parts.flatMap((part) => (part.group ? flat(part.fields) : [part])).filter((part) => part.read);
}

/** Whether a form on the page holds something that was typed and not sent. */
export const isUnsaved = () => [...document.querySelectorAll('form.form')].some((one) => one.isUnsaved?.());

/** Gives up what was typed: nobody is asked about it again. */
export const giveUpUnsaved = () => document.querySelectorAll('form.form').forEach((one) => (one.isUnsaved = () => false));

/** A field's value as it stands, to be compared with another. */
function standing(field) {
  try {
    return JSON.stringify(field.read());
  } catch {
    // What can't be read was typed.
    return 'unreadable';
  }
}

/**
 * A form of fields and groups. `values` are what is in it at first; `send(values, changed, version)` gets everything, and what is not
 * as it was. What the API says of a member is shown at its field. Where what is changed has a version, `reread` gives the newest
 * `{ value, version }`, in case somebody else was quicker. `asks` is for a form that changes nothing, so that nothing in it is lost.
 */
export function form(parts, { values = {}, version, reread, submit, send, cancel, kind = 'primary', asks = false }) {
  const fields = flat(parts);
  for (const one of fields) one.write(values[one.name]);
  let newest = version;
  let isSending = false;
  const read = () => {
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
    fields.forEach((one) => one.fail());
    const missing = fields.flatMap((one) => [one, ...(one.parts?.() ?? [])]).filter((one) => one.needed && one.isEmpty());
    missing.forEach((one) => one.fail(one.needed));
    if (missing.length > 0) return missing[0].focus();
    press.disabled = true;
    isSending = true;
    try {
      const now = read();
      const changed = Object.fromEntries(Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== before[name]));
      await send(now, changed, newest);
    } catch (problem) {
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
      told.replaceChildren(notice('The newest values are in the form, and what you typed is as you typed it. Look through it, then save.', 'calm',
        ...both.map(([name, theirs]) => el('p', {}, `Somebody else changed ${name} too, to: `, el('code', {}, theirs ?? 'nothing')))));
    };
    told.replaceChildren(notice('Somebody else changed this meanwhile, so that nothing was saved.', 'warn', el('div', { class: 'ways' }, button('Read it anew, and keep what I typed', anew))));
    told.firstElementChild.scrollIntoView({ block: 'nearest' });
  };
  const made = el('form', { class: 'stack form', onsubmit, novalidate: true },
    ...parts.map((part) => part.element),
    told,
    el('div', { class: 'actions' }, press, cancel && el('a', { class: 'button', href: cancel }, 'Cancel')));
  made.isUnsaved = () => !asks && !isSending && fields.some((one) => standing(one) !== before[one.name]);
  return made;
}

function tell(fields, told, problem) {
  const named = problem.field ? [{ pointer: `/${problem.field}`, detail: problem.message }] : problem.errors ?? [];
  const left = [];
  let first;
  for (const error of named) {
    const [name, place, part] = error.pointer.split('/').slice(1);
    const at = fields.find((one) => one.name === name);
    if (!at) left.push(error);
    else at.fail(place !== undefined && !/^\d+$/.test(part ?? '') && /^\d+$/.test(place) && !part ? `${Number(place) + 1}: ${error.detail}` : error.detail, Number(place), part);
    first ??= at;
  }
  if (named.length === 0 || left.length > 0 || !first) {
    told.replaceChildren(el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)));
    if (!first) told.firstElementChild.scrollIntoView({ block: 'nearest' });
  }
  first?.focus();
}
