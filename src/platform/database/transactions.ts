import { AsyncLocalStorage } from 'node:async_hooks';
import type { Client, ClientBase } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { type LateRunner, lateRunner } from './late-runner.js';
import { holdUntilEndOfTurn } from './shared-connections.js';
import { type Send, send, streamOf } from './database-client.js';

interface Transaction extends LateRunner {
  readonly dataSource: DataSource;
  /** Whether statements after its end run on their own: those of work that a handler has left to the background. */
  detachesLateWork: boolean;
  readonly afterCommit: (callback: () => void) => void;
  /** Settles with the latest nested transaction. The next one waits for it: TypeORM would mix up concurrent savepoints. */
  nested: Promise<unknown>;
}

const transactions = new AsyncLocalStorage<Transaction>();

/** The current transaction. After that of a key, work that the handler has left to the background has none. */
export function transactionOf(dataSource: DataSource): Transaction | undefined {
  const transaction = transactions.getStore();
  const isOver = transaction?.detachesLateWork && transaction.runner.isReleased;
  return transaction?.dataSource === dataSource && !isOver ? transaction : undefined;
}

/** The query runner of the current transaction, if there is one. */
export function runnerOf(manager: EntityManager): QueryRunner | undefined {
  return manager.queryRunner ?? transactionOf(manager.dataSource)?.runner;
}

/** Sends statements in the current transaction; undefined outside of one. */
export function sendInTransaction(manager: EntityManager): Send | undefined {
  const runner = runnerOf(manager);
  return runner && sendBy(runner);
}

function sendBy(runner: QueryRunner): Send {
  return async (statement) => send((await runner.connect()) as ClientBase, statement);
}

/** Collects functions until `callAll`, after the commit. Those that are added later are called at once. */
function callbacks(call: (callback: () => void) => void) {
  let waiting: (() => void)[] | undefined = [];
  const add = (callback: () => void) => (waiting ? void waiting.push(callback) : call(callback));
  const callAll = () => {
    const due = waiting ?? [];
    waiting = undefined;
    due.forEach(call);
  };
  return { add, callAll };
}

/** Statements that are sent in one write with `START TRANSACTION` and with `COMMIT`. */
export interface TransactionEnds<T> {
  /** After `START TRANSACTION`, before the first statement of the work. */
  readonly begin?: (send: Send) => Promise<unknown>;
  /**
   * Before `COMMIT`, which is sent without waiting for it: `end` must send its statement before it awaits anything. If the
   * work had no statement, the transaction begins for that of `end`.
   */
  readonly end?: (send: Send, result: T) => Promise<unknown>;
}

/** Runs a transaction, which begins and takes a connection at its first statement. Nested, it is a savepoint. */
export async function runTransaction<T>(
  dataSource: DataSource,
  work: () => Promise<T>,
  ends: TransactionEnds<T> = {},
): Promise<T> {
  const outer = transactionOf(dataSource);
  if (outer) {
    return runSavepoint(outer, work, ends);
  }
  const onCommit = callbacks((callback) => callback());
  let result: T;
  const own = dataSource.createQueryRunner();
  let client: Client | undefined;
  const late = lateRunner(dataSource, async () => {
    client = (await own.connect()) as Client;
    sendEnds(own, client, ends, () => result);
    await own.startTransaction();
    return client;
  });
  try {
    const nested = Promise.resolve();
    const transaction = { ...late, dataSource, detachesLateWork: false, afterCommit: onCommit.add, nested };
    result = await transactions.run(transaction, work);
    // Begun for a key, of which the handler need not know. If the handler fails, statements of what is left of it, such as
    // another promise of `Promise.all`, are rejected instead: a retry runs them again.
    transaction.detachesLateWork = Boolean(ends.end);
    await (ends.end && late.connect());
    await late.end();
    if (client) {
      await own.commitTransaction();
    }
    await own.release();
  } catch (error) {
    // The caller does not wait for the rollback.
    void Promise.allSettled([late.end()]).then(() => rollBack(own, client));
    throw error;
  }
  onCommit.callAll();
  return result;
}

/** Runs work in a savepoint of a transaction, once earlier savepoints have ended. */
export async function runSavepoint<T>(
  outer: Transaction,
  work: () => Promise<T>,
  { begin, end }: TransactionEnds<T> = {},
): Promise<T> {
  const onCommit = callbacks(outer.afterCommit);
  const runner = outer.take();
  const sendHere = sendBy(runner);
  const nested = async () => {
    await begin?.(sendHere);
    const result = await work();
    await end?.(sendHere, result);
    return result;
  };
  // Late statements of a savepoint are rejected: its feature began it, and does not expect a part of it to be written.
  const transaction = { ...outer, detachesLateWork: false, afterCommit: onCommit.add, nested: Promise.resolve() };
  const running = outer.nested.then(() => transactions.run(transaction, () => runner.manager.transaction(nested)));
  outer.nested = Promise.allSettled([running]).then(() => runner.release());
  const result = await running;
  onCommit.callAll();
  return result;
}

/** Makes the runner send `begin` and `end` in one write with TypeORM's own statements, instead of one after the other. */
function sendEnds<T>(own: QueryRunner, client: Client, { begin, end }: TransactionEnds<T>, resultOf: () => T): void {
  const sendHere: Send = (statement) => send(client, statement);
  const original = own.query.bind(own);
  const query = (text: string, parameters?: unknown[], isStructured?: boolean) => {
    // `begin` may wait for a concurrent transaction and must then see its rows, which another default isolation could hide.
    const options = begin && text === 'START TRANSACTION' ? ' ISOLATION LEVEL READ COMMITTED' : '';
    const itself = () => sendHere({ text: text + options, values: [], isText: true });
    switch (text) {
      case 'START TRANSACTION':
        return sendTogether(client, itself, () => begin?.(sendHere));
      case 'COMMIT':
        return sendTogether(client, () => end?.(sendHere, resultOf()), itself);
      default:
        // `ROLLBACK`, or a statement of a subscriber.
        return original(text, parameters, isStructured as true);
    }
  };
  Object.assign(own, { query });
}

/** Sends two statements in one write, where TypeORM would wait for the response to the first. */
async function sendTogether(client: Client, first: () => unknown, second: () => unknown): Promise<void> {
  holdUntilEndOfTurn(streamOf(client));
  // If the first fails, so does the second, but later: the error of the first is thrown.
  await Promise.all([first(), second()]);
}

/** Ends a transaction that failed, and returns its connection to the pool. */
async function rollBack(runner: QueryRunner, client: Client | undefined): Promise<void> {
  try {
    // TypeORM's method also notifies subscribers.
    await (client && runner.rollbackTransaction());
  } catch {
    // The connection is closed, because its state is unknown.
    void client?.end();
  } finally {
    await runner.release();
  }
}
