import type { Type } from '@nestjs/common';
import type { DataSource, EntityMetadata } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { columnOptionsOf, quotedTable } from '../database/table-name.js';

type Scalar = string | number | boolean | Date;

/** Names of the properties of an entity that are columns with one value. */
export type ColumnName<Entity> = {
  [Name in keyof Entity]-?: Entity[Name] extends Scalar | null | undefined ? Name : never;
}[keyof Entity] &
  string;

/** Those of which every row has a value. */
type OrderableName<Entity> = {
  [Name in ColumnName<Entity>]: Entity[Name] extends Scalar ? Name : never;
}[ColumnName<Entity>];

/** An order of lists of an entity that is not the one of their creation. */
export interface Order<Entity = object> {
  readonly entity: Type<Entity>;
  /** The property by which rows are ordered. Rows with equal values are in the order of their keys. */
  readonly column: string;
  readonly direction: 'ASC' | 'DESC';
  /** The properties of which the base condition of such a list has one value. */
  readonly within: readonly string[];
}

const orders: Order[] = [];

/**
 * Declares an order for `Lists.findPage`. Text is ordered by code point. The application does not become ready without an index
 * that serves the order: on the columns of `within`, the column (a text `COLLATE "C"`) and `id`.
 *
 * @param entity - TypeORM entity whose `id` is a UUID
 * @param column - a property that cannot be null, whose values have at most 2,700 bytes. A walk through the pages sees a row
 * twice, or not at all, that gets another value meanwhile
 * @param within - properties that `where` has whenever lists are in this order
 * @throws Error when the property is no column that can order
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
      `${entity.name} cannot be listed by ${column}: choose a column that is not null, without transformer or array.`,
    );
  }
  const order = { entity, column, direction, within };
  orders.push(order);
  return order;
}

/** Types of columns that are compared by code point, not by the collation of the database. */
const COLLATED: ReadonlySet<string> = new Set(['text', 'character varying']);

/**
 * The column of a property as statements compare it, and as its index has it.
 *
 * @throws Error for a property that is no column
 */
export function comparedColumn(metadata: EntityMetadata, property: string) {
  const { driver } = metadata.dataSource;
  const column = metadata.findColumnWithPropertyName(property);
  if (!column) {
    throw new Error(`${metadata.name}.${property} is no column: a list can neither be restricted nor ordered by it.`);
  }
  const { databaseName: name } = column;
  return COLLATED.has(driver.normalizeType(column))
    ? { column, indexed: `${name} C`, sql: `${driver.escape(name)} COLLATE "C"` }
    : { column, indexed: name, sql: driver.escape(name) };
}

type ComparedColumn = ReturnType<typeof comparedColumn>;

/** How statements sort rows, with the table as `r`: by a column and the key, both in one direction, or newest first. */
export interface Sorting {
  /** By which they sort, the key last. */
  readonly columns: readonly string[];
  readonly clause: string;
  readonly operator: '<' | '>';
  /** The value of the column that the key follows, as text; empty without one. */
  readonly value: string;
}

/** The columns by which an order sorts, the key last. */
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

/**
 * The columns of each index of a table that keeps an order, such as `title C DESC`: of B-trees of all rows, or of those that are not
 * hidden. Plans would not tell, as PostgreSQL may prefer another index as long as there are few rows.
 */
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

/**
 * Checks that every order of the entities of a data source is that of an index.
 *
 * @throws OperatorError that says which index is missing
 */
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
          `${metadata.name} is listed by ${order.column}, which no index serves: register an IndexMigration with definition = '${definition}'.`,
        );
      }
    }
  }
}

/** Whether an index has the columns of the base condition first, in any order, and then those that sort, in one direction. */
function serves(index: readonly (string | null)[], fixed: readonly ComparedColumn[], sorted: readonly ComparedColumn[]): boolean {
  const first = new Set(index.slice(0, fixed.length).map((column) => column?.replace(/ (?:DESC|NULLS)$/, '')));
  const next = index.slice(fixed.length, fixed.length + sorted.length).join();
  return (
    fixed.every(({ indexed }) => first.has(indexed)) &&
    ['', ' DESC'].some((direction) => next === sorted.map(({ indexed }) => indexed + direction).join())
  );
}
