import type { Type } from '@nestjs/common';
import { type ColumnType, getMetadataArgsStorage } from 'typeorm';
import { codePoints } from '../../validation/code-points.js';
import { checkExpression } from './check-expression.js';
import type { Condition } from './condition.js';
import { FilterError } from './filter-error.js';
import type { FieldsOf, FilterFields } from './filter-fields.js';
import { parseExpression } from './parse-expression.js';

/** A filter that a client sent. */
export interface Filter {
  /** As it was written. */
  readonly expression: string;
  /** What it says; undefined for a blank one, which lets everything through. */
  readonly condition: Condition | undefined;
}

/** The fields by which lists of an entity can be filtered. */
export interface FilterDefinition {
  readonly fields: FilterFields;
  /** Filters that work, by what they do; for the documentation. */
  readonly examples: Readonly<Record<string, string>>;
  /** @throws FilterError, whose offsets count characters (code points), as CEL's do */
  parse(expression: string): Filter;
}

/**
 * Declares by which fields lists of an entity can be filtered. Give it to `PageQueryOf`.
 *
 * @param entity - TypeORM entity whose `id` is a UUIDv7
 * @param fields - by name: properties of the entity with their types (`string`, `uuid`), `nullable` where they can be null;
 * and `creationTime` under any other name
 * @param examples - filters for the documentation, by what they do
 * @throws Error when a field does not fit its column, or when an example is refused
 */
export function defineFilter<Entity extends { id: string }, Name extends string>(
  entity: Type<Entity>,
  fields: FieldsOf<Entity, Name>,
  examples: Readonly<Record<string, string>>,
): FilterDefinition {
  checkColumns(entity, fields);
  const definition = { fields, examples, parse: (expression: string) => parseFilter(expression, fields) };
  Object.values(examples).forEach((example) => definition.parse(example));
  return definition;
}

function parseFilter(expression: string, fields: FilterFields): Filter {
  if (/^[ \t\r\n]*$/.test(expression)) {
    return { expression: '', condition: undefined };
  }
  try {
    return { expression, condition: checkExpression(parseExpression(expression), fields) };
  } catch (error) {
    throw error instanceof FilterError ? inCharacters(error, expression) : error;
  }
}

/** The same error with offsets that count code points instead of UTF-16 units. */
function inCharacters({ code, start, end, message }: FilterError, expression: string): FilterError {
  const characters = (offset: number) => codePoints(expression.slice(0, offset));
  return new FilterError(code, { start: characters(start), end: characters(end) }, message);
}

/** Types of columns that a type of field fits; `String` is what TypeORM makes a text of by itself. */
const COLUMN_TYPES = {
  string: ['text', 'varchar', 'character varying', String],
  uuid: ['uuid'],
} as const satisfies Record<string, readonly ColumnType[]>;

function checkColumns(entity: Type, fields: FilterFields): void {
  const { columns, inheritances } = getMetadataArgsStorage();
  const isOf = (target: unknown) => typeof target === 'function' && (target === entity || entity.prototype instanceof target);
  if (inheritances.some(({ target }) => isOf(target))) {
    throw new Error(`${entity.name} shares its table with other entities: filter entities that have one of their own.`);
  }
  for (const [name, { type, nullable = false }] of Object.entries(fields)) {
    if (type !== 'creationTime') {
      const column = columns.findLast(({ target, propertyName }) => propertyName === name && isOf(target));
      if (!column) {
        throw new Error(`${entity.name}.${name} is no column: filter by properties with @Column.`);
      }
      const columnTypes: readonly (ColumnType | undefined)[] = COLUMN_TYPES[type];
      if (!columnTypes.includes(column.options.type)) {
        throw new Error(`${entity.name}.${name} is a column of another type: ${type} needs ${COLUMN_TYPES[type][0]}.`);
      }
      if ((column.options.nullable ?? false) !== nullable) {
        throw new Error(
          `${entity.name}.${name} and its column differ in whether it can be null: let the entity, its column and the filter agree.`,
        );
      }
    }
  }
}
