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
