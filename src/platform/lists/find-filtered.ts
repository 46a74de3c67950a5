import type { EntityMetadata, ObjectLiteral, Repository } from 'typeorm';

import { runStatement, type Statement } from '../database/run-statement.js';
import { quotedTable } from '../database/table-name.js';
import { absence, before, type Condition } from './filter/condition.js';
import { findByKeys } from './rows.js';

/** Cost of a plan that is not worth avoiding: it reads about as much as the newest rows take that are tried otherwise. */
const LOW_COST = 1000;

/** Rows that {@link KeyStatements.recent} looks at. */
export const WINDOW = 10_000;

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
  after: string | undefined,
  limit: number,
): Promise<Entity[]> {
  const statements = new KeyStatements(repository.metadata, condition, after, limit + 1);
  if (statements.needKeyAlone) {
    return findByKeys(repository, statements.planned());
  }
  const plan = await explain(repository, statements.all());
  if (plan.readsTable) {
    return findByKeys(repository, statements.planned());
  }
  if (plan.cost > LOW_COST) {
    const recent = await findByKeys(repository, statements.recent());
    if (recent.length > limit) {
      return recent;
    }
  }
  return findByKeys(repository, statements.fenced());
}

/** Several statements that find the same thing, the keys of the rows of one page, in ways that differ in cost. */
export class KeyStatements {
  /** What bounds a walk along the primary key. */
  private readonly bounds: readonly Condition[];
  /** What must be looked at in every row, or found with another index. */
  private readonly rest: readonly Condition[];
  private readonly key: string;
  private readonly table: string;

  /**
   * @param metadata - of an entity whose key is `id`, a UUIDv7
   * @param after - key of the row after which the page begins, if it is not the first
   * @param count - rows wanted
   */
  constructor(
    private readonly metadata: EntityMetadata,
    condition: Condition,
    after: string | undefined,
    private readonly count: number,
  ) {
    const { deleteDateColumn } = metadata;
    const parts = conjunctsOf(condition);
    this.bounds = [...parts.filter(({ boundsKey }) => boundsKey), ...(after === undefined ? [] : [before(after)])];
    // Rows that TypeORM hides must not be counted.
    const presence = deleteDateColumn ? [absence({ name: deleteDateColumn.propertyName })] : [];
    this.rest = [...parts.filter(({ boundsKey }) => !boundsKey), ...presence];
    this.key = this.column('id');
    this.table = `${quotedTable(metadata)} r`;
  }

  /** Whether the primary key alone answers it. */
  get needKeyAlone(): boolean {
    return this.rest.length === 0;
  }

  /** The keys of all rows that match, of any page. */
  all(): Statement {
    return this.statement((where) => `SELECT ${this.key} FROM ${this.table} ${where(this.rest)}`);
  }

  /** As the planner likes, which often is to walk along the primary key until enough rows matched. */
  planned(): Statement {
    return this.statement((where) => this.newest(`${this.table} ${where([...this.bounds, ...this.rest])}`));
  }

  /** Among the newest rows only: it may miss some, and its cost has a bound. */
  recent(): Statement {
    return this.statement((where) => {
      const rows = `SELECT * FROM ${this.table} ${where(this.bounds)} ORDER BY ${this.key} DESC LIMIT ${WINDOW}`;
      return this.newest(`(${rows}) r ${where(this.rest)}`);
    });
  }

  /** Finding all rows that match, and then the newest of them: `OFFSET 0` keeps the planner from walking instead. */
  fenced(): Statement {
    return this.statement((where) => {
      const matches = `SELECT ${this.key} FROM ${this.table} ${where([...this.bounds, ...this.rest])} OFFSET 0`;
      return this.newest(`(${matches}) r`);
    });
  }

  private newest(from: string): string {
    return `SELECT ${this.key} FROM ${from} ORDER BY ${this.key} DESC LIMIT ${this.count}`;
  }

  private statement(write: (where: (conditions: readonly Condition[]) => string) => string): Statement {
    const values: unknown[] = [];
    const writer = {
      column: (property: string) => this.column(property),
      parameter: (value: unknown) => `$${values.push(value)}`,
    };
    const text = write((conditions) =>
      conditions.length > 0 ? `WHERE ${conditions.map((condition) => condition.write(writer)).join(' AND ')}` : '',
    );
    return { text, values };
  }

  private column(property: string): string {
    const column = this.metadata.findColumnWithPropertyName(property);
    if (!column) {
      throw new Error(`${this.metadata.name} has no column ${property}: give its lists a filter that was defined for it.`);
    }
    return `r.${this.metadata.dataSource.driver.escape(column.databaseName)}`;
  }
}

function conjunctsOf(condition: Condition): readonly Condition[] {
  return condition.conjuncts?.flatMap(conjunctsOf) ?? [condition];
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
export async function explain(repository: Repository<ObjectLiteral>, { text, values }: Statement): Promise<QueryPlan> {
  const rows = await runStatement(repository, { text: `EXPLAIN (FORMAT JSON) ${text}`, values });
  const [[[{ Plan: plan }]]] = rows as [[[{ Plan: PlanNode }]]];
  return { cost: plan['Total Cost'], readsTable: readsTable(plan) };
}

function readsTable({ Plans: inputs = [], 'Node Type': type, 'Index Cond': condition }: PlanNode): boolean {
  // Even read as a whole, an index that has all columns that are asked for is much smaller than its table.
  return inputs.length > 0 ? inputs.some(readsTable) : condition === undefined && type !== 'Index Only Scan';
}
