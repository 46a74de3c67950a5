import { QUICK } from '../database/reader.js';
import type { Send, Statement } from '../database/database-client.js';
import type { AccessPath, PageReader } from './page-reader.js';
import { statementForFirst } from './rows.js';
import type { PageRead } from './slow-reads.js';
import type { Sources } from './sources.js';

/**
 * Reads a page with a filter. The planner assumes that matches are spread evenly: if they are few or late in the list, it
 * walks the list's index past every row (120 ms instead of 5 for a million rows). So its plan is tried first, for `QUICK`.
 * If it takes longer, the walk is limited to the first rows. If too few of these match, and an index finds all matches, that
 * index is used; otherwise the planner decides, within the time limit. The resulting path is cached.
 */
export async function findFiltered<Entity extends { id: string }>(
  list: PageRead<Entity>,
  sources: Sources,
  expression: string,
  reads: PageReader,
): Promise<unknown[][]> {
  const { repository, key } = list;
  const { limit } = sources;
  const statementFor = (path: AccessPath | undefined) => statementForFirst(repository, sources, path?.first ?? 'planned');
  const known: AccessPath | undefined = sources.needIndexAlone ? { first: 'planned', isQuick: true } : reads.paths.get(key);
  const wasQuick = known?.isQuick;
  let found = await reads.quickly(list, known, statementFor(known));
  if (found && isComplete(found, limit, known)) {
    if (!known) {
      reads.paths.set(key, { first: 'planned', isQuick: true });
    }
    return found;
  }
  // `quickly` has cleared `isQuick` if the known path took too long, for example on a later page: then finds another one.
  let path = known?.isQuick === wasQuick ? known : undefined;
  const read = async (send: Send) => {
    if (!path) {
      path = pathFor(await explain(send, statementFor(undefined)));
      reads.paths.set(key, path);
    }
    found ??= await timed(path, send(statementFor(path)));
    if (isComplete(found, limit, path)) {
      return found;
    }
    path.isIndexed ??= !(await explain(send, sources.all)).readsTable;
    if (path.isIndexed) {
      return timed(path, send(statementForFirst(repository, sources, 'keyed')));
    }
    reads.paths.set(key, { first: 'planned', isQuick: false });
    return send(statementFor(undefined));
  };
  return reads.slow.filter(list, expression, () => path?.isQuick === true, read);
}

/** Notes whether a source was quick, so that it needs no time of the token. One that fails was not. */
async function timed<T>(path: AccessPath, rows: Promise<T>): Promise<T> {
  const start = performance.now();
  path.isQuick = false;
  await rows;
  path.isQuick = performance.now() - start < QUICK;
  return rows;
}

/** Whether the rows are the whole page: only the source `recent` can miss some. */
function isComplete(found: readonly unknown[], limit: number, path: AccessPath | undefined): boolean {
  return path?.first !== 'recent' || found.length > limit;
}

function pathFor({ isDistributed, sorts, filters, readsTable }: Plan): AccessPath {
  const walk = filters ? 'recent' : 'planned';
  const first = sorts && !readsTable ? 'keyed' : walk;
  return { first: isDistributed ? 'planned' : first, isQuick: false };
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
  const nodes = nodesOf(plan);
  return {
    // Citus: each shard plans for itself and returns its first rows; other sources would return all matches.
    isDistributed: nodes.some(({ 'Custom Plan Provider': provider }) => provider?.startsWith('Citus')),
    sorts: nodes.some(({ 'Node Type': type }) => type.endsWith('Sort')),
    filters: nodes.some(({ Filter: condition }) => condition !== undefined),
    // A full scan of a covering index is much cheaper than one of the table.
    readsTable: nodes.some(
      ({ Plans: inputs = [], 'Node Type': type, 'Index Cond': condition }) =>
        inputs.length === 0 && condition === undefined && type !== 'Index Only Scan',
    ),
  };
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}
