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

export function transactionOf(dataSource: DataSource): Transaction | undefined {
  const transaction = transactions.getStore();
  return transaction?.dataSource === dataSource ? transaction : undefined;
}

/** Runs a transaction, which begins and takes a connection at its first statement, preceded by `onBegin`. Nested, it is a savepoint. */
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
  // Depth 2, because TypeORM rolls back the level above when a savepoint fails: at depth 1 it would end the transaction, and later
  // statements would commit on their own. TypeORM also releases a runner after each statement.
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 2, connect, release: () => Promise.resolve() });
  // TypeORM sends a statement some microtasks after it takes the runner: statements that were not awaited still precede the commit.
  const end = async () => {
    // First, so that later statements are refused and `begun` does not change any more.
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
    // The caller does not wait for the rollback.
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

/** Resets a connection and returns it to the pool. */
export async function giveBack(
  runner: QueryRunner,
  client: Client | undefined,
  statement: 'ROLLBACK' | 'RESET ALL',
): Promise<void> {
  try {
    await client?.query(statement);
  } catch {
    // A replica can cancel even this statement: the connection is closed, because its state is unknown.
    void client?.end();
  } finally {
    await runner.release();
  }
}
