import type { Type } from '@nestjs/common';
import { type ColumnOptions, type FindOperator, getMetadataArgsStorage } from 'typeorm';

/** The column options of a property, as declared in the entity or a class that it extends. */
export function columnOptionsOf(entity: Type, property: string): ColumnOptions | undefined {
  return getMetadataArgsStorage().columns.findLast(
    ({ target, propertyName }) => propertyName === property && appliesTo(entity, target),
  )?.options;
}

/** Whether a declaration for `target` applies to an entity. */
export function appliesTo(entity: Type, target: unknown): boolean {
  return typeof target === 'function' && (target === entity || entity.prototype instanceof target);
}

type Scalar = string | number | boolean | Date;

/** Names of an entity's columns whose values are of the type `Value`; by default, of all scalar columns. */
export type ColumnName<Entity, Value = Scalar | null | undefined> = {
  [Name in keyof Entity]-?: Entity[Name] extends Value ? Name : never;
}[keyof Entity] &
  string;

/** A sort order other than newest first. */
export interface Order<Entity = object> {
  readonly entity: Type<Entity>;
  /** The sort property. Rows with equal values are sorted by `id`. */
  readonly column: string;
  readonly direction: 'ASC' | 'DESC';
  /** Properties that must be in the list's base condition. */
  readonly within: readonly string[];
}

export const orders: Order[] = [];

/** Whether all pages in an order document the sort property, which `nextCursor` contains. No entry without a page. */
export const documentedOrders = new WeakMap<Order, boolean>();

/** Errors of orders that would disclose a column, with their fixes. */
export function orderFaults(): string[] {
  return orders.filter((order) => !documentedOrders.get(order)).map(disclosureOf);
}

/** The error of an order by a column that its page does not document, and its fix. */
export function disclosureOf({ entity, column }: Order): string {
  const fix = `pass it to PageOf, with an item class that documents ${column}, or sort by a documented property.`;
  return `nextCursor of ${entity.name} sorted by ${column} would disclose ${column}: ${fix}`;
}

/**
 * Declares an order for `Lists.findPage` and for `PageOf`, whose items must document the property: cursors contain its
 * value. Text is sorted by code point. The application does not become ready without an index on the columns of `within`,
 * the column (text with `COLLATE "C"`) and `id`, in this order.
 *
 * @param column - a property that is never null, with values of at most 2,700 bytes. If a row's value changes while a client
 *   reads the pages, the client may see the row twice or not at all
 * @param within - properties that `where` always contains for this order
 * @throws Error if the property cannot be a sort column
 */
export function defineOrder<Entity extends { id: string }>(
  entity: Type<Entity>,
  column: ColumnName<Entity, Scalar>,
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

/** Column values that all rows of a list share; TypeORM's `In([…])` for one of several values. */
export type Where<Entity> = {
  readonly [Name in ColumnName<Entity>]?: Exclude<Entity[Name], undefined> | FindOperator<Entity[Name]>;
};

/** Options of a list that clients cannot see or change. */
export interface ListOptions<Entity> {
  /**
   * Base condition, such as `{ createdBy: principal.familyId }`. It needs an index on its columns (texts `COLLATE "C"`) and
   * `id`.
   */
  readonly where?: Where<Entity>;
  readonly order?: Order<Entity>;
}
