import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  DataSource,
  type EntityManager,
  type EntityMetadata,
  type EntityTarget,
  type ObjectLiteral,
  type QueryRunner,
  type Repository,
  type SelectQueryBuilder,
} from 'typeorm';
import { databaseUnavailable } from './database-problem.js';

/** How long connections may take to close, in milliseconds. */
const CLOSE_TIMEOUT = 2000;

/** A transaction that the running code is part of. */
interface Scope {
  readonly source: DataSource;
  readonly runner: QueryRunner;
  /** Called after a successful commit. */
  onCommit: (() => void)[];
  /** Resolves when the latest nested transaction has ended: they share a connection. */
  turn: Promise<unknown>;
}

const scopes = new AsyncLocalStorage<Scope | undefined>();

/** What TypeORM's driver leaves behind when it fails to connect. */
interface UnfinishedDriver {
  master?: { end(): Promise<void> } | undefined;
  connectedQueryRunners: QueryRunner[];
}

/**
 * The data source of the service, which Nest injects before the database is there. Its managers and repositories are part of the
 * transaction that the running code is part of: TypeORM asks a manager for its query runner at each statement.
 */
export class AppDataSource extends DataSource {
  /** Whether requests may use it: it is connected, and the database has all migrations. */
  isReady = false;

  override async initialize(): Promise<this> {
    const subscribers = [...this.subscribers];
    try {
      await super.initialize();
    } catch (error) {
      const driver = this.driver as unknown as UnfinishedDriver;
      await Promise.all(driver.connectedQueryRunners.map((runner) => runner.release()));
      await driver.master?.end();
      driver.master = undefined;
      throw error;
    }
    // Nest's subscribers add themselves in their constructors, and TypeORM begins a new list.
    this.subscribers.push(...subscribers.filter((subscriber) => !this.subscribers.includes(subscriber)));
    return this;
  }

  /** Closes its connections. A server that does not respond any more holds it up for {@link CLOSE_TIMEOUT}. */
  override async destroy(): Promise<void> {
    this.isReady = false;
    await Promise.race([super.destroy(), delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
    Object.assign(this, { isInitialized: false });
  }

  /** @throws Problem 503 while the database is away or lacks migrations */
  override getMetadata(target: EntityTarget<unknown>): EntityMetadata {
    if (!this.isReady) {
      throw databaseUnavailable();
    }
    return super.getMetadata(target as never);
  }

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    const manager = super.createEntityManager(queryRunner);
    if (!queryRunner) {
      const [getRepository, transaction] = [manager.getRepository.bind(manager), manager.transaction.bind(manager)];
      Object.defineProperty(manager, 'queryRunner', { get: () => this.scope?.runner });
      Object.assign(manager, {
        // TypeORM keeps repositories with the query runner that they were made with.
        getRepository: (target: never): Repository<ObjectLiteral> => scopes.run(undefined, () => getRepository(target)),
        transaction: (...work: never[]): Promise<unknown> => this.inTurn(() => transaction(...(work as unknown as [never]))),
      });
    }
    return manager;
  }

  override query<T>(sql: string, parameters?: unknown[], runner = this.scope?.runner): Promise<T> {
    return super.query<T>(sql, parameters, runner);
  }

  override createQueryBuilder<Entity extends ObjectLiteral>(
    entity?: EntityTarget<Entity> | QueryRunner,
    alias?: string,
    runner = this.scope?.runner,
  ): SelectQueryBuilder<Entity> {
    return alias === undefined
      ? (super.createQueryBuilder((entity as QueryRunner | undefined) ?? runner) as SelectQueryBuilder<Entity>)
      : super.createQueryBuilder(entity as EntityTarget<Entity>, alias, runner);
  }

  /** Whether the running code is part of a transaction. */
  get isInTransaction(): boolean {
    return this.scope !== undefined;
  }

  /**
   * Makes some work part of a transaction.
   *
   * @param onCommit - filled with what is to be called after the commit
   */
  runIn<T>(runner: QueryRunner, onCommit: (() => void)[], work: () => Promise<T>): Promise<T> {
    return scopes.run({ source: this, runner, onCommit, turn: Promise.resolve() }, work);
  }

  /** Calls back after the commit of the transaction, and never if that fails; outside of a transaction, at once. */
  afterCommit(callback: () => void): void {
    if (this.scope) {
      this.scope.onCommit.push(callback);
    } else {
      callback();
    }
  }

  private get scope(): Scope | undefined {
    const scope = scopes.getStore();
    return scope?.source === this ? scope : undefined;
  }

  /** Runs a transaction inside of another one, a savepoint, when those before it have ended. */
  private async inTurn<T>(transaction: () => Promise<T>): Promise<T> {
    const { scope } = this;
    if (!scope) {
      return transaction();
    }
    const nested: Scope = { ...scope, onCommit: [], turn: Promise.resolve() };
    const result = scope.turn.then(() => scopes.run(nested, transaction));
    scope.turn = result.catch(() => undefined);
    const value = await result;
    scope.onCommit.push(...nested.onCommit);
    return value;
  }
}
