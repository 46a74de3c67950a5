import type { Condition, Operand, TextSearch } from './condition.js';

/** How a condition's columns and values are written in the statement that it becomes part of. */
export interface SqlNames {
  /** The column of a property of the entity, quoted. */
  column(property: string): string;
  /** A place for a value: values never become part of the text. */
  parameter(value: unknown): string;
}

/**
 * The condition in SQL. A row is an error in CEL exactly where this is NULL, and AND, OR and NOT treat NULL as CEL treats
 * errors. Text is compared by code point (`COLLATE "C"`), alike on every server; searches use the database's collation, as
 * the trigram index does, which decides nothing but the case of `icontains`.
 */
export function conditionSql(condition: Condition, names: SqlNames): string {
  switch (condition.kind) {
    case 'and':
    case 'or':
      return `(${condition.conditions.map((part) => conditionSql(part, names)).join(` ${condition.kind.toUpperCase()} `)})`;
    case 'not':
      return `NOT ${conditionSql(condition.condition, names)}`;
    case 'constant':
      return condition.value ? 'TRUE' : 'FALSE';
    case 'truth':
      return names.column(condition.operand.field);
    case 'absence':
      return `(${names.column(condition.operand.field)} IS NULL)`;
    case 'search':
      return `(${searchSql(condition.operand, condition.search, condition.text, names)})`;
    case 'comparison':
      return comparisonSql(condition, names);
    case 'membership':
      return membershipSql(condition, names);
  }
}

const OPERATORS = { '==': '=', '!=': '<>', '<': '<', '<=': '<=', '>': '>', '>=': '>=' } as const;

/** The types as which values are compared with a column, which may be of a narrower one of the same kind. */
const SQL_TYPES: Readonly<Record<Operand['type'], string>> = {
  string: 'text',
  uuid: 'uuid',
  enum: 'text',
  int: 'bigint',
  double: 'double precision',
  bool: 'boolean',
  timestamp: 'timestamptz',
};

function comparisonSql({ operand, operator, value }: Condition & { kind: 'comparison' }, names: SqlNames): string {
  const column = comparable(operand, names);
  const comparison = `${column} ${OPERATORS[operator]} CAST(${names.parameter(value)} AS ${SQL_TYPES[operand.type]})`;
  // An absent value is no error for these two: it is simply another value.
  switch (operator) {
    case '==':
      return absentIs(false, comparison, operand, names);
    case '!=':
      return absentIs(true, comparison, operand, names);
    case '>':
    case '>=':
      // To PostgreSQL, not a number is greater than all numbers; in CEL it is greater than none.
      return operand.type === 'double' ? `(${comparison} AND ${column} <= 'Infinity')` : `(${comparison})`;
    default:
      return `(${comparison})`;
  }
}

function membershipSql({ operand, values }: Condition & { kind: 'membership' }, names: SqlNames): string {
  const column = comparable(operand, names);
  // PostgreSQL never gives NULL for an empty array.
  const membership =
    values.length === 0
      ? `${column} <> ${column}`
      : `${column} = ANY(CAST(${names.parameter(values)} AS ${SQL_TYPES[operand.type]}[]))`;
  return absentIs(false, membership, operand, names);
}

function absentIs(result: boolean, sql: string, operand: Operand, names: SqlNames): string {
  if (!operand.nullable || operand.lowerAscii) {
    return `(${sql})`;
  }
  const column = names.column(operand.field);
  return result ? `(${sql} OR ${column} IS NULL)` : `(${sql} AND ${column} IS NOT NULL)`;
}

/** By code point, so that every server gives the same answer. */
function comparable(operand: Operand, names: SqlNames): string {
  if (operand.type !== 'string') {
    return names.column(operand.field);
  }
  return operand.lowerAscii ? text(operand, names) : `${names.column(operand.field)} COLLATE "C"`;
}

/** In the collation "C", `lower` knows the ASCII letters alone. */
function text(operand: Operand, names: SqlNames): string {
  const column = names.column(operand.field);
  return operand.lowerAscii ? `lower(${column} COLLATE "C")` : column;
}

function searchSql(operand: Operand, search: TextSearch, value: string, names: SqlNames): string {
  const pattern = value.replaceAll(/[\\%_]/g, String.raw`\$&`);
  switch (search) {
    case 'startsWith':
      return `${comparable(operand, names)} ^@ ${names.parameter(value)}`;
    case 'endsWith':
      return `${text(operand, names)} LIKE ${names.parameter(`%${pattern}`)}`;
    case 'contains':
      return `${text(operand, names)} LIKE ${names.parameter(`%${pattern}%`)}`;
    case 'icontains':
      // Lower case before makes no difference.
      return `${names.column(operand.field)} ILIKE ${names.parameter(`%${pattern}%`)}`;
  }
}
