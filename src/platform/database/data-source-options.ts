import { Logger } from '@nestjs/common';
import { Pool, type PoolConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import { type Configuration, SERVICE_NAME } from '../config/configuration.js';
import { DatabaseClient, type DatabaseClientConfig, type StatementObserver } from './database-client.js';

/** Options of TypeORM for PostgreSQL. */
export type PostgresDataSourceOptions = Extract<DataSourceOptions, { type: 'postgres' }>;

/** A server, a streaming replica of it, or a pooler before it (PgBouncer in transaction mode). */
interface ServerLocation {
  readonly url: string;
  readonly isPooled?: boolean;
  readonly isReplica?: boolean;
}

/** Where a database is: on a server, or in this process, with what `pg` needs for that. */
export type DatabaseLocation = ServerLocation | PoolConfig;

/** Part of the time limit of a connection that one to a replica may take: it must leave time to read elsewhere. */
const REPLICA_SHARE = 0.2;

/** How long an idle connection to a server is kept, in milliseconds. */
const IDLE_TIMEOUT = 30_000;

const logger = new Logger('Database');

export function dataSourceOptions(
  configuration: Configuration,
  location: DatabaseLocation,
  statementObserver: StatementObserver,
): PostgresDataSourceOptions {
  const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT } = configuration;
  const server = 'url' in location ? location : undefined;
  return {
    type: 'postgres',
    ...(server && { url: server.url }),
    applicationName: SERVICE_NAME,
    poolSize: DATABASE_POOL_SIZE,
    connectTimeoutMS: DATABASE_CONNECTION_TIMEOUT * (server?.isReplica ? REPLICA_SHARE : 1) * 1000,
    // Of `pg`, TypeORM needs no more than this.
    driver: { Pool },
    poolErrorHandler: (error: unknown) => {
      logger.warn({ msg: 'database connection lost', err: error });
    },
    extra: { ...(server ? serverOptions(configuration, server) : location), Client: DatabaseClient, statementObserver },
    installExtensions: false,
  };
}

function serverOptions(
  { DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT }: Configuration,
  { isPooled = false, isReplica = false }: ServerLocation,
): PoolConfig & DatabaseClientConfig {
  // Replicas serve lists alone, of which those with a filter may take longest.
  const timeout = isReplica ? Math.min(DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT) : DATABASE_STATEMENT_TIMEOUT;
  return {
    keepAlive: true,
    idleTimeoutMillis: IDLE_TIMEOUT,
    // The server stops a statement that takes long; should the server not be there any more, we stop waiting for it.
    query_timeout: (timeout + (isReplica ? 0.5 : 1)) * 1000,
    // Statements can be sent behind each other, see `runRead`. And only so `pg` closes the connection at `query_timeout`; otherwise the
    // next statement would wait on it, behind the one that is never answered.
    pipeline: true,
    // Poolers refuse start-up parameters: there the role has to bring its own.
    ...(!isPooled && {
      hasSessions: true,
      statement_timeout: timeout * 1000,
      lock_timeout: timeout * 500,
      // A process that was frozen in a transaction must not keep what it locked from the others.
      idle_in_transaction_session_timeout: timeout * 1000,
    }),
  };
}
