import { Logger } from '@nestjs/common';
import { Pool, type PoolConfig } from 'pg';
import { type Configuration, SERVICE_NAME } from '../config/configuration.js';
import type { PostgresDataSourceOptions } from './app-data-source.js';
import { DatabaseClient } from './database-client.js';
import type { DatabaseMetrics } from './database-metrics.js';
import { type PoolExtra, sharesOf } from './reader.js';

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
): PoolConfig & PoolExtra {
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
