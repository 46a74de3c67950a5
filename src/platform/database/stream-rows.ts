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
    const isOwn = !runner.isTransactionActive;
    if (isOwn) {
      reserve(runner);
    }
    const cursor = `stream_${(count += 1)}`;
    const end = async (failure: unknown) => {
      const statement = failure ? 'ROLLBACK' : 'COMMIT';
      // A failed transaction has no cursors any more.
      await runner.query(isOwn ? statement : `CLOSE ${cursor}`).catch(() => (isOwn ? closeConnection(runner) : undefined));
      streaming.delete(runner);
      await onEnd?.();
    };
    const fetch = () => runner.query(`FETCH ${BATCH} FROM ${cursor}`) as Promise<object[]>;
    try {
      await (isOwn && runner.query(BEGIN));
      await runner.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${query}`, values);
      const { streamTimeout } = runner.dataSource.options.extra as { streamTimeout: number };
      return readableOf(await fetch(), fetch, end, streamTimeout).on('error', (error) => onError?.(error));
    } catch (error) {
      await end(error);
      throw error;
    }
  };
  return Object.assign(runner, { stream });
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

/** @param timeLimit - in milliseconds, for clients that read slowly */
function readableOf(
  first: object[],
  fetch: () => Promise<object[]>,
  end: (failure: unknown) => Promise<void>,
  timeLimit: number,
): Readable {
  let fetched: object[] | undefined = first;
  const push = (rows: object[]) => {
    rows.forEach((row) => stream.push(row));
    if (rows.length < BATCH) stream.push(null);
  };
  const stream = new Readable({
    objectMode: true,
    highWaterMark: BATCH,
    read() {
      const rows = fetched ? Promise.resolve(fetched) : fetch();
      fetched = undefined;
      rows.then(push, (error: Error) => stream.destroy(error));
    },
    destroy(failure, closed) {
      clearTimeout(timer);
      end(failure).then(() => closed(failure), closed);
    },
  });
  const late = () => stream.destroy(new Error('The rows were not read within DATABASE_STREAM_TIMEOUT.'));
  const timer = setTimeout(late, timeLimit).unref();
  return stream;
}
