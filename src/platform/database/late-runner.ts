import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { type DataSource, type QueryRunner, QueryRunnerAlreadyReleasedError } from 'typeorm';

/** Milliseconds that the end of a transaction waits for operations that the work has begun and does not await. */
const PATIENCE = 1000;

export type IsolationLevel = NonNullable<Parameters<QueryRunner['startTransaction']>[0]>;

export type LateRunner = ReturnType<typeof lateRunner>;

/** The runner of the work of a transaction. @param begin - called at the first statement */
export function lateRunner(dataSource: DataSource, begin: () => Promise<Client>) {
  const runner = dataSource.createQueryRunner();
  let begun: Promise<Client> | undefined;
  const users = new Set<object>();
  const connect = async () => {
    if (runner.isReleased) {
      throw new QueryRunnerAlreadyReleasedError();
    }
    return (begun ??= begin());
  };
  /** For an operation, which releases it. */
  const take = (): QueryRunner => {
    const user = {};
    users.add(user);
    return shareOf(runner, () => Promise.resolve(void users.delete(user)));
  };
  // Depth 2, because TypeORM rolls back the level above when a savepoint fails: at depth 1 it would end the transaction, and
  // later statements would commit on their own.
  Object.assign(runner, { isTransactionActive: true, transactionDepth: 2, connect });
  const startSavepoint = runner.startTransaction.bind(runner);
  runner.startTransaction = async (level) => (level ? rejectLevel(level) : startSavepoint());
  /** What the work has begun and does not await, such as a `save()` of several statements, still precedes the commit. */
  const end = async () => {
    for (const late = performance.now() + PATIENCE; users.size > 0 && performance.now() < late;) await delay(1);
    // First, so that later statements are refused and `begun` does not change any more.
    Object.assign(runner, { isReleased: true });
    await begun;
    // Single statements of lists are sent some microtasks after they have the connection.
    await endOfTurn();
  };
  return { runner, take, connect, end };
}

/** A runner for one of its users. `await using` ends what that began: TypeORM's would commit the transaction. */
function shareOf(runner: QueryRunner, release: () => Promise<void>): QueryRunner {
  const levels = runner as QueryRunner & { transactionDepth: number };
  const depth = levels.transactionDepth;
  const dispose = async () => {
    try {
      while (levels.transactionDepth > depth) await runner.commitTransaction();
    } finally {
      await release();
    }
  };
  const own = { release, [Symbol.asyncDispose]: dispose };
  return new Proxy(runner, { get: (shared, name) => Reflect.get(Object.hasOwn(own, name) ? own : shared, name) as unknown });
}

/** @throws Error, because the level would not hold */
export function rejectLevel(level: IsolationLevel): never {
  throw new Error(
    `A transaction of the isolation level ${level} is within another, such as that of @Idempotent() for a request with ` +
      'an Idempotency-Key: as a savepoint, it would not have the level.',
  );
}
