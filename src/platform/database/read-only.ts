import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { databaseUnavailable } from './database-problem.js';

/**
 * Reads in a transaction of its own settings, which end with it.
 *
 * @param settings - by the names that PostgreSQL gives them; numbers of time are milliseconds
 * @param read - must read with the manager that it is given, and be done with it when it resolves
 * @throws Problem 503 when the connection ends meanwhile
 */
export async function readOnly<T>(
  dataSource: DataSource,
  settings: Readonly<Record<string, string | number>>,
  read: (manager: EntityManager) => Promise<T>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  await runner.connect();
  try {
    const locals = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = ${value}`);
    // One exchange with the database instead of two.
    await runner.query(['START TRANSACTION READ ONLY', ...locals].join('; '));
    return await read(runner.manager);
  } catch (error) {
    // TypeORM releases a runner whose connection ended, and complains when it is used again.
    throw runner.isReleased ? databaseUnavailable(error) : error;
  } finally {
    // Nobody need wait for that.
    void end(runner);
  }
}

/** A transaction that wrote nothing ends one way as well as the other. */
async function end(runner: QueryRunner): Promise<void> {
  try {
    await runner.query('ROLLBACK');
  } catch {
    // The connection broke; the pool drops it.
  } finally {
    await runner.release();
  }
}
