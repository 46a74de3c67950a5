import { firstId } from '../../ids/id.js';
import { type FilterField, TYPES } from './filter-fields.js';

/** Writes columns and values into a SQL statement. */
export interface SqlWriter {
  /** The quoted column of a property. */
  column(property: string): string;
  /** A placeholder for a value: values are never part of the SQL text. */
  parameter(value: unknown): string;
}

/**
 * A checked filter or a part of one. Its SQL is NULL where CEL has an error, because AND, OR and NOT treat NULL as CEL
 * treats errors. Text is compared by code point (`COLLATE "C"`) on every server. Searches use the database's collation, as
 * the trigram index does, which only affects the case-insensitivity of `icontains`.
 */
export interface Condition {
  write(sql: SqlWriter): string;
  readonly conjuncts?: readonly Condition[];
  /** The field that it limits to a range or to some values, which an index on that field can use. */
  readonly bounds?: string | undefined;
}

/** A field, possibly with its ASCII letters in lower case. */
export interface Operand extends FilterField {
  readonly name: string;
  readonly lowerAscii: boolean;
}

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

const OPERATORS = { '==': '=', '!=': '<>', '<': '<', '<=': '<=', '>': '>', '>=': '>=' } as const;

const KEY: Operand = { name: 'id', type: 'uuid', lowerAscii: false };

export function constant(value: boolean): Condition {
  return { write: () => (value ? 'TRUE' : 'FALSE') };
}

export function and(conjuncts: readonly Condition[]): Condition {
  return { write: (sql) => `(${conjuncts.map((part) => part.write(sql)).join(' AND ')})`, conjuncts };
}

export function or(parts: readonly Condition[]): Condition {
  return { write: (sql) => `(${parts.map((part) => part.write(sql)).join(' OR ')})` };
}

export function not(condition: Condition): Condition {
  return { write: (sql) => `NOT ${condition.write(sql)}` };
}

export function truth({ name }: Operand): Condition {
  return { write: (sql) => sql.column(name) };
}

export function absence({ name }: Pick<Operand, 'name'>): Condition {
  return { write: (sql) => `(${sql.column(name)} IS NULL)` };
}

/** @param value - in PostgreSQL's text form */
export function comparison(operand: Operand, operator: Comparison, value: string): Condition {
  const { type } = operand;
  if (type === 'creationTime') {
    return creationTimeComparison(operator, Date.parse(value));
  }
  const write = (sql: SqlWriter) => {
    const column = comparable(operand, sql);
    const text = `${column} ${OPERATORS[operator]} CAST(${sql.parameter(value)} AS ${TYPES[type].sql})`;
    if (operator === '==' || operator === '!=') {
      return withAbsentAs(operator === '!=', text, operand, sql);
    }
    // PostgreSQL sorts NaN above all numbers; in CEL, every comparison with NaN is false.
    const isOfNumbers = type === 'double' && operator.startsWith('>');
    return isOfNumbers ? `(${text} AND ${column} <= 'Infinity')` : `(${text})`;
  };
  return { write, bounds: operator === '!=' ? undefined : boundOf(operand) };
}

/** The creation time is part of the id, so a time is a range of ids. */
function creationTimeComparison(operator: Comparison, milliseconds: number): Condition {
  const [first, next] = [firstId(milliseconds), firstId(milliseconds + 1)];
  if (operator === '==') {
    return and([comparison(KEY, '>=', first), comparison(KEY, '<', next)]);
  }
  if (operator === '!=') {
    return not(creationTimeComparison('==', milliseconds));
  }
  const bound = operator === '<' || operator === '>=' ? first : next;
  return comparison(KEY, operator.startsWith('<') ? '<' : '>=', bound);
}

/** @param values - in PostgreSQL's text form */
export function membership(operand: Operand, values: readonly string[]): Condition {
  const { type } = operand;
  if (type === 'creationTime') {
    return values.length > 0 ? or(values.map((value) => comparison(operand, '==', value))) : constant(false);
  }
  const write = (sql: SqlWriter) => {
    const column = comparable(operand, sql);
    // `= ANY` of an empty array is FALSE in PostgreSQL even for NULL, where this must be NULL.
    const text =
      values.length === 0
        ? `${column} <> ${column}`
        : `${column} = ANY(CAST(${sql.parameter(values)} AS ${TYPES[type].sql}[]))`;
    return withAbsentAs(false, text, operand, sql);
  };
  return { write, bounds: boundOf(operand) };
}

function boundOf({ name, lowerAscii }: Operand): string | undefined {
  return lowerAscii ? undefined : name;
}

/** For `==`, `!=` and `in`, null is an ordinary value, not an error. */
function withAbsentAs(result: boolean, text: string, { name, nullable, lowerAscii }: Operand, sql: SqlWriter): string {
  if (!nullable || lowerAscii) {
    return `(${text})`;
  }
  const column = sql.column(name);
  return result ? `(${text} OR ${column} IS NULL)` : `(${text} AND ${column} IS NOT NULL)`;
}

/** Compares by code point, so that all servers agree. */
function comparable(operand: Operand, sql: SqlWriter): string {
  const column = searchable(operand, sql);
  return operand.type === 'string' && !operand.lowerAscii ? `${column} COLLATE "C"` : column;
}

/** In the collation "C", `lower` changes only ASCII letters. */
function searchable({ name, lowerAscii }: Operand, sql: SqlWriter): string {
  const column = sql.column(name);
  return lowerAscii ? `lower(${column} COLLATE "C")` : column;
}

/** SQL of the text searches. `pattern` is the text with escaped wildcards. */
const SEARCHES = {
  contains: (operand, { pattern }, sql) => `${searchable(operand, sql)} LIKE ${sql.parameter(`%${pattern}%`)}`,
  startsWith: (operand, { text }, sql) => `${comparable(operand, sql)} ^@ ${sql.parameter(text)}`,
  endsWith: (operand, { pattern }, sql) => `${searchable(operand, sql)} LIKE ${sql.parameter(`%${pattern}`)}`,
  // Ignores `lowerAscii`, which makes no difference to it.
  icontains: ({ name }, { pattern }, sql) => `${sql.column(name)} ILIKE ${sql.parameter(`%${pattern}%`)}`,
} satisfies Record<string, (operand: Operand, search: { text: string; pattern: string }, sql: SqlWriter) => string>;

export type TextSearch = keyof typeof SEARCHES;

export const TEXT_SEARCHES = Object.keys(SEARCHES) as readonly TextSearch[];

export function search(operand: Operand, name: TextSearch, text: string): Condition {
  const pattern = text.replaceAll(/[\\%_]/g, String.raw`\$&`);
  const bounds = name === 'startsWith' ? boundOf(operand) : undefined;
  return { write: (sql) => `(${SEARCHES[name](operand, { text, pattern }, sql)})`, bounds };
}
