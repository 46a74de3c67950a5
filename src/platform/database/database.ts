import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { DataSource, type EntityTarget, type ObjectLiteral, type Repository } from 'typeorm';
import type { PostgresDataSourceOptions } from 'typeorm/driver/postgres/PostgresDataSourceOptions.js';
import { Configuration } from '../config/configuration.js';
import { OperatorError } from '../config/operator-error.js';
import { databaseUnavailable } from './database-problem.js';
import { dataSourceOptions } from './data-source-options.js';
import type { EmbeddedDatabase } from './embedded-database.js';
import { applyMigrations, pendingMigrations } from './migrate.js';
import { TableRegistry } from './table-registry.js';

/** First and longest pause between attempts to connect, in milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 2000;

/** How long connections may take to say goodbye, in milliseconds. */
const CLOSE_TIMEOUT = 2000;

/**
 * The service's database: PostgreSQL at `DATABASE_URL`, or an embedded one. The process outlives the database: while it
 * is away, or lacks migrations, everything that needs it is answered 503, and it is taken into use once it is there.
 */
@Injectable()
export class Database implements OnApplicationShutdown {
  private readonly logger = new Logger('Database');
  private readonly shutdown = new AbortController();
  private embedded: EmbeddedDatabase | undefined;
  private dataSource: DataSource | undefined;
  private connecting: Promise<void> | undefined;

  constructor(
    private readonly configuration: Configuration,
    private readonly tables: TableRegistry,
  ) {}

  /** Whether this is the embedded database. */
  get isEmbedded(): boolean {
    return this.configuration.DATABASE_URL === undefined;
  }

  /**
   * TypeORM's repository of an entity that some module registered.
   *
   * @throws Problem 503 while the database is away or lacks migrations
   */
  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.connected().getRepository(entity);
  }

  /**
   * Whether requests can be served; resolves when they can.
   *
   * @throws Problem 503 or the database's own error when they cannot
   */
  async check(): Promise<void> {
    await this.connected().query('SELECT 1');
  }

  /**
   * Takes the database into use: at once when it is embedded, otherwise in the background, as often as it takes.
   *
   * @throws DataDirectoryInUseError or what else makes the embedded database unusable
   */
  async start(): Promise<void> {
    if (this.isEmbedded) {
      await this.connect();
    } else {
      this.connecting = this.keepConnecting();
    }
  }

  /** One attempt to connect, applying migrations where that is configured. */
  async connect(): Promise<void> {
    const dataSource = await new DataSource(await this.options()).initialize();
    try {
      const pending = await pendingMigrations(dataSource);
      if (pending.length > 0) {
        if (!this.configuration.MIGRATE_ON_START) {
          throw new OperatorError(`Waiting for "migrate" to apply ${pending.join(', ')}.`);
        }
        await this.migrate();
      }
      this.shutdown.signal.throwIfAborted();
    } catch (error) {
      await dataSource.destroy();
      throw error;
    }
    this.dataSource = dataSource;
    this.logger.log({ msg: 'database ready', embedded: this.isEmbedded });
  }

  /** Applies the migrations that the database does not have yet, while no other process does. */
  async migrate(): Promise<void> {
    const applied = await applyMigrations(await this.options(), this.shutdown.signal);
    applied.forEach((migration) => this.logger.log({ msg: 'migration applied', migration }));
  }

  /**
   * How TypeORM reaches this database, with the entities and migrations of all modules; opens it if it is embedded.
   *
   * @throws DataDirectoryInUseError when another process has it open
   */
  async options(): Promise<PostgresDataSourceOptions> {
    if (this.isEmbedded && !this.embedded) {
      // Loaded only by those who use it: it is large.
      const { EmbeddedDatabase } = await import('./embedded-database.js');
      this.embedded = await EmbeddedDatabase.open(this.configuration.DATA_DIR);
    }
    return dataSourceOptions(this.configuration, this.tables, this.embedded?.poolOptions(), (error) => {
      this.logger.warn({ msg: 'database connection lost', err: error });
    });
  }

  async onApplicationShutdown(): Promise<void> {
    this.shutdown.abort();
    // A server that no longer answers must not hold up the end of the process.
    await Promise.race([this.disconnect(), delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
    await this.embedded?.close();
  }

  private async disconnect(): Promise<void> {
    await this.connecting;
    await this.dataSource?.destroy();
  }

  private connected(): DataSource {
    if (!this.dataSource) {
      throw databaseUnavailable();
    }
    return this.dataSource;
  }

  private async keepConnecting(): Promise<void> {
    const { signal } = this.shutdown;
    for (let pause = FIRST_PAUSE; !this.dataSource && !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      await this.connect().catch(async (error: unknown) => {
        this.logger.warn({ msg: 'database not ready', err: error, retryInMs: pause });
        await delay(pause, undefined, { signal }).catch(() => undefined);
      });
    }
  }
}
