import type { Type } from '@nestjs/common';
import { type ColumnOptions, type ColumnType, getMetadataArgsStorage } from 'typeorm';
import { IndexMigration } from '../database/index-migration.js';
import type { Tables } from '../database/migrations.module.js';
import { SqlMigration } from '../database/sql-migration.js';
import { columnNameOf, columnOptionsOf, isOf, tableNameOf } from '../database/table-name.js';
import type { FieldType, FilterField, FilterFields } from './filter/filter-fields.js';

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
 * Checks that fields fit the columns of an entity and say how their rows are found.
 *
 * @throws Error that says how to fix it
 */
export function checkFields(entity: Type, fields: FilterFields): void {
  const { inheritances } = getMetadataArgsStorage();
  if (inheritances.some(({ target }) => isOf(entity, target))) {
    throw new Error(`${entity.name} shares its table with other entities: filter entities that have one of their own.`);
  }
  for (const [name, field] of Object.entries(fields)) {
    if (field.type !== 'creationTime') {
      checkColumn(entity, name, field.type, field);
    }
    checkIndexing(entity, name, field);
  }
}

function checkColumn(entity: Type, name: string, type: keyof typeof COLUMN_TYPES, { nullable = false }: FilterField): void {
  const path = `${entity.name}.${name}`;
  const options = columnOptionsOf(entity, name);
  if (!options) {
    throw new Error(`${path} is no column: filter by properties with @Column.`);
  }
  checkColumnType(path, type, options);
  if ((options.nullable ?? false) !== nullable) {
    throw new Error(`${path} and its column differ in whether it can be null: let the entity, its column and the filter agree.`);
  }
}

function checkColumnType(path: string, type: keyof typeof COLUMN_TYPES, options: ColumnOptions): void {
  const allowed = COLUMN_TYPES[type];
  if (options.transformer !== undefined || options.array === true) {
    throw new Error(`${path} is not kept as it is read: filter by columns without transformer or array.`);
  }
  if (options.type === undefined || !allowed.includes(options.type)) {
    throw new Error(`${path} is a column of another type: ${type} needs ${allowed[0]}. See docs/filtering.md.`);
  }
}

/** The types of `FieldsOf` refuse the rest. */
function checkIndexing(entity: Type, name: string, { type, indexes = [], unindexed = '' }: FilterField): void {
  const isFoundByKey = name === 'id' || type === 'creationTime';
  if (!isFoundByKey && indexes.length === 0 && unindexed.trim() === '') {
    const index = [tableOf(entity), columnOf(entity, name), 'idx'].join('_');
    throw new Error(
      `${entity.name}.${name} can be filtered by and names no index: add indexes: ['${index}'] with a migration that builds it, or unindexed: 'why reading every row is acceptable'.`,
    );
  }
}

/** An entity with the fields that it can be filtered by. */
interface Filterable {
  readonly entity: Type;
  readonly fields: FilterFields;
}

/** The indexes of filters that no registered migration names, each with how to fix it; of the entities that modules registered. */
export function missingIndexes(filters: readonly Filterable[], { entities, migrations }: Tables): string[] {
  const named = new Set(migrations.flatMap((type) => sqlOf(new type()).split(/[^\w$]+/)));
  return filters
    .filter(({ entity }) => entities.includes(entity))
    .flatMap(({ entity, fields }) =>
      Object.entries(fields).flatMap(([name, { type, indexes = [] }]) => {
        // Text is compared by code point, which an index in another order does not help with.
        const keys = `${columnOf(entity, name)}${type === 'string' ? ' COLLATE "C"' : ''}, id`;
        return indexes
          .filter((index) => !named.has(index))
          .map(
            (index) =>
              `${entity.name}.${name} names the index ${index}, which no registered migration builds: register an IndexMigration with index = '${index}' and definition = 'ON ${tableOf(entity)} (${keys})', or correct the name.`,
          );
      }),
    );
}

function sqlOf(migration: object): string {
  if (migration instanceof IndexMigration) {
    return migration.index;
  }
  return migration instanceof SqlMigration ? migration.statements.join(';') : '';
}

function tableOf(entity: Type): string {
  return tableNameOf(entity) ?? entity.name;
}

function columnOf(entity: Type, name: string): string {
  return columnNameOf(entity, name) ?? name;
}
