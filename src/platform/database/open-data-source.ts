import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { checkTables } from './check-tables.js';
import { pendingMigrations } from './migrate.js';

/**
 * Opens a data source that is fit for use, and leaves none open that is not.
 *
 * @param onPending - called with the names of the migrations that the database does not have yet, if there are any: applies them,
 *   or throws
 * @param signal - ends the attempt
 */
export async function openDataSource(
  options: PostgresDataSourceOptions,
  onPending: (migrations: readonly string[]) => Promise<void>,
  signal: AbortSignal,
): Promise<DataSource> {
  const dataSource = await new DataSource(options).initialize();
  try {
    const pending = await pendingMigrations(dataSource);
    if (pending.length > 0) {
      await onPending(pending);
    }
    await checkTables(dataSource);
    signal.throwIfAborted();
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}

/** First and longest pause between two attempts, in milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

/**
 * Attempts something until it succeeds.
 *
 * @param onFailure - called with the error of an attempt, and the milliseconds until the next one; throws to end the attempts
 * @param signal - ends the attempts
 */
export async function keepTrying(
  attempt: () => Promise<void>,
  onFailure: (error: unknown, retryInMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      await attempt();
      return;
    } catch (error) {
      onFailure(error, pause);
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}
