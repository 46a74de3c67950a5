import { Client, type ClientConfig } from 'pg';
import { READ_ONLY } from './sql-state.js';
import type { StatementObserver } from './statement-observers.js';

/** What `pg` gives its clients of the options of a pool. */
export interface DatabaseClientConfig extends ClientConfig {
  /** Told of every statement. */
  statementObserver?: StatementObserver;
}

/** No connection to the database could be made; the cause is what Node or `pg` says of it. */
export class ConnectionFailedError extends Error {
  override readonly name = 'ConnectionFailedError';
}

/**
 * A `pg` client that tells its own failures apart, does not outlive them, and tells of its statements.
 *
 * - A connection that cannot be made is a {@link ConnectionFailedError}: its causes, such as `ECONNREFUSED`, could come
 *   from anything else that the service talks to.
 * - A connection that ends at the moment at which it changes hands, from the pool to TypeORM, has no listener: the error
 *   would end the process. Whoever uses the connection next is told.
 * - When it gives up on a statement (`query_timeout`), it closes its connection. `pg` keeps it, and the next statement
 *   then waits behind the one that is never answered.
 * - When the server turns out to have become a replica, it closes its connection: the next one is made to whatever server
 *   has the address by then.
 */
export class DatabaseClient extends Client {
  private readonly observer: StatementObserver | undefined;

  constructor(config: DatabaseClientConfig = {}) {
    super(config);
    this.observer = config.statementObserver;
    this.on('error', () => undefined);
  }

  /** Takes and gives what `Client.connect` does: a callback, as the pool uses it, or a promise. */
  override connect(...callbacks: never[]): never {
    const [callback] = callbacks as ((error?: Error) => void)[];
    if (callback) {
      super.connect((error: Error | undefined) => {
        callback(error && connectionFailed(error));
      });
      return undefined as never;
    }
    return super.connect().catch((error: Error) => {
      throw connectionFailed(error);
    }) as never;
  }

  /** From now on statements may take as long as they need, as those of migrations do. */
  waitWithoutLimit(): void {
    const { connectionParameters } = this as unknown as { connectionParameters: { query_timeout: number } };
    connectionParameters.query_timeout = 0;
  }

  /** Takes and gives what `Client.query` does, in all its overloads. */
  override query(...request: never[]): never {
    const [text] = request as unknown[];
    const onEnd = typeof text === 'string' ? this.observer?.(text) : undefined;
    const result: unknown = super.query(...(request as unknown as Parameters<Client['query']>));
    if (result instanceof Promise) {
      result.then(
        () => onEnd?.(),
        (error: unknown) => {
          onEnd?.(error);
          if (isLast(error)) {
            // With a statement under way, this breaks the connection at once; either way the pool drops it.
            void this.end();
          }
        },
      );
    }
    return result as never;
  }
}

function connectionFailed(cause: Error): ConnectionFailedError {
  return new ConnectionFailedError('No connection to the database.', { cause });
}

/** Whether a connection is of no use after an error of a statement. */
function isLast(error: unknown): boolean {
  return Error.isError(error) && (error.message === 'Query read timeout' || ('code' in error && error.code === READ_ONLY));
}
