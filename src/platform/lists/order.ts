import type { Type } from '@nestjs/common';
import type { DataSource, EntityMetadata } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { columnOf, columnOptionsOf, quotedTable } from '../database/table-name.js';

/** Names of the properties of an entity of which every row has one value. */
type OrderableName<Entity> = {
  [Name in keyof Entity]: Entity[Name] extends string | number | boolean | Date ? Name : never;
}[keyof Entity] &
  string;

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
  within: readonly (keyof Entity & string)[] = [],
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

/** Types of columns that are compared by code point, whatever the collation of the database is. */
const COLLATED: ReadonlySet<string> = new Set(['text', 'character varying']);

/** The column of a property as statements compare it, with the table as `r`, and as an index has it. */
export function collatedColumn(metadata: EntityMetadata, property: string) {
  const column = metadata.findColumnWithPropertyName(property);
  const isCollated = column !== undefined && COLLATED.has(metadata.dataSource.driver.normalizeType(column));
  const indexed = `${columnOf(metadata, property)}${isCollated ? ' COLLATE "C"' : ''}`;
  return { compared: `r.${indexed}`, indexed };
}

/** How statements sort rows, with the table as `r`: by a column and the key, both in one direction, or newest first. */
export interface Sorting {
  /** By which they sort, the key last. */
  readonly columns: readonly string[];
  readonly clause: string;
  /** Of what comes later. */
  readonly operator: '<' | '>';
  /** The value of the column that the key follows, as text; empty without one. */
  readonly value: string;
}

/** @param order - undefined for newest first */
export function sortingOf(metadata: EntityMetadata, order: Order | undefined): Sorting {
  const properties = order ? [order.column, 'id'] : ['id'];
  const columns = properties.map((property) => collatedColumn(metadata, property).compared);
  const direction = order?.direction ?? 'DESC';
  return {
    columns,
    clause: `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')}`,
    operator: direction === 'ASC' ? '>' : '<',
    value: order ? `r.${columnOf(metadata, order.column)}::text` : '',
  };
}

/**
 * Checks that every order of the entities of a data source is that of an index.
 *
 * @throws OperatorError that says which index is missing
 */
export async function checkOrders(dataSource: DataSource): Promise<void> {
  for (const metadata of dataSource.entityMetadatas) {
    for (const order of orders.filter(({ entity }) => entity === metadata.target)) {
      if (await lacksIndex(dataSource, metadata, order)) {
        const columns = [...order.within, order.column, 'id'].map((name) => collatedColumn(metadata, name).indexed);
        const definition = `ON ${quotedTable(metadata)} (${columns.join(', ')})`;
        throw new OperatorError(
          `${metadata.name} is listed by ${order.column}, which no index serves: register an IndexMigration with definition = '${definition}'.`,
        );
      }
    }
  }
}

/** Whether PostgreSQL has to sort rows for an order, or to pass others, even where it should do anything else instead. */
async function lacksIndex(dataSource: DataSource, metadata: EntityMetadata, order: Order): Promise<boolean> {
  const table = quotedTable(metadata);
  const fixed = order.within.map((name) => {
    const { compared, indexed } = collatedColumn(metadata, name);
    return `${compared} = (SELECT ${indexed} FROM ${table} LIMIT 1)`;
  });
  const where = fixed.length > 0 ? `WHERE ${fixed.join(' AND ')}` : '';
  const { clause } = sortingOf(metadata, order);
  return dataSource.transaction(async (manager) => {
    await manager.query('SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off');
    const plan: unknown = await manager.query(`EXPLAIN (FORMAT JSON) SELECT FROM ${table} r ${where} ${clause} LIMIT 1`);
    return /"Node Type":"(?:Incremental )?Sort"|"Filter":/.test(JSON.stringify(plan));
  });
}
