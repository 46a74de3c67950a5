import type { Client } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { hasSessions } from './run-statement.js';
import type { OpenConnection } from './shared-connections.js';
import { giveBack } from './transactions.js';

/** How long a connection keeps the settings for its next use, in milliseconds. */
const KEPT = 100;

/** A connection with settings of its own. */
interface LimitedConnection extends OpenConnection {
  /** Whose statements go over it. */
  readonly manager: EntityManager;
}

/**
 * Opens connections that have settings of their own.
 *
 * Setting them for each read, in a transaction, takes a page with a filter 1.4 times as long in PostgreSQL, and 40 µs more here.
 * So a session keeps them from one use to the next, unless it belongs to a pooler or to the embedded database.
 */
export class LimitedConnections {
  /** Those that are not in use, with what will give each back to the pool as it was. */
  private readonly kept = new WeakMap<DataSource, Map<QueryRunner, NodeJS.Timeout>>();
  private readonly settings: readonly string[];

  /** @param settings - by the names that PostgreSQL gives them; numbers of time are milliseconds */
  constructor(settings: Readonly<Record<string, string | number>>) {
    this.settings = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  }

  /** @throws what the pool throws when it has no connection, or the error of a setting */
  async open(dataSource: DataSource): Promise<LimitedConnection> {
    const known = this.takeKept(dataSource);
    const runner = known ?? dataSource.createQueryRunner();
    const client = (await runner.connect()) as Client;
    const isSession = hasSessions(dataSource);
    const undo = () => void giveBack(runner, client, isSession ? 'RESET ALL' : 'ROLLBACK');
    if (!known) {
      const [begin, set] = isSession ? [[], 'SET'] : [['START TRANSACTION READ ONLY'], 'SET LOCAL'];
      const statements = [...begin, ...this.settings.map((setting) => `${set} ${setting}`)];
      await client.query(statements.join('; ')).catch((error: unknown) => {
        undo();
        throw error;
      });
    }
    const release = () => (isSession ? this.keep(dataSource, runner, undo) : undo());
    return { client, manager: runner.manager, release };
  }

  private takeKept(dataSource: DataSource): QueryRunner | undefined {
    const kept = this.kept.get(dataSource);
    // TypeORM releases those whose connection is lost.
    const runner = Array.from(kept?.keys() ?? []).findLast(({ isReleased }) => !isReleased);
    if (runner) {
      clearTimeout(kept?.get(runner));
      kept?.delete(runner);
    }
    return runner;
  }

  private keep(dataSource: DataSource, runner: QueryRunner, undo: () => void): void {
    const kept = this.kept.get(dataSource) ?? new Map<QueryRunner, NodeJS.Timeout>();
    this.kept.set(dataSource, kept);
    const end = () => {
      kept.delete(runner);
      undo();
    };
    kept.set(runner, setTimeout(end, KEPT).unref());
  }
}
