import type { FieldType, FilterField } from './filter-fields.js';

/** What a field holds, as it is called in messages, and how a value of it is written. */
export interface Notation {
  readonly noun: string;
  readonly example: string;
}

const TIME = { noun: 'a time', example: 'timestamp("2026-01-31T12:00:00Z")' };

const NOTATIONS: Readonly<Record<Exclude<FieldType, 'enum'>, Notation>> = {
  string: { noun: 'text', example: '"…"' },
  uuid: { noun: 'a UUID', example: '"0190163d-8694-739b-aea5-966c26f8ad91"' },
  int: { noun: 'a whole number', example: '5' },
  double: { noun: 'a number', example: '1.5' },
  bool: { noun: 'true or false', example: 'true' },
  timestamp: TIME,
  creationTime: TIME,
};

export function notationOf({ type, values = [] }: FilterField): Notation {
  return type === 'enum' ? { noun: `one of ${quoted(values)}`, example: quoted(values.slice(0, 1)) } : NOTATIONS[type];
}

/** Texts as an expression has them. */
export function quoted(texts: readonly string[]): string {
  return texts.map((text) => JSON.stringify(text)).join(', ');
}
