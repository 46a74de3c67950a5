import { type EventEmitter, once } from 'node:events';
import { Duplex } from 'node:stream';
import type { Client, Connection, Submittable } from 'pg';

/** A stream or cursor that uses a connection until its end: of `pg-copy-streams`, `pg-query-stream` or `pg-cursor`. */
export interface LongSubmittable extends Submittable, EventEmitter {
  readonly text?: string;
  /** Set by `pg`, to end the time limit. */
  callback?: () => void;
  handleError(...given: unknown[]): void;
  handleReadyForQuery(...given: unknown[]): void;
}

/**
 * Submits a stream or cursor once all earlier statements have ended, and without pipeline mode, in which `pg` refuses it.
 *
 * @param submit - `Client.query` of `pg` with the statement
 */
export function submitAlone(client: Client, connection: Connection, statement: LongSubmittable, submit: () => void): void {
  const { pipeline } = client;
  if (!(connection.stream instanceof Duplex) && /^\s*copy\b/i.test(statement.text ?? '')) {
    const error = new Error('The embedded database has no COPY: use a PostgreSQL server with DATABASE_URL.');
    process.nextTick(() => statement.handleError(error, connection));
    return;
  }
  const { readyForQuery } = client as unknown as { readyForQuery: boolean };
  if (!readyForQuery) {
    once(client, 'drain').then(
      () => submitAlone(client, connection, statement, submit),
      (error: unknown) => statement.handleError(error, connection),
    );
    return;
  }
  let isEnding = false;
  Object.assign(client, { pipeline: false });
  client.once('drain', () => Object.assign(client, { pipeline }));
  for (const method of ['handleReadyForQuery', 'handleError'] as const) {
    const handle: (...given: unknown[]) => void = statement[method].bind(statement);
    statement[method] = (...given: unknown[]) => {
      isEnding = true;
      handle(...given);
    };
  }
  statement.once('close', () => {
    if (!isEnding) {
      // Otherwise the connection waits until the rest is read. `pg` emits its end as an error, for which nothing listens.
      statement.on('error', () => undefined);
      connection.stream.destroy();
    }
  });
  submit();
  // Ends the time limit: `pg` does not know when a stream ends, and would apply the limit to a later statement.
  statement.callback?.();
}
