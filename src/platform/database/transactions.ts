import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Client, QueryResult } from 'pg';
import { type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import type { AppDataSource } from './app-data-source.js';
import { streamOf } from './database-client.js';

const NOTHING_WRITTEN = 'Nothing was written: a statement of the transaction failed, and its error was ignored.';

/** How soon the server notices that the connection of a statement was closed, in milliseconds. */
const CLIENT_CHECK_INTERVAL = 100;

/** Runs a statement of a transaction. @throws QueryFailedError */
export type RunStatement = (sql: string, parameters?: unknown[]) => Promise<QueryResult>;

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
  const dataSource = manager.dataSource as AppDataSource;
  if (manager.queryRunner || dataSource.isInTransaction) {
    return read(manager);
  }
  const all = { ...settings, ...(signal && { client_connection_check_interval: CLIENT_CHECK_INTERVAL }) };
  const locals = Object.entries(all).map(([name, value]) => `SET LOCAL ${name} = ${value}`);
  const runner = dataSource.createQueryRunner();
  const client = (await runner.connect()) as Client;
  const cancel = () => streamOf(client).destroy();
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
    void rollBack(client, () => runner.release());
  }
}

/**
 * Does all of some work or nothing: its statements become one transaction, which begins with the first of them and holds no connection
 * until then. What TypeORM begins meanwhile is a savepoint.
 *
 * @param onBegin - called in the transaction before its first statement
 */
export async function runTransaction<T>(
  dataSource: AppDataSource,
  work: () => Promise<T>,
  onBegin?: (run: RunStatement) => Promise<void>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  const connect = runner.connect.bind(runner) as () => Promise<Client>;
  const release = runner.release.bind(runner);
  let client: Client | undefined;
  let begun: Promise<Client> | undefined;
  const begin = async () => {
    const connected = await connect();
    client = connected;
    await send(connected, 'START TRANSACTION');
    await onBegin?.((sql, parameters) => send(connected, sql, parameters));
    return connected;
  };
  Object.assign(runner, {
    isTransactionActive: true,
    transactionDepth: 1,
    connect: async () => {
      throwIfUndone(runner);
      return (begun ??= begin());
    },
    // TypeORM releases it after each statement; only a data source that closes is to have its way.
    release: () => (dataSource.isReady ? Promise.resolve() : release()),
  });
  const onCommit: (() => void)[] = [];
  let result: T;
  try {
    result = await dataSource.runIn(runner, onCommit, work);
    await begun;
    throwIfUndone(runner);
    await refuseMore(runner);
    // PostgreSQL answers the commit of a transaction that failed with a rollback, and no error.
    if (client && (await send(client, 'COMMIT')).command !== 'COMMIT') {
      throw new Error(NOTHING_WRITTEN);
    }
    await release();
  } catch (error) {
    // Without waiting for the database.
    void Promise.allSettled([begun, refuseMore(runner)]).then(() => rollBack(client, release));
    throw error;
  }
  onCommit.forEach((callback) => {
    callback();
  });
  return result;
}

/** TypeORM undoes all when a savepoint cannot be made, because a statement before it failed; what follows would be written at once. */
function throwIfUndone(runner: QueryRunner): void {
  if (!runner.isTransactionActive) {
    throw new Error(NOTHING_WRITTEN);
  }
}

async function send(client: Client, sql: string, parameters: unknown[] = []): Promise<QueryResult> {
  try {
    return await client.query(sql, parameters);
  } catch (error) {
    throw new QueryFailedError(sql, parameters, error as Error);
  }
}

const refuse = () => Promise.reject(new Error('This transaction has ended: await all work inside of it.'));

/**
 * What still works for a transaction that ends would write behind its end, outside of it. TypeORM sends a statement some microtasks
 * after it was asked to: at the end of the turn all are sent.
 */
async function refuseMore(runner: QueryRunner): Promise<void> {
  Object.assign(runner, { query: refuse, connect: refuse });
  await endOfTurn();
}

async function rollBack(client: Client | undefined, release: () => Promise<void>): Promise<void> {
  try {
    await client?.query('ROLLBACK');
  } catch {
    // The transaction may still be open: the pool must not use the connection again.
    void client?.end();
  } finally {
    await release();
  }
}
