import { Logger } from '@nestjs/common';
import { Pool, type PoolConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { type Configuration, SERVICE_NAME } from '../config/configuration.js';
import { DatabaseClient, type DatabaseClientConfig } from './database-client.js';
import type { DatabaseMetrics } from './database-metrics.js';

export type PostgresDataSourceOptions = Extract<DataSourceOptions, { type: 'postgres' }>;

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

/** Milliseconds until an idle connection is closed. */
const IDLE_TIMEOUT = 30_000;

const logger = new Logger('Database');

export function dataSourceOptions(
  configuration: Configuration,
  location: DatabaseLocation,
  metrics: DatabaseMetrics,
): PostgresDataSourceOptions {
  const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT } = configuration;
  const server = 'url' in location ? location : undefined;
  return {
    type: 'postgres',
    ...(server && { url: server.url }),
    applicationName: SERVICE_NAME,
    poolSize: DATABASE_POOL_SIZE,
    connectTimeoutMS: DATABASE_CONNECTION_TIMEOUT * (server?.isReplica ? REPLICA_SHARE : 1) * 1000,
    // TypeORM needs nothing else of `pg`.
    driver: { Pool },
    poolErrorHandler: (error: unknown) => {
      logger.warn({ msg: 'database connection lost', err: error });
    },
    extra: { ...(server ? serverOptions(configuration, server) : location), Client: DatabaseClient, metrics },
    installExtensions: false,
  };
}

function serverOptions(
  { DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT }: Configuration,
  { isPooled = false, isReplica = false }: ServerLocation,
): PoolConfig & DatabaseClientConfig {
  // Replicas serve only lists, and the slowest are those with a filter.
  const timeout = isReplica ? Math.min(DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT) : DATABASE_STATEMENT_TIMEOUT;
  return {
    keepAlive: true,
    idleTimeoutMillis: IDLE_TIMEOUT,
    // For a server that is gone: otherwise the server itself ends the statement earlier.
    query_timeout: (timeout + (isReplica ? 0.5 : 1)) * 1000,
    // Allows pipelined reads (see `runRead`). It also makes `pg` close the connection at `query_timeout`; otherwise the next statement
    // would wait behind the one without a response.
    pipeline: true,
    // Poolers reject startup parameters: set them on the role there.
    ...(!isPooled && {
      hasSessions: true,
      statement_timeout: timeout * 1000,
      lock_timeout: timeout * 500,
      // A process that freezes in a transaction must not keep its locks.
      idle_in_transaction_session_timeout: timeout * 1000,
    }),
  };
}
