import type { Type } from '@nestjs/common';
import type { EntityMetadata } from 'typeorm';
import { columnOptionsOf } from '../database/table-name.js';

type Scalar = string | number | boolean | Date;

/** Names of the scalar columns of an entity. */
export type ColumnName<Entity> = {
  [Name in keyof Entity]-?: Entity[Name] extends Scalar | null | undefined ? Name : never;
}[keyof Entity] &
  string;

/** Those that are never null. */
type OrderableName<Entity> = {
  [Name in ColumnName<Entity>]: Entity[Name] extends Scalar ? Name : never;
}[ColumnName<Entity>];

/** A sort order other than newest first. */
export interface Order<Entity = object> {
  readonly entity: Type<Entity>;
  /** The sort property. Rows with equal values are sorted by `id`. */
  readonly column: string;
  readonly direction: 'ASC' | 'DESC';
  /** Properties that must be in the list's base condition. */
  readonly within: readonly string[];
}

/** All declared orders. */
export const orders: Order[] = [];

/**
 * Declares an order for `Lists.findPage`. Text is sorted by code point. The application does not become ready without an index on
 * the columns of `within`, the column (text with `COLLATE "C"`) and `id`.
 *
 * @param column - a property that is never null, with values of at most 2,700 bytes. If a row's value changes while a client reads
 *   the pages, the client may see the row twice or not at all
 * @param within - properties that `where` always contains for this order
 * @throws Error if the property cannot be a sort column
 */
export function defineOrder<Entity extends { id: string }>(
  entity: Type<Entity>,
  column: OrderableName<Entity>,
  direction: 'ASC' | 'DESC' = 'ASC',
  within: readonly ColumnName<Entity>[] = [],
): Order<Entity> {
  const options = columnOptionsOf(entity, column);
  if (!options || options.nullable || options.transformer || options.array) {
    throw new Error(
      `${entity.name} cannot be sorted by ${column}: use a column that is never null, without transformer or array.`,
    );
  }
  const order = { entity, column, direction, within };
  orders.push(order);
  return order;
}

/** Column types that are compared by code point instead of the database's collation. */
const COLLATED: ReadonlySet<string> = new Set(['text', 'character varying']);

/** The column of a property as statements and indexes have it. @throws Error if the property is not a column */
export function comparedColumn(metadata: EntityMetadata, property: string) {
  const { driver } = metadata.dataSource;
  const column = metadata.findColumnWithPropertyName(property);
  if (!column) {
    throw new Error(`${metadata.name}.${property} is not a column: a list cannot be restricted or sorted by it.`);
  }
  const { databaseName: name } = column;
  return COLLATED.has(driver.normalizeType(column))
    ? { column, indexed: `${name} C`, sql: `${driver.escape(name)} COLLATE "C"` }
    : { column, indexed: name, sql: driver.escape(name) };
}

export type ComparedColumn = ReturnType<typeof comparedColumn>;

/** How statements sort rows of the table `r`: newest first, or by a column and then `id` in the same direction. */
export interface Sorting {
  /** The sort columns; `id` is the last. */
  readonly columns: readonly string[];
  readonly clause: string;
  readonly operator: '<' | '>';
  /** SQL for the sort value as text; an empty text if only `id` sorts. */
  readonly value: string;
}

export function sortedColumns(metadata: EntityMetadata, order: Order | undefined): ComparedColumn[] {
  return Array.from(new Set([order?.column ?? 'id', 'id']), (property) => comparedColumn(metadata, property));
}

/** @param order - undefined for newest first */
export function sortingOf(metadata: EntityMetadata, order: Order | undefined): Sorting {
  const columns = sortedColumns(metadata, order).map(({ sql }) => `r.${sql}`);
  const direction = order?.direction ?? 'DESC';
  return {
    columns,
    clause: `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')}`,
    operator: direction === 'ASC' ? '>' : '<',
    value: order ? `(${columns[0]})::text` : `''`,
  };
}
