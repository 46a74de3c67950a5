import { Logger } from '@nestjs/common';
import type { PoolConfig } from 'pg';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../service/service.js';
import { PasswordFile } from '../config/password-file.js';
import type { PostgresDataSourceOptions } from './app-data-source.js';
import { DatabaseClient, type DatabaseClientConfig } from './database-client.js';
import type { DatabaseMetrics } from './database-metrics.js';
import { POSTGRES_DRIVER } from './database-pool.js';
import { type PoolExtra, QUICK, type ReadOptions, sharesOf } from './reader.js';

/** A server, or a pooler in front of it (PgBouncer in transaction mode); or options of `pg` for the embedded database. */
type DatabaseLocation = { readonly url: string; readonly isPooled?: boolean } | PoolConfig;

/** Share of the connection timeout for a replica, so that time is left to read from the primary. */
const REPLICA_SHARE = 0.2;

/** The smallest pool size with which lists get connections of their own. */
const FEWEST = 5;

/** Seconds after which a connection is replaced, so that none outlives its password for long. */
const LIFETIME = 1800;

const logger = new Logger('Database');

export function dataSourceOptions(
  configuration: Configuration,
  location: DatabaseLocation,
  metrics: DatabaseMetrics,
): PostgresDataSourceOptions {
  const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT, DATABASE_STREAM_TIMEOUT } = configuration;
  const extra: PoolConfig & PoolExtra = 'url' in location ? serverOptions(configuration, location.isPooled) : location;
  return {
    type: 'postgres',
    ...('url' in location && { url: location.url }),
    applicationName: SERVICE_NAME,
    poolSize: extra.reads?.shares?.others ?? DATABASE_POOL_SIZE,
    connectTimeoutMS: DATABASE_CONNECTION_TIMEOUT * 1000,
    driver: POSTGRES_DRIVER,
    poolErrorHandler: (err: unknown) => logger.warn({ msg: 'database connection lost', err }),
    extra: { ...extra, Client: DatabaseClient, metrics, streamTimeout: DATABASE_STREAM_TIMEOUT * 1000 },
    installExtensions: false,
    // Its function is built in. That of `uuid-ossp` would fail, in SQL that the start names.
    uuidExtension: 'pgcrypto',
  };
}

/** Options of the pools for `DATABASE_READ_URL`. */
export function replicaOptions(configuration: Configuration, metrics: DatabaseMetrics): PoolConfig & DatabaseClientConfig {
  const wait = configuration.DATABASE_CONNECTION_TIMEOUT * REPLICA_SHARE * 1000;
  return {
    ...serverOptions(configuration),
    connectionString: configuration.DATABASE_READ_URL,
    application_name: SERVICE_NAME,
    connectionTimeoutMillis: wait,
    query_timeout: Math.max(wait, 4 * QUICK),
    Client: DatabaseClient,
    metrics,
  };
}

function serverOptions(configuration: Configuration, isPooled = false): PoolConfig & PoolExtra & DatabaseClientConfig {
  const { DATABASE_STATEMENT_TIMEOUT: timeout, DATABASE_PASSWORD_FILE: path } = configuration;
  return {
    keepAlive: true,
    maxLifetimeSeconds: LIFETIME,
    // Each server needs its own: a read replica accepts a new password later than the primary, and must not decide for it.
    ...(path !== undefined && { passwords: new PasswordFile('DATABASE_PASSWORD_FILE', path) }),
    // Detects a server that is gone: any other ends the statement earlier itself.
    query_timeout: (timeout + 1) * 1000,
    // For `SharedConnections`. It also makes `pg` close the connection at `query_timeout`; otherwise the next statement
    // would wait behind the one without a response.
    pipeline: true,
    reads: readOptions(configuration),
    // Startup parameters, which poolers reject: with one, operators set them on the role.
    ...(!isPooled && { hasSession: true, ...sessionLimits(timeout) }),
  };
}

export function readOptions(configuration: Configuration): ReadOptions {
  const { DATABASE_URL, DATABASE_DIRECT_URL, DATABASE_POOL_SIZE, DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT } =
    configuration;
  const isServer = DATABASE_URL !== undefined && DATABASE_DIRECT_URL === undefined;
  return {
    shares: isServer && DATABASE_POOL_SIZE >= FEWEST ? sharesOf(DATABASE_POOL_SIZE) : undefined,
    timeout: Math.min(DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT) * 1000,
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
