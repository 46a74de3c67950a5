import type { Type } from '@nestjs/common';
import { type ColumnOptions, type ColumnType, getMetadataArgsStorage } from 'typeorm';
import type { Tables } from '../database/migrations.module.js';
import { IndexMigration, SqlMigration } from '../database/sql-migration.js';
import { columnOptionsOf, isOf } from '../database/table-name.js';
import type { FieldType, FilterFields } from './filter/filter-fields.js';

const TEXT = ['text', 'varchar', 'character varying', String] as const;

/** The types of columns that each type of field fits; classes stand for what TypeORM makes of properties by itself. */
const COLUMN_TYPES: Readonly<Record<Exclude<FieldType, 'creationTime'>, readonly [string, ...ColumnType[]]>> = {
  string: TEXT,
  uuid: ['uuid'],
  enum: TEXT,
  int: ['integer', 'int', 'int4', 'smallint', 'int2', Number],
  double: ['double precision', 'float8', 'float'],
  bool: ['boolean', 'bool', Boolean],
  timestamp: ['timestamptz', 'timestamp with time zone'],
};

/**
 * Checks what the types of `FieldsOf` cannot: that the columns of an entity fit the fields.
 *
 * @throws Error that says how to fix it
 */
export function checkFields(entity: Type, fields: FilterFields): void {
  if (getMetadataArgsStorage().inheritances.some(({ target }) => isOf(entity, target))) {
    throw new Error(`${entity.name} shares its table with other entities: filter entities that have one of their own.`);
  }
  for (const [name, { type, nullable = false }] of Object.entries(fields)) {
    const column = columnOptionsOf(entity, name);
    if (type !== 'creationTime' && !fits(column, COLUMN_TYPES[type])) {
      throw new Error(
        `${entity.name}.${name} cannot be filtered by: ${type} needs a column of type ${COLUMN_TYPES[type][0]}, without transformer or array. See docs/filtering.md.`,
      );
    }
    if (type !== 'creationTime' && (column?.nullable ?? false) !== nullable) {
      throw new Error(
        `${entity.name}.${name} and its column differ in whether it can be null: let the entity, its column and the filter agree.`,
      );
    }
  }
}

function fits(column: ColumnOptions | undefined, types: readonly unknown[]): boolean {
  return types.includes(column?.type) && !column?.transformer && !column?.array;
}

/** An entity with the fields that it can be filtered by. */
interface Filterable {
  readonly entity: Type;
  readonly fields: FilterFields;
}

/** The indexes of filters that no registered migration names, each with how to fix it; of the entities that modules registered. */
export function missingIndexes(filters: readonly Filterable[], { entities, migrations }: Tables): string[] {
  const named = new Set(migrations.flatMap((type) => sqlOf(new type()).split(/[^\w$]+/)));
  const registered = filters.filter(({ entity }) => entities.includes(entity));
  return registered.flatMap(({ entity, fields }) =>
    Object.entries(fields).flatMap(([name, { indexes = [] }]) =>
      indexes
        .filter((index) => !named.has(index))
        .map(
          (index) =>
            `${entity.name}.${name} names the index ${index}, which no registered migration builds: register an IndexMigration with index = '${index}', or correct the name. See docs/filtering.md.`,
        ),
    ),
  );
}

function sqlOf(migration: object): string {
  if (migration instanceof IndexMigration) {
    return migration.index;
  }
  return migration instanceof SqlMigration ? migration.statements.join(';') : '';
}
