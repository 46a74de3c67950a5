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
 * Submits a stream or cursor outside of pipeline mode, in which `pg` refuses it, and after statements that were not awaited.
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
      // The connection would wait for the rest to be read. `pg` reports its end to a stream without listeners.
      statement.on('error', () => undefined);
      connection.stream.destroy();
    }
  });
  submit();
  // `pg` does not know when it ends: the time limit would hit a later statement.
  statement.callback?.();
}
