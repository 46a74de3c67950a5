import { Readable } from 'node:stream';
import type { Client } from 'pg';
import type { QueryRunner } from 'typeorm';
import { databaseBusy } from './database-problem.js';

/** Rows that one statement fetches. */
const BATCH = 500;

/** Replaces the idle limit of the session, because clients read slowly; 60 s still end that of a frozen process. */
const BEGIN = "START TRANSACTION; SET LOCAL idle_in_transaction_session_timeout = '60s'";

/** Runners that stream in a transaction of their own, which holds a connection of the pool until its end. */
const streaming = new Set<QueryRunner>();

let count = 0;

/**
 * Replaces `stream` of a runner by a cursor in SQL. TypeORM's `stream` is a single statement: `pg` refuses it on pipelined
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
    // Ends a stream that is not read to its end first: otherwise, the pool would hand on the open transaction.
    const release = async () => {
      if (!isFree) {
        readable.destroy();
        await ended;
      }
      await original();
    };
    Object.assign(runner, { release });
    // TypeORM passes one function as `onEnd` and `onError`, which releases the connection: it must run once.
    return readable.on('error', (error) => onError !== onEnd && onError?.(error));
  };
  return Object.assign(runner, { stream });
}

/** Yields undefined when the first rows have arrived, and then the rows. After that, any end frees the connection. */
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
      // Only after a complete read: a failed transaction has no cursor, and an abandoned one's savepoint may be rolled back.
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
  // TypeORM marks a runner as released when the server closes its connection.
  const others = [...streaming].filter((each) => each.dataSource === dataSource && !each.isReleased);
  if (others.length >= Math.ceil((dataSource.options.poolSize ?? 1) / 2)) {
    throw databaseBusy();
  }
  streaming.add(runner);
}

/** Closes a connection whose state is unknown, so that the pool does not use it again. */
async function closeConnection(runner: QueryRunner): Promise<void> {
  const client = runner.isReleased ? undefined : ((await runner.connect().catch(() => undefined)) as Client | undefined);
  void client?.end();
}
