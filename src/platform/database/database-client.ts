import type { Duplex } from 'node:stream';
import { Client, type ClientBase, type ClientConfig, type QueryResult } from 'pg';
import { traceStatement } from '../tracing/tracing.js';
import type { DatabaseMetrics } from './database-metrics.js';
import { ConnectionFailedError, READ_ONLY } from './database-problem.js';

const NOTHING_WRITTEN = 'Nothing was written: a statement of the transaction failed, and its error was ignored.';

/** Pool options that `pg` passes on to its clients. */
export interface DatabaseClientConfig extends ClientConfig {
  metrics?: DatabaseMetrics;
  hasSessions?: boolean;
}

/** A `pg` client that measures and traces its statements, and improves the errors of `pg`. */
export class DatabaseClient extends Client {
  private readonly metrics: DatabaseMetrics | undefined;

  constructor(config: DatabaseClientConfig = {}) {
    super(config);
    this.metrics = config.metrics;
    // An error while the pool hands the connection to TypeORM has no other listener. The next statement fails anyway.
    this.on('error', () => undefined);
  }

  /** Marks connection errors as the database's: `ECONNREFUSED` alone could come from any server. */
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
    const endSpan = traceStatement(text);
    const endMeasurement = this.metrics?.observe(text);
    return new Promise((resolve, reject) => {
      const settle = (failure: Error | null | undefined, result: QueryResult) => {
        // PostgreSQL responds to the commit of a failed transaction with a rollback, not with an error.
        const isUndone = !failure && text === 'COMMIT' && result.command === 'ROLLBACK';
        const error = isUndone ? new Error(NOTHING_WRITTEN) : failure;
        endSpan(error ?? undefined);
        endMeasurement?.(error ?? undefined);
        if (!error) {
          resolve(result);
          return;
        }
        if ('code' in error && error.code === READ_ONLY) {
          // The server has become a replica: a new connection reaches the new primary once the address points to it.
          void this.end();
        }
        reject(error);
      };
      // Without a callback, `pg` creates three promises.
      super.query(...([...request, settle] as unknown as Parameters<Client['query']>));
    }) as never;
  }
}

/** The socket of a client, which the types of `pg` omit. */
export function streamOf(client: ClientBase): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
