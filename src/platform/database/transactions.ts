import type { ClientBase } from 'pg';
import {
  type DataSource,
  type EntityManager,
  QueryFailedError,
  type QueryRunner,
  QueryRunnerAlreadyReleasedError,
} from 'typeorm';
import { databaseUnavailable } from './database-problem.js';

/** What is done in a transaction: with the manager that it is given, and all of it when it resolves. */
export type TransactionalWork<T> = (manager: EntityManager) => Promise<T>;

/**
 * Reads in a transaction of its own settings, which end with it.
 *
 * @param manager - that a transaction is begun for; what is part of one stays so, with the settings that it has
 * @param settings - by the names that PostgreSQL gives them; numbers of time are milliseconds
 * @throws Problem 503 when the connection ends meanwhile
 */
export async function readOnly<T>(
  manager: EntityManager,
  settings: Readonly<Record<string, string | number>>,
  read: TransactionalWork<T>,
): Promise<T> {
  if (manager.queryRunner) {
    return read(manager);
  }
  const runner = await connect(manager.dataSource);
  try {
    const locals = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = ${value}`);
    // One exchange with the database instead of two.
    await runner.query(['START TRANSACTION READ ONLY', ...locals].join('; '));
    return await read(runner.manager);
  } catch (error) {
    throw explain(error, runner);
  } finally {
    // A transaction that wrote nothing ends one way as well as the other, and nobody need wait for that.
    void rollBack(runner);
  }
}

/**
 * Writes all or nothing.
 *
 * @throws Problem 503 when the connection ends meanwhile. If it ends while the database commits, all may be written.
 */
export async function readWrite<T>(dataSource: DataSource, write: TransactionalWork<T>): Promise<T> {
  const runner = await connect(dataSource);
  try {
    await runner.startTransaction();
    const result = await write(runner.manager);
    await commit(runner);
    await runner.release();
    return result;
  } catch (error) {
    const explained = explain(error, runner);
    void rollBack(runner);
    throw explained;
  }
}

async function connect(dataSource: DataSource): Promise<QueryRunner> {
  const runner = dataSource.createQueryRunner();
  await runner.connect();
  return runner;
}

/** TypeORM releases a runner whose connection ended, and complains when it is used again. */
function explain(error: unknown, runner: QueryRunner): unknown {
  return runner.isReleased ? databaseUnavailable(error) : error;
}

/** PostgreSQL answers the commit of a transaction in which a statement failed with a rollback, and no error. */
async function commit(runner: QueryRunner): Promise<void> {
  const statement = 'COMMIT';
  const client = await close(runner);
  const { command } = await client.query(statement).catch((error: Error) => {
    throw new QueryFailedError(statement, [], error);
  });
  if (command !== statement) {
    throw new Error('Nothing was written: a statement of the transaction failed, and its error was ignored.');
  }
}

/**
 * Ends the use of a runner for all else: what still works for its transaction would write behind its end, outside of it.
 *
 * @returns the connection, for that end
 */
async function close(runner: QueryRunner): Promise<ClientBase> {
  const client = (await runner.connect()) as ClientBase;
  runner.query = () => Promise.reject(new QueryRunnerAlreadyReleasedError());
  return client;
}

async function rollBack(runner: QueryRunner): Promise<void> {
  if (runner.isReleased) {
    return;
  }
  try {
    await (await close(runner)).query('ROLLBACK');
  } catch {
    // The connection broke; the pool drops it.
  } finally {
    await runner.release();
  }
}
