import { type EntityManager, type FindOptionsOrder, type FindOptionsWhere, Raw, type Repository } from 'typeorm';
import type { Condition } from './filter/condition.js';
import { KeyStatements, type Statement } from './key-statements.js';
import type { PageQuery } from './page-query.js';

/** Cost of a plan that is not worth avoiding: it reads about as much as the newest rows take that are tried otherwise. */
const LOW_COST = 1000;

/**
 * The rows of a page that has a filter, and one more if there are more.
 *
 * The planner takes rows that match to be spread evenly. Where it is wrong about their number or they are all old, it walks
 * along the primary key past every row of the table (measured at a million rows: 120 ms instead of 5). So where an index
 * can find the matches, it is made to: at once if they seem few, otherwise after the newest rows did not have enough of
 * them. What no index can find is left to the planner, and to the time-out.
 *
 * @param repository - of a transaction
 */
export async function findFiltered<Entity extends { id: string }>(
  repository: Repository<Entity>,
  condition: Condition,
  { after, limit }: PageQuery<Entity>,
): Promise<Entity[]> {
  const statements = new KeyStatements(repository.metadata, condition, after, limit + 1);
  const find = ({ sql, parameters }: Statement) =>
    repository.find({
      where: { id: Raw((key) => `${key} = ANY(ARRAY(${sql}))`, parameters) } as FindOptionsWhere<Entity>,
      order: { id: 'DESC' } as FindOptionsOrder<Entity>,
    });
  if (statements.needKeyAlone) {
    return find(statements.planned());
  }
  const plan = await explain(repository.manager, statements.all());
  if (plan.readsTable) {
    return find(statements.planned());
  }
  if (plan.cost > LOW_COST) {
    const recent = await find(statements.recent());
    if (recent.length > limit) {
      return recent;
    }
  }
  return find(statements.fenced());
}

/** What PostgreSQL expects of a statement. */
interface QueryPlan {
  /** In the planner's unit: 1 is about one page of 8 KiB read in sequence. */
  cost: number;
  /** Whether no index helps: it reads some table from end to end. */
  readsTable: boolean;
}

/** A node of `EXPLAIN (FORMAT JSON)`, with what is of interest here. */
interface PlanNode {
  'Node Type': string;
  'Total Cost': number;
  'Index Cond'?: string;
  Plans?: PlanNode[];
}

/** The plan of a statement, which is not run. */
export async function explain(manager: EntityManager, { sql, parameters }: Statement): Promise<QueryPlan> {
  const query = manager.dataSource.driver.escapeQueryWithParameters(`EXPLAIN (FORMAT JSON) ${sql}`, parameters);
  const [row] = await manager.query<[{ 'QUERY PLAN': [{ Plan: PlanNode }] }]>(...query);
  const [{ Plan: plan }] = row['QUERY PLAN'];
  return { cost: plan['Total Cost'], readsTable: readsTable(plan) };
}

function readsTable({ Plans: inputs = [], 'Node Type': type, 'Index Cond': condition }: PlanNode): boolean {
  // Even read as a whole, an index that has all columns that are asked for is much smaller than its table.
  return inputs.length > 0 ? inputs.some(readsTable) : condition === undefined && type !== 'Index Only Scan';
}
