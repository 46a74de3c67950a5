import { hash } from 'node:crypto';
import { type EntityMetadata, type FindOptionsWhere, IsNull, type ObjectLiteral } from 'typeorm';
import { absence, type Condition } from './filter/condition.js';
import { type ColumnName, comparedColumn, type Order } from './order.js';

/** Values that all rows of a list have. */
export type Where<Entity> = { readonly [Name in ColumnName<Entity>]?: Exclude<Entity[Name], undefined> };

/** Options of a list, which clients neither see nor change. */
export interface ListOptions<Entity> {
  /** Base condition: `{ bookId }`, `{ createdBy: principal.familyId }`. It needs an index on its columns (texts `COLLATE "C"`) and `id`. */
  readonly where?: Where<Entity>;
  readonly order?: Order<Entity>;
}

/** The same for statements and cursors. */
export interface ListScope {
  /** Identifies both in cursors; empty where there is neither. */
  readonly id: string;
  readonly where: readonly Condition[];
  readonly base: FindOptionsWhere<ObjectLiteral>;
  readonly order: Order | undefined;
}

/** All rows, newest first. */
export const ALL_ROWS: ListScope = { id: '', where: [], base: {}, order: undefined };

/** @throws Error for a condition or an order that does not fit the entity */
export function scopeOf<Entity extends object>(metadata: EntityMetadata, { where = {}, order }: ListOptions<Entity>): ListScope {
  const values = Object.entries<unknown>(where).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (values.length === 0 && !order) {
    return ALL_ROWS;
  }
  if (metadata.inheritancePattern !== undefined) {
    throw new Error(`${metadata.name} shares its table with other entities: list those in parts that have one of their own.`);
  }
  if (order && order.entity !== metadata.target) {
    throw new Error(`A list of ${metadata.name} was given an order of ${order.entity.name}: give it one of its own.`);
  }
  const missing = order?.within.find((name) => !values.some(([given]) => given === name));
  if (missing !== undefined) {
    throw new Error(`The order of ${metadata.name} by ${order?.column} is one within ${missing}: give that in "where".`);
  }
  const identity = JSON.stringify([metadata.tablePath, values, order && [order.column, order.direction]]);
  return {
    id: hash('sha256', identity).slice(0, 32),
    where: values.map(([name, value]) => equality(metadata, name, value)),
    base: Object.fromEntries(values.map(([name, value]) => [name, value === null ? IsNull() : value])),
    order,
  };
}

function equality(metadata: EntityMetadata, name: string, value: unknown): Condition {
  const { column, sql } = comparedColumn(metadata, name);
  if (value === undefined) {
    throw new Error(`A list of ${metadata.name} was given no value of ${name}, and would have all rows: give one, or null.`);
  }
  const given: unknown = metadata.dataSource.driver.preparePersistentValue(value, column);
  return given === null ? absence({ name }) : { write: (writer) => `r.${sql} = ${writer.parameter(given)}` };
}
