// The module of messages, which the server creates from its catalogue.

export type Part =
  | string
  | { value: string }
  | ({ plural: string; other: Part[] } & Partial<Record<Intl.LDMLPluralRule, Part[]>>);

declare const messages: Record<string, Part[]>;
export default messages;
