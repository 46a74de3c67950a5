import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Pool } from 'pg';
import {
  BaseEntity,
  DataSource,
  type DataSourceOptions,
  type EntityManager,
  type EntityMetadata,
  type EntityTarget,
  getMetadataArgsStorage,
  MigrationExecutor,
  type ObjectLiteral,
  type QueryRunner,
  type Repository,
} from 'typeorm';
import { reasonOf } from '../errors/describe-error.js';
import { OperatorError } from '../errors/operator-error.js';
import { currentRequest } from '../requests/request.js';
import { AppEntityManager } from './app-entity-manager.js';
import { databaseUnavailable, isUnavailable } from './database-problem.js';
import { Reader, readOptionsOf } from './reader.js';
import { requireSession } from './require-session.js';
import { withStreams } from './stream-rows.js';
import { transactionOf } from './transactions.js';

const logger = new Logger('Database');

/** Milliseconds to wait for connections to close. */
const CLOSE_TIMEOUT = 2000;

/** Milliseconds between two attempts to connect; the pause doubles. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [100, 5000];

export type PostgresDataSourceOptions = Extract<DataSourceOptions, { type: 'postgres' }>;

/** Migrations are pending that this process cannot apply now, or the role may not read which are. The start retries. */
export class MigrationsPendingError extends OperatorError {
  override readonly name = 'MigrationsPendingError';
}

/** Finds a table `migrations` that the role may not read: TypeORM would treat it as missing. */
const UNREADABLE = `SELECT format('%I may not read the table migrations: as %s, run GRANT SELECT ON migrations TO %1$I.',
    current_user, relowner::regrole) AS fault
  FROM pg_class WHERE oid = to_regclass('migrations') AND NOT has_table_privilege(oid, 'SELECT')`;

/** Names of the migrations to apply. @throws MigrationsPendingError if the role may not read which are applied */
export async function pendingMigrations(dataSource: DataSource, runner?: QueryRunner): Promise<string[]> {
  const [unreadable] = await dataSource.query<{ fault: string }[]>(UNREADABLE, [], runner);
  if (unreadable) {
    throw new MigrationsPendingError(`The role ${unreadable.fault}`);
  }
  return (await new MigrationExecutor(dataSource, runner).getPendingMigrations()).map(({ name }) => name);
}

/** Members of the driver that TypeORM's types omit. */
interface Driver {
  master: Pool | undefined;
  readonly connectedQueryRunners: readonly QueryRunner[];
}

/** The `pg` pool of a data source. @throws Problem 503 while it is not connected */
export function poolOf({ driver }: DataSource): Pool {
  const { master } = driver as DataSource['driver'] & Driver;
  if (!master) {
    throw notReady();
  }
  return master;
}

/** The connections on which lists are read; undefined if lists use TypeORM's pool. */
export function readerOf(dataSource: DataSource): Reader | undefined {
  return dataSource instanceof AppDataSource ? dataSource.reader : undefined;
}

function notReady() {
  const hint = 'register a callback with database.onReady(), or in a script, await app.get(Database).connect().';
  // The hint is for code that runs before the start, not for early requests.
  const cause = currentRequest() ? undefined : new Error(`The database connects after the modules are initialized: ${hint}`);
  return databaseUnavailable(cause);
}

/** Nest injects it before it connects. TypeORM asks it for a query runner per statement: this joins the transaction. */
export class AppDataSource extends DataSource {
  /** Libraries such as `typeorm-transactional` know a data source by the name of its class. */
  static override get name(): string {
    return DataSource.name;
  }

  declare readonly options: PostgresDataSourceOptions;
  declare readonly driver: DataSource['driver'] & Driver;
  /** Whether requests may use it: it is connected, has all migrations and passed the checks. */
  isReady = false;
  /** Run after the migrations, and may use repositories. If one fails, the database does not become ready. */
  readonly checks: ((dataSource: DataSource) => Promise<void>)[] = [];
  reader: Reader | undefined;
  private readonly preparation = new AsyncLocalStorage<boolean>();

  /** Opens with retries until ready or the signal aborts. @throws if no retry fixes it, or it is embedded */
  async openWithRetries(signal: AbortSignal, isEmbedded: boolean, migrate?: () => Promise<unknown>): Promise<void> {
    const isOver = () => signal.aborted;
    for (let pause = FIRST_PAUSE; !this.isReady && !isOver(); pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        await this.open(signal, migrate);
        logger.log({ msg: 'database ready', embedded: isEmbedded });
      } catch (error) {
        if (isOver() && !isEmbedded) return;
        if (isEmbedded || !(isUnavailable(error) || error instanceof MigrationsPendingError)) throw error;
        const hint = 'run "doctor" for details';
        logger.warn({ msg: 'database not ready', reason: reasonOf(error), retryInMs: pause, hint });
        logger.debug({ msg: 'database not ready', err: error });
        await delay(pause, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  /** Connects and runs the checks; disconnects if one fails. @param migrate - without it, missing migrations are an error */
  async open(signal: AbortSignal, migrate?: () => Promise<unknown>): Promise<void> {
    const { subscribers } = this;
    try {
      // Keeps subscribers that have added themselves in constructors: `initialize` replaces the list, even if it fails.
      await this.initialize().finally(() => Object.assign(this, { subscribers }));
      await requireSession(this);
      const options = readOptionsOf(this);
      this.reader = options?.shares && new Reader(poolOf(this).options, options.timeout, options.shares);
      const [pending] = await pendingMigrations(this);
      if (pending && !migrate) {
        throw new MigrationsPendingError(`The database lacks migrations, such as ${pending}: run "migrate".`);
      }
      await (pending && migrate?.());
      for (const { target, versionColumn } of this.entityMetadatas) {
        // Active Record entities use the data source that was initialized last, which can be that of the migrations.
        if (typeof target === 'function' && target.prototype instanceof BaseEntity) {
          (target as typeof BaseEntity).useDataSource(this);
        }
        // Otherwise, `save()` of an entity that has changed since writes the old version back: two states with one `ETag`.
        Object.assign(versionColumn ?? {}, { isUpdate: false });
      }
      await this.preparation.run(true, async () => {
        for (const check of this.checks) await check(this);
      });
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
    const { master, connectedQueryRunners } = this.driver;
    const { reader } = this;
    this.driver.master = undefined;
    this.reader = undefined;
    // A copy, because each runner removes itself from the list.
    const released = Promise.all([...connectedQueryRunners].map((runner) => runner.release()));
    const closed = released.then(() => Promise.all([master?.end(), reader?.end()]));
    await Promise.race([closed, delay(CLOSE_TIMEOUT, undefined, { ref: false })]);
    Object.assign(this, { isInitialized: false });
  }

  /** @throws Problem 503 while the database is unavailable or lacks migrations */
  override getMetadata(target: EntityTarget<unknown>): EntityMetadata {
    if (!this.isReady && !this.preparation.getStore()) {
      throw notReady();
    }
    return super.getMetadata(target as never);
  }

  /** @throws Problem 503 while the database is unavailable */
  override async query<T>(...statement: Parameters<DataSource['query']>): Promise<T> {
    poolOf(this);
    return super.query<T>(...statement);
  }

  /** Chooses tree repositories, too: Nest would do that by metadata, but asks before it exists. */
  override getRepository<Entity extends ObjectLiteral>(target: EntityTarget<Entity>): Repository<Entity> {
    const isTree = getMetadataArgsStorage().trees.some((tree) => tree.target === target);
    return isTree ? this.getTreeRepository(target) : super.getRepository(target);
  }

  override createEntityManager(queryRunner?: QueryRunner): EntityManager {
    return new AppEntityManager(this, queryRunner);
  }

  override createQueryRunner(mode?: 'master' | 'slave'): QueryRunner {
    return transactionOf(this)?.take() ?? withStreams(super.createQueryRunner(mode));
  }
}
