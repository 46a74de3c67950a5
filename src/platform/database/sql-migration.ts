import { Logger } from '@nestjs/common';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { sqlState } from './database-problem.js';

/** A migration without a way back. Its class name ends in 13 digits, milliseconds since 1970, which order the migrations. */
abstract class ForwardMigration implements MigrationInterface {
  abstract up(runner: QueryRunner): Promise<void>;

  down(): Promise<void> {
    throw new Error('Migrations go forward only. Write a new migration that undoes this one.');
  }
}

/**
 * A migration in plain SQL. Replicas of the old and the new version run side by side during a roll-out: the old code must work on the
 * new schema (expand, then contract).
 */
export abstract class SqlMigration extends ForwardMigration {
  /** In their order. Filters can name the indexes that these build. */
  abstract readonly statements: readonly string[];

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of this.statements) {
      await runner.query(statement);
    }
  }
}

/** SQLSTATE of an extension that may not be created or used here, or whose files are not installed (two codes, by version). */
const EXTENSION_MISSING = /^(?:42501|42704|0A000|58P01)$/;

/**
 * A migration that builds one index while the table goes on being written (`CREATE INDEX CONCURRENTLY`). Ended halfway, it
 * can be run again.
 */
export abstract class IndexMigration extends ForwardMigration {
  /** Concurrent building cannot be part of a transaction. */
  readonly transaction = false;
  /** Name of the index, by which filters declare that it finds their rows. */
  abstract readonly index: string;
  /** What follows the name in `CREATE INDEX`: `ON items (name)`. */
  abstract readonly definition: string;
  /** The extension that the index needs. Where it cannot be had, there is a warning instead of an index. */
  protected readonly extension: string | undefined = undefined;

  async up(runner: QueryRunner): Promise<void> {
    const { index, extension } = this;
    // Building waits for every transaction that began earlier, and keeps none of them waiting.
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
      new Logger('Migrations').warn({ msg: 'index left out', index, extension, err: error });
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }
}
