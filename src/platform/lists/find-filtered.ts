import type { EntityMetadata, ObjectLiteral, Repository } from 'typeorm';
import { runStatement, type Statement } from '../database/run-statement.js';
import { columnOf, quotedTable } from '../database/table-name.js';
import { absence, type Condition, type SqlWriter } from './filter/condition.js';
import type { Position } from './cursor.js';
import { ALL_ROWS, type ListScope } from './list-scope.js';
import { type Sorting, sortingOf } from './order.js';
import { findByKeys, type Found, type KeyStatement } from './rows.js';

/** Cost of a plan that is not worth avoiding: it reads about as much as the newest rows take that are tried otherwise. */
const LOW_COST = 1000;

/** Rows that the statement `recent` looks at. */
export const WINDOW = 10_000;

/**
 * The rows of a page that has a filter.
 *
 * The planner takes rows that match to be spread evenly. Where it is wrong about their number or they are all late in the list, it
 * walks along the index past every row of the table (measured at a million rows: 120 ms instead of 5). So where an index can find
 * the matches, it is made to: at once if they seem few, otherwise after the first rows of the list did not have enough of them.
 * What no index can find is left to the planner, and to the time-out.
 *
 * @param repository - of a transaction
 */
export async function findFiltered<Entity extends { id: string }>(
  repository: Repository<Entity>,
  condition: Condition,
  after: Position | undefined,
  limit: number,
  scope: ListScope,
): Promise<Found<Entity>> {
  const statements = keyStatements(repository.metadata, condition, after, limit + 1, scope);
  if (statements.needIndexAlone) {
    return findByKeys(repository, statements.planned, limit);
  }
  const plan = await explain(repository, statements.all);
  if (plan.readsTable) {
    return findByKeys(repository, statements.planned, limit);
  }
  if (plan.cost > LOW_COST) {
    const recent = await findByKeys(repository, statements.recent, limit);
    if (recent.last) {
      return recent;
    }
  }
  return findByKeys(repository, statements.fenced, limit);
}

/**
 * Several statements that find the same thing, the keys of the rows of one page, in ways that differ in cost.
 *
 * @param metadata - of an entity whose key is `id`, a UUIDv7
 * @param condition - of the client; undefined for none
 * @param after - the row after which the page begins, if it is not the first
 * @param count - rows wanted
 */
export function keyStatements(
  metadata: EntityMetadata,
  condition: Condition | undefined,
  after: Position | undefined,
  count: number,
  scope: ListScope = ALL_ROWS,
) {
  const values: unknown[] = [];
  const writer: SqlWriter = {
    column: (property) => `r.${columnOf(metadata, property)}`,
    parameter: (value) => `$${values.push(value)}`,
  };
  const write = (conditions: readonly Condition[]) => conditions.map((part) => part.write(writer));
  const sorting = sortingOf(metadata, scope.order);
  const parts = condition ? conjunctsOf(condition) : [];
  const boundsWalk = ({ bounds }: Condition) => bounds === (scope.order?.column ?? 'id');
  // Rows that TypeORM hides must not be counted.
  const { deleteDateColumn } = metadata;
  const presence = deleteDateColumn ? [absence({ name: deleteDateColumn.propertyName })] : [];
  const base = write(scope.where);
  // What must be looked at in every row, or found with another index than that of the list.
  const rest = write([...parts.filter((part) => !boundsWalk(part)), ...presence]);
  const valuesOfAll = [...values];
  // What bounds a walk along the index of the list.
  const bounds = [...base, ...write(parts.filter(boundsWalk)), ...(after ? [isAfter(after, sorting, writer)] : [])];
  const key = writer.column('id');
  const table = `${quotedTable(metadata)} r`;
  const matches = `${table} ${where([...bounds, ...rest])}`;
  const recent = `SELECT * FROM ${table} ${where(bounds)} ${sorting.clause} LIMIT ${WINDOW}`;
  const first = (from: string): KeyStatement => ({
    text: `SELECT ${key} FROM ${from} ${sorting.clause} LIMIT ${count}`,
    values,
    sorting,
    base: scope.base,
  });
  return {
    /** Whether the index of the list alone answers it. */
    needIndexAlone: rest.length === 0,
    /** The keys of all rows that match, of any page. */
    all: { text: `SELECT ${key} FROM ${table} ${where([...base, ...rest])}`, values: valuesOfAll } satisfies Statement,
    /** As the planner likes, which often is to walk along the index of the list until enough rows matched. */
    planned: first(matches),
    /** Among the first rows only: it may miss some, and its cost has a bound. */
    recent: first(`(${recent}) r ${where(rest)}`),
    /** Finding all rows that match, and then the first of them: `OFFSET 0` keeps the planner from walking instead. */
    fenced: first(`(SELECT * FROM ${matches} OFFSET 0) r`),
  };
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

/** A node of `EXPLAIN (FORMAT JSON)`, with what is of interest here. */
interface PlanNode {
  'Node Type': string;
  'Total Cost': number;
  'Index Cond'?: string;
  Plans?: PlanNode[];
}

/**
 * What PostgreSQL expects of a statement, which is not run: its cost, of which 1 is about one page of 8 KiB read in sequence, and
 * whether it reads some table from end to end, because no index helps.
 */
export async function explain(repository: Repository<ObjectLiteral>, { text, values }: Statement) {
  const rows = await runStatement(repository, { text: `EXPLAIN (FORMAT JSON) ${text}`, values });
  const [[[{ Plan: plan }]]] = rows as [[[{ Plan: PlanNode }]]];
  return { cost: plan['Total Cost'], readsTable: readsTable(plan) };
}

function readsTable({ Plans: inputs = [], 'Node Type': type, 'Index Cond': condition }: PlanNode): boolean {
  // Even read as a whole, an index that has all columns that are asked for is much smaller than its table.
  return inputs.length > 0 ? inputs.some(readsTable) : condition === undefined && type !== 'Index Only Scan';
}
