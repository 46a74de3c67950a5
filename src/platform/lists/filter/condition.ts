import { firstId } from '../../database/id.js';
import type { FieldType, NamedField } from './filter-fields.js';

/** Writes the columns and values of a condition in the statement that it becomes part of. */
export interface SqlWriter {
  /** The column of a property of the entity, quoted. */
  column(property: string): string;
  /** The placeholder of a value: values never become part of the text. */
  parameter(value: unknown): string;
}

/**
 * A filter whose names and types are checked, or a part of one. Its SQL is NULL exactly where CEL has an error, and AND, OR and
 * NOT treat NULL as CEL treats errors. Text is compared by code point (`COLLATE "C"`), alike on every server; searches use the
 * database's collation, as the trigram index does, which decides nothing but the case of `icontains`.
 */
export interface Condition {
  write(sql: SqlWriter): string;
  readonly conjuncts?: readonly Condition[];
  /** The field of which it is one range, or some values, which an index in the order of that field finds at once. */
  readonly bounds?: string | undefined;
}

/** A field as it is compared: as it is, or with its ASCII letters in lower case. */
export interface Operand extends NamedField {
  readonly lowerAscii: boolean;
}

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

const OPERATORS = { '==': '=', '!=': '<>', '<': '<', '<=': '<=', '>': '>', '>=': '>=' } as const;

/** The types as which values are compared with a column, which may be of a narrower one of the same kind. */
const SQL_TYPES: Readonly<Record<Exclude<FieldType, 'creationTime'>, string>> = {
  string: 'text',
  uuid: 'uuid',
  enum: 'text',
  int: 'bigint',
  double: 'double precision',
  bool: 'boolean',
  timestamp: 'timestamptz',
};

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

/** A field that is true or false by itself. */
export function truth({ name }: Operand): Condition {
  return { write: (sql) => sql.column(name) };
}

export function absence({ name }: Pick<Operand, 'name'>): Condition {
  return { write: (sql) => `(${sql.column(name)} IS NULL)` };
}

/** @param value - as PostgreSQL reads it */
export function comparison(operand: Operand, operator: Comparison, value: string): Condition {
  const { type } = operand;
  if (type === 'creationTime') {
    return creationTimeComparison(operator, Date.parse(value));
  }
  const write = (sql: SqlWriter) => {
    const column = comparable(operand, sql);
    const text = `${column} ${OPERATORS[operator]} CAST(${sql.parameter(value)} AS ${SQL_TYPES[type]})`;
    if (operator === '==' || operator === '!=') {
      return withAbsentAs(operator === '!=', text, operand, sql);
    }
    // To PostgreSQL, not a number is greater than all numbers; in CEL it is greater than none.
    const isOfNumbers = type === 'double' && operator.startsWith('>');
    return isOfNumbers ? `(${text} AND ${column} <= 'Infinity')` : `(${text})`;
  };
  return { write, bounds: operator === '!=' ? undefined : boundOf(operand) };
}

/** Whether a row's key is before another one. */
export function before(id: string): Condition {
  return comparison(KEY, '<', id);
}

/** The creation time lies in the key, so that a time is a range of keys. */
function creationTimeComparison(operator: Comparison, milliseconds: number): Condition {
  const [first, next] = [firstId(milliseconds), firstId(milliseconds + 1)];
  switch (operator) {
    case '<':
      return before(first);
    case '<=':
      return before(next);
    case '>':
      return comparison(KEY, '>=', next);
    case '>=':
      return comparison(KEY, '>=', first);
    case '==':
      return and([comparison(KEY, '>=', first), before(next)]);
    case '!=':
      return not(creationTimeComparison('==', milliseconds));
  }
}

/** @param values - as PostgreSQL reads them */
export function membership(operand: Operand, values: readonly string[]): Condition {
  const { type } = operand;
  if (type === 'creationTime') {
    return values.length > 0 ? or(values.map((value) => comparison(operand, '==', value))) : constant(false);
  }
  const write = (sql: SqlWriter) => {
    const column = comparable(operand, sql);
    // PostgreSQL never gives NULL for an empty array.
    const text =
      values.length === 0 ? `${column} <> ${column}` : `${column} = ANY(CAST(${sql.parameter(values)} AS ${SQL_TYPES[type]}[]))`;
    return withAbsentAs(false, text, operand, sql);
  };
  return { write, bounds: boundOf(operand) };
}

function boundOf({ name, lowerAscii }: Operand): string | undefined {
  return lowerAscii ? undefined : name;
}

/** An absent value is no error for `==`, `!=` and `in`: it is simply another value. */
function withAbsentAs(result: boolean, text: string, { name, nullable, lowerAscii }: Operand, sql: SqlWriter): string {
  if (!nullable || lowerAscii) {
    return `(${text})`;
  }
  const column = sql.column(name);
  return result ? `(${text} OR ${column} IS NULL)` : `(${text} AND ${column} IS NOT NULL)`;
}

/** By code point, so that every server gives the same answer. */
function comparable(operand: Operand, sql: SqlWriter): string {
  const column = searchable(operand, sql);
  return operand.type === 'string' && !operand.lowerAscii ? `${column} COLLATE "C"` : column;
}

/** In the collation "C", `lower` knows the ASCII letters alone. */
function searchable({ name, lowerAscii }: Operand, sql: SqlWriter): string {
  const column = sql.column(name);
  return lowerAscii ? `lower(${column} COLLATE "C")` : column;
}

/** The functions that search a text, each with its SQL. `pattern` is the text without wildcards. */
const SEARCHES = {
  contains: (operand, { pattern }, sql) => `${searchable(operand, sql)} LIKE ${sql.parameter(`%${pattern}%`)}`,
  startsWith: (operand, { text }, sql) => `${comparable(operand, sql)} ^@ ${sql.parameter(text)}`,
  endsWith: (operand, { pattern }, sql) => `${searchable(operand, sql)} LIKE ${sql.parameter(`%${pattern}`)}`,
  // Lower case before makes no difference.
  icontains: ({ name }, { pattern }, sql) => `${sql.column(name)} ILIKE ${sql.parameter(`%${pattern}%`)}`,
} satisfies Record<string, (operand: Operand, search: { text: string; pattern: string }, sql: SqlWriter) => string>;

export type TextSearch = keyof typeof SEARCHES;

export const TEXT_SEARCHES = Object.keys(SEARCHES) as readonly TextSearch[];

export function search(operand: Operand, name: TextSearch, text: string): Condition {
  const pattern = text.replaceAll(/[\\%_]/g, String.raw`\$&`);
  const bounds = name === 'startsWith' ? boundOf(operand) : undefined;
  return { write: (sql) => `(${SEARCHES[name](operand, { text, pattern }, sql)})`, bounds };
}
