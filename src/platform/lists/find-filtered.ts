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

/** Rows that the source `recent` reads, at most. */
export const WINDOW = 10_000;

/** A filter that took less than this on a connection of its own may share one, in milliseconds. */
const QUICK = 10;

/**
 * The rows of a filtered page.
 *
 * The planner assumes that matching rows are spread evenly. If they are few, or late in the list, it walks along the index of the list
 * past every row of the table (120 ms instead of 5 at a million rows). So only the first rows of the list are walked; if too few of
 * them match, and an index can find the matches, that is used. Without an index the planner decides, within the time limit.
 *
 * A plan costs as much as a page, so the choice is remembered for all pages of a walk. A filter that was quick shares connections from
 * then on, which takes 0.6 of the processor time, until the time limit there ends one of its statements.
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
 * Several sources of the rows of one page, which differ in cost.
 *
 * @param metadata - of an entity whose key is `id`, a UUIDv7
 * @param condition - of the client; undefined for none
 * @param after - the row before the page, if it is not the first
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
  // TypeORM hides deleted rows.
  const { deleteDateColumn } = metadata;
  const presence = deleteDateColumn ? [absence({ name: deleteDateColumn.propertyName })] : [];
  const base = write(scope.where);
  // Conditions for another index than that of the list, or for every row.
  const rest = write([...parts.filter((part) => !boundsWalk(part)), ...presence]);
  const valuesOfAll = [...values];
  // Conditions that bound a walk along the index of the list.
  const bounds = [...base, ...write(parts.filter(boundsWalk)), ...(after ? [isAfter(after, sorting, writer)] : [])];
  const table = `${quotedTable(metadata)} r`;
  const matches = `${table} ${where([...bounds, ...rest])}`;
  const recent = `SELECT * FROM ${table} ${where(bounds)} ${sorting.clause} LIMIT ${WINDOW}`;
  const key = writer.column('id');
  const fenced = `(SELECT * FROM ${matches} OFFSET 0) r`;
  const source = (from: string): Source => ({ from, values, limit, sorting, base: scope.base });
  return {
    /** Whether the index of the list finds them. */
    needIndexAlone: rest.length === 0,
    /** Finds the keys of the matching rows of all pages. */
    all: {
      text: `SELECT ${key} FROM ${table} ${where([...base, ...rest])}`,
      values: valuesOfAll,
    } satisfies Statement,
    /** As the planner chooses: often a walk along the index of the list until enough rows match. */
    planned: source(matches),
    /** Among the first rows only: may miss some, at a bounded cost. */
    recent: source(`(${recent}) r ${where(rest)}`),
    /** All matching rows, sorted: `OFFSET 0` keeps the planner from walking. */
    fenced: source(fenced),
    /** The same for many matches: their keys first, which the index may hold as well. */
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

interface PlanNode {
  'Node Type': string;
  'Index Cond'?: string;
  Filter?: string;
  'Custom Plan Provider'?: string;
  Plans?: PlanNode[];
}

/** How PostgreSQL would run a statement: whether it sorts rows, filters rows that it has read, and reads a whole table. */
export async function explain(send: Send, { text, values }: Statement) {
  const rows = await send({ text: `EXPLAIN (FORMAT JSON) ${text}`, values });
  const [[[{ Plan: plan }]]] = rows as [[[{ Plan: PlanNode }]]];
  return {
    // Each shard plans for itself and sends its first rows; for other ways, all matching rows would be sent.
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
