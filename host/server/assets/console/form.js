// Forms: fields that read and write values of the admin API, and show its errors.

import { Problem } from './api.js';
import { t, translated } from './language.js';
import { valuesOf } from './lists.js';
import {
  anchorOf,
  button,
  clearMessage,
  code,
  el,
  explain,
  notice,
  panel,
  showsSomethingOnce,
  takeAwayShown,
  withCode,
} from './view.js';

/**
 * @import {
 *   AreaOptions, ControlField, Field, FieldOptions, FieldsOf, FormElement, FormOptions, Group, LinesOptions,
 *   TextOptions, Values, WrittenValues
 * } from './types.d.ts'
 */

/** The administrator's input in a field is not valid. */
export class FieldError extends Error {
  /**
   * @param {string} field the field's name
   * @param {string} message
   */
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

let created = 0;

function freshId() {
  created += 1;
  return `field-${created}`;
}

/**
 * Shows the error of a field, or removes it. Back-ticks in it mark code.
 * @param {HTMLElement} place
 * @param {string} [message]
 */
function showError(place, message = '') {
  place.replaceChildren(...withCode(translated(message)));
}

/**
 * The common parts of all fields: a label, a hint and a place for errors.
 * @template {string} Name
 * @param {Name} name
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
  // The error is about the earlier value.
  target.addEventListener('input', () => fail());
  const fail = (/** @type {string | undefined} */ message = undefined) => {
    showError(error, message);
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
 * A line of text. The value of an empty line is `none`. `needed` is the error for an empty line.
 * @template {string} Name
 * @template {string | null | undefined} [const None=undefined]
 * @param {Name} name
 * @param {string} label
 * @param {TextOptions<None>} [options]
 * @returns {ControlField<HTMLInputElement, Name, string | None, string | null>}
 */
export function text(name, label, { none, type = 'text', needed, hint, mono = false } = {}) {
  const input = el('input', {
    type,
    'aria-required': needed && 'true',
    autocomplete: 'off',
    autocapitalize: 'none',
    spellcheck: 'false',
    class: mono && 'mono',
  });
  return {
    ...field(name, label, input, { hint }),
    input,
    needed,
    isEmpty: () => input.value.trim() === '',
    read: () => input.value.trim() || /** @type {None} */ (none),
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * A number.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {FieldOptions & { min?: number, max?: number }} [options]
 * @returns {Field<Name, number | undefined>}
 */
export function number(name, label, { min, max, hint } = {}) {
  const input = el('input', { type: 'number', min, max, inputmode: 'numeric' });
  return {
    ...field(name, label, input, { hint }),
    read: () => (input.value === '' ? undefined : Number(input.value)),
    write: (value) => {
      input.value = String(value ?? '');
    },
  };
}

/**
 * Several lines of text, as one value.
 * @template {string} Name
 * @template {string | null | undefined} [const None=undefined]
 * @param {Name} name
 * @param {string} label
 * @param {AreaOptions<None>} [options]
 * @returns {ControlField<HTMLTextAreaElement, Name, string | None, string | null>}
 */
export function area(name, label, { none, needed, hint, rows = 5 } = {}) {
  const input = el('textarea', { rows, spellcheck: 'false', autocomplete: 'off', class: 'mono' });
  return {
    ...field(name, label, input, { hint }),
    input,
    needed,
    isEmpty: () => input.value.trim() === '',
    read: () => (input.value.trim() === '' ? /** @type {None} */ (none) : input.value),
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * A list of texts, one on each line. `check(line)` returns the error or the warning of a line, and is called while it
 * is typed and when the field is filled.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {LinesOptions} [options]
 * @returns {ControlField<HTMLTextAreaElement, Name, string[]>}
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
  const warnings = el('p', { class: 'field-warning', id: `${input.id}-warning`, role: 'status' });
  const read = () =>
    input.value
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '');
  /** @type {number | undefined} */
  let timer;
  let round = 0;
  const verify = async () => {
    if (!check) return;
    const mine = ++round;
    const found = await Promise.all(read().map((line) => check(line)));
    if (mine !== round) return;
    const inLines = (/** @type {(string | undefined)[]} */ messages) =>
      messages
        .flatMap((message, index) => {
          if (!message) return [];
          return [messages.length > 1 ? t`Line ${index + 1}: ${message}` : message];
        })
        .join('\n');
    base.fail(inLines(found.map((one) => one?.error)) || undefined);
    showError(warnings, inLines(found.map((one) => one?.warning)));
  };
  if (check) {
    base.element.append(warnings);
    input.setAttribute('aria-describedby', `${input.getAttribute('aria-describedby')} ${warnings.id}`);
    input.addEventListener('input', () => {
      clearTimeout(timer);
      timer = window.setTimeout(verify, 350);
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
      verify();
    },
  };
}

/**
 * One of several values, each with its label. The value of the option `''` is `none`.
 * @template {string} Name
 * @template {string} const Option
 * @template {string | null | undefined} [const None=undefined]
 * @param {Name} name
 * @param {string} label
 * @param {ReadonlyArray<readonly [Option, string]>} options
 * @param {FieldOptions & { none?: None }} [more]
 * @returns {ControlField<HTMLSelectElement, Name, Exclude<Option, ''> | None, string | null>}
 */
export function select(name, label, options, { hint, none } = {}) {
  const input = el('select', {}, ...options.map(([value, shown]) => el('option', { value }, shown)));
  return {
    ...field(name, label, input, { hint }),
    input,
    read: () => (input.value === '' ? /** @type {None} */ (none) : /** @type {Exclude<Option, ''>} */ (input.value)),
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * One of several values in groups, or none.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {string} none the label of the option without a value
 * @param {Array<[group: string, options: Array<[value: string, label: string]>]>} groups
 * @returns {ControlField<HTMLSelectElement, Name, string, string | null>}
 */
export function groupedSelect(name, label, none, groups) {
  const option = (/** @type {[string, string]} */ [value, shown]) => el('option', { value }, shown);
  const input = el(
    'select',
    {},
    option(['', none]),
    ...groups.map(([title, options]) => el('optgroup', { label: title }, ...options.map(option))),
  );
  return {
    ...field(name, label, input),
    input,
    read: () => input.value,
    write: (value) => {
      input.value = value ?? '';
    },
  };
}

/**
 * A file that the administrator chooses.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {FieldOptions & { accept?: string }} [options]
 * @returns {ControlField<HTMLInputElement, Name, File | undefined>}
 */
export function file(name, label, { accept, hint } = {}) {
  const input = el('input', { type: 'file', accept });
  return { ...field(name, label, input, { hint }), input, read: () => input.files?.[0], write: () => {} };
}

/**
 * Yes or no.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {FieldOptions} [options]
 * @returns {ControlField<HTMLInputElement, Name, boolean>}
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
 * Some of several values, each with its label. With `codes` the value itself comes before the label, which describes
 * it. A value of `fixed` is always chosen.
 * @template {string} Name
 * @template {string} const Option
 * @param {Name} name
 * @param {string} label
 * @param {ReadonlyArray<readonly [Option, string]>} options
 * @param {FieldOptions & { codes?: boolean, fixed?: Option[] }} [more]
 * @returns {Field<Name, Option[], string[] | null>}
 */
export function several(name, label, options, { hint, codes = false, fixed = [] } = {}) {
  const id = freshId();
  const boxes = options.map(([value, shown], index) => {
    const input = el('input', { type: 'checkbox', value, id: `${id}-${index}`, disabled: fixed.includes(value) });
    const words = codes ? [code(value), ' ', el('span', {}, shown)] : [shown];
    const text = el('label', { for: `${id}-${index}`, class: codes && 'described' }, ...words);
    const choice = el('div', { class: 'choice' }, input, text);
    return { value, input, choice };
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
    fail: (message) => showError(error, message),
    focus: () => boxes.find(({ input }) => !input.disabled)?.input.focus(),
    read: () => boxes.filter(({ input }) => input.checked).map(({ value }) => value),
    write: (values) => {
      for (const { value, input } of boxes) input.checked = fixed.includes(value) || (values ?? []).includes(value);
    },
  };
}

/**
 * An object, as JSON. The server validates its content.
 * @template {string} Name
 * @param {Name} name
 * @param {string} label
 * @param {FieldOptions & { rows?: number }} [options]
 * @returns {ControlField<HTMLTextAreaElement, Name, Record<string, unknown> | undefined>}
 */
export function jsonText(name, label, { hint, rows = 6 } = {}) {
  const input = el('textarea', { rows, spellcheck: 'false', autocomplete: 'off', class: 'mono' });
  const base = field(name, label, input, { hint });
  return {
    ...base,
    input,
    read: () => {
      if (input.value.trim() === '') return undefined;
      try {
        return JSON.parse(input.value);
      } catch (cause) {
        throw new FieldError(name, t`Not valid JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
      }
    },
    write: (value) => {
      input.value = value === undefined || value === null ? '' : JSON.stringify(value, null, 2);
    },
  };
}

/**
 * A list of objects, one in each row: `cells()` creates the fields of a row. `add` is the label of the button that
 * adds one.
 * @template {string} Name
 * @template {Field} Cell
 * @param {Name} name
 * @param {string} label
 * @param {() => Cell[]} cells
 * @param {FieldOptions & { add?: string }} [options]
 * @returns {Field<Name, Array<Values<Cell>>, Array<WrittenValues<Cell>> | null>}
 */
export function rows(name, label, cells, { hint, add = 'Add' } = {}) {
  const list = el('div', { class: 'rows' });
  const error = el('p', { class: 'field-error', role: 'alert' });
  /** @type {Array<{ fields: Cell[], element: HTMLElement }>} */
  const present = [];
  const append = (/** @type {Record<string, unknown>} */ values = {}) => {
    const fields = cells();
    for (const one of fields) one.write(values[one.name]);
    const removal = el('button', { type: 'button', class: 'button small quiet danger' }, 'Remove');
    const element = el('div', { class: 'row panel' }, ...fields.map((one) => one.element), removal);
    const row = { fields, element };
    removal.addEventListener('click', () => {
      present.splice(present.indexOf(row), 1);
      row.element.remove();
      list.dispatchEvent(new Event('input', { bubbles: true }));
    });
    present.push(row);
    list.append(row.element);
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
    fail(message, index, part) {
      const row = index === undefined ? undefined : present[index];
      const at = row?.fields.find((one) => one.name === part) ?? row?.fields[0];
      for (const { fields } of present) for (const one of fields) one.fail();
      showError(error, at ? undefined : message);
      at?.fail(message);
    },
    focus: () => present[0]?.fields[0].focus(),
    parts: () => present.flatMap(({ fields }) => fields),
    read: () => present.map(({ fields }) => valuesOf(fields)),
    write(values) {
      present.splice(0);
      list.replaceChildren();
      for (const value of values ?? []) append(value);
    },
  };
}

/**
 * Fields that belong together.
 * @template {Field[]} Fields
 * @param {string} title
 * @param {string | null} about
 * @param {Fields} fields
 * @returns {Group<Fields[number]>}
 */
export function group(title, about, ...fields) {
  return {
    group: true,
    fields,
    element: el(
      'section',
      { class: 'panel group' },
      el('h2', { id: anchorOf(title), tabindex: -1 }, title),
      about && el('p', { class: 'muted' }, about),
      ...fields.map((one) => one.element),
    ),
  };
}

/**
 * Fields in a panel without a heading.
 * @template {Field[]} Fields
 * @param {Fields} fields
 * @returns {Group<Fields[number]>}
 */
export function fieldPanel(...fields) {
  return { group: true, fields, element: panel(...fields.map((one) => one.element)) };
}

/**
 * Fields and groups for rare uses, folded under a title. They are open if one of them has a value or an error.
 * @template {Array<Field | Group>} Parts
 * @param {string} title
 * @param {Parts} parts
 * @returns {Group<FieldsOf<Parts[number]>>}
 */
export function folded(title, ...parts) {
  const fields = /** @type {Array<FieldsOf<Parts[number]>>} */ (flat(parts));
  const element = el(
    'details',
    { class: 'panel' },
    el('summary', { id: anchorOf(title) }, title),
    el('div', { class: 'opened' }, ...parts.map((part) => part.element)),
  );
  const unfold = () => {
    element.open = fields.some((one) => hasValue(one));
  };
  return { group: true, fields, element, unfold };
}

/**
 * Whether a field has a value.
 * @param {Field} field
 */
function hasValue(field) {
  const value = field.read();
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/**
 * Opens the folded parent of a field.
 * @param {Field} field
 */
function reveal({ element }) {
  const around = element.closest('details');
  if (around) around.open = true;
}

/**
 * All the fields of a form, in groups or not.
 * @param {Array<Field | Group>} parts
 * @returns {Field[]}
 */
function flat(parts) {
  return parts.flatMap((part) => ('group' in part ? part.fields : [part]));
}

/** The forms on the page. */
function forms() {
  return /** @type {NodeListOf<FormElement>} */ (document.querySelectorAll('form.form'));
}

/** Whether a form on the page has changes that were not sent, or the page shows something only once. */
export const isUnsaved = () => showsSomethingOnce() || [...forms()].some((one) => one.isUnsaved());

/** Discards the changes, so that the administrator is not asked about them again. */
export function giveUpUnsaved() {
  takeAwayShown();
  for (const one of forms()) one.isUnsaved = () => false;
}

/**
 * A field's value as a text, to compare it with another.
 * @param {Field} field
 */
function standing(field) {
  try {
    return JSON.stringify(field.read());
  } catch {
    // The typed value cannot be read.
    return 'unreadable';
  }
}

/**
 * A form of fields and groups. `values` are its initial values; `send(values, changed, version)` receives all values,
 * and the changed ones. The server's error of a member is shown at its field. If the resource has a version, `reread`
 * returns the newest `{ value, version }`, in case another administrator changed it. `asks` is for a form that changes
 * nothing, so leaving it loses nothing. With `bar` the buttons stay visible while there are unsaved changes.
 * @template {Field | Group} Part
 * @param {Part[]} parts
 * @param {FormOptions<FieldsOf<Part>>} options
 * @returns {FormElement}
 */
export function form(parts, options) {
  const { version, reread, submit, send, cancel, kind = 'primary', asks = false, bar = false, ready } = options;
  let { values } = options;
  const fields = flat(parts);
  const write = (/** @type {Field} */ one, /** @type {Record<string, unknown>} */ from = {}) =>
    one.write(from[one.name]);
  const writeAll = () => {
    for (const one of fields) write(one, values);
    for (const part of parts) if ('group' in part) part.unfold?.();
  };
  writeAll();
  let newest = version;
  let isSending = false;
  const before = Object.fromEntries(fields.map((one) => [one.name, standing(one)]));
  const noticeArea = el('div', { class: 'form-notice' });
  const press = el('button', { type: 'submit', class: `button ${kind}` }, submit);
  const showReady = () => {
    press.disabled = isSending || ready?.() === false;
  };
  showReady();
  const onsubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    noticeArea.replaceChildren();
    clearMessage();
    for (const one of fields) one.fail();
    const missing = fields
      .flatMap((one) => [one, ...(one.parts?.() ?? [])])
      .filter((one) => one.needed && one.isEmpty?.());
    for (const one of missing) {
      one.fail(one.needed ?? undefined);
      reveal(one);
    }
    if (missing.length > 0) return missing[0].focus();
    press.disabled = true;
    isSending = true;
    try {
      const now = /** @type {Values<FieldsOf<Part>>} */ (valuesOf(fields));
      const changed = /** @type {Partial<typeof now>} */ (
        Object.fromEntries(Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== before[name]))
      );
      await send(now, changed, newest);
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 412 && reread) showConflict();
      else if (!(problem instanceof Problem && problem.dropped)) showErrors(fields, noticeArea, problem);
    } finally {
      isSending = false;
      showReady();
    }
    return undefined;
  };
  // Another administrator made a change: unchanged fields get the newest values.
  const showConflict = () => {
    const readAgain = async () => {
      if (!reread) return;
      const { value, version: now } = await reread();
      newest = now;
      values = value;
      /** @type {Array<[string, string | undefined]>} */
      const both = [];
      for (const one of fields) {
        const isTyped = standing(one) !== before[one.name];
        const typed = one.read();
        write(one, value);
        const theirs = standing(one);
        if (isTyped) {
          if (theirs !== before[one.name] && theirs !== JSON.stringify(typed)) both.push([one.name, theirs]);
          one.write(typed);
        }
        before[one.name] = theirs;
      }
      showBar();
      noticeArea.replaceChildren(
        notice(
          'The form has the newest values and your own changes. Check it, then save.',
          'calm',
          ...both.map(([name, theirs]) =>
            el('p', {}, t`Another administrator changed ${name} too, to: `, el('code', {}, theirs ?? 'nothing')),
          ),
        ),
      );
    };
    noticeArea.replaceChildren(
      notice(
        'Another administrator changed this in the meantime, so nothing was saved.',
        'warn',
        el('div', { class: 'ways' }, button('Read it again, and keep what I typed', readAgain)),
      ),
    );
    noticeArea.firstElementChild?.scrollIntoView({ block: 'nearest' });
  };
  const differs = () => fields.some((one) => standing(one) !== before[one.name]);
  const unsaved = el('p', { class: 'unsaved-text', role: 'status' });
  const discard = el('button', { type: 'button', class: 'button', hidden: true }, 'Discard');
  const actions = el(
    'div',
    { class: 'actions' },
    press,
    bar && discard,
    cancel && cancelControl(cancel),
    bar && unsaved,
  );
  const showBar = () => {
    showReady();
    if (!bar) return;
    const isUnsaved = differs();
    actions.classList.toggle('unsaved', isUnsaved);
    discard.hidden = !isUnsaved;
    unsaved.textContent = isUnsaved ? translated('Unsaved changes') : '';
  };
  discard.addEventListener('click', () => {
    for (const one of fields) one.fail();
    writeAll();
    noticeArea.replaceChildren();
    showBar();
    // The button disappears, and the focus must not disappear with it.
    press.focus();
  });
  const made = el(
    'form',
    { class: bar ? 'stack form with-bar' : 'stack form', onsubmit, oninput: showBar, novalidate: true },
    ...parts.map((part) => part.element),
    noticeArea,
    actions,
  );
  const hasChanges = () => !asks && !isSending && differs();
  return Object.assign(made, { isUnsaved: hasChanges });
}

/**
 * The control that leaves a form without sending it: a link to a page, or in a dialog a button.
 * @param {string | (() => void)} cancel
 */
function cancelControl(cancel) {
  if (typeof cancel === 'string') return el('a', { class: 'button', href: cancel }, 'Cancel');
  return el('button', { type: 'button', class: 'button', onclick: () => cancel() }, 'Cancel');
}

/**
 * The errors of a problem, each with the JSON pointer (RFC 6901) of its field.
 * @param {unknown} problem
 */
function errorsOf(problem) {
  if (problem instanceof FieldError) return [{ pointer: `/${problem.field}`, detail: problem.message }];
  return problem instanceof Problem ? problem.errors : [];
}

/**
 * Shows each error at its field, and the others below the fields.
 * @param {Field[]} fields
 * @param {HTMLElement} noticeArea
 * @param {unknown} problem
 */
function showErrors(fields, noticeArea, problem) {
  const errors = errorsOf(problem);
  let isComplete = errors.length > 0;
  /** @type {Field | undefined} */
  let first;
  for (const { pointer, detail } of errors) {
    const [name, index, part] = pointer.split('/').slice(1);
    const at = fields.find((one) => one.name === name);
    // In an object the second segment is the part, in a list the third.
    if (at) {
      at.fail(
        /^\d+$/.test(index ?? '') && !part ? `${Number(index) + 1}: ${detail}` : detail,
        Number(index),
        part ?? index,
      );
      reveal(at);
    } else isComplete = false;
    first ??= at;
  }
  if (!isComplete) {
    noticeArea.replaceChildren(el('div', { class: 'notice bad', role: 'alert' }, ...explain(problem)));
    if (!first) noticeArea.firstElementChild?.scrollIntoView({ block: 'nearest' });
  }
  first?.focus();
}
