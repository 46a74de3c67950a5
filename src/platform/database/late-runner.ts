import { setImmediate as endOfTurn, setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
import { type DataSource, type QueryRunner, QueryRunnerAlreadyReleasedError } from 'typeorm';

/** Milliseconds that the end of a transaction waits for operations that the work has begun and does not await. */
const PATIENCE = 1000;

export type IsolationLevel = NonNullable<Parameters<QueryRunner['startTransaction']>[0]>;

export type LateRunner = ReturnType<typeof lateRunner>;

/** A query runner for work whose transaction begins late. @param begin - begins it, at the first statement */
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
  /** Gives the runner to one operation, which releases it. */
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
  /** Waits for operations that the work did not await, such as a `save()` of several statements: they precede the commit. */
  const end = async () => {
    for (const late = performance.now() + PATIENCE; users.size > 0 && performance.now() < late;) await delay(1);
    // Rejects later statements, so that `begun` cannot change while it is awaited.
    Object.assign(runner, { isReleased: true });
    await begun;
    // Lists, which are not among the users, send their statement some microtasks after they get the connection.
    await endOfTurn();
  };
  return { runner, take, connect, end };
}

/** The runner for one of its users. `await using` ends only savepoints of that user: TypeORM's would end the transaction. */
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

/** @throws Error, because a savepoint cannot have an isolation level of its own */
export function rejectLevel(level: IsolationLevel): never {
  throw new Error(
    `A transaction of the isolation level ${level} is within another, such as that of @Idempotent() for a request with ` +
      'an Idempotency-Key: as a savepoint, it would not have the level.',
  );
}
