import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { DataSource, EntityManager, EntityTarget, ObjectLiteral, Repository } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { OperatorError } from '../config/operator-error.js';
import { reasonOf } from '../observability/describe-error.js';
import { DatabaseMetrics } from './database-metrics.js';
import { databaseUnavailable, isUnavailable } from './database-problem.js';
import { type DatabaseLocation, dataSourceOptions, type PostgresDataSourceOptions } from './data-source-options.js';
import type { EmbeddedDatabase } from './embedded-database.js';
import { keepTrying, openDataSource } from './open-data-source.js';
import { applyMigrations } from './migrate.js';
import { ReadReplicas } from './read-replicas.js';
import { StatementObservers } from './statement-observers.js';
import { TableRegistry } from './table-registry.js';
import { TransactionScope } from './transaction-scope.js';
import { readWrite } from './transactions.js';

/** The database lacks migrations that this process is not to apply. */
class MigrationsPendingError extends OperatorError {
  override readonly name = 'MigrationsPendingError';
}

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
  private readonly scope = new TransactionScope();
  private embedded: EmbeddedDatabase | undefined;
  private dataSource: DataSource | undefined;
  private connecting: Promise<void> | undefined;
  private replicas = new ReadReplicas([]);

  constructor(
    private readonly configuration: Configuration,
    private readonly tables: TableRegistry,
    private readonly statements: StatementObservers,
    private readonly metrics: DatabaseMetrics,
  ) {}

  /** Whether this is the embedded database. */
  get isEmbedded(): boolean {
    return this.configuration.DATABASE_URL === undefined;
  }

  /**
   * TypeORM's repository of an entity that some module registered: inside a {@link transaction}, a part of it.
   *
   * @throws Problem 503 while the database is away or lacks migrations
   */
  repository<Entity extends ObjectLiteral>(entity: EntityTarget<Entity>): Repository<Entity> {
    return this.manager.getRepository(entity);
  }

  /**
   * TypeORM's manager of the database: inside a {@link transaction}, of that.
   *
   * @throws Problem 503 while the database is away or lacks migrations
   */
  get manager(): EntityManager {
    return this.scope.manager ?? this.connected().manager;
  }

  /**
   * Does all of some work or nothing: all that it does with repositories from here meanwhile becomes one
   * transaction. Inside another transaction it becomes part of that.
   *
   * @throws Problem 503 while the database is away or lacks migrations, or when the connection ends meanwhile
   */
  async transaction<T>(work: () => Promise<T>): Promise<T> {
    if (this.scope.manager) {
      return work();
    }
    const onCommit: (() => void)[] = [];
    const result = await readWrite(this.connected(), (manager) => this.scope.run(manager, onCommit, work));
    onCommit.forEach((callback) => {
      callback();
    });
    return result;
  }

  /**
   * Calls back once what was written is certain to stay: after the {@link transaction} that the running code is part of, or at once
   * outside of one. Never, if that is rolled back, or if its connection ends while it commits.
   *
   * @param callback - must not throw: the work is done
   */
  afterCommit(callback: () => void): void {
    this.scope.afterCommit(callback);
  }

  /**
   * Reads what need not be the latest: from one of `DATABASE_REPLICA_URLS` in turn, or from the database itself while that is
   * away or if there is none; inside a {@link transaction}, as a part of it.
   *
   * @param read - only reads, and may be called again with another manager when the first one fails
   * @throws Problem 503 while the database is away, too
   */
  fromReplica<T>(read: (manager: EntityManager) => Promise<T>): Promise<T> {
    const here = () => read(this.manager);
    return this.scope.manager ? here() : this.replicas.read(read, here);
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
   * Takes the database into use: at once when it is embedded, otherwise in the background, with retries while it cannot be reached
   * or lacks migrations that another process applies. See {@link started} for other errors.
   *
   * @throws DataDirectoryInUseError or what else makes the embedded database unusable
   */
  async start(): Promise<void> {
    this.metrics.watch(() => [this.dataSource, ...this.replicas.dataSources]);
    if (this.isEmbedded) {
      await this.connect();
    } else {
      const onFailure = (error: unknown, retryInMs: number) => {
        const mayPass = isUnavailable(error) || error instanceof MigrationsPendingError || this.shutdown.signal.aborted;
        if (!mayPass) {
          throw error;
        }
        this.logger.warn({
          msg: 'database not ready',
          reason: reasonOf(error),
          retryInMs,
          hint: 'the command "doctor" says more',
        });
        this.logger.debug({ msg: 'database not ready', err: error });
      };
      this.connecting = keepTrying(() => this.connect(), onFailure, this.shutdown.signal);
      // `started` throws what ends the attempts.
      this.connecting.catch(() => undefined);
      const urls = this.configuration.DATABASE_REPLICA_URLS;
      this.replicas = new ReadReplicas(urls.map((url) => this.optionsFor({ url, kind: 'replica' })));
      this.replicas.connect();
    }
  }

  /**
   * Resolves when the database is in use, or the service ends.
   *
   * @throws what no retry can change: a failed migration, an entity that does not fit its table or that TypeORM does not accept
   */
  async started(): Promise<void> {
    await this.connecting;
  }

  /** One attempt to connect, applying migrations where that is configured. */
  async connect(): Promise<void> {
    const onPending = async (migrations: readonly string[]) => {
      if (!this.configuration.MIGRATE_ON_START) {
        throw new MigrationsPendingError(`Waiting for "migrate" to apply ${migrations.join(', ')}.`);
      }
      await this.migrate();
    };
    this.dataSource = await openDataSource(await this.options(), onPending, this.shutdown.signal);
    this.logger.log({ msg: 'database ready', embedded: this.isEmbedded });
  }

  /** Applies the migrations that the database does not have yet, while no other process does. @returns how many */
  async migrate(): Promise<number> {
    const { DATABASE_DIRECT_URL: url } = this.configuration;
    const options = url === undefined ? await this.options() : this.optionsFor({ url, kind: 'server' });
    return applyMigrations(options, this.shutdown.signal);
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
    const { DATABASE_URL: url = '', DATABASE_DIRECT_URL } = this.configuration;
    return this.optionsFor(
      this.embedded
        ? { embedded: this.embedded.poolOptions() }
        : { url, kind: DATABASE_DIRECT_URL === undefined ? 'server' : 'pooler' },
    );
  }

  async onApplicationShutdown(): Promise<void> {
    this.shutdown.abort();
    // A server that no longer answers must not hold up the end of the process.
    await Promise.race([this.disconnect(), delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
    await this.embedded?.close();
  }

  private async disconnect(): Promise<void> {
    await Promise.allSettled([this.connecting, this.replicas.stop()]);
    await this.dataSource?.destroy();
  }

  private optionsFor(location: DatabaseLocation): PostgresDataSourceOptions {
    const onPoolError = (error: unknown) => {
      this.logger.warn({ msg: 'database connection lost', err: error });
    };
    return dataSourceOptions(this.configuration, this.tables, location, {
      statementObserver: this.statements.observe,
      onPoolError,
    });
  }

  private connected(): DataSource {
    if (!this.dataSource) {
      throw databaseUnavailable();
    }
    return this.dataSource;
  }
}
