import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { describeError } from '../observability/describe-error.js';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { isUnavailable } from './database-problem.js';

/** Key of the advisory lock that lets one migrator work at a time, however many replicas start at once. */
const MIGRATION_LOCK = 7_235_915_402_217;

/** How often to ask for that lock while another migrator has it, in milliseconds. */
const LOCK_INTERVAL = 200;

/**
 * Statements of migrations may take as long as they need, but give up on a table that another session keeps locked, rather than
 * queue all other queries on it behind the migration. In milliseconds.
 */
const LIMITS = { query_timeout: 0, statement_timeout: 0, lock_timeout: 10_000 };

const logger = new Logger('Database');

/**
 * Applies every migration that the database does not have yet, each in its own transaction.
 *
 * @param signal - ends the wait for another migrator
 * @returns how many it applied
 */
export async function applyMigrations(options: PostgresDataSourceOptions, signal: AbortSignal): Promise<number> {
  const extra = { ...(options.extra as object), ...LIMITS };
  const dataSource = await new DataSource({ ...options, poolSize: 1, extra }).initialize();
  const runner = dataSource.createQueryRunner();
  try {
    await lock(runner, signal);
    const count = await applyAll(new MigrationExecutor(dataSource, runner));
    // The embedded database keeps its one session, with its settings and locks, for what comes after.
    await runner.query('DISCARD ALL');
    return count;
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

/** Waits without a statement: one that waits on the server could not be ended from here. */
async function lock(runner: QueryRunner, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const rows = (await runner.query('SELECT pg_try_advisory_lock($1) AS locked', [MIGRATION_LOCK])) as [{ locked: boolean }];
    if (rows[0].locked) {
      return;
    }
    if (attempt === 1) {
      logger.log({ msg: 'waiting for another migrator' });
    }
    await delay(LOCK_INTERVAL, undefined, { signal });
  }
}

async function applyAll(executor: MigrationExecutor): Promise<number> {
  executor.transaction = 'each';
  const pending = await executor.getPendingMigrations();
  if (pending.length > 0) {
    logger.log({ msg: 'applying migrations', migrations: pending.map(({ name }) => name) });
  }
  try {
    await executor.executePendingMigrations();
  } catch (error) {
    if (isUnavailable(error)) {
      throw error;
    }
    const [failed] = await executor.getPendingMigrations();
    throw new OperatorError(
      `The migration ${failed?.name} failed: ${describeError(error).message}. Correct it, then run "migrate" again. The migrations before it are applied.`,
      { cause: error },
    );
  }
  for (const { name } of pending) {
    logger.debug({ msg: 'migration applied', migration: name });
  }
  return pending.length;
}
