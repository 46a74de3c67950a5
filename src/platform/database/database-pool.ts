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
    const { passwords } = this.options as DatabaseClientConfig;
    if (!passwords) {
      return callback ? (super.connect(callback) as undefined) : super.connect();
    }
    if (!callback) {
      return new Promise((resolve, reject) => {
        this.connect((error, client) => (client ? resolve(client) : reject(error)));
      });
    }
    const attempt = (left: number) => {
      super.connect((error, client, release) => {
        if (error && left > 1 && isPasswordRefused(error) && passwords.hasOther) {
          attempt(left - 1);
        } else {
          callback(error, client, release);
        }
      });
    };
    attempt(ATTEMPTS);
    return undefined;
  }
}

/** What TypeORM needs of `pg`. A data source takes it when it is made: `setOptions` comes too late. */
export const POSTGRES_DRIVER = { Pool: DatabasePool };
