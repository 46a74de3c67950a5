import { setTimeout as delay } from 'node:timers/promises';
import type { AppDataSource } from './app-data-source.js';
import { checkTables } from './check-tables.js';
import { pendingMigrations } from './migrate.js';

/**
 * Connects a data source to a database that has all that its entities need, and leaves it unconnected otherwise.
 *
 * @param onPending - called with the names of the migrations that the database does not have yet, if there are any: applies them,
 *   or throws
 * @param signal - ends the attempt
 */
export async function openDataSource(
  dataSource: AppDataSource,
  onPending: (migrations: readonly string[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  await dataSource.initialize();
  try {
    const pending = await pendingMigrations(dataSource);
    if (pending.length > 0) {
      await onPending(pending);
    }
    await checkTables(dataSource);
    signal.throwIfAborted();
    dataSource.isReady = true;
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
