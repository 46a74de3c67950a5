import { Pool, type PoolConfig } from 'pg';
import type { DataSourceOptions } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../config/service-name.js';
import { DatabaseClient, type DatabaseClientConfig } from './database-client.js';
import type { StatementObserver } from './statement-observers.js';
import type { TableRegistry } from './table-registry.js';

/** Options of TypeORM for PostgreSQL. */
export type PostgresDataSourceOptions = Extract<DataSourceOptions, { type: 'postgres' }>;

/** A server that is the database, a pooler before it (PgBouncer in transaction mode), or a streaming replica of it. */
export type ServerKind = 'server' | 'pooler' | 'replica';

/** Where a database is: a URL, or what makes `pg` talk to the embedded one. */
export type DatabaseLocation = { url: string; kind: ServerKind } | { embedded: PoolConfig };

/** How long an idle connection to a server is kept, in milliseconds. */
const IDLE_TIMEOUT = 30_000;

/** A replica that is away must leave time to read elsewhere: the part that it may take of the time for a connection. */
const PATIENCE_WITH_REPLICA = 0.2;

/** Who is told of what goes on in a data source. */
export interface DataSourceObservers {
  readonly statementObserver: StatementObserver;
  /** An idle connection broke. */
  readonly onPoolError: (error: unknown) => void;
}

/**
 * Options of a data source.
 *
 * @param observers - of statements and connections
 */
export function dataSourceOptions(
  configuration: Configuration,
  tables: TableRegistry,
  location: DatabaseLocation,
  observers?: DataSourceObservers,
): PostgresDataSourceOptions {
  const { DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT } = configuration;
  const isReplica = 'kind' in location && location.kind === 'replica';
  return {
    type: 'postgres',
    ...('url' in location && { url: location.url }),
    applicationName: SERVICE_NAME,
    poolSize: DATABASE_POOL_SIZE,
    connectTimeoutMS: DATABASE_CONNECTION_TIMEOUT * (isReplica ? PATIENCE_WITH_REPLICA : 1) * 1000,
    // Of `pg`, TypeORM needs no more than this.
    driver: { Pool },
    poolErrorHandler: observers?.onPoolError ?? (() => undefined),
    extra: {
      ...('embedded' in location ? location.embedded : serverOptions(configuration, location.kind)),
      Client: DatabaseClient,
      ...(observers && { statementObserver: observers.statementObserver }),
    },
    installExtensions: false,
    entities: [...tables.entities],
    migrations: [...tables.migrations],
    logging: false,
  };
}

function serverOptions(
  { DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT }: Configuration,
  kind: ServerKind,
): PoolConfig & DatabaseClientConfig {
  // Replicas serve lists alone, of which those with a filter may take longest.
  const timeout = kind === 'replica' ? Math.min(DATABASE_STATEMENT_TIMEOUT, FILTER_TIMEOUT) : DATABASE_STATEMENT_TIMEOUT;
  return {
    keepAlive: true,
    idleTimeoutMillis: IDLE_TIMEOUT,
    // The server stops a statement that takes long; should the server not be there any more, we stop waiting for it.
    statementTimeout: (timeout + (kind === 'replica' ? 0.5 : 1)) * 1000,
    // Poolers refuse start-up parameters: there the role has to bring its own.
    ...(kind !== 'pooler' && {
      // Statements can be sent behind each other; see `runRead`.
      pipeline: true,
      statement_timeout: timeout * 1000,
      lock_timeout: timeout * 500,
      // A process that was frozen in a transaction must not keep what it locked from the others.
      idle_in_transaction_session_timeout: timeout * 1000,
    }),
  };
}
