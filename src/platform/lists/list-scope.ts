import { hash } from 'node:crypto';
import type { EntityMetadata } from 'typeorm';
import { absence, type Condition } from './filter/condition.js';
import { collatedColumn, type Order } from './order.js';

/** Values that all rows of a list have; null for those that have none. */
export type Where<Entity> = {
  readonly [Name in keyof Entity as Entity[Name] extends string | number | boolean | Date | null ? Name : never]?: Entity[Name];
};

/** What a feature says of one of its lists. Clients neither see it, nor can they change it. */
export interface ListOptions<Entity> {
  /** Base condition: `{ bookId }`, `{ createdBy: principal.familyId }`. It needs an index on its columns and `id`. */
  readonly where?: Where<Entity>;
  /** Newest first unless given. */
  readonly order?: Order<Entity>;
}

/** The same, as statements and cursors need it. */
export interface ListScope {
  /** Identifies both in cursors; empty where there is neither. */
  readonly id: string;
  readonly where: readonly Condition[];
  readonly order: Order | undefined;
}

/** All rows, newest first. */
export const ALL_ROWS: ListScope = { id: '', where: [], order: undefined };

/** @throws Error for a condition or an order that does not fit the entity */
export function scopeOf<Entity extends object>(metadata: EntityMetadata, { where, order }: ListOptions<Entity>): ListScope {
  const values = Object.entries<unknown>(where ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const conditions = values.map(([name, value]) => equality(metadata, name, value));
  if (order && order.entity !== metadata.target) {
    throw new Error(`A list of ${metadata.name} was given an order of ${order.entity.name}: give it one of its own.`);
  }
  const missing = order?.within.find((name) => !values.some(([given]) => given === name));
  if (missing !== undefined) {
    throw new Error(`The order of ${metadata.name} by ${order?.column} is one within ${missing}: give that in "where".`);
  }
  const identity = JSON.stringify([metadata.tableName, values, order && [order.column, order.direction]]);
  return conditions.length === 0 && !order ? ALL_ROWS : { id: hash('sha256', identity).slice(0, 32), where: conditions, order };
}

function equality(metadata: EntityMetadata, name: string, value: unknown): Condition {
  const column = metadata.findColumnWithPropertyName(name);
  if (!column || value === undefined) {
    throw new Error(
      `The base condition of a list of ${metadata.name} has ${name}: ${String(value)}; it needs a column and a value.`,
    );
  }
  const given: unknown = metadata.dataSource.driver.preparePersistentValue(value, column);
  const { compared } = collatedColumn(metadata, name);
  return given === null ? absence({ name }) : { write: (sql) => `${compared} = ${sql.parameter(given)}` };
}
