import { DataSource, type ObjectLiteral } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { Configuration } from '../../config/configuration.js';
import { type DatabaseLocation, dataSourceOptions } from '../../database/data-source-options.js';
import type { TableRegistry } from '../../database/table-registry.js';

/** Connections that may be in use at once: few, for those that the server has may be few. */
const POOL_SIZE = 2;

/** Seconds that a connection may take, and a statement: less than a check may. */
const CONNECTION_PATIENCE = 4;
const STATEMENT_PATIENCE = 3;

/** One way to the database, as the service has it, but for shorter times. The connection is made when it is first needed. */
export class DatabaseAccess {
  private opening: Promise<DataSource> | undefined;

  /** @param locate - gives the way, or fails */
  constructor(
    private readonly configuration: Configuration,
    private readonly tables: TableRegistry,
    private readonly locate: () => DatabaseLocation | Promise<DatabaseLocation>,
  ) {}

  /** @throws what `pg` and PostgreSQL say of a connection that cannot be made */
  dataSource(): Promise<DataSource> {
    this.opening ??= this.open();
    return this.opening;
  }

  async query<Row extends ObjectLiteral>(statement: string, parameters: unknown[] = []): Promise<Row[]> {
    return (await this.dataSource()).query<Row[]>(statement, parameters);
  }

  /** The one row that a statement gives. */
  async row<Row extends ObjectLiteral>(statement: string, parameters: unknown[] = []): Promise<Row> {
    const [row] = await this.query<Row>(statement, parameters);
    if (!row) {
      throw new Error('The database gives no row where there must be one.');
    }
    return row;
  }

  async close(): Promise<void> {
    const opened = await this.opening?.catch(() => undefined);
    await opened?.destroy();
  }

  private async open(): Promise<DataSource> {
    const { DATABASE_CONNECTION_TIMEOUT, DATABASE_STATEMENT_TIMEOUT } = this.configuration;
    const hasty = Object.assign(new Configuration(), this.configuration, {
      DATABASE_POOL_SIZE: POOL_SIZE,
      DATABASE_CONNECTION_TIMEOUT: Math.min(DATABASE_CONNECTION_TIMEOUT, CONNECTION_PATIENCE),
      DATABASE_STATEMENT_TIMEOUT: Math.min(DATABASE_STATEMENT_TIMEOUT, STATEMENT_PATIENCE),
    });
    const location = await this.locate();
    const options: PostgresDataSourceOptions = dataSourceOptions(hasty, this.tables, location);
    return new DataSource(options).initialize();
  }
}
