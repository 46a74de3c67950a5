import { hash } from 'node:crypto';
import type { Type } from '@nestjs/common';
import {
  type ColumnOptions,
  type EntityMetadata,
  FindOperator,
  type FindOptionsWhere,
  getMetadataArgsStorage,
  In,
  IsNull,
  type ObjectLiteral,
} from 'typeorm';
import { absence, type Condition, constant } from './filter/condition.js';

/** The column options of a property, as declared in the entity or a class that it extends. */
export function columnOptionsOf(entity: Type, property: string): ColumnOptions | undefined {
  return getMetadataArgsStorage().columns.findLast(
    ({ target, propertyName }) => propertyName === property && isOf(entity, target),
  )?.options;
}

/** Whether a declaration for `target` applies to an entity. */
export function isOf(entity: Type, target: unknown): boolean {
  return typeof target === 'function' && (target === entity || entity.prototype instanceof target);
}

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

/** Whether all pages in an order document the sort property, which `nextCursor` contains. Undefined without a page. */
export const documentedOrders = new WeakMap<Order, boolean>();

/** Errors of orders that would disclose a column, with their fixes. */
export function orderFaults(): string[] {
  return orders.filter((order) => !documentedOrders.get(order)).map(disclosureOf);
}

function disclosureOf({ entity, column }: Order): string {
  const fix = `pass it to PageOf, with an item class that documents ${column}, or sort by a documented property.`;
  return `nextCursor of ${entity.name} sorted by ${column} would disclose ${column}: ${fix}`;
}

/**
 * Declares an order for `Lists.findPage` and for `PageOf`, whose items must document the property: cursors contain its value.
 * Text is sorted by code point. The application does not become ready without an index on the columns of `within`, the column
 * (text with `COLLATE "C"`) and `id`, in this order.
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
  const name = driver.escape(column.databaseName);
  return { column, sql: COLLATED.has(driver.normalizeType(column)) ? `${name} COLLATE "C"` : name };
}

/** Types whose text depends on settings of the session, such as `DateStyle`, and a form that does not. */
const TEXTS: Readonly<Record<string, (sql: string) => string>> = {
  date: (sql) => `to_json(${sql}) #>> '{}'`,
  'timestamp without time zone': (sql) => `to_json(${sql}) #>> '{}'`,
  'timestamp with time zone': (sql) => {
    const instant = `to_char(${sql} AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US "UTC" BC')`;
    return `CASE WHEN isfinite(${sql}) THEN ${instant} ELSE ${sql}::text END`;
  },
  'double precision': exactText,
  real: exactText,
  bytea: (sql) => `'\\x' || encode(${sql}, 'hex')`,
};

/** With all 17 digits. */
function exactText(sql: string): string {
  return `CASE WHEN abs(${sql}) < 'Infinity' THEN to_char(${sql}::float8, '9.9999999999999999EEEE') ELSE ${sql}::text END`;
}

/** @throws Error if no text of the type means the same in every session */
function textOf({ name, dataSource }: EntityMetadata, { column, sql }: ReturnType<typeof comparedColumn>): string {
  const type = dataSource.driver.normalizeType(column);
  if (/^(?:interval|money|.*range)$/.test(type)) {
    const fault = `${name} cannot be sorted by ${column.propertyName}, of the type ${type}`;
    throw new Error(`${fault}: sort by a number, text or time.`);
  }
  return TEXTS[type]?.(`r.${sql}`) ?? `(r.${sql})::text`;
}

/** How statements sort rows of the table `r`: newest first, or by a column and then `id` in the same direction. */
export interface Sorting {
  /** The sort columns; `id` is the last. */
  readonly columns: readonly string[];
  readonly clause: string;
  readonly operator: '<' | '>';
  /** SQL for the sort value as text; an empty text if only `id` sorts. */
  readonly value: string;
}

export function sortedColumns(metadata: EntityMetadata, order: Order | undefined) {
  return Array.from(new Set([order?.column ?? 'id', 'id']), (property) => comparedColumn(metadata, property));
}

/** @param order - undefined for newest first */
export function sortingOf(metadata: EntityMetadata, order: Order | undefined): Sorting {
  const sorted = sortedColumns(metadata, order);
  const columns = sorted.map(({ sql }) => `r.${sql}`);
  const direction = order?.direction ?? 'DESC';
  return {
    columns,
    clause: `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')}`,
    operator: direction === 'ASC' ? '>' : '<',
    value: order && sorted[0] ? textOf(metadata, sorted[0]) : `''`,
  };
}

/** Column values that all rows of a list share; TypeORM's `In([…])` for one of several values. */
export type Where<Entity> = {
  readonly [Name in ColumnName<Entity>]?: Exclude<Entity[Name], undefined> | FindOperator<Entity[Name]>;
};

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
  const missing = order?.within.find((name) => !values.some(([given]) => given === name));
  if (missing !== undefined) {
    throw new Error(`The order of ${metadata.name} by ${order?.column} is within ${missing}: add ${missing} to "where".`);
  }
  const several = order?.within.find((name) => values.some(([given, value]) => given === name && Array.isArray(value)));
  if (several !== undefined) {
    const reason = 'rows of several values are not in the order of its index';
    throw new Error(`The order of ${metadata.name} by ${order?.column} needs one value of ${several}: ${reason}.`);
  }
  const identity = JSON.stringify([metadata.tablePath, values, order && [order.column, order.direction]]);
  return {
    id: hash('sha256', identity).slice(0, 32),
    where: values.map(([name, value]) => conditionOf(metadata, name, value)),
    base: Object.fromEntries(values.map(([name, value]) => [name, operandOf(value)])),
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
  // TypeORM would convert the values again whenever the rows are read.
  if (metadata.findColumnWithPropertyName(name)?.transformer) {
    throw new Error(`${fault}, whose column has a transformer: "where" supports one value of it.`);
  }
  const byText = new Map(value.map((each: unknown) => [JSON.stringify(each), each]));
  return [...byText].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function conditionOf(metadata: EntityMetadata, name: string, value: unknown): Condition {
  const { column, sql } = comparedColumn(metadata, name);
  if (value === undefined) {
    throw new Error(`The list of ${metadata.name} has an undefined ${name}, which would match all rows: pass a value or null.`);
  }
  const given = [value].flat().map((each): unknown => metadata.dataSource.driver.preparePersistentValue(each, column));
  if (Array.isArray(value)) {
    return value.length === 0 ? constant(false) : { write: (writer) => `r.${sql} = ANY(${writer.parameter(given)})` };
  }
  const [first] = given;
  return first === null ? absence({ name }) : { write: (writer) => `r.${sql} = ${writer.parameter(first)}` };
}

function operandOf(value: unknown): unknown {
  return Array.isArray(value) ? In(value) : (value ?? IsNull());
}
