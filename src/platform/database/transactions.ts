import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Client } from 'pg';
import { type DataSource, type EntityManager, type QueryRunner, QueryRunnerAlreadyReleasedError } from 'typeorm';

interface Transaction {
  readonly dataSource: DataSource;
  readonly runner: QueryRunner;
  readonly onCommit: (() => void)[];
}

const transactions = new AsyncLocalStorage<Transaction>();

/** The current transaction of a data source. */
export function transactionOf(dataSource: DataSource): Transaction | undefined {
  const transaction = transactions.getStore();
  return transaction?.dataSource === dataSource ? transaction : undefined;
}

/**
 * Runs work in a transaction, which begins, and takes a connection, at its first statement. One inside another is a savepoint.
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
    void Promise.allSettled([end()]).then(() => giveBack(own, client, 'ROLLBACK'));
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

/** Gives a connection back to the pool as it was. */
export async function giveBack(
  runner: QueryRunner,
  client: Client | undefined,
  statement: 'ROLLBACK' | 'RESET ALL',
): Promise<void> {
  try {
    await client?.query(statement);
  } catch {
    // A replica can cancel even this: the pool must not use the connection again, which is not as it was.
    void client?.end();
  } finally {
    await runner.release();
  }
}
