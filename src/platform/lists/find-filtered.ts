import type { EntityMetadata, Repository } from 'typeorm';
import { meaningOf } from '../database/database-problem.js';
import { runStatement, type Send, type Statement } from '../database/run-statement.js';
import { columnOf, quotedTable } from '../database/table-name.js';
import { absence, type Condition, type SqlWriter } from './filter/condition.js';
import type { Position } from './cursor.js';
import { ALL_ROWS, type ListScope } from './list-scope.js';
import { type Sorting, sortingOf } from './order.js';
import type { FilteredReads, Way } from './filtered-reads.js';
import { findFirst, firstOf, type Found, type Source } from './rows.js';

/** Rows that the statement `recent` looks at. */
export const WINDOW = 10_000;

/** Milliseconds within which a filter must have had a connection to itself to share one. */
const QUICK = 10;

/**
 * The rows of a page that has a filter.
 *
 * The planner takes rows that match to be spread evenly. Where it is wrong about their number or they are all late in the list, it
 * walks along the index past every row of the table (measured at a million rows: 120 ms instead of 5). So a walk is tried along the
 * first rows of the list alone. If these did not have enough that match, and an index can find the matches, it is made to. What no
 * index can find is left to the planner, and to the time-out.
 *
 * To ask for a plan takes as long as a page does. So the way is remembered: it is the same for all pages of a walk. What was quick
 * that way shares a connection from then on, which takes 0.6 of the processor time. Once its time limit there ends it, it does so no more.
 */
export async function findFiltered<Entity extends { id: string }>(
  repository: Repository<Entity>,
  { condition, expression }: { readonly condition: Condition; readonly expression: string },
  { after, limit, scope }: { readonly after: Position | undefined; readonly limit: number; readonly scope: ListScope },
  reads: FilteredReads,
): Promise<Found<Entity>> {
  const { metadata } = repository;
  const sources = sourcesOf(metadata, condition, after, limit, scope);
  const name = `${metadata.tablePath} ${scope.id} ${expression}`;
  const chooseBy = async (send: Send): Promise<Way> => {
    const plan = await explain(send, firstOf(repository, sources.planned));
    const walk = plan.filters ? 'recent' : 'planned';
    const way: Way = plan.isDistributed ? { first: 'planned', isQuick: false } : { first: plan.sorts ? 'fenced' : walk };
    reads.ways.set(name, way);
    return way;
  };
  let way: Way | undefined = sources.needIndexAlone ? { first: 'planned', isQuick: true } : reads.ways.get(name);
  let isTried = false;
  const share = way?.isQuick === false ? undefined : reads.senderOf(repository);
  if (share) {
    try {
      way ??= await chooseBy(share);
      if (way.isQuick) {
        const found = await findFirst(repository, sources[way.first], share);
        if (way.first !== 'recent' || found.last) {
          return found;
        }
        isTried = true;
      }
    } catch (error) {
      const meaning = meaningOf(error);
      if (meaning !== 'timeout' && meaning !== 'concurrency') {
        throw error;
      }
      way = way && Object.assign(way, { isQuick: false });
    }
  }
  return reads.alone(repository, async (own) => {
    const send: Send = (statement) => runStatement(own, statement);
    way ??= await chooseBy(send);
    if (!isTried) {
      const start = performance.now();
      const found = await findFirst(own, sources[way.first]);
      // What took longer may have met a busy machine: another page will tell.
      if (performance.now() - start < QUICK) {
        way.isQuick ??= true;
      }
      if (way.first !== 'recent' || found.last) {
        return found;
      }
    }
    way.isIndexed ??= !(await explain(send, sources.all)).readsTable;
    if (way.isIndexed) {
      return findFirst(own, sources.keyed);
    }
    reads.ways.set(name, { first: 'planned', isQuick: false });
    return findFirst(own, sources.planned);
  });
}

/**
 * Several sources of the same rows, those of one page, which differ in what it costs to find them.
 *
 * @param metadata - of an entity whose key is `id`, a UUIDv7
 * @param condition - of the client; undefined for none
 * @param after - the row after which the page begins, if it is not the first
 * @param limit - of rows
 */
export function sourcesOf(
  metadata: EntityMetadata,
  condition: Condition | undefined,
  after: Position | undefined,
  limit: number,
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
  const table = `${quotedTable(metadata)} r`;
  const matches = `${table} ${where([...bounds, ...rest])}`;
  const recent = `SELECT * FROM ${table} ${where(bounds)} ${sorting.clause} LIMIT ${WINDOW}`;
  const key = writer.column('id');
  const fenced = `(SELECT * FROM ${matches} OFFSET 0) r`;
  const source = (from: string): Source => ({ from, values, limit, sorting, base: scope.base });
  return {
    /** Whether the index of the list alone finds them. */
    needIndexAlone: rest.length === 0,
    /** A statement that finds the keys of all rows that match, of any page. */
    all: {
      text: `SELECT ${key} FROM ${table} ${where([...base, ...rest])}`,
      values: valuesOfAll,
    } satisfies Statement,
    /** As the planner likes, which often is to walk along the index of the list until enough rows matched. */
    planned: source(matches),
    /** Among the first rows only: it may miss some, and its cost has a bound. */
    recent: source(`(${recent}) r ${where(rest)}`),
    /** Finding all rows that match, and then the first of them: `OFFSET 0` keeps the planner from walking instead. */
    fenced: source(fenced),
    /** The same where many match: their keys first, which an index may have beside what it searches. */
    keyed: source(`${table} WHERE ${key} = ANY(ARRAY(SELECT ${key} FROM ${fenced} ${sorting.clause} LIMIT ${limit + 1}))`),
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
  'Index Cond'?: string;
  Filter?: string;
  'Custom Plan Provider'?: string;
  Plans?: PlanNode[];
}

/**
 * How PostgreSQL would run a statement, which is not run: whether it finds rows before it sorts them, whether it looks at rows that do
 * not match, and whether it reads some table from end to end, because no index helps.
 */
export async function explain(send: Send, { text, values }: Statement) {
  const rows = await send({ text: `EXPLAIN (FORMAT JSON) ${text}`, values });
  const [[[{ Plan: plan }]]] = rows as [[[{ Plan: PlanNode }]]];
  return {
    // Each shard has a plan of its own, and sends its first rows alone; all that match would have to come here for other ways.
    isDistributed: has(plan, ({ 'Custom Plan Provider': provider }) => provider?.startsWith('Citus') === true),
    sorts: has(plan, ({ 'Node Type': type }) => type.endsWith('Sort')),
    filters: has(plan, ({ Filter: condition }) => condition !== undefined),
    readsTable: readsTable(plan),
  };
}

function has(plan: PlanNode, is: (node: PlanNode) => boolean): boolean {
  return is(plan) || (plan.Plans ?? []).some((input) => has(input, is));
}

function readsTable({ Plans: inputs = [], 'Node Type': type, 'Index Cond': condition }: PlanNode): boolean {
  // Even read as a whole, an index that has all columns that are asked for is much smaller than its table.
  return inputs.length > 0 ? inputs.some(readsTable) : condition === undefined && type !== 'Index Only Scan';
}
