import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { DataSource, type EntityMetadata, type EntityTarget, MigrationExecutor, type QueryRunner } from 'typeorm';
import { databaseUnavailable } from './database-problem.js';
import { checkTables } from './table-name.js';
import { transactionOf } from './transactions.js';

/** How long connections may take to close, in milliseconds. */
const CLOSE_TIMEOUT = 2000;

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

/**
 * The data source of the service, which Nest injects before the database is there. All that uses it, or managers and repositories of it,
 * is part of the transaction that the running code is part of: TypeORM takes a query runner for each statement.
 */
export class AppDataSource extends DataSource {
  /** Whether requests may use it: it is connected, and the database has all migrations. */
  isReady = false;
  /** What must be true of a database with all migrations before requests may use it. */
  readonly checks: ((dataSource: DataSource) => Promise<void>)[] = [checkTables];

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
      for (const check of this.checks) {
        await check(this);
      }
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
    return transactionOf(this)?.runner ?? super.createQueryRunner(mode);
  }
}
