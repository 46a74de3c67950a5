import type { Duplex } from 'node:stream';
import { Client, type ClientBase, type ClientConfig } from 'pg';
import type { StatementObserver } from './database-metrics.js';
import { ConnectionFailedError, READ_ONLY } from './database-problem.js';

/** What `pg` gives its clients of the options of a pool. */
export interface DatabaseClientConfig extends ClientConfig {
  statementObserver?: StatementObserver;
  /** How long a statement may take until its result is here, in milliseconds; without it, as long as it needs. */
  statementLimit?: number;
}

type Callback = (error: Error | null | undefined, result?: unknown) => void;

/**
 * A `pg` client that has its statements observed, and closes its connection when one is not answered in time: with `query_timeout`,
 * `pg` keeps the connection, where the next statement waits behind the one that is never answered.
 */
export class DatabaseClient extends Client {
  private readonly config: DatabaseClientConfig;

  constructor(config: DatabaseClientConfig = {}) {
    super(config);
    this.config = config;
    // A connection that ends while the pool gives it to TypeORM has no other listener. Its next use fails.
    this.on('error', () => undefined);
  }

  /** As the pool calls it. The cause of a failure, such as `ECONNREFUSED`, could come from any other server that the service calls. */
  override connect(...[callback]: never[]): never {
    return super.connect((error: Error | null) => {
      (callback as unknown as Callback)(error && new ConnectionFailedError(error));
    }) as never;
  }

  /** Takes and gives what `Client.query` does, in all its overloads. */
  override query(...request: never[]): never {
    const [statement] = request as unknown[];
    const text = typeof statement === 'string' ? statement : (statement as { readonly text?: unknown }).text;
    if (typeof text !== 'string' || typeof request.at(-1) === 'function') {
      return super.query(...(request as unknown as Parameters<Client['query']>)) as never;
    }
    return new Promise((resolve, reject) => {
      this.send(text, request, (error, result) => {
        if (error) {
          reject(error);
        } else {
          resolve(result);
        }
      });
    }) as never;
  }

  /** Without a callback `pg` makes three promises. */
  private send(text: string, request: readonly unknown[], callback: Callback): void {
    const { statementObserver, statementLimit } = this.config;
    const end = statementObserver?.(text);
    const timer = statementLimit === undefined ? undefined : setTimeout(this.giveUp, statementLimit);
    const settle: Callback = (error, result) => {
      clearTimeout(timer);
      end?.(error ?? undefined);
      if (error && 'code' in error && error.code === READ_ONLY) {
        // The server has become a replica: the pool makes its next connection to the server that has the address by then.
        void this.end();
      }
      callback(error, result);
    };
    super.query(...([...request, settle] as unknown as Parameters<Client['query']>));
  }

  private readonly giveUp = (): void => {
    streamOf(this).destroy(new Error('Query read timeout'));
  };
}

/** What a client reads from and writes to, which the types of `pg` leave out. */
export function streamOf(client: ClientBase): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
