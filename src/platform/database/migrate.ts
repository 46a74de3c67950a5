import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, type DataSourceOptions, MigrationExecutor, type QueryRunner } from 'typeorm';
import { DatabaseClient } from './database-client.js';

/** Key of the advisory lock that lets one migrator work at a time, whatever number of replicas start at once. */
const MIGRATION_LOCK = 7_235_915_402_217;

/** How often to ask for that lock while somebody else has it, in milliseconds. */
const LOCK_INTERVAL = 200;

/** Give up on a table that somebody else keeps locked, rather than queue all other queries on it behind the migration. */
const LOCK_TIMEOUT = '10s';

/**
 * Applies every migration that the database does not have yet, each in its own transaction.
 *
 * @param options - statements are limited as these say, except those of migrations, which may take as long as they need
 * @param signal - ends the wait for another migrator
 * @returns the names of those it applied
 */
export async function applyMigrations(options: DataSourceOptions, signal: AbortSignal): Promise<string[]> {
  const dataSource = await new DataSource({ ...options, poolSize: 1 } as DataSourceOptions).initialize();
  try {
    return await withMigrationLock(dataSource, signal, async (runner) => {
      const client: unknown = await runner.connect();
      if (client instanceof DatabaseClient) {
        client.waitWithoutLimit();
      }
      await runner.query(`SET lock_timeout = '${LOCK_TIMEOUT}'; SET statement_timeout = 0`);
      const executor = new MigrationExecutor(dataSource, runner);
      executor.transaction = 'each';
      const applied = await executor.executePendingMigrations();
      return applied.map((migration) => migration.name);
    });
  } finally {
    await dataSource.destroy();
  }
}

/** The names of the migrations that the database does not have yet. */
export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
  return pending.map((migration) => migration.name);
}

async function withMigrationLock<T>(
  dataSource: DataSource,
  signal: AbortSignal,
  work: (runner: QueryRunner) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  try {
    while (!(await tryLock(runner))) {
      await delay(LOCK_INTERVAL, undefined, { signal });
    }
    const result = await work(runner);
    // The embedded database keeps its one session, with its settings and locks, for what comes after.
    await runner.query('RESET ALL');
    await runner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    return result;
  } finally {
    await runner.release();
  }
}

/** Without waiting: a wait on the server could not be ended from here. */
async function tryLock(runner: QueryRunner): Promise<boolean> {
  const rows = (await runner.query('SELECT pg_try_advisory_lock($1) AS locked', [MIGRATION_LOCK])) as [{ locked: boolean }];
  return rows[0].locked;
}
