import type { EntityManager } from 'typeorm';
import type { Statement } from './key-statements.js';

/** What PostgreSQL expects of a statement. */
export interface QueryPlan {
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
