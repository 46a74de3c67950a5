import 'reflect-metadata';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Client } from 'pg';
import { DataSource, type Logger } from 'typeorm';
import { Item } from '#service/items/item.entity';
import { itemFilter } from '#service/items/item.filter';
import { ItemsQuery } from '#service/items/items.dto';
import { Configuration } from '#service/platform/config/configuration';
import type { Database } from '#service/platform/database/database';
import { encodeCursor } from '#service/platform/lists/cursor';
import { KeyStatements } from '#service/platform/lists/key-statements';
import { Lists } from '#service/platform/lists/lists';
import { Metrics } from '#service/platform/observability/metrics';
import type { Case } from './cases.ts';
import { keyAtDepth } from './database.ts';
import { median } from '../statistics.ts';

const REPETITIONS = 15;

interface Statement {
  readonly sql: string;
  readonly parameters: unknown[] | undefined;
}

/**
 * What the service does in SQL. Its own `Lists` runs here, on a TypeORM whose log is kept, so that the statements are those
 * of the service and no copy that can go stale; then they are run again, to be explained or timed.
 */
export class Plans {
  private readonly client: Client;
  private readonly source: DataSource;
  private readonly lists: Lists;
  private recorded: Statement[] = [];

  private constructor(client: Client, url: string) {
    this.client = client;
    const logger: Logger = {
      logQuery: (sql, parameters) => this.recorded.push({ sql, parameters: parameters as unknown[] | undefined }),
      logQueryError: ignore,
      logQuerySlow: ignore,
      logSchemaBuild: ignore,
      logMigration: ignore,
      log: ignore,
    };
    this.source = new DataSource({
      type: 'postgres',
      url,
      entities: [Item],
      installExtensions: false,
      logging: ['query'],
      logger,
    });
    // All that lists need of the database.
    const database = { repository: () => this.source.getRepository(Item) } as unknown as Database;
    this.lists = new Lists(database, new Configuration(), new Metrics());
  }

  static async open(client: Client, url: string): Promise<Plans> {
    const plans = new Plans(client, url);
    await plans.source.initialize();
    return plans;
  }

  close(): Promise<void> {
    return this.source.destroy();
  }

  /** The plan of each statement that read rows; without figures where the time-out ended it. */
  async explain(measured: Case): Promise<string[]> {
    const plans: string[] = [];
    for (const { sql, parameters } of await this.statementsOf(measured)) {
      if (sql.startsWith('SELECT')) {
        const plan = await this.plan('ANALYZE, COSTS OFF, TIMING OFF, SUMMARY ON', sql, parameters).catch(() => undefined);
        plans.push(plan ?? (await this.unfinishedPlan(sql, parameters)));
      } else if (!sql.startsWith('EXPLAIN')) {
        await this.client.query(sql, parameters);
      }
    }
    return plans;
  }

  /** Median milliseconds by SQL, in turns: of all that the service does, and of the one statement that the planner is free in. */
  async compare(measured: Case): Promise<{ service: number; planned: number }> {
    const own = await this.statementsOf(measured);
    const frame = own.filter(({ sql }) => !/^(?:SELECT|EXPLAIN)/.test(sql));
    const planned = [...frame.slice(0, -1), this.planned(measured), ...frame.slice(-1)];
    const times = { service: [] as number[], planned: [] as number[] };
    for (let i = 0; i < REPETITIONS; i += 1) {
      times.service.push(await this.time(own));
      times.planned.push(await this.time(planned));
    }
    return { service: median(times.service), planned: median(times.planned) };
  }

  /** The statements of one page, from the start of the transaction to its end. */
  private async statementsOf({ filter = '', depth }: Case): Promise<Statement[]> {
    const cursor = depth === undefined ? undefined : encodeCursor(await keyAtDepth(this.client, depth), filter);
    const query = Object.assign(new ItemsQuery(), { filter: itemFilter.parse(filter), ...(cursor !== undefined && { cursor }) });
    this.recorded = [];
    // A filter that takes too long has run its statements, too.
    await this.lists.findPage(Item, query).catch(() => undefined);
    // The service does not wait for the end of its transaction.
    await nextTurn();
    if (this.recorded.at(-1)?.sql !== 'ROLLBACK') {
      throw new Error('The service did not end its transaction as expected.');
    }
    return this.recorded;
  }

  /** One statement with the planner's own choice, in the place of all that the service does for a better one. */
  private planned({ filter = '' }: Case): Statement {
    const { condition } = itemFilter.parse(filter);
    if (!condition) {
      throw new Error('There is nothing to compare without a filter.');
    }
    const statement = new KeyStatements(this.source.getMetadata(Item), condition, undefined, 21).planned();
    const rows = `SELECT * FROM items WHERE id = ANY(ARRAY(${statement.sql})) ORDER BY id DESC`;
    const [sql, parameters] = this.source.driver.escapeQueryWithParameters(rows, statement.parameters) as [string, unknown[]];
    return { sql, parameters };
  }

  private async time(statements: readonly Statement[]): Promise<number> {
    const start = performance.now();
    for (const { sql, parameters } of statements) {
      await this.client.query(sql, parameters);
    }
    return performance.now() - start;
  }

  private async unfinishedPlan(sql: string, parameters: unknown[] | undefined): Promise<string> {
    await this.client.query('ROLLBACK');
    return `(ended by the time-out)\n${await this.plan('COSTS OFF', sql, parameters)}`;
  }

  private async plan(options: string, sql: string, parameters: unknown[] | undefined): Promise<string> {
    const { rows } = await this.client.query<{ 'QUERY PLAN': string }>(`EXPLAIN (${options}) ${sql}`, parameters);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }
}

function ignore(): void {}
