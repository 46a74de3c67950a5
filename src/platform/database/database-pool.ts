import { Pool, type PoolClient } from 'pg';
import type { DatabaseClientConfig } from './database-client.js';
import { isPasswordRefused } from './database-problem.js';

/** Attempts to connect while a password is being replaced: with the new one, the previous one, and the new one again. */
const ATTEMPTS = 3;

type Callback = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (reason?: Error | boolean) => void,
) => void;

/** A pool that can also connect at the moment in which only the server, or only the file, has a new password. */
export class DatabasePool extends Pool {
  override connect(): Promise<PoolClient>;
  override connect(callback: Callback): void;
  override connect(callback?: Callback): Promise<PoolClient> | undefined {
    if (!callback) {
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (client ? resolve(client) : reject(error)));
      });
    }
    const { isEmbedded, passwords } = this.options as DatabaseClientConfig;
    const attempt = (left: number) => {
      super.connect((error, client, release) => {
        if (error && left > 1 && isPasswordRefused(error) && passwords?.hasOther) {
          attempt(left - 1);
        } else {
          callback(error && isEmbedded ? explained(error) : error, client, release);
        }
      });
    };
    attempt(ATTEMPTS);
    return undefined;
  }
}

/** Adds to a timeout of the embedded database what holds its only connection, and how to avoid that. */
function explained(error: Error): Error {
  if (!error.message.startsWith('timeout exceeded')) {
    return error;
  }
  const remedy =
    'a transaction or a stream holds the only connection of the embedded database. In dataSource.transaction(), use its ' +
    'manager, or database.transaction(), which repositories follow.';
  return new Error(`${error.message}: ${remedy}`);
}

/** The part of `pg` that TypeORM uses. A data source takes it in its constructor: `setOptions` would be too late. */
export const POSTGRES_DRIVER = { Pool: DatabasePool };
