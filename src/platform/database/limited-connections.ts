import type { Client } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { giveBack, poolOf } from './app-data-source.js';
import { streamOf } from './database-client.js';
import { hasSessions } from './run-statement.js';
import type { OpenConnection } from './shared-connections.js';

/** Milliseconds for which an unused connection keeps its settings. */
const KEPT = 100;

/** Opens connections with settings, which sessions keep for {@link KEPT}: setting them for each page doubles its processor time. */
export class LimitedConnections {
  used = 0;
  /** Unused connections, each with the timer that resets it and returns it to the pool. */
  private readonly kept = new WeakMap<DataSource, Map<QueryRunner, NodeJS.Timeout>>();

  /** @param settings - by PostgreSQL name; times in milliseconds */
  constructor(private readonly settings: Readonly<Record<string, string | number>>) {}

  /** @throws the pool's error if it has no connection, or the error of a setting */
  async open(dataSource: DataSource): Promise<OpenConnection & { manager: EntityManager }> {
    this.used += 1;
    return this.connect(dataSource).catch((error: unknown) => {
      this.used -= 1;
      throw error;
    });
  }

  private async connect(dataSource: DataSource): Promise<OpenConnection & { manager: EntityManager }> {
    const kept = this.kept.get(dataSource) ?? new Map<QueryRunner, NodeJS.Timeout>();
    this.kept.set(dataSource, kept);
    // TypeORM releases runners whose connection is lost.
    const known = Array.from(kept.keys()).findLast(({ isReleased }) => !isReleased);
    if (known) {
      clearTimeout(kept.get(known));
      kept.delete(known);
    }
    const runner = known ?? dataSource.createQueryRunner();
    const client = (await runner.connect()) as Client;
    const isSession = hasSessions(dataSource);
    const undo = () => {
      kept.delete(runner);
      void giveBack(runner, client, isSession ? 'RESET ALL' : 'ROLLBACK');
    };
    if (!known) {
      const set = Object.entries(this.settings).map(
        ([name, value]) => `SET ${isSession ? 'SESSION' : 'LOCAL'} ${name} = ${value}`,
      );
      await client.query([...(isSession ? [] : ['START TRANSACTION READ ONLY']), ...set].join('; ')).catch((error: unknown) => {
        undo();
        throw error;
      });
    }
    const release = () => {
      this.used -= 1;
      const isLost = runner.isReleased || streamOf(client).destroyed;
      const pool = isSession && !isLost ? poolOf(dataSource) : undefined;
      // Not while requests wait for a connection, and not the only one.
      if (pool && pool.options.max > 1 && pool.waitingCount === 0) {
        kept.set(runner, setTimeout(undo, KEPT).unref());
      } else {
        undo();
      }
    };
    return { client, manager: runner.manager, release };
  }
}
