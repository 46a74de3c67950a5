import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { DataSource, EntityManager, type EntityMetadata, type EntityTarget, MigrationExecutor, type QueryRunner } from 'typeorm';
import { databaseUnavailable } from './database-problem.js';
import { checkTables } from './table-name.js';

/** How long connections may take to close, in milliseconds. */
const CLOSE_TIMEOUT = 2000;

/** First and longest pause between two attempts to connect, in milliseconds. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5000;

/** A transaction, or a savepoint, that the running code is part of. */
interface Scope {
  readonly source: DataSource;
  readonly runner: QueryRunner;
  /** Called after a successful commit. */
  readonly onCommit: (() => void)[];
  /** Resolves when the latest savepoint has ended: they share a connection. */
  turn: Promise<unknown>;
}

const scopes = new AsyncLocalStorage<Scope>();

/** What TypeORM's types leave out of its driver. */
interface Driver {
  master: Pool | undefined;
  readonly connectedQueryRunners: readonly QueryRunner[];
}

function driverOf({ driver }: DataSource): Driver {
  return driver as unknown as Driver;
}

/** The pool of `pg` behind a data source. @throws Problem 503 while it is not connected */
export function poolOf(dataSource: DataSource): Pool {
  const { master } = driverOf(dataSource);
  if (!master) {
    throw databaseUnavailable();
  }
  return master;
}

/** Runs transactions inside of others, which are savepoints, one after the other. */
class AppEntityManager extends EntityManager {
  override transaction<T>(...work: [unknown, unknown?]): Promise<T> {
    const run = () => super.transaction(...(work as unknown as [(manager: EntityManager) => Promise<T>]));
    return (this.dataSource as AppDataSource).inTurn(run);
  }
}

/**
 * The data source of the service, which Nest injects before the database is there. All that uses it, or managers and repositories of it,
 * is part of the transaction that the running code is part of: TypeORM takes a query runner for each statement.
 */
export class AppDataSource extends DataSource {
  /** Whether requests may use it: it is connected, and the database has all migrations. */
  isReady = false;

  /**
   * Connects to a database that has all that its entities need, and leaves it unconnected otherwise.
   *
   * @param onPending - called with the names of the migrations that the database does not have yet, if there are any: applies them,
   *   or throws
   * @param signal - ends the attempt
   */
  async open(onPending: (migrations: readonly string[]) => Promise<void>, signal: AbortSignal): Promise<void> {
    const subscribers = [...this.subscribers];
    try {
      await this.initialize();
      // Nest's subscribers add themselves in their constructors, and TypeORM begins a new list.
      this.subscribers.push(...subscribers.filter((subscriber) => !this.subscribers.includes(subscriber)));
      const pending = await new MigrationExecutor(this).getPendingMigrations();
      if (pending.length > 0) {
        await onPending(pending.map(({ name }) => name));
      }
      await checkTables(this);
      signal.throwIfAborted();
      this.isReady = true;
    } catch (error) {
      await this.destroy();
      throw error;
    }
  }

  /** Closes its connections, also after a failure to connect. A server that does not respond holds it up for {@link CLOSE_TIMEOUT}. */
  override async destroy(): Promise<void> {
    this.isReady = false;
    const driver = driverOf(this);
    const { master, connectedQueryRunners } = driver;
    driver.master = undefined;
    // A copy: each removes itself.
    await Promise.all([...connectedQueryRunners].map((runner) => runner.release()));
    await Promise.race([master?.end(), delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
    Object.assign(this, { isInitialized: false });
  }

  /** @throws Problem 503 while the database is away or lacks migrations */
  override getMetadata(target: EntityTarget<unknown>): EntityMetadata {
    if (!this.isReady) {
      throw databaseUnavailable();
    }
    return super.getMetadata(target as never);
  }

  override createQueryRunner(mode?: 'master' | 'slave'): QueryRunner {
    return this.scope?.runner ?? super.createQueryRunner(mode);
  }

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    return new AppEntityManager(this, queryRunner);
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

  /** Runs a transaction inside of another one when those before it have ended. */
  async inTurn<T>(transaction: () => Promise<T>): Promise<T> {
    const { scope } = this;
    if (!scope) {
      return transaction();
    }
    const onCommit: (() => void)[] = [];
    const result = scope.turn.then(() => this.runIn(scope.runner, onCommit, transaction));
    scope.turn = result.catch(() => undefined);
    const value = await result;
    scope.onCommit.push(...onCommit);
    return value;
  }
}

/**
 * Attempts something until it succeeds.
 *
 * @param onFailure - called with the error of an attempt, and the milliseconds until the next one; throws to end the attempts
 * @param signal - ends the attempts
 */
export async function keepTrying(
  attempt: () => Promise<void>,
  onFailure: (error: unknown, retryInMs: number) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
    try {
      await attempt();
      return;
    } catch (error) {
      onFailure(error, pause);
      await delay(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}
