import { type DynamicModule, Logger, Module, type Type } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { sqlState } from './database-problem.js';

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
