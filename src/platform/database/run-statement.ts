import type { PoolClient } from 'pg';
import type { DataSource, EntityManager } from 'typeorm';
import { poolOf } from './app-data-source.js';
import { meaningOf } from './database-problem.js';
import { holdUntilEndOfTurn } from './shared-connections.js';
import { type Reader, type ReadOptions, readOptionsOf, settingsOf } from './reader.js';
import { failedByName, type Send, send, type Statement, streamOf, unnamed } from './database-client.js';
import { sendInTransaction } from './transactions.js';

/** Runs a statement, in the current transaction if there is one. @throws QueryFailedError, or the pool's error */
export async function runStatement(manager: EntityManager, statement: Statement): Promise<unknown[][]> {
  const sendHere = sendInTransaction(manager);
  if (sendHere) {
    return sendHere(statement);
  }
  const client = await poolOf(manager.dataSource).connect();
  let isUseless = false;
  try {
    return await send(client, statement);
  } catch (error) {
    const isRepeated = failedByName(statement, error);
    isUseless = isRepeated || meaningOf(error) === 'connection';
    if (!isRepeated) {
      throw error;
    }
    return await send(client, unnamed(statement));
  } finally {
    client.release(isUseless);
  }
}

/**
 * Reads on a connection that no other statement shares, read-only and with the time limit of slow statements, which gain
 * nothing by their names.
 *
 * @param reader - undefined to take a connection of TypeORM's pool
 * @param signal - closes the connection, to cancel the statement
 * @throws QueryFailedError, or the pool's error
 */
export async function readAlone<T>(
  dataSource: DataSource,
  reader: Reader | undefined,
  signal: AbortSignal | undefined,
  read: (send: Send) => Promise<T>,
): Promise<T> {
  const options = reader ? undefined : readOptionsOf(dataSource);
  const client = await (reader ?? poolOf(dataSource)).connect();
  const cancel = () => streamOf(client).destroy(signal?.reason as Error);
  let isLost = false;
  try {
    signal?.throwIfAborted();
    signal?.addEventListener('abort', cancel);
    return await read(options ? beginWith(client, options) : (statement) => send(client, unnamed(statement)));
  } catch (error) {
    isLost = meaningOf(error) === 'connection';
    // The server is not at fault: throws the reason of the abort instead.
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener('abort', cancel);
    // The caller does not wait for the rollback. If it fails, as when a replica cancels it, the connection is closed.
    const ended = options ? client.query('ROLLBACK') : Promise.resolve();
    void ended.then(
      () => client.release(isLost),
      () => client.release(true),
    );
  }
}

/** Begins a transaction with settings that end with it. It is sent in one write with the first statement. */
function beginWith(client: PoolClient, { timeout }: ReadOptions): Send {
  const text = `START TRANSACTION READ ONLY; ${settingsOf('LOCAL', 'filters', timeout)}`;
  holdUntilEndOfTurn(streamOf(client));
  const begun = send(client, { text, values: [], isText: true });
  // Prevents an unhandled rejection if no statement follows.
  begun.catch(() => undefined);
  // If it fails, its error is thrown, which arrives before those of the statements behind it.
  return (statement) => Promise.all([send(client, statement), begun]).then(([rows]) => rows);
}
