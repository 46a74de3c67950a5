import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Client } from 'pg';
import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import type { DatabaseClient } from './database-client.js';
import { databaseUnavailable } from './database-problem.js';

/** What is done in a transaction: with the manager that it is given, and all of it when it resolves. */
export type TransactionalWork<T> = (manager: EntityManager) => Promise<T>;

/** A repository or manager of a transaction was used after its end. */
export class TransactionEndedError extends Error {
  override readonly name = 'TransactionEndedError';

  constructor() {
    super(
      'This transaction has ended, so nothing was read or written. Await all work inside of it, and take a new repository or ' +
        'manager for work that goes on afterwards.',
    );
  }
}

/** A query runner with a connection of its own. */
interface Session {
  readonly runner: QueryRunner;
  readonly client: Client & Pick<DatabaseClient, 'cancelStatement'>;
}

/**
 * Reads in a transaction of its own settings, which end with it.
 *
 * @param manager - that a transaction is begun for; what is part of one stays so, with the settings that it has
 * @param settings - by the names that PostgreSQL gives them; numbers of time are milliseconds
 * @param signal - cancels the statement that runs, and prevents further ones
 * @throws Problem 503 when the connection ends meanwhile
 */
export async function readOnly<T>(
  manager: EntityManager,
  settings: Readonly<Record<string, string | number>>,
  read: TransactionalWork<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (manager.queryRunner) {
    return read(manager);
  }
  const session = await connect(manager.dataSource);
  const { runner, client } = session;
  let cancelled: Promise<void> | undefined;
  const cancel = () => {
    close(session);
    cancelled = endOfTurn().then(() => client.cancelStatement());
  };
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', cancel);
    const locals = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = ${value}`);
    // One exchange with the database instead of two.
    await runner.query(['START TRANSACTION READ ONLY', ...locals].join('; '));
    return await read(runner.manager);
  } catch (error) {
    throw explain(error, runner);
  } finally {
    signal?.removeEventListener('abort', cancel);
    // A transaction that wrote nothing ends one way as well as the other, and the caller need not wait for that. The server must have
    // cancelled before: it would cancel the next use of the connection.
    void Promise.resolve(cancelled).then(() => rollBack(session));
  }
}

/**
 * Writes all or nothing.
 *
 * @throws Problem 503 when the connection ends meanwhile. If it ends while the database commits, all may be written.
 */
export async function readWrite<T>(dataSource: DataSource, write: TransactionalWork<T>): Promise<T> {
  const session = await connect(dataSource);
  const { runner } = session;
  try {
    await runner.startTransaction();
    const result = await write(runner.manager);
    await commit(session);
    await runner.release();
    return result;
  } catch (error) {
    const explained = explain(error, runner);
    close(session);
    void endOfTurn().then(() => rollBack(session));
    throw explained;
  }
}

async function connect(dataSource: DataSource): Promise<Session> {
  const runner = dataSource.createQueryRunner();
  const client = (await runner.connect()) as Session['client'];
  return { runner, client };
}

/** TypeORM releases a runner whose connection ended, and complains when it is used again. */
export function explain(error: unknown, runner: QueryRunner): unknown {
  return runner.isReleased ? databaseUnavailable(error) : error;
}

/** PostgreSQL answers the commit of a transaction in which a statement failed with a rollback, and no error. */
async function commit(session: Session): Promise<void> {
  const statement = 'COMMIT';
  close(session);
  await endOfTurn();
  const { command } = await session.client.query(statement).catch((error: Error) => {
    throw new QueryFailedError(statement, [], error);
  });
  if (command !== statement) {
    throw new Error('Nothing was written: a statement of the transaction failed, and its error was ignored.');
  }
}

const refuse = () => Promise.reject(new TransactionEndedError());

/**
 * Ends the use of a runner for all else: what still works for its transaction would write behind its end, outside of it. TypeORM sends
 * a statement some microtasks after it was asked to: at the end of the turn all are sent.
 */
function close({ runner }: Session): void {
  Object.assign(runner, { query: refuse, connect: refuse });
}

async function rollBack(session: Session): Promise<void> {
  const { runner, client } = session;
  close(session);
  if (runner.isReleased) {
    return;
  }
  try {
    await client.query('ROLLBACK');
  } catch {
    // The transaction may still be open: the pool must not use the connection again.
    void client.end();
  } finally {
    await runner.release();
  }
}
