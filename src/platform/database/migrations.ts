import { setTimeout as delay } from 'node:timers/promises';
import { type DynamicModule, Logger, Module, type Type } from '@nestjs/common';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { pendingMigrations, type PostgresDataSourceOptions } from './app-data-source.js';
import { sqlState } from './database-problem.js';
import { executeMigrations } from './execute-migrations.js';
import { storeDigests } from './migration-digests.js';
import type { PoolExtra } from './reader.js';
import { requireSession } from './require-session.js';

/** Token of the migrations of each module. */
export const MIGRATIONS = Symbol('migrations');

/** Registers migrations, as `TypeOrmModule.forFeature` registers entities. */
@Module({})
export class MigrationsModule {
  /**
   * `imports: [MigrationsModule.forFeature([CreateWidgets1795219200000])]`
   *
   * @param migrations - classes whose names end in 13 digits (milliseconds since 1970), which order the migrations of all
   * modules
   */
  static forFeature(migrations: readonly Type<MigrationInterface>[]): DynamicModule {
    return { module: MigrationsModule, providers: [{ provide: MIGRATIONS, useValue: migrations }] };
  }
}

/**
 * A migration in SQL. Its class name ends in 13 digits (milliseconds since 1970), which order the migrations. Old code must
 * work on the new schema (expand, then contract): both versions run during a rollout.
 */
export abstract class SqlMigration implements MigrationInterface {
  /** Run in order. */
  abstract readonly statements: readonly string[];

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of this.statements) {
      await runner.query(statement);
    }
  }

  down(): Promise<void> {
    throw new Error('Migrations cannot be reverted. Write a new migration that undoes this one.');
  }
}

/** SQLSTATE of an extension that is not allowed, or not installed (two codes, depending on the version). */
const EXTENSION_MISSING = /^(?:42501|42704|0A000|58P01)$/;

/** The schema in the definition of an index, if its table has one there. */
const SCHEMA = /^\s*ON\s+(?:ONLY\s+)?((?:"[^"]+"|[^\s".(]+)\.)/i;

/** Builds one index without blocking writes (`CREATE INDEX CONCURRENTLY`). It can be repeated after an interruption. */
export abstract class IndexMigration extends SqlMigration {
  /** `CREATE INDEX CONCURRENTLY` is not allowed in a transaction. */
  readonly transaction = false;
  /** Name of the index, to which filters refer. */
  abstract readonly index: string;
  /** The SQL after the name in `CREATE INDEX`: `ON items (name)`. */
  abstract readonly definition: string;
  /** Extension that the index needs. If it is not available, the index is skipped with a warning. */
  readonly extension: string | undefined = undefined;

  /** The quoted name, with the schema of the table, in which PostgreSQL creates the index. */
  get quotedName(): string {
    return `${SCHEMA.exec(this.definition)?.[1] ?? ''}"${this.index}"`;
  }

  get statements(): readonly string[] {
    return [`CREATE INDEX CONCURRENTLY IF NOT EXISTS "${this.index}" ${this.definition}`];
  }

  override async up(runner: QueryRunner): Promise<void> {
    const { index, quotedName, extension } = this;
    // The build needs no limit: while it waits for all earlier transactions, it blocks no others.
    await runner.query('SET lock_timeout = 0');
    try {
      if (extension !== undefined) {
        await runner.query(`CREATE EXTENSION IF NOT EXISTS "${extension}"`);
      }
      const unfinished = 'SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid';
      if (((await runner.query(unfinished, [quotedName])) as unknown[]).length > 0) {
        await runner.query(`DROP INDEX CONCURRENTLY ${quotedName}`);
      }
      await super.up(runner);
    } catch (error) {
      if (extension === undefined || !EXTENSION_MISSING.test(sqlState(error))) {
        throw error;
      }
      new Logger('Migrations').warn({ msg: 'index skipped: its extension is not available', index, extension, err: error });
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }
}

/** Key of the advisory lock that serializes migrations of instances that start at once. */
const MIGRATION_LOCK = 7_235_915_402_217;

/** Tries to get {@link MIGRATION_LOCK}, and names the session that holds it. */
const LOCK = `SELECT pg_try_advisory_lock($1) AS locked,
  (SELECT max(pid) FROM pg_locks JOIN pg_database ON database = pg_database.oid
  WHERE datname = current_database() AND locktype = 'advisory' AND classid::bigint << 32 | objid::bigint = $1) AS pid`;

/** Milliseconds between two attempts to get the lock. */
const LOCK_INTERVAL = 200;

/** Milliseconds that a migration waits for the lock of a table, at most: requests that need the table wait behind it. */
const LONGEST_WAIT = 500;

/** Removes limits, also the role's: migrations may run long. `pg` sends no zeros. PostgreSQL 17 added the second one. */
const UNLIMIT = `SELECT pg_backend_pid() AS pid, set_config(name, '0', false) FROM pg_settings
  WHERE name IN ('statement_timeout', 'transaction_timeout')`;

const logger = new Logger('Database');

/** Applies all pending migrations, each in its own transaction. @returns their number */
export async function applyMigrations(options: PostgresDataSourceOptions, signal: AbortSignal): Promise<number> {
  const { reads } = options.extra as PoolExtra;
  // Half of the shortest time for which the service waits for a lock, so that requests behind a migration succeed.
  const wait = Math.min(LONGEST_WAIT, (reads?.timeout ?? Infinity) / 4);
  const extra = { ...(options.extra as object), query_timeout: 0, lock_timeout: Math.ceil(wait) };
  // Two connections: that of the migrations, which holds their lock, and one that reads the progress.
  const dataSource = await new DataSource({ ...options, poolSize: 2, extra }).initialize();
  // TypeORM would print the errors that it throws between the lines of the log.
  dataSource.logger.logMigration = () => undefined;
  try {
    await requireSession(dataSource);
    const runner = dataSource.createQueryRunner();
    const [{ pid }] = (await runner.query(UNLIMIT)) as unknown as [{ pid: number }];
    await lock(runner, signal);
    const pending = await pendingMigrations(dataSource, runner);
    if (pending.length > 0) {
      logger.log({ msg: 'applying migrations', migrations: pending });
      await executeMigrations(dataSource, runner, pid, pending, signal);
      await storeDigests(dataSource, runner);
    }
    for (const migration of pending) {
      logger.debug({ msg: 'migration applied', migration });
    }
    // The service continues to use the only session of the embedded database, which must not keep settings and locks.
    await runner.query('DISCARD ALL');
    return pending.length;
  } finally {
    await dataSource.destroy();
  }
}

/** Polls, because a statement that waits on the server could not be canceled from here. */
async function lock(runner: QueryRunner, signal: AbortSignal): Promise<void> {
  for (let holder: unknown; ; await delay(LOCK_INTERVAL, undefined, { signal })) {
    const [{ locked, pid }] = (await runner.query(LOCK, [MIGRATION_LOCK])) as unknown as [{ locked: boolean; pid: unknown }];
    if (locked) return;
    if (pid !== holder) logger.log({ msg: 'waiting for another migrator', pid });
    holder = pid;
  }
}
