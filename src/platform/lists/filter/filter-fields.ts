export type FieldType = 'string' | 'uuid' | 'enum' | 'int' | 'double' | 'bool' | 'timestamp' | 'creationTime';

export interface FilterField {
  readonly type: FieldType;
  /** Whether rows can lack it, which `== null` matches. */
  readonly nullable?: boolean | undefined;
  /** The values of an `enum`. */
  readonly values?: readonly string[] | undefined;
  /** Names of indexes that find rows by this field. */
  readonly indexes?: readonly string[] | undefined;
  /** Why there is no index. */
  readonly unindexed?: string | undefined;
}

export type FilterFields = Readonly<Record<string, FilterField>>;

const TEXT = ['text', 'varchar', 'character varying', String] as const;
const TIME = { noun: 'a time', example: 'timestamp("2026-01-31T12:00:00Z")' };

/** By type: notation in messages, SQL type of compared values, and column types (classes are those that TypeORM infers). */
export const TYPES = {
  string: { noun: 'text', example: '"…"', sql: 'text', columns: TEXT },
  uuid: { noun: 'a UUID', example: '"0190163d-8694-739b-aea5-966c26f8ad91"', sql: 'uuid', columns: ['uuid'] },
  enum: { sql: 'text', columns: TEXT },
  int: {
    noun: 'a whole number',
    example: '5',
    // The columns have at most 32 bits, the compared values more.
    sql: 'bigint',
    columns: ['integer', 'int', 'int4', 'smallint', 'int2', Number],
  },
  double: { noun: 'a number', example: '1.5', sql: 'double precision', columns: ['double precision', 'float8', 'float'] },
  bool: { noun: 'true or false', example: 'true', sql: 'boolean', columns: ['boolean', 'bool', Boolean] },
  timestamp: { ...TIME, sql: 'timestamptz', columns: ['timestamptz', 'timestamp with time zone'] },
  creationTime: TIME,
} as const;

/** The name of a field's type in messages, and an example value. */
export function notationOf({ type, values = [] }: FilterField): { readonly noun: string; readonly example: string } {
  return type === 'enum' ? { noun: `one of ${quoted(values)}`, example: quoted(values.slice(0, 1)) } : TYPES[type];
}

function quoted(texts: readonly string[]): string {
  return texts.map((text) => JSON.stringify(text)).join(', ');
}

type Declaration<Value> = Typed<NonNullable<Value>> &
  (null extends Value ? { readonly nullable: true } : { readonly nullable?: never });

/** Field types that fit a value type. The brackets keep a union whole. */
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

/** Names of the indexes that find rows by a field, or the reason why reading every row is acceptable. */
type Indexing =
  | { readonly indexes: readonly [string, ...string[]]; readonly unindexed?: never }
  | { readonly unindexed: string; readonly indexes?: never };

/** The primary key needs no further index. */
type KeyIndexing = { readonly indexes?: never; readonly unindexed?: never };

/** An entity's filter fields: properties with a matching type, `nullable` and indexes, and the creation time in its `id`. */
export type FieldsOf<Entity, Name extends PropertyKey> = {
  readonly [Field in Name]: Field extends keyof Entity
    ? Declaration<Entity[Field]> & (Field extends 'id' ? KeyIndexing : Indexing)
    : PlainType<'creationTime'> & KeyIndexing;
};
