import type { Type } from '@nestjs/common';
import { type ColumnOptions, DefaultNamingStrategy, type EntityMetadata, getMetadataArgsStorage } from 'typeorm';

/** How TypeORM names what an entity does not name itself. */
const naming = new DefaultNamingStrategy();

/** A table or a view. */
export interface TableName {
  /** Undefined for the first one of the connection's search path. */
  readonly schema: string | undefined;
  readonly name: string;
}

/** Where an entity is kept; undefined for a class that is none, or that shares the table of another entity. */
export function tableNameOf(entity: Type): TableName | undefined {
  const table = getMetadataArgsStorage().tables.findLast(({ target, type }) => target === entity && type !== 'entity-child');
  return table && { schema: table.schema, name: naming.tableName(entity.name, table.name) };
}

/** What is declared of the column that keeps a property of an entity, in the entity or in a class that it extends. */
export function columnOptionsOf(entity: Type, property: string): ColumnOptions | undefined {
  return getMetadataArgsStorage().columns.findLast(
    ({ target, propertyName }) => propertyName === property && isOf(entity, target),
  )?.options;
}

/** The name of that column. */
export function columnNameOf(entity: Type, property: string): string | undefined {
  const options = columnOptionsOf(entity, property);
  return options && naming.columnName(property, options.name ?? '', []);
}

/** Whether what was declared of a class holds for an entity: it is the entity or extended by it. */
export function isOf(entity: Type, target: unknown): boolean {
  return typeof target === 'function' && (target === entity || entity.prototype instanceof target);
}

/** Where an entity is kept, as SQL names it: with its schema, if it has one. */
export function quotedTable({ tablePath, dataSource: { driver } }: EntityMetadata): string {
  return tablePath
    .split('.')
    .map((name) => driver.escape(name))
    .join('.');
}
