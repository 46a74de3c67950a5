import type { EntityMetadata, FindOptionsWhere, ObjectLiteral } from 'typeorm';
import { quotedTable, type Statement } from '../database/database-client.js';
import type { Position } from './cursor.js';
import { absence, type Condition, type SqlWriter } from './filter/condition.js';
import type { Order } from './list-options.js';
import type { PageQuery } from './page.js';

/** Maximum rows that the source `recent` reads. */
export const WINDOW = 10_000;

/** Column types that are compared by code point instead of the database's collation. */
const COLLATED: ReadonlySet<string> = new Set(['text', 'character varying']);

/** The column of a property, its quoted name, and its SQL in comparisons and indexes. @throws Error if it is no column */
export function columnOf(metadata: EntityMetadata, property: string) {
  const { driver } = metadata.dataSource;
  const column = metadata.findColumnWithPropertyName(property);
  if (!column) {
    throw new Error(`${metadata.name}.${property} is not a column: a list cannot be restricted or sorted by it.`);
  }
  const name = driver.escape(column.databaseName);
  return { column, name, sql: COLLATED.has(driver.normalizeType(column)) ? `${name} COLLATE "C"` : name };
}

/** SQL for a sort value as text, for cursors. @throws Error if the texts of its type depend on settings of the session */
function sortValueText({ name, dataSource }: EntityMetadata, { column, sql }: ReturnType<typeof columnOf>): string {
  const type = dataSource.driver.normalizeType(column);
  if (/^(?:interval|money|.*range)$/.test(type)) {
    const fault = `${name} cannot be sorted by ${column.propertyName}, of the type ${type}`;
    throw new Error(`${fault}: sort by a number, text or time.`);
  }
  const value = `r.${sql}`;
  // With all digits, because roles may have another value of `extra_float_digits`.
  return /^(?:real|double precision)$/.test(type)
    ? `CASE WHEN abs(${value}) < 'Infinity' THEN to_char(${value}::float8, '9.9999999999999999EEEE') ELSE ${value}::text END`
    : `(${value})::text`;
}

/** The columns by which an order sorts; `id` is the last. */
export function sortedColumns(metadata: EntityMetadata, order: Order | undefined) {
  return Array.from(new Set([order?.column ?? 'id', 'id']), (property) => columnOf(metadata, property));
}

/**
 * How statements sort rows of the table `r`: newest first, or by a column and then `id` in the same direction.
 *
 * @param order - undefined for newest first
 */
export function sortingOf(metadata: EntityMetadata, order: Order | undefined) {
  const sorted = sortedColumns(metadata, order);
  const columns = sorted.map(({ sql }) => `r.${sql}`);
  const direction = order?.direction ?? 'DESC';
  return {
    columns,
    clause: `ORDER BY ${columns.map((column) => `${column} ${direction}`).join(', ')}`,
    operator: direction === 'ASC' ? '>' : '<',
    /** SQL for the sort value as text; an empty text if only `id` sorts. */
    value: order && sorted[0] ? sortValueText(metadata, sorted[0]) : `''`,
  };
}

type Sorting = ReturnType<typeof sortingOf>;

/** The base condition and the order of a list. */
export interface Restriction {
  /** Digest of the options, which cursors contain; empty without options. */
  readonly digest: string;
  readonly where: readonly Condition[];
  /** `where` as a condition for TypeORM. */
  readonly base: FindOptionsWhere<ObjectLiteral>;
  /** Undefined for newest first. */
  readonly order: Order | undefined;
}

export type Sources = ReturnType<typeof sourcesOf>;

/** The sources of a page's rows, which differ in cost. */
export function sourcesOf(metadata: EntityMetadata, query: PageQuery<object>, restriction: Restriction) {
  const { cursor: after, limit, filter: { condition } = {} } = query;
  const values: unknown[] = [];
  const column = (property: string) => `r.${columnOf(metadata, property).name}`;
  const writer: SqlWriter = { column, parameter: (value) => `$${values.push(value)}` };
  const write = (conditions: readonly Condition[]) => conditions.map((part) => part.write(writer));
  const sorting = sortingOf(metadata, restriction.order);
  const parts = condition ? conjunctsOf(condition) : [];
  const boundsWalk = ({ bounds }: Condition) => bounds === (restriction.order?.column ?? 'id');
  const base = write(restriction.where);
  // `rest` are conditions that the list's index does not serve; `bounds` are those that limit the walk along it.
  const rest = write([...parts.filter((part) => !boundsWalk(part)), ...impliedBy(metadata)]);
  const valuesOfAll = [...values];
  const bounds = [...base, ...write(parts.filter(boundsWalk)), ...(after ? [isAfter(after, sorting, writer)] : [])];
  const table = `${quotedTable(metadata)} r`;
  const matches = `${table} ${where([...bounds, ...rest])}`;
  const key = column('id');
  const keys = `SELECT ${key} FROM (SELECT * FROM ${matches} OFFSET 0) r ${sorting.clause} LIMIT ${limit + 1}`;
  return {
    values,
    limit,
    sorting,
    isFiltered: condition !== undefined,
    /** Whether the list's index is enough. */
    needIndexAlone: rest.length === 0,
    /** Keys of the matches on all pages. */
    all: { text: `SELECT ${key} FROM ${table} ${where([...base, ...rest])}`, values: valuesOfAll } satisfies Statement,
    /** The SQL after FROM, with the rows as `r`. */
    from: {
      /** The planner's choice: often a walk along the list's index until enough rows match. */
      planned: matches,
      /** Only the first rows of the list: may miss matches, at a limited cost. */
      recent: `(SELECT * FROM ${table} ${where(bounds)} ${sorting.clause} LIMIT ${WINDOW}) r ${where(rest)}`,
      /** The keys of all matches first, possibly from an index alone. `OFFSET 0` prevents a walk along the list's index. */
      keyed: `${table} WHERE ${key} = ANY(ARRAY(${keys}))`,
    },
  };
}

/** The conditions that TypeORM adds: rows are not soft-deleted and, in a table of several classes, of this one. */
function impliedBy(metadata: EntityMetadata): Condition[] {
  const { deleteDateColumn, discriminatorColumn, tableType } = metadata;
  const presence = deleteDateColumn ? [absence({ name: deleteDateColumn.propertyName })] : [];
  if (tableType !== 'entity-child' || !discriminatorColumn) {
    return presence;
  }
  const classes = [metadata, ...metadata.childEntityMetadatas].map(({ discriminatorValue }) => discriminatorValue);
  // `= value` instead of `= ANY` lets an index on the class and `id` return the rows in order.
  const value = (sql: SqlWriter) => (classes.length === 1 ? sql.parameter(classes[0]) : `ANY(${sql.parameter(classes)})`);
  const isOfClass = (sql: SqlWriter) => `${sql.column(discriminatorColumn.propertyName)} = ${value(sql)}`;
  return [...presence, { write: isOfClass }];
}

function isAfter({ id, value }: Position, { columns, operator }: Sorting, sql: SqlWriter): string {
  const values = columns.length === 1 ? [id] : [value, id];
  return `(${columns.join(', ')}) ${operator} (${values.map((each) => sql.parameter(each)).join(', ')})`;
}

function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '';
}

function conjunctsOf(condition: Condition): readonly Condition[] {
  return condition.conjuncts?.flatMap(conjunctsOf) ?? [condition];
}
