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

/** A pool whose connections outlast the moment in which only the server, or only the file, has the new password. */
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

/** An error of the only connection of the embedded database, with how to leave it to others. */
function explained(error: Error): Error {
  if (!error.message.startsWith('timeout exceeded')) {
    return error;
  }
  const remedy =
    'a transaction or a stream holds the only connection of the embedded database. In dataSource.transaction(), use its ' +
    'manager, or database.transaction(), which repositories follow.';
  return new Error(`${error.message}: ${remedy}`);
}

/** What TypeORM needs of `pg`. A data source takes it when it is made: `setOptions` comes too late. */
export const POSTGRES_DRIVER = { Pool: DatabasePool };
