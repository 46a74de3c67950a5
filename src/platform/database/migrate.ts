import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DataSource, MigrationExecutor } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { describeError } from '../observability/describe-error.js';
import type { PostgresDataSourceOptions } from './app-data-source.js';
import { isUnavailable } from './database-problem.js';

/** Key of the advisory lock that serializes migrations of replicas that start at once. */
const MIGRATION_LOCK = 7_235_915_402_217;

/** Milliseconds between two attempts to get that lock. */
const LOCK_INTERVAL = 200;

/** Milliseconds. Migrations may run long, but must not block other queries on a table while they wait for its lock. */
const LIMITS = { query_timeout: 0, statement_timeout: 0, lock_timeout: 10_000 };

const logger = new Logger('Database');

/** Applies all pending migrations, each in its own transaction. @returns their number */
export async function applyMigrations(options: PostgresDataSourceOptions, signal: AbortSignal): Promise<number> {
  const extra = { ...(options.extra as object), ...LIMITS };
  // One connection, and so one session: the lock is that of the migrations.
  const dataSource = await new DataSource({ ...options, poolSize: 1, extra }).initialize();
  try {
    await lock(dataSource, signal);
    const executor = new MigrationExecutor(dataSource);
    const pending = (await executor.getPendingMigrations()).map(({ name }) => name);
    if (pending.length > 0) {
      logger.log({ msg: 'applying migrations', migrations: pending });
    }
    await dataSource.runMigrations({ transaction: 'each' }).catch(async (error: unknown) => {
      if (isUnavailable(error)) {
        throw error;
      }
      const [failed] = await executor.getPendingMigrations();
      const reason = describeError(error).message;
      const remedy = 'Fix the cause and run "migrate" again. The migrations before it stay applied.';
      throw new OperatorError(`The migration ${failed?.name} failed: ${reason}. ${remedy}`, { cause: error });
    });
    for (const migration of pending) {
      logger.debug({ msg: 'migration applied', migration });
    }
    // The embedded database has only one session, which is used on with its settings and locks.
    await dataSource.query('DISCARD ALL');
    return pending.length;
  } finally {
    await dataSource.destroy();
  }
}

/** Polls, because a statement that waits on the server could not be canceled from here. */
async function lock(dataSource: DataSource, signal: AbortSignal): Promise<void> {
  const sql = 'SELECT pg_try_advisory_lock($1) AS locked';
  for (let attempt = 1; !(await dataSource.query<[{ locked: boolean }]>(sql, [MIGRATION_LOCK]))[0].locked; attempt += 1) {
    if (attempt === 1) {
      logger.log({ msg: 'waiting for another migrator' });
    }
    await delay(LOCK_INTERVAL, undefined, { signal });
  }
}
