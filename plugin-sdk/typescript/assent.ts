/// <reference path="./host.d.ts" />

// The types of the contract `assent:claims@1.0.0`, and the adapter between it and a plugin in TypeScript.
//
// The contract passes open-ended values as JSON text. In this API they are values. Each text is parsed at its first
// use, because most plugins use few of them.

/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [member: string]: Json };

/** A JSON object. */
export type JsonObject = { [member: string]: Json };

/** The destination of the claims. */
export type Sink = "id-token" | "userinfo" | "introspection" | "saml-assertion";

/** One entry of the request's `claims` parameter (OpenID Connect Core 1.0, section 5.5). */
export interface RequestedClaim {
  name: string;
  /** Whether the claim is essential for the application. */
  essential: boolean;
  /** The requested values, in the order of preference. Empty if the application accepts any value. */
  values: Json[];
}

/** The input of a claim mapper. */
export interface Input {
  readonly protocol: "oidc" | "saml";
  readonly sink: Sink;
  /** The current time, in seconds since the Unix epoch. */
  readonly now: number;
  /**
   * The application: `id`, `name`; with OIDC also `application_type` (`web`, `spa`, `native`), with SAML also
   * `entity_id` and `custom_attributes`, a list of objects with `name` and `values`. Later versions may add members.
   */
  readonly application: JsonObject;
  /** The user's account in this application: `id`, `name`, `short_code`, `state`. */
  readonly account: JsonObject;
  /**
   * The user: `did`, `name`, `email`, `profile`, and `groups`, the names of the user's groups with access to this
   * application.
   */
  readonly user: JsonObject;
  /** The user's roles in this application. */
  readonly roles: readonly string[];
  /** The granted scopes. */
  readonly scopes: readonly string[];
  /** The claims that the request names. */
  readonly requested: readonly RequestedClaim[];
  /** The authentication context class and methods of the sign-in (OpenID Connect Core 1.0, section 2; RFC 8176). */
  readonly acr: string | null;
  readonly amr: readonly string[];
  /** The claims from the server, with the edits of earlier plugins. */
  readonly current: JsonObject;
}

/** The type of an attribute's values, as in `xsi:type` (XML Schema Part 2). */
export type ValueType = "string" | "boolean" | "integer" | "date-time" | "any-uri" | "base64-binary";

/** An attribute of the assertion's AttributeStatement (SAML 2.0 Core, section 2.7.3.1). */
export interface SamlAttribute {
  name: string;
  /** A URI. The default is the basic format. */
  nameFormat?: string;
  friendlyName?: string;
  /** The default is `string`. A value with another type is a fault of the plugin. */
  valueType?: ValueType;
  values: string[];
}

/**
 * A change of the claims or attributes that the application receives. {@link set}, {@link remove} and {@link attribute}
 * return one.
 */
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

/** Returns an edit that sets a claim. */
export function set(name: string, value: Json): Edit {
  return { tag: "set", val: [name, JSON.stringify(value)] };
}

/** Returns an edit that removes a claim. The plugin must have the permission to write it. */
export function remove(name: string): Edit {
  return { tag: "remove", val: name };
}

/** Returns an edit that adds an attribute; only for the sink `saml-assertion`. */
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
 * An error that `map` throws to deny the user access to this application. The message is the reason for the user, in
 * one sentence. A plugin that may throw it must set `denies` in its description.
 */
export class Deny extends Error {}

/** A plugin's description of itself. */
export interface Description {
  name: string;
  version: string;
  /** The plugin's task, in one sentence. */
  summary: string;
  /**
   * The claims that it writes, with `attribute:NAME` for SAML attributes. `*` and `attribute:*` leave the choice to the
   * operator.
   */
  writes: string[];
  /** The JSON Schema of the settings, if the plugin has settings. */
  config_schema?: JsonObject;
  /** The destinations of claims for which it runs. All destinations, if it names none. */
  sinks?: Sink[];
  /** Whether it may throw {@link Deny}. Then the operator cannot omit its faults. */
  denies?: boolean;
}

/** A plugin that decides which claims about a user an application receives. */
export interface ClaimMapper<Config> {
  description: Description;

  /** Checks the operator's settings. Each error is one plain sentence. The list is empty if the settings are valid. */
  validate(config: Partial<Record<keyof Config, unknown>>): string[];

  /**
   * Returns the edits for one token, response or assertion. A thrown {@link Deny} denies access. Any other error is a
   * fault of the plugin, and the sign-in fails closed.
   */
  map(config: Config, input: Input): Edit[];
}

/** The input in the form of the contract. */
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

/** The interface `mapper` of the contract, which the component exports. */
export interface ContractMapper {
  describe(): string;
  /** Throws the list of errors. */
  validate(config: string): void;
  /** Throws `{ tag: "deny" | "fault", val }`. */
  mapClaims(input: ContractInput): Edit[];
}

/** A plugin with the component's exports. */
export type Plugin<Config> = ClaimMapper<Config> & { exported: ContractMapper };

/** Creates a claim mapper from a plugin. */
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

/** Parses each JSON text at its first use. */
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
