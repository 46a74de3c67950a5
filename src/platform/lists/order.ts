import type { Type } from '@nestjs/common';
import type { DataSource, EntityMetadata } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { columnOptionsOf, quotedTable } from '../database/table-name.js';

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

const orders: Order[] = [];

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

type ComparedColumn = ReturnType<typeof comparedColumn>;

/** How statements sort rows of the table `r`: newest first, or by a column and then `id` in the same direction. */
export interface Sorting {
  /** The sort columns; `id` is the last. */
  readonly columns: readonly string[];
  readonly clause: string;
  readonly operator: '<' | '>';
  /** SQL for the sort value as text; an empty text if only `id` sorts. */
  readonly value: string;
}

function sortedColumns(metadata: EntityMetadata, order: Order | undefined): ComparedColumn[] {
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

/** Columns of B-trees of all rows that are not soft-deleted, such as `title C DESC`. A plan proves nothing about an index for few rows. */
const INDEXES = `
  SELECT array(
    SELECT a.attname || CASE WHEN c.collname <> 'default' THEN ' ' || c.collname ELSE '' END
      || CASE i.indoption[k] WHEN 0 THEN '' WHEN 3 THEN ' DESC' ELSE ' NULLS' END
    FROM generate_series(0, i.indnkeyatts - 1) k
    LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[k]
    LEFT JOIN pg_collation c ON c.oid = i.indcollation[k]
    ORDER BY k
  ) AS columns
  FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
  WHERE i.indrelid = $1::regclass AND i.indisvalid AND m.amname = 'btree'
    AND (i.indpred IS NULL OR pg_get_expr(i.indpred, i.indrelid) = '(' || quote_ident($2) || ' IS NULL)')
    AND NOT EXISTS (SELECT FROM unnest(i.indclass) o JOIN pg_opclass p ON p.oid = o WHERE NOT p.opcdefault)`;

/** Checks that an index serves each declared order. @throws OperatorError with the missing index */
export async function checkOrders(dataSource: DataSource): Promise<void> {
  for (const metadata of dataSource.entityMetadatas) {
    const table = quotedTable(metadata);
    for (const order of orders.filter(({ entity }) => entity === metadata.target)) {
      const parameters = [table, metadata.deleteDateColumn?.databaseName];
      const indexes = await dataSource.query<{ columns: (string | null)[] }[]>(INDEXES, parameters);
      const fixed = order.within.map((name) => comparedColumn(metadata, name));
      const sorted = sortedColumns(metadata, order);
      if (!indexes.some(({ columns }) => serves(columns, fixed, sorted))) {
        const definition = `ON ${table} (${[...fixed, ...sorted].map(({ sql }) => sql).join(', ')})`;
        throw new OperatorError(
          `${metadata.name} is sorted by ${order.column}, which no index supports: register an IndexMigration with definition = '${definition}'.`,
        );
      }
    }
  }
}

/** Whether an index starts with the columns of the base condition in any order, followed by the sort columns in one direction. */
function serves(index: readonly (string | null)[], fixed: readonly ComparedColumn[], sorted: readonly ComparedColumn[]): boolean {
  const first = new Set(index.slice(0, fixed.length).map((column) => column?.replace(/ (?:DESC|NULLS)$/, '')));
  const next = index.slice(fixed.length, fixed.length + sorted.length).join();
  return (
    fixed.every(({ indexed }) => first.has(indexed)) &&
    ['', ' DESC'].some((direction) => next === sorted.map(({ indexed }) => indexed + direction).join())
  );
}
