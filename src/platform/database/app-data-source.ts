import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { DataSource, type EntityMetadata, type EntityTarget, type QueryRunner } from 'typeorm';
import type { PostgresDataSourceOptions } from './data-source-options.js';
import { databaseUnavailable } from './database-problem.js';

/** How long connections may take to close, in milliseconds. */
const CLOSE_TIMEOUT = 2000;

/** A transaction that the running code is part of. */
interface Scope {
  readonly runner: QueryRunner;
  /** Called after a successful commit. */
  readonly onCommit: (() => void)[];
}

/**
 * The data source of the service, which Nest injects before the database is there. Its manager and all its repositories are part of
 * the transaction that the running code is part of: TypeORM asks the manager for its query runner at each statement.
 */
export class AppDataSource extends DataSource {
  /** Whether requests may use it: it is connected, and the database has all migrations. */
  isReady = false;

  private readonly scope = new AsyncLocalStorage<Scope>();

  constructor(options: PostgresDataSourceOptions) {
    super(options);
    Object.defineProperty(this.manager, 'queryRunner', { get: () => this.scope.getStore()?.runner });
  }

  /** Makes all repositories now: one that is made in a transaction would keep its query runner. */
  override async initialize(): Promise<this> {
    await super.initialize();
    this.entityMetadatas.forEach(({ target }) => this.manager.getRepository(target));
    return this;
  }

  /** @throws Problem 503 while the database is away or lacks migrations */
  override getMetadata(target: EntityTarget<unknown>): EntityMetadata {
    if (!this.isReady) {
      throw databaseUnavailable();
    }
    return super.getMetadata(target as never);
  }

  /** Closes its connections. A server that does not respond any more holds it up for {@link CLOSE_TIMEOUT}. */
  override async destroy(): Promise<void> {
    this.isReady = false;
    await Promise.race([super.destroy(), delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
  }

  /** Whether the running code is part of a transaction. */
  get isInTransaction(): boolean {
    return this.scope.getStore() !== undefined;
  }

  /**
   * Makes some work part of a transaction.
   *
   * @param onCommit - filled with what is to be called after the commit
   */
  runIn<T>(runner: QueryRunner, onCommit: (() => void)[], work: () => Promise<T>): Promise<T> {
    return this.scope.run({ runner, onCommit }, work);
  }

  /** Calls back after the commit of the transaction, and never if that fails; outside of a transaction, at once. */
  afterCommit(callback: () => void): void {
    const scope = this.scope.getStore();
    if (scope) {
      scope.onCommit.push(callback);
    } else {
      callback();
    }
  }
}
