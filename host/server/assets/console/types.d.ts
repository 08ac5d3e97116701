// The types of the console. Those of the admin API come from its OpenAPI document. Only the type checker reads this
// file.

import type { components, paths } from 'admin-api';

/** A schema of the admin API. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

/** What `GET` answers at a path of the admin API. */
export type Read<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Body } } } };
}
  ? Body
  : never;

/** What a call answers of which only the address is known. */
// biome-ignore lint/suspicious/noExplicitAny: the caller names the type
export type Unknown = any;

export interface CallOptions {
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** The longest time to wait, in milliseconds. */
  limit?: number;
  keepalive?: boolean;
  key?: string;
  again?: boolean;
}

export type Child = Node | string | false | null | undefined;

/** What a role allows. */
export type Permission = Read<'/me'>['permissions'][number];

/** A page of the console: its title, and what is in it. */
export interface Page {
  title: string;
  body: Array<Node | string>;
}

/** What each page receives beside the values of its address. */
export interface Context {
  me: Read<'/me'>;
  issuer: string;
  /** The address of this server. */
  base: string;
  may(permission: Permission): boolean;
  query: URLSearchParams;
  /** What the page before wanted done here. */
  wish: Unknown;
  go(to: string, wish?: unknown): Promise<unknown>;
  reload(): Promise<unknown>;
}

/** A field of a form. */
export interface Field {
  name: string;
  element: HTMLElement;
  fail(message?: string, place?: number | string, part?: string): void;
  focus(): void;
  read(): Unknown;
  write(value: Unknown): void;
  needed?: string | null;
  isEmpty?(): boolean;
  parts?(): Field[];
}

export interface Group {
  /** It has fields, and is none itself. */
  group: true;
  fields: Part[];
  element: HTMLElement;
}

export type Part = Field | Group | (Partial<Field> & { element: HTMLElement });

export interface FieldOptions {
  hint?: string;
  wrap?: 'after';
  none?: Unknown;
  type?: string;
  needed?: string | null;
  placeholder?: string;
  mono?: boolean;
  list?: string;
  min?: number;
  max?: number;
  rows?: number;
  accept?: string;
  /** What is wrong with a line, if anything. */
  check?(line: string): Promise<string | null | undefined>;
  /** The label of the button that adds a row. */
  add?: string;
}

export interface FormOptions {
  values?: Record<string, Unknown>;
  version?: string | null;
  reread?(): Promise<{ value: Unknown; version: string | null }>;
  submit: string;
  send(values: Unknown, changed: Unknown, version: string | null | undefined): Promise<unknown>;
  cancel?: string;
  kind?: string;
  /** The form changes nothing, so that nothing in it is lost. */
  asks?: boolean;
}

export type FormElement = HTMLFormElement & { isUnsaved(): boolean };

export interface Column {
  label: string;
  cell(row: Unknown): Unknown;
  figure?: boolean;
}

export interface TableOptions {
  empty?: string;
  caption?: string;
}

export type TableElement = HTMLDivElement & { add(rows: Unknown[]): void; clear(): void };

export interface PickerOptions {
  hint?: string;
  load(text: string): Promise<{ items: Unknown[] }>;
  label(item: Unknown): string;
  chosen?(item: Unknown): void;
  isId?(text: string): boolean;
}

/** What a page of a list answers. */
export interface Listed {
  items: Unknown[];
  next?: string | null;
}

/** Something that can be changed, with its version. */
export interface Versioned<Value> {
  value: Value;
  version: string | null;
}
