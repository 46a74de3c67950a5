import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Client } from 'pg';
import { type DataSource, type EntityManager, type QueryRunner, QueryRunnerAlreadyReleasedError } from 'typeorm';
import { streamOf } from './database-client.js';

/** How soon the server notices that the connection of a statement was closed, in milliseconds. */
const CLIENT_CHECK_INTERVAL = 100;

/** A transaction of a data source. */
interface Transaction {
  readonly dataSource: DataSource;
  /** For all statements of its code. */
  readonly runner: QueryRunner;
  /** Called after its commit. */
  readonly onCommit: (() => void)[];
}

const transactions = new AsyncLocalStorage<Transaction>();

/** The transaction of a data source that the running code is part of. */
export function transactionOf(dataSource: DataSource): Transaction | undefined {
  const transaction = transactions.getStore();
  return transaction?.dataSource === dataSource ? transaction : undefined;
}

/**
 * Does all of some work or nothing: its statements become one transaction, which begins with the first of them and holds no connection
 * until then. What is begun inside of it is a savepoint.
 *
 * @param onBegin - called in the transaction before its first statement
 */
export async function runTransaction<T>(
  dataSource: DataSource,
  work: () => Promise<T>,
  onBegin?: (manager: EntityManager) => Promise<void>,
): Promise<T> {
  const outer = transactionOf(dataSource);
  if (outer) {
    return runSavepoint(outer, work);
  }
  const own = dataSource.createQueryRunner();
  const runner = dataSource.createQueryRunner();
  const onCommit: (() => void)[] = [];
  let client: Client | undefined;
  let begun: Promise<Client> | undefined;
  const begin = async () => {
    const connected = (await own.connect()) as Client;
    client = connected;
    await own.startTransaction();
    await onBegin?.(own.manager);
    return connected;
  };
  const connect = async () => {
    if (runner.isReleased) {
      throw new QueryRunnerAlreadyReleasedError();
    }
    return (begun ??= begin());
  };
  // When a savepoint cannot be made, TypeORM rolls back the level above it. At depth 1 that would be the transaction, and the statements
  // that follow would be committed by themselves. It also releases a runner after each statement.
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 2, connect, release: () => Promise.resolve() });
  // TypeORM sends a statement some microtasks after it has looked at the runner, so those that are not awaited go before the commit.
  const end = async () => {
    // First: what begins from now on is refused, so that `begun` does not change any more.
    Object.assign(runner, { isReleased: true });
    await begun;
    await endOfTurn();
  };
  let result: T;
  try {
    result = await transactions.run({ dataSource, runner, onCommit }, work);
    await end();
    if (begun) {
      await own.commitTransaction();
    }
    await own.release();
  } catch (error) {
    // Without waiting for the database.
    void Promise.allSettled([end()]).then(() => rollBack(own, client));
    throw error;
  }
  onCommit.forEach((callback) => {
    callback();
  });
  return result;
}

async function runSavepoint<T>({ dataSource, onCommit }: Transaction, work: () => Promise<T>): Promise<T> {
  const { length } = onCommit;
  try {
    return await dataSource.transaction(work);
  } catch (error) {
    onCommit.length = length;
    throw error;
  }
}

/**
 * Reads in a transaction of its own settings, which end with it.
 *
 * @param manager - that a transaction is begun for; what is part of one stays so, with the settings that it has
 * @param settings - by the names that PostgreSQL gives them; numbers of time are milliseconds
 * @param signal - closes the connection, upon which the server cancels the statement that runs
 * @throws the reason of the signal
 */
export async function readOnly<T>(
  manager: EntityManager,
  settings: Readonly<Record<string, string | number>>,
  read: (manager: EntityManager) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (manager.queryRunner ?? transactionOf(manager.dataSource)) {
    return read(manager);
  }
  const all = { ...settings, ...(signal && { client_connection_check_interval: CLIENT_CHECK_INTERVAL }) };
  const locals = Object.entries(all).map(([name, value]) => `SET LOCAL ${name} = ${value}`);
  const runner = manager.dataSource.createQueryRunner();
  const client = (await runner.connect()) as Client;
  const cancel = () => streamOf(client).destroy(signal?.reason as Error);
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', cancel);
    // One exchange with the database instead of two.
    await runner.query(['START TRANSACTION READ ONLY', ...locals].join('; '));
    return await read(runner.manager);
  } catch (error) {
    throw signal?.aborted ? signal.reason : error;
  } finally {
    signal?.removeEventListener('abort', cancel);
    // Nothing was written, and the caller need not wait.
    void rollBack(runner, client);
  }
}

async function rollBack(runner: QueryRunner, client: Client | undefined): Promise<void> {
  try {
    await client?.query('ROLLBACK');
  } catch {
    // A replica can cancel even this: the transaction is still open, and the pool must not use the connection again.
    void client?.end();
  } finally {
    await runner.release();
  }
}
