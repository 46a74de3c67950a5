import { AsyncLocalStorage } from 'node:async_hooks';
import type { Client, ClientBase } from 'pg';
import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { type LateRunner, lateRunner } from './late-runner.js';
import { holdUntilEndOfTurn } from './shared-connections.js';
import { type Send, send, streamOf } from './database-client.js';

interface Transaction extends LateRunner {
  readonly dataSource: DataSource;
  /** Whether the work need not know of it: it is that of a request with a key. */
  readonly isImplicit: boolean;
  readonly afterCommit: (callback: () => void) => void;
  /** Ends with the latest nested transaction: of savepoints side by side, TypeORM would end the wrong one. */
  nested: Promise<unknown>;
}

const transactions = new AsyncLocalStorage<Transaction>();

/** The current transaction. Work that goes on after one that it need not know of has none, as without a key. */
export function transactionOf(dataSource: DataSource): Transaction | undefined {
  const transaction = transactions.getStore();
  const isOver = transaction?.isImplicit && transaction.runner.isReleased;
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

/** Functions that wait for the end of a transaction that succeeds. After it, they are called at once. */
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

/** What is sent together with the first and the last statement of a transaction. */
export interface TransactionEnds<T> {
  /** After `START TRANSACTION`, before the first statement of the work. */
  readonly begin?: (send: Send) => Promise<unknown>;
  /**
   * Before `COMMIT`, which does not wait for it: it must send before it awaits anything. The transaction begins for it if
   * the work had no statement.
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
  const isImplicit = Boolean(ends.end);
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
    const transaction = { ...late, dataSource, isImplicit, afterCommit: onCommit.add, nested: Promise.resolve() };
    result = await transactions.run(transaction, work);
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

/** Runs a savepoint of a transaction, after those that began before. */
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
  const transaction = { ...outer, afterCommit: onCommit.add, nested: Promise.resolve() };
  const running = outer.nested.then(() => transactions.run(transaction, () => runner.manager.transaction(nested)));
  outer.nested = Promise.allSettled([running]).then(() => runner.release());
  const result = await running;
  onCommit.callAll();
  return result;
}

/** Makes the runner send the ends of a transaction together, where TypeORM would wait for each response. */
function sendEnds<T>(own: QueryRunner, client: Client, { begin, end }: TransactionEnds<T>, resultOf: () => T): void {
  const sendHere: Send = (statement) => send(client, statement);
  const original = own.query.bind(own);
  const query = (text: string, parameters?: unknown[], isStructured?: boolean) => {
    // What begins it may wait for a concurrent transaction, and must see what that one wrote, in any default isolation.
    const options = begin && text === 'START TRANSACTION' ? ' ISOLATION LEVEL READ COMMITTED' : '';
    const itself = () => sendHere({ text: text + options, values: [], isText: true });
    switch (text) {
      case 'START TRANSACTION':
        return sendTogether(client, itself, () => begin?.(sendHere));
      case 'COMMIT':
        return sendTogether(client, () => end?.(sendHere, resultOf()), itself);
      default:
        // Of a subscriber.
        return original(text, parameters, isStructured as true);
    }
  };
  Object.assign(own, { query });
}

/** Sends two statements in one write, where TypeORM would wait for the response to the first. */
async function sendTogether(client: Client, first: () => unknown, second: () => unknown): Promise<void> {
  if (!client.pipeline) {
    await first();
    await second();
    return;
  }
  holdUntilEndOfTurn(streamOf(client));
  // The second fails with the first, whose error comes first.
  await Promise.all([first(), second()]);
}

/** Ends a transaction that failed, and returns its connection to the pool. */
async function rollBack(runner: QueryRunner, client: Client | undefined): Promise<void> {
  try {
    // Tells subscribers, too.
    await (client && runner.rollbackTransaction());
  } catch {
    // The connection is closed, because its state is unknown.
    void client?.end();
  } finally {
    await runner.release();
  }
}
