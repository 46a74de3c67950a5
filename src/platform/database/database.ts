import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { Configuration } from '../config/configuration.js';
import { warnOnceAMinute } from '../errors/warn-once-a-minute.js';
import { AppDataSource, type PostgresDataSourceOptions } from './app-data-source.js';
import { dataSourceOptions } from './data-source-options.js';
import { DatabaseMetrics } from './database-metrics.js';
import { databaseUnavailable, isUnavailable } from './database-problem.js';
import { EmbeddedDatabase } from './embedded-database.js';
import { type ExclusiveResult, ExclusiveWork } from './exclusive-work.js';
import { applyMigrations } from './migrations.js';
import { ping } from './ping.js';
import { ReadReplica } from './read-replica.js';
import { registeredClasses } from './registered-classes.js';
import { checkSchema } from './schema-drift.js';
import { checkRights } from './table-rights.js';
import { runTransaction, type TransactionEnds, transactionOf } from './transactions.js';

/** Key of the advisory lock with which one instance at a time runs the callbacks of `onReady`. */
const READY_LOCK = 7_235_915_402_218;

/** PostgreSQL at `DATABASE_URL`, or embedded. While it is unavailable or lacks migrations, requests that need it get 503. */
@Injectable()
export class Database implements OnApplicationShutdown {
  /** For first pages of lists; undefined without `DATABASE_READ_URL`. */
  replica: ReadReplica | undefined;
  /** Resolves when the database is ready or the service stops; rejects with an error that no retry fixes. */
  started: Promise<void> | undefined;
  private readonly logger = new Logger('Database');
  private readonly shutdown = new AbortController();
  private readonly callbacks: (() => Promise<void>)[] = [];
  private embedded: EmbeddedDatabase | undefined;
  /** Logs the causes of the current outage; undefined outside of one. */
  private warnOfOutage: ReturnType<typeof warnOnceAMinute> | undefined;

  constructor(
    @InjectDataSource() private readonly dataSource: AppDataSource,
    private readonly configuration: Configuration,
    private readonly metrics: DatabaseMetrics,
    private readonly modules: ModuleRef,
    private readonly exclusiveWork: ExclusiveWork,
  ) {}

  get isEmbedded(): boolean {
    return this.configuration.DATABASE_URL === undefined;
  }

  /**
   * Runs work in a transaction that includes all statements of injected repositories and begins with the first one. A nested
   * transaction is a savepoint; several run in turn. If the connection is lost during the commit, the result is unknown.
   *
   * @param ends - statements that are sent in one write with `START TRANSACTION` and with `COMMIT`
   */
  transaction<T>(work: () => Promise<T>, ends?: TransactionEnds<T>): Promise<T> {
    return runTransaction(this.dataSource, work, ends);
  }

  /** Calls back after the current {@link transaction} commits, not if it fails; at once outside of one. Must not throw. */
  afterCommit(callback: () => void): void {
    const { afterCommit = () => callback() } = transactionOf(this.dataSource) ?? {};
    afterCommit(callback);
  }

  /**
   * Runs work in one instance at a time. It is skipped if this or another instance runs work of the same name. The lock has
   * a connection of its own, beyond `DATABASE_POOL_SIZE`: see {@link ExclusiveWork}.
   *
   * @param name - of the work in all instances, such as `library.mark-overdue`
   * @param work - may take long, and use {@link transaction}. When the signal aborts, it must end: the service stops, or the
   * connection with the lock is lost and another instance may begin the work
   * @throws the error of the work; Error if the lock is lost, there is no connection, or it is called in a transaction
   */
  exclusively<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<ExclusiveResult<T>> {
    return this.exclusiveWork.run(name, work);
  }

  /** Adds a check that runs after the migrations. Its OperatorError stops the start. */
  addCheck(check: (dataSource: DataSource) => Promise<void>): void {
    this.dataSource.checks.push(check);
  }

  /**
   * Runs work at each start after the migrations, before the service is ready: all callbacks in one {@link transaction}, one
   * instance at a time. If it fails, the service does not start. Register it in a constructor or in `onModuleInit`.
   */
  onReady(callback: () => Promise<void>): void {
    if (this.dataSource.isReady) {
      throw new Error('database.onReady() is called after the start: call it in a constructor or in onModuleInit().');
    }
    this.callbacks.push(callback);
  }

  /** @throws Problem 503, or the database's error, if requests cannot be served */
  async check(): Promise<void> {
    if (!this.dataSource.isReady) {
      throw databaseUnavailable();
    }
    await ping(this.dataSource).catch((error: unknown) => {
      this.warnOfOutage ??= warnOnceAMinute(this.logger);
      this.warnOfOutage('database unavailable', error);
      throw error;
    });
    if (this.warnOfOutage) {
      this.warnOfOutage = undefined;
      this.logger.log({ msg: 'database available again' });
    }
  }

  /** Connects to the embedded database, or to a server in the background with retries. */
  async start(): Promise<void> {
    const { dataSource, configuration, metrics } = this;
    const { signal } = this.shutdown;
    this.replica = configuration.DATABASE_READ_URL ? new ReadReplica(dataSource, configuration, metrics, signal) : undefined;
    metrics.watch(dataSource, this.replica);
    dataSource.setOptions(await this.options());
    // These run first, because others use the tables. Commands skip them: a token can be revoked although a table drifted.
    dataSource.checks.unshift(checkSchema, checkRights);
    this.addCheck(() => this.runCallbacks());
    const migrate = configuration.MIGRATE_ON_START ? () => this.migrate() : undefined;
    this.started = dataSource.openWithRetries(signal, this.isEmbedded, migrate);
    // Prevents an unhandled rejection: callers that await `started` get the error.
    this.started.catch(() => undefined);
    await (this.isEmbedded && this.started);
  }

  /** Runs the callbacks of {@link onReady}. @throws Error that says where it failed */
  private async runCallbacks(): Promise<void> {
    const run = async () => {
      for (const callback of this.callbacks) await callback();
    };
    try {
      const text = 'SELECT pg_advisory_xact_lock($1)';
      await this.transaction(run, { begin: (send) => send({ text, values: [READY_LOCK] }) });
    } catch (error) {
      throw isUnavailable(error) ? error : new Error('A callback of database.onReady() failed.', { cause: error });
    }
  }

  /** Connects once, without applying migrations. */
  async connect(): Promise<void> {
    this.dataSource.setOptions(await this.options());
    await this.dataSource.open(this.shutdown.signal);
  }

  /** Applies pending migrations, one process at a time. @returns their number */
  async migrate(): Promise<number> {
    return applyMigrations(await this.directOptions(), this.shutdown.signal);
  }

  /** Compares the schema with the entities, as the start does. @throws OperatorError if the service would not start */
  async checkSchema(): Promise<void> {
    const dataSource = await new DataSource(await this.directOptions()).initialize();
    try {
      await checkSchema(dataSource);
    } finally {
      await dataSource.destroy();
    }
  }

  /** Options that bypass a pooler. Creates the embedded database if there is none. */
  private directOptions(): Promise<PostgresDataSourceOptions> {
    return this.options(this.configuration.DATABASE_DIRECT_URL, true);
  }

  /**
   * Options with all entities and migrations: for the service's database or, with `url`, for another server without a
   * pooler. Opens the embedded database, and creates it if `mayCreate` is set.
   */
  async options(url?: string, mayCreate = this.configuration.MIGRATE_ON_START): Promise<PostgresDataSourceOptions> {
    const { DATABASE_URL, DATABASE_DIRECT_URL, DATA_DIR } = this.configuration;
    const server = url ?? DATABASE_URL;
    const location =
      server === undefined
        ? (this.embedded ??= await EmbeddedDatabase.open(DATA_DIR, mayCreate)).poolOptions()
        : { url: server, isPooled: url === undefined && DATABASE_DIRECT_URL !== undefined };
    const registered = registeredClasses(this.modules, this.dataSource);
    return { ...dataSourceOptions(this.configuration, location, this.metrics), ...registered };
  }

  async onApplicationShutdown(): Promise<void> {
    this.shutdown.abort();
    await Promise.allSettled([this.started, this.replica?.stop()]);
    await this.dataSource.destroy();
    await this.embedded?.close();
  }
}
