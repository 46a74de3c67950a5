import { type EventEmitter, once } from 'node:events';
import { Duplex } from 'node:stream';
import { Logger } from '@nestjs/common';
import { Client, type ClientConfig, type Connection, Pool, type PoolConfig, Query, type QueryResult, type Submittable } from 'pg';
import { type Configuration, SERVICE_NAME } from '../config/configuration.js';
import { traceStatement } from '../tracing/tracing.js';
import type { PostgresDataSourceOptions } from './app-data-source.js';
import type { DatabaseMetrics } from './database-metrics.js';
import { NO_CONNECTION, READ_ONLY } from './database-problem.js';
import { type PoolExtra, sharesOf } from './reader.js';
import { streamOf } from './statement.js';

const NOTHING_WRITTEN = 'Nothing was written: a statement of the transaction failed, and its error was ignored.';

/** Pool options that `pg` passes on to its clients. */
export interface DatabaseClientConfig extends ClientConfig, PoolExtra {
  metrics?: DatabaseMetrics;
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
      (callback as unknown as (error: Error | null) => void)(error && new Error(NO_CONNECTION, { cause: error }));
    }) as never;
  }

  override query(...request: never[]): never {
    const [statement] = request as unknown[];
    if (isSubmittable(statement)) {
      this.submitAlone(statement);
      return statement as never;
    }
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

  /** Outside of pipeline mode, in which `pg` refuses it, and after statements that were not awaited. */
  private submitAlone(statement: LongSubmittable): void {
    const { pipeline, connection } = this;
    if (!(streamOf(this) instanceof Duplex) && /^\s*copy\b/i.test(statement.text ?? '')) {
      const error = new Error('The embedded database has no COPY: use a PostgreSQL server with DATABASE_URL.');
      process.nextTick(() => statement.handleError(error, connection));
      return;
    }
    const { readyForQuery } = this as unknown as { readyForQuery: boolean };
    if (!readyForQuery) {
      once(this, 'drain').then(
        () => this.submitAlone(statement),
        (error: unknown) => statement.handleError(error, connection),
      );
      return;
    }
    let isEnding = false;
    Object.assign(this, { pipeline: false });
    this.once('drain', () => Object.assign(this, { pipeline }));
    const finish = statement.handleReadyForQuery.bind(statement);
    statement.handleReadyForQuery = (...given) => {
      isEnding = true;
      finish(...given);
    };
    const fail = statement.handleError.bind(statement);
    statement.handleError = (error) => {
      isEnding = true;
      fail(error, connection);
    };
    statement.once('close', () => {
      if (!isEnding) {
        // The connection would wait for the rest to be read. `pg` reports its end to a stream without listeners.
        statement.on('error', () => undefined);
        connection.stream.destroy();
      }
    });
    super.query(statement);
    // `pg` does not know when it ends: the time limit would hit a later statement.
    statement.callback?.();
  }
}

/** A stream or cursor that uses a connection until its end: of `pg-copy-streams`, `pg-query-stream` or `pg-cursor`. */
interface LongSubmittable extends Submittable, EventEmitter {
  readonly text?: string;
  /** Set by `pg`, to end the time limit. */
  callback?: () => void;
  handleError(error: unknown, connection: Connection): void;
  handleReadyForQuery(...given: unknown[]): void;
}

function isSubmittable(statement: unknown): statement is LongSubmittable {
  return typeof statement === 'object' && statement !== null && 'submit' in statement && !(statement instanceof Query);
}

/** A server, its streaming replica, or a pooler in front of it (PgBouncer in transaction mode). */
interface ServerLocation {
  readonly url: string;
  readonly isPooled?: boolean;
  readonly isReplica?: boolean;
}

/** Location of a database: a server, or in this process with the options that `pg` needs for it. */
export type DatabaseLocation = ServerLocation | PoolConfig;

/** Share of the connection timeout for a replica, so that time is left to read from the primary. */
const REPLICA_SHARE = 0.2;

const logger = new Logger('Database');

export function dataSourceOptions(
  configuration: Configuration,
  location: DatabaseLocation,
  metrics: DatabaseMetrics,
): PostgresDataSourceOptions {
  const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT, DATABASE_STREAM_TIMEOUT } = configuration;
  const server = 'url' in location ? location : undefined;
  const extra: PoolConfig & PoolExtra = 'url' in location ? serverOptions(configuration, location) : location;
  return {
    type: 'postgres',
    ...(server && { url: server.url }),
    applicationName: SERVICE_NAME,
    poolSize: extra.reads?.shares?.others ?? DATABASE_POOL_SIZE,
    connectTimeoutMS: DATABASE_CONNECTION_TIMEOUT * (server?.isReplica ? REPLICA_SHARE : 1) * 1000,
    // TypeORM needs nothing else of `pg`.
    driver: { Pool },
    poolErrorHandler: (error: unknown) => {
      logger.warn({ msg: 'database connection lost', err: error });
    },
    extra: {
      ...extra,
      Client: DatabaseClient,
      metrics,
      streamTimeout: DATABASE_STREAM_TIMEOUT * 1000,
    },
    installExtensions: false,
  };
}

function serverOptions(
  { DATABASE_POOL_SIZE, DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT }: Configuration,
  { isPooled = false, isReplica = false }: ServerLocation,
): PoolConfig & DatabaseClientConfig {
  const slowest = Math.min(DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT);
  // Replicas serve only lists.
  const timeout = isReplica ? slowest : DATABASE_STATEMENT_TIMEOUT;
  return {
    keepAlive: true,
    // For a server that is gone: otherwise the server itself ends the statement earlier.
    query_timeout: (timeout + (isReplica ? 0.5 : 1)) * 1000,
    // For a `Lane`. It also makes `pg` close the connection at `query_timeout`; otherwise the next statement
    // would wait behind the one without a response.
    pipeline: true,
    reads: { shares: isPooled ? undefined : sharesOf(DATABASE_POOL_SIZE), timeout: slowest * 1000 },
    // Poolers reject startup parameters: set them on the role there.
    ...(!isPooled && { hasSessions: true, ...sessionLimits(timeout) }),
  };
}

/** Time limits of a session in milliseconds, by PostgreSQL's name. @param timeout - of a statement, in seconds */
export function sessionLimits(timeout: number) {
  const milliseconds = Math.ceil(timeout * 1000);
  return {
    statement_timeout: milliseconds,
    lock_timeout: Math.ceil(milliseconds / 2),
    // A process that freezes in a transaction must not keep its locks.
    idle_in_transaction_session_timeout: milliseconds,
  };
}
