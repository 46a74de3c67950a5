/** What a field's values are, for those who write filters. */
export type FieldType = 'string' | 'uuid' | 'creationTime';

/** One field that can be filtered by. */
export interface FilterField {
  readonly type: FieldType;
  /** Whether rows may lack it, which `== null` finds. */
  readonly nullable?: boolean | undefined;
}

/** A field with its name. */
export interface NamedField extends FilterField {
  readonly name: string;
}

/** Fields by name. */
export type FilterFields = Readonly<Record<string, FilterField>>;

type Declaration<Value> = null extends Value
  ? { readonly type: TypeFor<NonNullable<Value>>; readonly nullable: true }
  : { readonly type: TypeFor<Value>; readonly nullable?: never };

type TypeFor<Value> = Value extends string ? 'string' | 'uuid' : never;

/**
 * What may be declared of an entity: its own properties, each with a type that fits and with `nullable` where it can be
 * null, and the creation time that lies in its `id`, under any other name.
 */
export type FieldsOf<Entity, Name extends PropertyKey> = {
  readonly [Field in Name]: Field extends keyof Entity ? Declaration<Entity[Field]> : { readonly type: 'creationTime' };
};

/** What a field holds, as it is called in messages, and how a value of it is written. */
export const NOTATION = {
  string: { noun: 'text', example: '"…"' },
  uuid: { noun: 'a UUID', example: '"0190163d-8694-739b-aea5-966c26f8ad91"' },
  creationTime: { noun: 'a time', example: 'timestamp("2026-01-31T12:00:00Z")' },
} as const;
