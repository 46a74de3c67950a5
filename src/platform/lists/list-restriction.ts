import { hash } from 'node:crypto';
import { type EntityMetadata, FindOperator, In, IsNull } from 'typeorm';
import { absence, type Condition, constant } from './filter/condition.js';
import { disclosureOf, documentedOrders, type ListOptions } from './list-options.js';
import { columnOf, type Restriction } from './sources.js';

/** The restriction of a list without options. */
export const ALL_ROWS: Restriction = { digest: '', where: [], base: {}, order: undefined };

/** @throws Error if a condition or the order does not fit the entity */
export function restrictionOf<Entity extends object>(
  metadata: EntityMetadata,
  { where = {}, order }: ListOptions<Entity>,
): Restriction {
  const values = Object.entries<unknown>(where)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => [name, value instanceof FindOperator ? listed(metadata, name, value) : value] as const);
  if (values.length === 0 && !order) {
    return ALL_ROWS;
  }
  if (metadata.inheritancePattern !== undefined) {
    throw new Error(`${metadata.name} shares its table with other entities: list an entity with its own table.`);
  }
  if (order && order.entity !== metadata.target) {
    throw new Error(`The list of ${metadata.name} has an order of ${order.entity.name}: use an order of ${metadata.name}.`);
  }
  if (order && !documentedOrders.get(order)) {
    throw new Error(disclosureOf(order));
  }
  const given = new Map(values);
  const missing = order?.within.find((name) => !given.has(name));
  if (missing !== undefined) {
    throw new Error(`The order of ${metadata.name} by ${order?.column} is within ${missing}: add ${missing} to "where".`);
  }
  const several = order?.within.find((name) => Array.isArray(given.get(name)));
  if (several !== undefined) {
    const reason = 'rows of several values are not in the order of its index';
    throw new Error(`The order of ${metadata.name} by ${order?.column} needs one value of ${several}: ${reason}.`);
  }
  const identity = JSON.stringify([metadata.tablePath, values, order && [order.column, order.direction]]);
  return {
    digest: hash('sha256', identity).slice(0, 32),
    where: values.map(([name, value]) => conditionOf(metadata, name, value)),
    base: Object.fromEntries(values.map(([name, value]) => [name, Array.isArray(value) ? In(value) : (value ?? IsNull())])),
    order,
  };
}

/** The values of `In`, each once and sorted. @throws Error for another operator, null or a column with a transformer */
function listed(metadata: EntityMetadata, name: string, { type, child, value }: FindOperator<unknown>): unknown[] {
  const fault = `The list of ${metadata.name} has the operator "${type}" for ${name}`;
  if (type !== 'in' || child || !Array.isArray(value)) {
    throw new Error(`${fault}: "where" supports values, null and In([…]).`);
  }
  if (value.some((each) => each === null || each === undefined)) {
    throw new Error(`${fault} with null, which equals nothing: leave it out.`);
  }
  if (value.some((each) => typeof each === 'bigint' || (typeof each === 'number' && !Number.isFinite(each)))) {
    throw new Error(`${fault} with a value that JSON cannot express: use finite numbers, or the text of a bigint.`);
  }
  // TypeORM transforms the values in place whenever it reads rows, and could do so twice.
  if (metadata.findColumnWithPropertyName(name)?.transformer) {
    throw new Error(`${fault}, whose column has a transformer: "where" supports one value of it.`);
  }
  const byText = new Map(value.map((each: unknown) => [JSON.stringify(each), each]));
  return [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function conditionOf(metadata: EntityMetadata, name: string, value: unknown): Condition {
  const { column, sql } = columnOf(metadata, name);
  if (value === undefined) {
    throw new Error(
      `The list of ${metadata.name} has an undefined ${name}, which would match all rows: pass a value or null.`,
    );
  }
  const given = [value].flat().map((each): unknown => metadata.dataSource.driver.preparePersistentValue(each, column));
  if (Array.isArray(value)) {
    return value.length === 0 ? constant(false) : { write: (writer) => `r.${sql} = ANY(${writer.parameter(given)})` };
  }
  const [first] = given;
  return first === null ? absence({ name }) : { write: (writer) => `r.${sql} = ${writer.parameter(first)}` };
}
