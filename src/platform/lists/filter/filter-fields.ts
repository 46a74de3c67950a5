/** What a field's values are, for those who write filters. */
export type FieldType = 'string' | 'uuid' | 'enum' | 'int' | 'double' | 'bool' | 'timestamp' | 'creationTime';

/** One field that can be filtered by. */
export interface FilterField {
  readonly type: FieldType;
  /** Whether rows may lack it, which `== null` finds. */
  readonly nullable?: boolean | undefined;
  /** What an `enum` may be. */
  readonly values?: readonly string[] | undefined;
  /** The indexes that find rows by it. */
  readonly indexes?: readonly string[] | undefined;
  /** Why there is none. */
  readonly unindexed?: string | undefined;
}

/** A field with its name. */
export interface NamedField extends FilterField {
  readonly name: string;
}

/** Fields by name. */
export type FilterFields = Readonly<Record<string, FilterField>>;

const TIME = { noun: 'a time', example: 'timestamp("2026-01-31T12:00:00Z")' };

const NOTATIONS = {
  string: { noun: 'text', example: '"…"' },
  uuid: { noun: 'a UUID', example: '"0190163d-8694-739b-aea5-966c26f8ad91"' },
  int: { noun: 'a whole number', example: '5' },
  double: { noun: 'a number', example: '1.5' },
  bool: { noun: 'true or false', example: 'true' },
  timestamp: TIME,
  creationTime: TIME,
};

/** What a field holds, as it is called in messages, and how a value of it is written. */
export function notationOf({ type, values = [] }: FilterField): { readonly noun: string; readonly example: string } {
  return type === 'enum' ? { noun: `one of ${quoted(values)}`, example: quoted(values.slice(0, 1)) } : NOTATIONS[type];
}

/** Texts as an expression has them. */
function quoted(texts: readonly string[]): string {
  return texts.map((text) => JSON.stringify(text)).join(', ');
}

type Declaration<Value> = Typed<NonNullable<Value>> &
  (null extends Value ? { readonly nullable: true } : { readonly nullable?: never });

/** The types of fields that fit a type of values; in brackets, so that a union is taken as a whole. */
type Typed<Value> = [Value] extends [string]
  ? PlainType<'string' | 'uuid'> | (string extends Value ? never : EnumType<Value>)
  : [Value] extends [number]
    ? PlainType<'int' | 'double'>
    : [Value] extends [boolean]
      ? PlainType<'bool'>
      : [Value] extends [Date]
        ? PlainType<'timestamp'>
        : never;

type PlainType<Type extends FieldType> = { readonly type: Type; readonly values?: never };
type EnumType<Value> = { readonly type: 'enum'; readonly values: readonly [Value, ...Value[]] };

/** Either the names of the indexes that find rows by a field, or why reading every row is acceptable. */
type Indexing =
  | { readonly indexes: readonly [string, ...string[]]; readonly unindexed?: never }
  | { readonly unindexed: string; readonly indexes?: never };

/** The primary key finds its rows. */
type KeyIndexing = { readonly indexes?: never; readonly unindexed?: never };

/**
 * What may be declared of an entity: its own properties, each with a type that fits, with `nullable` where it can be null
 * and with its indexes; and the creation time that lies in its `id`, under any other name.
 */
export type FieldsOf<Entity, Name extends PropertyKey> = {
  readonly [Field in Name]: Field extends keyof Entity
    ? Declaration<Entity[Field]> & (Field extends 'id' ? KeyIndexing : Indexing)
    : PlainType<'creationTime'> & KeyIndexing;
};
