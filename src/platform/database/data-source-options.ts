import type { PoolConfig } from 'pg';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import type { Configuration } from '../config/configuration.js';
import { SERVICE_NAME } from '../config/service-name.js';
import { DatabaseClient } from './database-client.js';
import type { TableRegistry } from './table-registry.js';

/**
 * Options of the data source that serves requests.
 *
 * @param embedded - pool options of the embedded database; without them `DATABASE_URL` is used
 */
export function dataSourceOptions(
  configuration: Configuration,
  tables: TableRegistry,
  embedded: PoolConfig | undefined,
  onPoolError: (error: unknown) => void,
): PostgresDataSourceOptions {
  const { DATABASE_URL: url, DATABASE_POOL_SIZE, DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT } = configuration;
  const server: PoolConfig = {
    Client: DatabaseClient,
    keepAlive: true,
    idleTimeoutMillis: 30_000,
    // The server stops a statement that takes long; should the server not be there any more, we stop waiting for it.
    statement_timeout: DATABASE_STATEMENT_TIMEOUT * 1000,
    query_timeout: (DATABASE_STATEMENT_TIMEOUT + 1) * 1000,
  };
  return {
    type: 'postgres',
    ...(url !== undefined && { url }),
    applicationName: SERVICE_NAME,
    poolSize: DATABASE_POOL_SIZE,
    connectTimeoutMS: DATABASE_CONNECTION_TIMEOUT * 1000,
    poolErrorHandler: onPoolError,
    extra: embedded ?? server,
    installExtensions: false,
    entities: [...tables.entities],
    migrations: [...tables.migrations],
    logging: false,
  };
}
