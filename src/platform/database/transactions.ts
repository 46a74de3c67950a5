import { setImmediate as endOfTurn } from 'node:timers/promises';
import type { Client, QueryResult } from 'pg';
import { type DataSource, type EntityManager, QueryFailedError, type QueryRunner } from 'typeorm';
import type { DatabaseClient } from './database-client.js';
import { databaseUnavailable } from './database-problem.js';

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

const NOTHING_WRITTEN = 'Nothing was written: a statement of the transaction failed, and its error was ignored.';

/** Runs a statement of a transaction. @throws QueryFailedError */
export type RunStatement = (sql: string, parameters?: unknown[]) => Promise<QueryResult>;

/** What PostgreSQL clients of transactions can do. */
type TransactionClient = Client & Pick<DatabaseClient, 'cancelStatement'>;

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
  read: (manager: EntityManager) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  if (manager.queryRunner) {
    return read(manager);
  }
  const runner = manager.dataSource.createQueryRunner();
  const client = (await runner.connect()) as TransactionClient;
  let cancelled: Promise<void> | undefined;
  const cancel = () => {
    close(runner);
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
    close(runner);
    // A transaction that wrote nothing ends one way as well as the other, and the caller need not wait for that. The server must have
    // cancelled before: it would cancel the next use of the connection.
    void Promise.resolve(cancelled).then(() => rollBack(runner, client));
  }
}

/**
 * A transaction that begins at its first statement: until then it holds no connection. Its statements are those of the runner.
 */
export class WriteTransaction {
  readonly runner: QueryRunner;
  private client: TransactionClient | undefined;
  private begun: Promise<TransactionClient> | undefined;

  /** @param onBegin - called in the transaction before its first statement */
  constructor(
    dataSource: DataSource,
    private readonly onBegin: (run: RunStatement) => Promise<void> = () => Promise.resolve(),
  ) {
    const runner = dataSource.createQueryRunner();
    const [connect, query] = [runner.connect.bind(runner), runner.query.bind(runner)];
    this.runner = Object.assign(runner, {
      // What TypeORM begins in it becomes a savepoint.
      isTransactionActive: true,
      transactionDepth: 1,
      connect: () => {
        this.throwIfUndone();
        return (this.begun ??= this.start(() => connect() as Promise<TransactionClient>));
      },
      query: async (...statement: Parameters<QueryRunner['query']>) => {
        await runner.connect();
        return query(...statement) as Promise<unknown>;
      },
    });
  }

  /** Begins it, if no statement has. */
  async begin(): Promise<void> {
    await this.runner.connect();
  }

  /**
   * Makes all that was written certain, if there was a statement.
   *
   * @throws Error when nothing was written as a statement failed: PostgreSQL answers the commit with a rollback then, and no error
   */
  async commit(): Promise<void> {
    const client = await this.begun;
    this.throwIfUndone();
    close(this.runner);
    if (client) {
      await endOfTurn();
      const { command } = await send(client, 'COMMIT');
      if (command !== 'COMMIT') {
        throw new Error(NOTHING_WRITTEN);
      }
    }
    await this.runner.release();
  }

  /**
   * Undoes it, without waiting for the database.
   *
   * @param error - because of which it is undone
   * @returns the error to throw: a 503 when the connection has ended
   */
  rollBack(error: unknown): unknown {
    const explained = explain(error, this.runner);
    close(this.runner);
    void this.undo();
    return explained;
  }

  private async undo(): Promise<void> {
    await Promise.allSettled([this.begun, endOfTurn()]);
    await (this.client ? rollBack(this.runner, this.client) : this.runner.release());
  }

  /** TypeORM undoes all when a savepoint cannot be made, because a statement before it failed; what follows would be written at once. */
  private throwIfUndone(): void {
    if (!this.runner.isTransactionActive) {
      throw new Error(NOTHING_WRITTEN);
    }
  }

  private async start(connect: () => Promise<TransactionClient>): Promise<TransactionClient> {
    const client = await connect();
    this.client = client;
    await send(client, 'START TRANSACTION');
    await this.onBegin((sql, parameters) => send(client, sql, parameters));
    return client;
  }
}

async function send(client: Client, sql: string, parameters: unknown[] = []): Promise<QueryResult> {
  try {
    return await client.query(sql, parameters);
  } catch (error) {
    throw new QueryFailedError(sql, parameters, error as Error);
  }
}

/** TypeORM releases a runner whose connection ended, and complains when it is used again. */
export function explain(error: unknown, runner: QueryRunner): unknown {
  return runner.isReleased ? databaseUnavailable(error) : error;
}

const refuse = () => Promise.reject(new TransactionEndedError());

/**
 * Ends the use of a runner for all else: what still works for its transaction would write behind its end, outside of it. TypeORM sends
 * a statement some microtasks after it was asked to: at the end of the turn all are sent.
 */
function close(runner: QueryRunner): void {
  Object.assign(runner, { query: refuse, connect: refuse });
}

async function rollBack(runner: QueryRunner, client: Client): Promise<void> {
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
