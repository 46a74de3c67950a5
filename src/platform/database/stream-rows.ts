import { Readable } from 'node:stream';
import type { Client } from 'pg';
import type { QueryRunner } from 'typeorm';
import { databaseBusy } from './database-problem.js';

/** Rows that one statement fetches. */
const BATCH = 500;

/** The second statement is for a process that freezes: a client may pause for longer than the limit of the session. */
const BEGIN = "START TRANSACTION; SET LOCAL idle_in_transaction_session_timeout = '60s'";

/** Those with a transaction of their own, which takes a connection of the pool until the end. */
const streaming = new Set<QueryRunner>();

let count = 0;

/**
 * Replaces `stream` of a runner by a cursor in SQL. That of TypeORM is a single statement: `pg` refuses it on pipelined
 * connections, its time limit includes the pauses of the client, and other statements of the transaction would wait for its
 * end.
 */
export function withStreams<Runner extends QueryRunner>(runner: Runner) {
  /**
   * @param onEnd - called when the connection is free, also after an error
   * @throws QueryFailedError if the first rows cannot be read; Problem 503 if half of the pool streams
   */
  const stream = async (query: string, values?: unknown[], onEnd?: () => unknown, onError?: (error: Error) => unknown) => {
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    let isFree = false;
    const rows = rowsOf(runner, query, values, () => {
      isFree = true;
      end();
      return onEnd?.();
    });
    await rows.next();
    const { streamTimeout } = runner.dataSource.options.extra as { streamTimeout: number };
    const readable = Readable.from(rows, { highWaterMark: BATCH });
    const late = () => readable.destroy(new Error('The rows were not read within DATABASE_STREAM_TIMEOUT.'));
    const timer = setTimeout(late, streamTimeout).unref();
    readable.once('close', () => clearTimeout(timer));
    const original = runner.release.bind(runner);
    // The pool would pass on the transaction of a stream that is not read to its end, which would not be committed.
    const release = async () => {
      if (!isFree) {
        readable.destroy();
        await ended;
      }
      await original();
    };
    Object.assign(runner, { release });
    // TypeORM gives one function for both, which releases the connection.
    return readable.on('error', (error) => onError !== onEnd && onError?.(error));
  };
  return Object.assign(runner, { stream });
}

/** Yields nothing once the first rows are there, and then the rows. From then on, any end frees the connection. */
async function* rowsOf(runner: QueryRunner, query: string, values?: unknown[], onEnd?: () => unknown) {
  const isOwn = !runner.isTransactionActive;
  if (isOwn) {
    reserve(runner);
  }
  const cursor = `stream_${(count += 1)}`;
  const fetch = () => runner.query(`FETCH ${BATCH} FROM ${cursor}`) as Promise<object[]>;
  let end = 'ROLLBACK';
  try {
    await (isOwn && runner.query(BEGIN));
    await runner.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query}`, values);
    let rows = await fetch();
    yield;
    while (rows.length > 0) {
      yield* rows;
      rows = rows.length < BATCH ? [] : await fetch();
    }
    end = 'COMMIT';
  } finally {
    if (isOwn) {
      await runner.query(end).catch(() => closeConnection(runner));
    } else if (end === 'COMMIT') {
      // A failed transaction has no cursors any more. Of a stream that is left, its savepoint may be rolled back meanwhile.
      await runner.query(`CLOSE ${cursor}`).catch(() => undefined);
    }
    streaming.delete(runner);
    await onEnd?.();
  }
}

/** @throws Problem 503 if too few connections would be left to other requests */
function reserve(runner: QueryRunner): void {
  const { dataSource } = runner;
  if (streaming.has(runner)) {
    throw new Error('The query runner streams already: use another one, or a transaction around both.');
  }
  // A runner whose connection the server has closed is released.
  const others = [...streaming].filter((each) => each.dataSource === dataSource && !each.isReleased);
  if (others.length >= Math.ceil((dataSource.options.poolSize ?? 1) / 2)) {
    throw databaseBusy();
  }
  streaming.add(runner);
}

/** Its state is unknown. */
async function closeConnection(runner: QueryRunner): Promise<void> {
  const client = runner.isReleased ? undefined : ((await runner.connect().catch(() => undefined)) as Client | undefined);
  void client?.end();
}
