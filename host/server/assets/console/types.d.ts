// The types of the console. Those of the admin API come from its OpenAPI document. Only the type checker reads this
// file.

import type { components, paths } from 'admin-api';

/** A schema of the admin API. */
export type Schema<Name extends keyof components['schemas']> = components['schemas'][Name];

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** The paths of the admin API that have a method. */
export type Route<Name extends Method> = {
  [Path in keyof paths]: paths[Path] extends Record<Name, { responses: unknown }> ? Path : never;
}[keyof paths];

type Operation<Path extends keyof paths, Name extends Method> = NonNullable<paths[Path][Name]>;

type Json<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : null;

/** The result of an operation. */
export type Result<Path extends keyof paths, Name extends Method> =
  Operation<Path, Name> extends { responses: infer Responses } ? Json<Responses[keyof Responses & (200 | 201)]> : never;

/** The result of `GET` at a path of the admin API. */
export type Read<Path extends Route<'get'>> = Result<Path, 'get'>;

/** The body of a request: JSON, or the bytes of a file. */
export type RequestBody<Path extends keyof paths, Name extends Method> =
  Operation<Path, Name> extends { requestBody?: never }
    ? undefined
    : Operation<Path, Name> extends { requestBody?: { content: infer Content } }
      ? Content extends { 'application/json': infer Body }
        ? Body
        : ArrayBuffer
      : undefined;

type InPath<Path extends keyof paths, Name extends Method> =
  Operation<Path, Name> extends { parameters: { path: infer Values } } ? Values : object;

// A query parameter without a value is left out.
type InQuery<Path extends keyof paths, Name extends Method> =
  Operation<Path, Name> extends { parameters: { query?: never } }
    ? object
    : Operation<Path, Name> extends { parameters: { query?: infer Values } }
      ? { [Key in keyof Values]?: Values[Key] | '' | null }
      : object;

/** The values of a path's segments, and the query parameters beside them. */
export type Parameters<Path extends keyof paths, Name extends Method> = InPath<Path, Name> & InQuery<Path, Name>;

/** The arguments of a `GET` beside its path. */
export type GetArguments<Path extends Route<'get'>> =
  object extends Parameters<Path, 'get'>
    ? [parameters?: Parameters<Path, 'get'>, options?: CallOptions]
    : [parameters: Parameters<Path, 'get'>, options?: CallOptions];

export interface CallOptions {
  signal?: AbortSignal;
  /** The maximum time to wait, in milliseconds. */
  limit?: number;
  /** The request continues when the page is left. */
  keepalive?: boolean;
}

/** A call that makes a change. */
export interface ChangeOptions extends CallOptions {
  /** The media type of a file. */
  type?: string;
  /** The idempotency key: the server executes calls with the same key once. */
  key?: string;
}

/** A request in its sent form. */
export interface ApiRequest extends CallOptions {
  /** Whether the request asks who is signed in. */
  asksWho?: boolean;
  /** Whether the response is a file and not JSON. */
  isFile?: boolean;
  body?: unknown;
  type?: string;
  headers?: Record<string, string>;
}

/** A resource that can be changed, with its version. */
export interface Versioned<Value> {
  value: Value;
  version: string | null;
}

/** A page of a list. */
export interface List<Item> {
  items: Item[];
  next?: string | null;
}

export type Child = Node | string | false | null | undefined;

type Listeners = {
  [Name in keyof HTMLElementEventMap as `on${Name}`]?: (event: HTMLElementEventMap[Name]) => unknown;
};

/** The attributes of an element, and its listeners: `onclick`. */
export type Attributes = Listeners & {
  [name: string]: string | number | boolean | null | undefined | ((event: never) => unknown);
};

/** A permission of a role. */
export type Permission = Schema<'Permission'>;

/** The details of an entry of the audit log: for a change, the members before and after it. */
export interface AuditDetail {
  before?: Record<string, unknown>;
  after?: Record<string, unknown>;
  [name: string]: unknown;
}

/** A page of the console: its title and its content. */
export interface Page {
  title: string;
  body: Array<Node | string>;
}

/** The values that one page of the console passes to the next. */
export interface Handover {
  /** The notes of the server about the application. */
  notes?: string[];
  /** The typed name. */
  name?: string;
  /** Whether to create a link that enrols a device. */
  enrol?: boolean;
  /** Whether to send an invitation by email. */
  send?: boolean;
}

/** The data that the browser stores with each entry of its history. */
export type HistoryEntry = {
  /** The position in the history. */
  at?: number;
  handover?: Handover;
  /** The test sign-in that the page shows. */
  testSignIn?: { application: string; id: string };
} | null;

/** The context that each page receives beside the values of its address. */
export interface Context {
  me: Schema<'Me'>;
  issuer: string;
  /** The address of this server. */
  base: string;
  may(permission: Permission): boolean;
  query: URLSearchParams;
  handover: Handover;
  go(to: string, handover?: Handover): Promise<void>;
  reload(): Promise<void>;
}

/** Returns a page of the console. `values` are those of the variable segments of its address. */
export type PageFunction = (context: Context, values: Record<string, string>) => Promise<Page> | Page;

/** A field of a form. `Written` is the type of the values that the field can show. */
export interface Field<Name extends string = string, Value = unknown, Written = Value | null> {
  name: Name;
  element: HTMLElement;
  fail(message?: string, index?: number, part?: string): void;
  focus(): void;
  /** The value; undefined if the form does not send it. */
  read(): Value;
  write(value: Written | undefined): void;
  /** The error if the field is empty. */
  needed?: string | null;
  isEmpty?(): boolean;
  /** The fields inside this one. */
  parts?(): Field[];
}

/** A field with one control. */
export interface ControlField<Control extends HTMLElement, Name extends string, Value, Written = Value | null>
  extends Field<Name, Value, Written> {
  input: Control;
}

/** Fields below a common heading. A group has no value of its own. */
export interface Group<Part extends Field = Field> {
  group: true;
  fields: Part[];
  element: HTMLElement;
  /** Opens the group if one of its fields has a value. */
  unfold?(): void;
}

/** The fields of parts of a form. */
export type FieldsOf<Part> = Part extends Group<infer Inner> ? Inner : Part extends Field ? Part : never;

type Value<Part extends Field> = ReturnType<Part['read']>;

/** The values of a form's fields, by name. */
export type Values<Part extends Field> = {
  [One in Part as undefined extends Value<One> ? never : One['name']]: Value<One>;
} & {
  [One in Part as undefined extends Value<One> ? One['name'] : never]?: Exclude<Value<One>, undefined>;
};

/** The values that a form's fields can show, by name. */
export type WrittenValues<Part extends Field> = {
  [One in Part as One['name']]?: Parameter<One['write']> | null;
};

type Parameter<Write extends (value: never) => void> = Write extends (value: infer Written) => void ? Written : never;

export interface FieldOptions {
  hint?: string;
  /** The position of the label. */
  wrap?: 'after';
}

export interface TextOptions<None> extends FieldOptions {
  /** The value of an empty field. */
  none?: None;
  type?: string;
  needed?: string | null;
  placeholder?: string;
  mono?: boolean;
}

export interface AreaOptions<None> extends FieldOptions {
  /** The value of an empty field. */
  none?: None;
  needed?: string | null;
  rows?: number;
}

export interface LinesOptions extends FieldOptions {
  needed?: string | null;
  rows?: number;
  /** Returns the error or the warning of a line. */
  check?(line: string): Promise<{ error?: string; warning?: string } | undefined>;
}

export interface FormOptions<Part extends Field> {
  values?: WrittenValues<Part>;
  version?: string | null;
  /** Reads the newest values, in case another administrator changed them. */
  reread?(): Promise<Versioned<WrittenValues<Part>>>;
  submit: string;
  /** `changed` contains the values that differ from the initial ones. */
  send(values: Values<Part>, changed: Partial<Values<Part>>, version: string | null | undefined): Promise<unknown>;
  /** The target or the action of `Cancel`. */
  cancel?: string | (() => void);
  kind?: string;
  /** The form changes nothing, so leaving it loses nothing. */
  asks?: boolean;
  /** The buttons stay visible while there are unsaved changes, for a long form. */
  bar?: boolean;
  /** Whether the form has enough values to be sent. */
  ready?(): boolean;
}

export type FormElement = HTMLFormElement & { isUnsaved(): boolean };

export interface Column<Row> {
  label: string;
  cell(row: Row): unknown;
  /** The column has numbers. */
  figure?: boolean;
  /** The name of the order by this column. */
  sort?: string;
  /** The column has a check box in each row, so it never names the row. */
  box?: boolean;
  /** A control that its head has beside the label, which is then for screen readers only. */
  head?: HTMLElement;
}

/** The order of a table, which its heads change. */
export interface Order {
  head(place: HTMLElement, label: string, sort: string): void;
}

export interface TableOptions {
  /** The content that replaces a table without rows. */
  empty?: string | Node;
  /** The content that replaces it if a search or a filter is active. */
  unmatched?: string;
  caption?: string;
  order?: Order;
}

/** A list to which rows are added. */
export type ListElement<Row> = HTMLElement & {
  add(rows: Row[]): void;
  clear(): void;
  /** Receives whether a search or a filter is active, before the rows are added. */
  filter?(isInUse: boolean): void;
};

export type TableElement<Row> = HTMLDivElement & ListElement<Row>;

export interface SearchOptions<PageOf> {
  /** The shown name of a row, by which a complete list is sorted. */
  nameOf?(row: PageOf extends List<infer Row> ? Row : never): string;
  /** The active filters are shown, each with a button that removes it. */
  chips?: boolean;
  /** The number of results, in words. */
  total?: HTMLElement;
  /** The elements between the search and the list. */
  above?: Child[];
  /** Receives the first page of each search. */
  onpage?(page: PageOf): void;
}

export interface PickerOptions<Item extends { id: string }> {
  hint?: string;
  load(text: string): Promise<List<Item>>;
  label(item: Item): string;
  /** Whether the items have an order of their own. Other items are sorted by their labels. */
  hasOrder?: boolean;
  chosen?(item: Item): void;
  /** Whether a typed text is an id. */
  isId?(text: string): boolean;
}

/** One of the parts of a chart's bars. */
export interface Series<Row> {
  name: string;
  tone: string;
  /** The figure, which is the height of the part. */
  of(row: Row): number;
}

export interface ChartOptions<Row> {
  /** Names the time of a row. */
  label(row: Row): string;
  /** A short name of the time, below some of the bars. */
  short(row: Row): string;
  unit?: string;
  /** The text that replaces a chart without figures. */
  empty: string;
  /** The parts add up, so they are stacked. */
  stacked?: boolean;
}
