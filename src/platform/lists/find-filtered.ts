import type { EntityMetadata, Repository } from 'typeorm';
import { QUICK } from '../database/reader.js';
import type { Send, Statement } from '../database/statement.js';
import { absence, type Condition, type SqlWriter } from './filter/condition.js';
import type { Position } from './cursor.js';
import { ALL_ROWS, type ListScope, type Sorting, sortingOf } from './list-options.js';
import type { AccessPath, ListReads } from './list-reads.js';
import { columnOf, firstOf, quotedTable, type Source } from './rows.js';

/** Maximum rows that the source `recent` reads. */
export const WINDOW = 10_000;

/**
 * The planner assumes that matching rows are spread evenly: if they are few or late in the list, it walks the list's index past every
 * row (120 ms instead of 5 for a million rows). So its choice is tried for a moment first. If that is not enough, the walk is limited to
 * the first rows; if too few match and an index finds the matches, that index is used, otherwise the planner decides, within the time
 * limit. What was found out is cached.
 */
export async function findFiltered<Entity extends { id: string }>(
  repository: Repository<Entity>,
  sources: Sources,
  name: string,
  expression: string,
  reads: ListReads,
): Promise<unknown[][]> {
  const { limit } = sources.planned;
  const statementFor = (path: AccessPath | undefined) => firstOf(repository, sources[path?.first ?? 'planned']);
  const known: AccessPath | undefined = sources.needIndexAlone ? { first: 'planned', isQuick: true } : reads.paths.get(name);
  const wasQuick = known?.isQuick;
  let found = await reads.quickly(repository.manager, known, (send) => send(statementFor(known)));
  if (found && isComplete(found, limit, known)) {
    if (!known) {
      reads.paths.set(name, { first: 'planned', isQuick: true });
    }
    return found;
  }
  // Once a filter is not quick any more, for example on a later page, it may need another path.
  let path = known?.isQuick === wasQuick ? known : undefined;
  return reads.alone(repository, expression, path, async (send) => {
    if (!path) {
      path = pathFor(await explain(send, statementFor(undefined)));
      reads.paths.set(name, path);
    }
    const start = performance.now();
    found ??= await send(statementFor(path));
    path.isQuick = performance.now() - start < QUICK;
    if (isComplete(found, limit, path)) {
      return found;
    }
    path.isIndexed ??= !(await explain(send, sources.all)).readsTable;
    if (path.isIndexed) {
      return send(firstOf(repository, sources.keyed));
    }
    reads.paths.set(name, { first: 'planned', isQuick: false });
    return send(statementFor(undefined));
  });
}

/** Whether no other source has more rows for the page. */
function isComplete(found: readonly unknown[], limit: number, path: AccessPath | undefined): boolean {
  return path?.first !== 'recent' || found.length > limit;
}

function pathFor(plan: Plan): AccessPath {
  if (plan.isDistributed) {
    return { first: 'planned', isQuick: false };
  }
  const walk = plan.filters ? 'recent' : 'planned';
  return { first: plan.sorts ? 'fenced' : walk, isQuick: false };
}

type Sources = ReturnType<typeof sourcesOf>;

/** Alternative sources of a page's rows, which differ in cost. @param after - the row before the page; undefined for the first page */
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
  // TypeORM hides soft-deleted rows.
  const { deleteDateColumn } = metadata;
  const presence = deleteDateColumn ? [absence({ name: deleteDateColumn.propertyName })] : [];
  const base = write(scope.where);
  // Conditions that the list's index does not serve.
  const rest = write([...parts.filter((part) => !boundsWalk(part)), ...presence]);
  const valuesOfAll = [...values];
  // Conditions that limit the walk along the list's index.
  const bounds = [...base, ...write(parts.filter(boundsWalk)), ...(after ? [isAfter(after, sorting, writer)] : [])];
  const table = `${quotedTable(metadata)} r`;
  const matches = `${table} ${where([...bounds, ...rest])}`;
  const recent = `SELECT * FROM ${table} ${where(bounds)} ${sorting.clause} LIMIT ${WINDOW}`;
  const key = writer.column('id');
  const fenced = `(SELECT * FROM ${matches} OFFSET 0) r`;
  const source = (from: string): Source => ({ from, values, limit, sorting, base: scope.base });
  return {
    /** Whether the list's index is enough. */
    needIndexAlone: rest.length === 0,
    /** Keys of the matches on all pages. */
    all: {
      text: `SELECT ${key} FROM ${table} ${where([...base, ...rest])}`,
      values: valuesOfAll,
    } satisfies Statement,
    /** The planner's choice: often a walk along the list's index until enough rows match. */
    planned: source(matches),
    /** Only the first rows of the list: may miss matches, at a limited cost. */
    recent: source(`(${recent}) r ${where(rest)}`),
    /** All matches, sorted. `OFFSET 0` prevents the walk. */
    fenced: source(fenced),
    /** The same for many matches: selects the keys first, possibly from the index alone. */
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

type Plan = Awaited<ReturnType<typeof explain>>;

/** PostgreSQL's plan: whether it sorts, filters rows after reading them, or reads a whole table. */
export async function explain(send: Send, { text, values }: Statement) {
  const rows = await send({ text: `EXPLAIN (FORMAT JSON) ${text}`, values });
  const [[[{ Plan: plan }]]] = rows as [[[{ Plan: PlanNode }]]];
  return {
    // Citus: each shard plans for itself and returns its first rows; other sources would return all matches.
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
  // A full scan of a covering index is much cheaper than one of the table.
  return inputs.length > 0 ? inputs.some(readsTable) : condition === undefined && type !== 'Index Only Scan';
}
