import { DataSource, type DataSourceOptions, MigrationExecutor } from 'typeorm';

/** Key of the advisory lock that lets one migrator work at a time, whatever number of replicas start at once. */
const MIGRATION_LOCK = 7_235_915_402_217;

/** Give up on a table that somebody else keeps locked, rather than queue all other queries on it behind the migration. */
const LOCK_TIMEOUT = '10s';

/**
 * Applies every migration that the database does not have yet, each in its own transaction.
 *
 * @param options - must not limit how long a statement runs
 * @returns the names of those it applied
 */
export async function applyMigrations(options: DataSourceOptions): Promise<string[]> {
  const dataSource = await new DataSource(options).initialize();
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await runner.query(`SET lock_timeout = '${LOCK_TIMEOUT}'`);
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    const applied = await executor.executePendingMigrations();
    await runner.query('RESET lock_timeout');
    await runner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    return applied.map((migration) => migration.name);
  } finally {
    await runner.release();
    await dataSource.destroy();
  }
}

/** The names of the migrations that the database does not have yet. */
export async function pendingMigrations(dataSource: DataSource): Promise<string[]> {
  const pending = await new MigrationExecutor(dataSource).getPendingMigrations();
  return pending.map((migration) => migration.name);
}
