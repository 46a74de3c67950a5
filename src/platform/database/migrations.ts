import { setTimeout as delay } from 'node:timers/promises';
import { type DynamicModule, Logger, Module, type Type } from '@nestjs/common';
import { DataSource, MigrationExecutor, type MigrationInterface, type QueryRunner } from 'typeorm';
import { OperatorError } from '../config/operator-error.js';
import { describeError } from '../observability/describe-error.js';
import type { PostgresDataSourceOptions } from './app-data-source.js';
import { isUnavailable, sqlState } from './database-problem.js';

/** Token of the migrations of each module. */
export const MIGRATIONS = Symbol('migrations');

/** Registers migrations, as `TypeOrmModule.forFeature` registers entities. */
@Module({})
export class MigrationsModule {
  /**
   * `imports: [MigrationsModule.forFeature([CreateWidgets1795219200000])]`
   *
   * @param migrations - classes whose names end in 13 digits (milliseconds since 1970), which order the migrations of all modules
   */
  static forFeature(migrations: readonly Type<MigrationInterface>[]): DynamicModule {
    return { module: MigrationsModule, providers: [{ provide: MIGRATIONS, useValue: migrations }] };
  }
}

/** A migration without `down`. Its class name ends in 13 digits (milliseconds since 1970), which order the migrations. */
abstract class ForwardMigration implements MigrationInterface {
  abstract up(runner: QueryRunner): Promise<void>;

  down(): Promise<void> {
    throw new Error('Migrations cannot be reverted. Write a new migration that undoes this one.');
  }
}

/** A migration in SQL. Old code must work on the new schema (expand, then contract), because both versions run during a rollout. */
export abstract class SqlMigration extends ForwardMigration {
  /** Run in order. */
  abstract readonly statements: readonly string[];

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of this.statements) {
      await runner.query(statement);
    }
  }
}

/** SQLSTATE of an extension that is not allowed, or not installed (two codes, depending on the version). */
const EXTENSION_MISSING = /^(?:42501|42704|0A000|58P01)$/;

/** A migration that builds one index without blocking writes (`CREATE INDEX CONCURRENTLY`). It can be repeated after an interruption. */
export abstract class IndexMigration extends ForwardMigration {
  /** `CREATE INDEX CONCURRENTLY` is not allowed in a transaction. */
  readonly transaction = false;
  /** Name of the index, to which filters refer. */
  abstract readonly index: string;
  /** The SQL after the name in `CREATE INDEX`: `ON items (name)`. */
  abstract readonly definition: string;
  /** Extension that the index needs. If it is not available, the index is skipped with a warning. */
  readonly extension: string | undefined = undefined;

  async up(runner: QueryRunner): Promise<void> {
    const { index, extension } = this;
    // The build waits for all earlier transactions without blocking them.
    await runner.query('SET lock_timeout = 0');
    try {
      if (extension !== undefined) {
        await runner.query(`CREATE EXTENSION IF NOT EXISTS "${extension}"`);
      }
      const unfinished = 'SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid';
      if (((await runner.query(unfinished, [`"${index}"`])) as unknown[]).length > 0) {
        await runner.query(`DROP INDEX CONCURRENTLY "${index}"`);
      }
      await runner.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS "${index}" ${this.definition}`);
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

/** Key of the advisory lock that serializes migrations of replicas that start at once. */
const MIGRATION_LOCK = 7_235_915_402_217;

/** Milliseconds between two attempts to get that lock. */
const LOCK_INTERVAL = 200;

/** Milliseconds. Migrations may run long, but must not block other queries on a table while they wait for its lock. */
const LIMITS = { query_timeout: 0, statement_timeout: 0, lock_timeout: 10_000 };

const logger = new Logger('Database');

/** Applies all pending migrations, each in its own transaction. @returns their number */
export async function applyMigrations(options: PostgresDataSourceOptions, signal: AbortSignal): Promise<number> {
  const extra = { ...(options.extra as object), ...LIMITS };
  // One connection, and so one session: the lock is that of the migrations.
  const dataSource = await new DataSource({ ...options, poolSize: 1, extra }).initialize();
  try {
    await lock(dataSource, signal);
    // With a runner of its own, TypeORM would keep the only connection if it may not create its table.
    const runner = dataSource.createQueryRunner();
    const executor = new MigrationExecutor(dataSource, runner);
    executor.transaction = 'each';
    const pending = (await executor.getPendingMigrations()).map(({ name }) => name);
    if (pending.length > 0) {
      logger.log({ msg: 'applying migrations', migrations: pending });
    }
    await executor.executePendingMigrations().catch(async (error: unknown) => {
      if (isUnavailable(error)) {
        throw error;
      }
      const [failed] = await executor.getPendingMigrations();
      const reason = describeError(error).message;
      const remedy = 'Fix the cause and run "migrate" again. The migrations before it stay applied.';
      throw new OperatorError(`The migration ${failed?.name} failed: ${reason}. ${remedy}`, { cause: error });
    });
    for (const migration of pending) {
      logger.debug({ msg: 'migration applied', migration });
    }
    // The embedded database has only one session, which is used on with its settings and locks.
    await runner.query('DISCARD ALL');
    return pending.length;
  } finally {
    await dataSource.destroy();
  }
}

/** Polls, because a statement that waits on the server could not be canceled from here. */
async function lock(dataSource: DataSource, signal: AbortSignal): Promise<void> {
  const sql = 'SELECT pg_try_advisory_lock($1) AS locked';
  for (let attempt = 1; !(await dataSource.query<[{ locked: boolean }]>(sql, [MIGRATION_LOCK]))[0].locked; attempt += 1) {
    if (attempt === 1) {
      logger.log({ msg: 'waiting for another migrator' });
    }
    await delay(LOCK_INTERVAL, undefined, { signal });
  }
}
