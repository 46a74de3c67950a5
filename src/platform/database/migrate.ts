import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { DataSource, MigrationExecutor, type QueryRunner } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { describeError } from '../observability/describe-error.js';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { DatabaseClient } from './database-client.js';
import { isUnavailable } from './database-problem.js';
import { explain } from './transactions.js';

/** Key of the advisory lock that lets one migrator work at a time, however many replicas start at once. */
const MIGRATION_LOCK = 7_235_915_402_217;

/** How often to ask for that lock while another migrator has it, in milliseconds. */
const LOCK_INTERVAL = 200;

/** Give up on a table that another session keeps locked, rather than queue all other queries on it behind the migration. */
const LOCK_TIMEOUT = '10s';

/** How often to log that a migration is still running, in milliseconds. */
const LOG_INTERVAL = 5000;

const logger = new Logger('Database');

/**
 * Applies every migration that the database does not have yet, each in its own transaction.
 *
 * @param options - statements are limited as these say, except those of migrations, which may take as long as they need
 * @param signal - ends the wait for another migrator
 * @returns how many it applied
 */
export async function applyMigrations(options: PostgresDataSourceOptions, signal: AbortSignal): Promise<number> {
  const dataSource = await new DataSource({ ...options, poolSize: 1 }).initialize();
  try {
    return await withMigrationLock(dataSource, signal, async (runner) => {
      const client: unknown = await runner.connect();
      if (client instanceof DatabaseClient) {
        client.waitWithoutLimit();
      }
      await runner.query(`SET lock_timeout = '${LOCK_TIMEOUT}'; SET statement_timeout = 0`);
      const executor = new MigrationExecutor(dataSource, runner);
      executor.transaction = 'each';
      await watch(executor, runner);
      const applied = await executor.executePendingMigrations();
      applied.forEach(({ name }) => {
        logger.log({ msg: 'migration applied', migration: name });
      });
      return applied.length;
    });
  } finally {
    await dataSource.destroy();
  }
}

/** Names each migration that takes long in the log, and one that fails in its error. */
async function watch(executor: MigrationExecutor, runner: QueryRunner): Promise<void> {
  for (const { name, instance } of await executor.getPendingMigrations()) {
    if (instance) {
      const up = instance.up.bind(instance);
      instance.up = async (onRunner) => {
        const timer = setInterval(() => {
          logger.log({ msg: 'migration still running', migration: name });
        }, LOG_INTERVAL);
        try {
          await up(onRunner);
        } catch (error) {
          throw runner.isReleased || isUnavailable(error) ? error : migrationFailed(name, error);
        } finally {
          clearInterval(timer);
        }
      };
    }
  }
}

function migrationFailed(name: string, cause: unknown): OperatorError {
  return new OperatorError(
    `The migration ${name} failed: ${describeError(cause).message}. Correct it; the migrations before it have been applied.`,
    { cause },
  );
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
    for (let isWaiting = false; !(await tryLock(runner)); isWaiting = true) {
      if (!isWaiting) {
        logger.log({ msg: 'waiting for another migrator', ...(await lockHolder(runner)) });
      }
      await delay(LOCK_INTERVAL, undefined, { signal });
    }
    const result = await work(runner);
    // The embedded database keeps its one session, with its settings and locks, for what comes after.
    await runner.query('RESET ALL');
    await runner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    return result;
  } catch (error) {
    throw explain(error, runner);
  } finally {
    await runner.release();
  }
}

/** Without waiting: a wait on the server could not be ended from here. */
async function tryLock(runner: QueryRunner): Promise<boolean> {
  const rows = (await runner.query('SELECT pg_try_advisory_lock($1) AS locked', [MIGRATION_LOCK])) as [{ locked: boolean }];
  return rows[0].locked;
}

/** The session that holds the lock. `pg_locks` has a key of 64 bits in two halves. */
async function lockHolder(runner: QueryRunner): Promise<{ pid: number; application: string } | undefined> {
  const rows = (await runner.query(
    `SELECT pid, application_name AS application FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND granted AND objsubid = 1
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       AND classid::bigint = $1::bigint >> 32 AND objid::bigint = $1::bigint & 4294967295`,
    [MIGRATION_LOCK],
  )) as { pid: number; application: string }[];
  return rows[0];
}
