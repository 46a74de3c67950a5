import type { Type } from '@nestjs/common';
import { type ColumnOptions, type ColumnType, getMetadataArgsStorage } from 'typeorm';
import { columnOptionsOf, isOf } from '../database/table-name.js';
import type { FieldType, FilterFields } from './filter/filter-fields.js';

const TEXT = ['text', 'varchar', 'character varying', String] as const;

/** Column types allowed for each field type. Classes are the types that TypeORM infers from properties. */
const COLUMN_TYPES: Readonly<Record<Exclude<FieldType, 'creationTime'>, readonly [string, ...ColumnType[]]>> = {
  string: TEXT,
  uuid: ['uuid'],
  enum: TEXT,
  int: ['integer', 'int', 'int4', 'smallint', 'int2', Number],
  double: ['double precision', 'float8', 'float'],
  bool: ['boolean', 'bool', Boolean],
  timestamp: ['timestamptz', 'timestamp with time zone'],
};

/** Checks that the columns of an entity fit the fields, which the types of `FieldsOf` cannot. @throws Error with the fix */
export function checkFields(entity: Type, fields: FilterFields): void {
  if (getMetadataArgsStorage().inheritances.some(({ target }) => isOf(entity, target))) {
    throw new Error(`${entity.name} shares its table with other entities: use an entity with its own table.`);
  }
  for (const [name, { type, nullable = false }] of Object.entries(fields)) {
    const column = columnOptionsOf(entity, name);
    if (type !== 'creationTime' && !fits(column, COLUMN_TYPES[type])) {
      throw new Error(
        `${entity.name}.${name} cannot be a filter field: ${type} needs a column of type ${COLUMN_TYPES[type][0]}, without transformer or array. See docs/extending.md.`,
      );
    }
    if (type !== 'creationTime' && (column?.nullable ?? false) !== nullable) {
      throw new Error(
        `${entity.name}.${name} and its column disagree on null: make the entity, its column and the filter agree.`,
      );
    }
  }
}

function fits(column: ColumnOptions | undefined, types: readonly unknown[]): boolean {
  return types.includes(column?.type) && !column?.transformer && !column?.array;
}
