import { hash } from 'node:crypto';
import { type EntityMetadata, type FindOptionsWhere, IsNull, type ObjectLiteral } from 'typeorm';
import { absence, type Condition } from './filter/condition.js';
import { type ColumnName, comparedColumn, type Order } from './order.js';

/** Column values that all rows of a list share. */
export type Where<Entity> = { readonly [Name in ColumnName<Entity>]?: Exclude<Entity[Name], undefined> };

/** Options of a list that clients cannot see or change. */
export interface ListOptions<Entity> {
  /** Base condition, such as `{ createdBy: principal.familyId }`. It needs an index on its columns (texts `COLLATE "C"`) and `id`. */
  readonly where?: Where<Entity>;
  readonly order?: Order<Entity>;
}

/** Compiled {@link ListOptions}. */
export interface ListScope {
  /** Digest in cursors; empty without options. */
  readonly id: string;
  readonly where: readonly Condition[];
  readonly base: FindOptionsWhere<ObjectLiteral>;
  readonly order: Order | undefined;
}

export const ALL_ROWS: ListScope = { id: '', where: [], base: {}, order: undefined };

/** @throws Error if a condition or the order does not fit the entity */
export function scopeOf<Entity extends object>(metadata: EntityMetadata, { where = {}, order }: ListOptions<Entity>): ListScope {
  const values = Object.entries<unknown>(where).toSorted(([a], [b]) => (a < b ? -1 : 1));
  if (values.length === 0 && !order) {
    return ALL_ROWS;
  }
  if (metadata.inheritancePattern !== undefined) {
    throw new Error(`${metadata.name} shares its table with other entities: list an entity with its own table.`);
  }
  if (order && order.entity !== metadata.target) {
    throw new Error(`The list of ${metadata.name} has an order of ${order.entity.name}: use an order of ${metadata.name}.`);
  }
  const missing = order?.within.find((name) => !values.some(([given]) => given === name));
  if (missing !== undefined) {
    throw new Error(`The order of ${metadata.name} by ${order?.column} is within ${missing}: add ${missing} to "where".`);
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
    throw new Error(`The list of ${metadata.name} has an undefined ${name}, which would match all rows: pass a value or null.`);
  }
  const given: unknown = metadata.dataSource.driver.preparePersistentValue(value, column);
  return given === null ? absence({ name }) : { write: (writer) => `r.${sql} = ${writer.parameter(given)}` };
}
