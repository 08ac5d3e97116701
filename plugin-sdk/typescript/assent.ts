/// <reference path="./host.d.ts" />

// The contract `assent:claims@1.0.0` as types, and what lies between it and a plugin in TypeScript.
//
// The contract's open-ended values are JSON text. Here they are values; each text is parsed when it is first read,
// since most plugins read few of them.

/** What JSON can say. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** A JSON object. */
export type JsonObject = { [member: string]: Json };

/** Where the claims are going. */
export type Sink = "id-token" | "userinfo" | "introspection" | "saml-assertion";

/** One entry of the request's `claims` parameter (OpenID Connect Core 1.0, section 5.5). */
export interface RequestedClaim {
  name: string;
  /** Whether the application says it can't do without. */
  essential: boolean;
  /** In the order of preference; empty when any value will do. */
  values: Json[];
}

/** Everything that a claim mapper gets to know. */
export interface Input {
  readonly protocol: "oidc" | "saml";
  readonly sink: Sink;
  /** Seconds since the Unix epoch. */
  readonly now: number;
  /**
   * The application that asks: `id`, `name`; with OIDC also `application_type` (`web`, `spa`, `native`), with SAML also
   * `entity_id` and `custom_attributes`, a list of objects with `name` and `values`. Later versions may add members.
   */
  readonly application: JsonObject;
  /** The person in this application: `id`, `name`, `short_code`, `state`. */
  readonly account: JsonObject;
  /** The person: `did`, `name`, `email`, `profile`, and `groups`, the names of those assigned to this application. */
  readonly user: JsonObject;
  /** The person's roles in this application. */
  readonly roles: readonly string[];
  /** The scopes that were granted. */
  readonly scopes: readonly string[];
  /** What the request asked for by name. */
  readonly requested: readonly RequestedClaim[];
  /** Authentication context class and methods of the login (OpenID Connect Core 1.0, section 2; RFC 8176). */
  readonly acr: string | null;
  readonly amr: readonly string[];
  /** The claims so far, made by the host and by earlier plugins. */
  readonly current: JsonObject;
}

/** What the values of an attribute are: the `xsi:type` of each (XML Schema Part 2). */
export type ValueType = "string" | "boolean" | "integer" | "date-time" | "any-uri" | "base64-binary";

/** An attribute of the assertion's AttributeStatement (SAML 2.0 Core, section 2.7.3.1). */
export interface SamlAttribute {
  name: string;
  /** A URI; the basic one where there is none. */
  nameFormat?: string;
  friendlyName?: string;
  /** `string` where it is not given. A value that is not of its type is a fault of the plugin. */
  valueType?: ValueType;
  values: string[];
}

/** A change to what the application is told. Made by {@link set}, {@link remove} and {@link attribute}. */
export type Edit =
  | { tag: "set"; val: [name: string, json: string] }
  | { tag: "remove"; val: string }
  | { tag: "attribute"; val: ContractAttribute };

interface ContractAttribute {
  name: string;
  nameFormat: string | null;
  friendlyName: string | null;
  valueType: ValueType;
  values: string[];
}

/** Sets a claim. */
export function set(name: string, value: Json): Edit {
  return { tag: "set", val: [name, JSON.stringify(value)] };
}

/** Removes a claim that this plugin may write. */
export function remove(name: string): Edit {
  return { tag: "remove", val: name };
}

/** Adds an attribute; for the sink `saml-assertion` alone. */
export function attribute({ name, nameFormat, friendlyName, valueType, values }: SamlAttribute): Edit {
  return {
    tag: "attribute",
    val: {
      name,
      nameFormat: nameFormat ?? null,
      friendlyName: friendlyName ?? null,
      valueType: valueType ?? "string",
      values,
    },
  };
}

/**
 * Thrown by `map`: the person shall not get into this application. The reason is one sentence, which the person reads.
 * A plugin that may throw it says so in its description: `denies`.
 */
export class Deny extends Error {}

/** What a plugin says about itself. */
export interface Description {
  name: string;
  version: string;
  /** What it does, in one sentence. */
  summary: string;
  /**
   * The claims it writes, `attribute:NAME` for SAML attributes; `*` and `attribute:*` leave the choice to the
   * operator.
   */
  writes: string[];
  /** JSON Schema of its settings, if it takes any. */
  config_schema?: JsonObject;
  /** Where the claims go that it is asked for; everywhere, if it does not say. */
  sinks?: Sink[];
  /** Whether it may throw {@link Deny}. The operator then can't have its faults left out. */
  denies?: boolean;
}

/** A plugin that decides what an application is told about a person. */
export interface ClaimMapper<Config> {
  description: Description;

  /** Checks the operator's settings. Each error is one plain sentence; none, if they are good. */
  validate(config: Partial<Record<keyof Config, unknown>>): string[];

  /**
   * The edits for one token, answer or assertion. A thrown {@link Deny} denies; any other error is a fault of the
   * plugin, and the login fails closed.
   */
  map(config: Config, input: Input): Edit[];
}

/** The input as the contract has it. */
export interface ContractInput {
  protocol: Input["protocol"];
  sink: Sink;
  now: number;
  application: string;
  account: string;
  user: string;
  roles: string[];
  scopes: string[];
  requested: { name: string; essential: boolean; values: string[] }[];
  acr: string | null;
  amr: string[];
  current: string;
  config: string;
}

/** The interface `mapper` of the contract, as the component exports it. */
export interface ContractMapper {
  describe(): string;
  /** Throws the list of errors. */
  validate(config: string): void;
  /** Throws `{ tag: "deny" | "fault", val }`. */
  mapClaims(input: ContractInput): Edit[];
}

/** A plugin with what the component exports. */
export type Plugin<Config> = ClaimMapper<Config> & { exported: ContractMapper };

/** Makes a claim mapper of a plugin. */
export function claimMapper<Config>(plugin: ClaimMapper<Config>): Plugin<Config> {
  const exported: ContractMapper = {
    describe: () => JSON.stringify(plugin.description),
    validate(config) {
      const errors = plugin.validate(JSON.parse(config));
      if (errors.length > 0) {
        throw errors;
      }
    },
    mapClaims(input) {
      try {
        return plugin.map(JSON.parse(input.config), new LazyInput(input));
      } catch (error) {
        throw { tag: error instanceof Deny ? "deny" : "fault", val: reason(error) };
      }
    },
  };
  return { ...plugin, exported };
}

function reason(error: unknown): string {
  return error instanceof Deny ? error.message : String(error);
}

/** Parses each JSON text when it is first read. */
class LazyInput implements Input {
  readonly #input: ContractInput;
  readonly #parsed: { [text: string]: JsonObject } = {};
  readonly protocol: Input["protocol"];
  readonly sink: Sink;
  readonly now: number;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly acr: string | null;
  readonly amr: readonly string[];

  constructor(input: ContractInput) {
    this.#input = input;
    this.protocol = input.protocol;
    this.sink = input.sink;
    this.now = input.now;
    this.roles = input.roles;
    this.scopes = input.scopes;
    this.acr = input.acr;
    this.amr = input.amr;
  }

  get application(): JsonObject {
    return this.#json("application");
  }

  get account(): JsonObject {
    return this.#json("account");
  }

  get user(): JsonObject {
    return this.#json("user");
  }

  get current(): JsonObject {
    return this.#json("current");
  }

  get requested(): readonly RequestedClaim[] {
    return this.#input.requested.map(({ name, essential, values }) => ({
      name,
      essential,
      values: values.map((value) => JSON.parse(value)),
    }));
  }

  #json(member: "application" | "account" | "user" | "current"): JsonObject {
    return (this.#parsed[member] ??= JSON.parse(this.#input[member]));
  }
}
