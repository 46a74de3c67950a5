import type { Duplex } from 'node:stream';
import { Client, type ClientBase, type ClientConfig, type QueryResult } from 'pg';
import { ConnectionFailedError, READ_ONLY } from './database-problem.js';

const NOTHING_WRITTEN = 'Nothing was written: a statement of the transaction failed, and its error was ignored.';

/**
 * Called with the text of a SQL statement as it is sent, without parameters.
 *
 * @returns called when the statement has ended, with the error if it failed
 */
export type StatementObserver = (text: string) => (error?: unknown) => void;

/** What `pg` gives its clients of the options of a pool. */
export interface DatabaseClientConfig extends ClientConfig {
  statementObserver?: StatementObserver;
  hasSessions?: boolean;
}

/** A `pg` client that has its statements observed, and fails with errors that say what went wrong. */
export class DatabaseClient extends Client {
  private readonly observe: StatementObserver | undefined;

  constructor(config: DatabaseClientConfig = {}) {
    super(config);
    this.observe = config.statementObserver;
    // A connection that ends while the pool gives it to TypeORM has no other listener. Its next use fails.
    this.on('error', () => undefined);
  }

  /** Marks the error as one of the database: `ECONNREFUSED` alone could come from any server that the service calls. */
  override connect(...[callback]: never[]): never {
    return super.connect((error: Error | null) => {
      (callback as unknown as (error: Error | null) => void)(error && new ConnectionFailedError(error));
    }) as never;
  }

  override query(...request: never[]): never {
    const [statement] = request as unknown[];
    const text = typeof statement === 'string' ? statement : (statement as { readonly text?: unknown }).text;
    if (typeof text !== 'string' || typeof request.at(-1) === 'function') {
      return super.query(...(request as unknown as Parameters<Client['query']>)) as never;
    }
    const end = this.observe?.(text);
    return new Promise((resolve, reject) => {
      const settle = (failure: Error | null | undefined, result: QueryResult) => {
        // PostgreSQL answers the commit of a transaction that failed with a rollback, and no error.
        const isUndone = !failure && text === 'COMMIT' && result.command === 'ROLLBACK';
        const error = isUndone ? new Error(NOTHING_WRITTEN) : failure;
        end?.(error ?? undefined);
        if (!error) {
          resolve(result);
          return;
        }
        if ('code' in error && error.code === READ_ONLY) {
          // The server has become a replica: the pool makes its next connection to the server that has the address by then.
          void this.end();
        }
        reject(error);
      };
      // Without a callback `pg` makes three promises.
      super.query(...([...request, settle] as unknown as Parameters<Client['query']>));
    }) as never;
  }
}

/** The socket of a client, which the types of `pg` leave out. */
export function streamOf(client: ClientBase): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
