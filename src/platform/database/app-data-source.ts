import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from 'pg';
import { DataSource, type EntityMetadata, type EntityTarget, MigrationExecutor, type QueryRunner } from 'typeorm';
import { databaseUnavailable } from './database-problem.js';
import { transactionOf } from './transactions.js';

/** Milliseconds to wait for connections to close. */
const CLOSE_TIMEOUT = 2000;

/** Members of the driver that TypeORM's types omit. */
interface Driver {
  master: Pool | undefined;
  readonly connectedQueryRunners: readonly QueryRunner[];
}

function driverOf({ driver }: DataSource): Driver {
  return driver as unknown as Driver;
}

/** The `pg` pool of a data source. @throws Problem 503 while it is not connected */
export function poolOf(dataSource: DataSource): Pool {
  const { master } = driverOf(dataSource);
  if (!master) {
    throw databaseUnavailable();
  }
  return master;
}

/** Nest injects it before it is connected. TypeORM takes a query runner per statement, so all statements join the current transaction. */
export class AppDataSource extends DataSource {
  /** Whether requests may use it: it is connected, has all migrations and passed the checks. */
  isReady = false;
  /** Run after the migrations. One that fails keeps the database from becoming ready. */
  readonly checks: ((dataSource: DataSource) => Promise<void>)[] = [];

  /** Connects and runs the checks; disconnects if one fails. @param onPending - applies missing migrations, or throws */
  async open(onPending: (migrations: readonly string[]) => Promise<void>, signal: AbortSignal): Promise<void> {
    const subscribers = [...this.subscribers];
    try {
      await this.initialize();
      // Nest's subscribers add themselves in their constructors, and `initialize` starts with an empty list.
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

  /** Closes the connections, also after a failed `open`. Waits at most {@link CLOSE_TIMEOUT} for the server. */
  override async destroy(): Promise<void> {
    this.isReady = false;
    const driver = driverOf(this);
    const { master, connectedQueryRunners } = driver;
    driver.master = undefined;
    // A copy, because each runner removes itself from the list.
    await Promise.all([...connectedQueryRunners].map((runner) => runner.release()));
    await Promise.race([master?.end(), delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
    Object.assign(this, { isInitialized: false });
  }

  /** @throws Problem 503 while the database is unavailable or lacks migrations */
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
