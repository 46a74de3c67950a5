import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { type DataSource, type QueryRunner, QueryRunnerAlreadyReleasedError } from 'typeorm';

/** Milliseconds that the end of a transaction waits for operations that the work has begun and does not await. */
const PATIENCE = 1000;

/**
 * TypeORM's depth in the transaction, outside of savepoints. It is 2, because TypeORM rolls back the level above when a
 * savepoint fails: at depth 1 it would end the transaction, and later statements would commit on their own.
 */
const DEPTH = 2;

export type IsolationLevel = NonNullable<Parameters<QueryRunner['startTransaction']>[0]>;

/** A query runner with a member that TypeORM's types omit. */
type LeveledRunner = QueryRunner & { transactionDepth: number };

export type LateRunner = ReturnType<typeof lateRunner>;

/** A query runner for work whose transaction begins late. @param begin - begins it, at the first statement */
export function lateRunner(dataSource: DataSource, begin: () => Promise<Client>) {
  const runner = dataSource.createQueryRunner() as LeveledRunner;
  let begun: Promise<Client> | undefined;
  const users = new Set<object>();
  const connect = async () => {
    if (runner.isReleased) {
      throw new QueryRunnerAlreadyReleasedError();
    }
    return (begun ??= begin());
  };
  /** Gives the runner to one operation, which releases it. */
  const take = (): QueryRunner => {
    const user = {};
    users.add(user);
    return shareOf(runner, () => Promise.resolve(void users.delete(user)));
  };
  Object.assign(runner, { isTransactionActive: true, transactionDepth: DEPTH, connect });
  const startSavepoint = runner.startTransaction.bind(runner);
  runner.startTransaction = async (level) => (level ? rejectLevel(level) : startSavepoint());
  /**
   * Waits for operations that the work did not await, such as a `save()` of several statements: they precede the commit.
   *
   * @throws Error if a nested transaction is not over by then
   */
  const end = async () => {
    for (const late = performance.now() + PATIENCE; users.size > 0 && performance.now() < late;) await delay(1);
    // Rejects later statements, so that `begun` cannot change while it is awaited.
    Object.assign(runner, { isReleased: true });
    await begun;
    // Lists, which are not among the users, send their statement some microtasks after they get the connection.
    await endOfTurn();
    if (runner.transactionDepth > DEPTH) {
      // It fails, because its last statements are rejected. A commit would keep its first ones; and to undo these alone
      // would also undo what was written beside it.
      throw new Error('A nested transaction was not over at the end of its outer one: await it. Nothing was written.');
    }
  };
  return { runner, take, connect, end };
}

/** The runner for one of its users. `await using` ends only savepoints of that user: TypeORM's would end the transaction. */
function shareOf(runner: LeveledRunner, release: () => Promise<void>): QueryRunner {
  const depth = runner.transactionDepth;
  const dispose = async () => {
    try {
      while (runner.transactionDepth > depth) await runner.commitTransaction();
    } finally {
      await release();
    }
  };
  const own = { release, [Symbol.asyncDispose]: dispose };
  return new Proxy(runner, { get: (shared, name) => Reflect.get(Object.hasOwn(own, name) ? own : shared, name) as unknown });
}

/** @throws Error, because a savepoint cannot have an isolation level of its own */
export function rejectLevel(level: IsolationLevel): never {
  throw new Error(
    `A transaction of the isolation level ${level} is within another, such as that of @Idempotent() for a request with ` +
      'an Idempotency-Key: as a savepoint, it would not have the level.',
  );
}
