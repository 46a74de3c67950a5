import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { type DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { describeError, reasonOf } from '../errors/describe-error.js';
import { OperatorError } from '../errors/operator-error.js';
import { MigrationsPendingError, pendingMigrations, poolOf } from './app-data-source.js';
import { meaningOf, READ_ONLY, sqlState } from './database-problem.js';

/** Milliseconds between two attempts, in which requests can use the table, and for all attempts of one migration. */
const PAUSE = 2000;
const PATIENCE = 60_000;

/** Milliseconds between two readings of the progress, because a wait for a lock is short. */
const READING_INTERVAL = 200;
const READINGS_PER_REPORT = 25;

/** The first pending migration of a list, what an index build does, and the sessions that the migration waits for. */
const PROGRESS = `SELECT (SELECT name FROM unnest($2::text[]) WITH ORDINALITY AS pending (name, n)
      WHERE name NOT IN (SELECT name FROM migrations) ORDER BY n LIMIT 1) AS migration, phase,
    (100 * coalesce(lockers_done / nullif(lockers_total, 0)::float, blocks_done / nullif(blocks_total, 0)::float,
      tuples_done / nullif(tuples_total, 0)::float))::int AS percent, "blockedBy"
  FROM pg_stat_activity LEFT JOIN pg_stat_progress_create_index USING (pid), pg_blocking_pids(pid) AS "blockedBy"
  WHERE pid = $1`;

/**
 * Sets how long the next attempt waits. PostgreSQL cancels an autovacuum (a process with a database and no user) only for a
 * session that waits longer than `deadlock_timeout` (1 s).
 */
const WAIT = `SELECT set_config('lock_timeout', CASE WHEN EXISTS (SELECT FROM pg_stat_activity
    WHERE pid = ANY($1) AND datid IS NOT NULL AND usesysid IS NULL) THEN '1200' ELSE reset_val END, false)
  FROM pg_settings WHERE name = 'lock_timeout'`;

const logger = new Logger('Database');

/**
 * Applies pending migrations. One that gets no lock is rolled back and repeated, for a minute.
 *
 * @param pid - of the session of the runner
 * @param pending - their names, for the log
 * @throws OperatorError or MigrationsPendingError with the migration that failed; an error of the connection unchanged
 */
export async function executeMigrations(
  dataSource: DataSource,
  runner: QueryRunner,
  pid: number,
  pending: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const executor = new MigrationExecutor(dataSource, runner);
  executor.transaction = 'each';
  for (let waiting: string | undefined, deadline = 0; ;) {
    const seen: Seen = { blockedBy: [], readings: 0 };
    const read = () => void readProgress(dataSource, [pid, pending], seen);
    const timer = poolOf(dataSource).options.max > 1 ? setInterval(read, READING_INTERVAL) : undefined;
    try {
      await executor.executePendingMigrations().finally(() => clearInterval(timer));
      return;
    } catch (error) {
      const { migration, failure } = await failureOf(error, dataSource, runner);
      if (!(failure instanceof MigrationsPendingError)) throw failure;
      if (migration !== waiting) deadline = performance.now() + PATIENCE;
      waiting = migration;
      logger.warn({ msg: 'migration waiting for a lock', migration, reason: reasonOf(error), blockedBy: seen.blockedBy });
      // Pauses before the last error, too, because the start soon retries.
      await delay(PAUSE, undefined, { signal });
      if (performance.now() >= deadline) throw failure;
      // Clears TypeORM's cache of tables, which still has their state before the rollback.
      await runner.getTables([]);
      await runner.query(WAIT, [seen.blockedBy]);
    }
  }
}

/** @throws the error itself if the connection was lost, or the server is a replica */
async function failureOf(error: unknown, dataSource: DataSource, runner: QueryRunner) {
  const meaning = meaningOf(error);
  if (meaning === 'connection' || sqlState(error) === READ_ONLY) {
    throw error;
  }
  const [migration] = await pendingMigrations(dataSource, runner);
  const outcome = `${meaning === 'timeout' ? 'was canceled' : 'failed'}: ${describeError(error).message}`;
  const remedy = 'Fix the cause and run "migrate" again. The migrations before it stay applied.';
  // The first is retried, here and at the start; the second is not.
  const Failure = meaning === 'conflict' ? MigrationsPendingError : OperatorError;
  return { migration, failure: new Failure(`The migration ${migration} ${outcome}. ${remedy}`, { cause: error }) };
}

interface Seen {
  blockedBy: readonly number[];
  readings: number;
}

/** Best effort: there may be no connection left. */
async function readProgress(dataSource: DataSource, of: unknown[], seen: Seen): Promise<void> {
  const [progress] = await dataSource.query<Pick<Seen, 'blockedBy'>[]>(PROGRESS, of).catch(() => []);
  if (progress && progress.blockedBy.length > 0) seen.blockedBy = progress.blockedBy;
  seen.readings += 1;
  if (progress && seen.readings % READINGS_PER_REPORT === 0) logger.log({ msg: 'migration in progress', ...progress });
}
