import { Logger } from '@nestjs/common';
import type { QueryRunner } from 'typeorm';
import { ForwardMigration } from './sql-migration.js';
import { sqlState } from './sql-state.js';

/** SQLSTATE of an extension that may not be created here, or whose files are not installed (two codes, by version). */
const EXTENSION_MISSING = /^(?:42501|0A000|58P01)$/;

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
    const schema = await this.extensionSchema(runner);
    if (schema === undefined) {
      return;
    }
    const settings = (await runner.query(
      `SELECT current_setting('lock_timeout') AS lock_timeout, current_setting('search_path') AS search_path`,
    )) as [Settings];
    try {
      // Building waits for every transaction that began earlier, and keeps none of them waiting.
      await set(runner, {
        lock_timeout: '0',
        search_path: [settings[0].search_path, schema].filter((name) => name !== '').join(', '),
      });
      if (await this.isUnfinished(runner)) {
        await runner.query(`DROP INDEX CONCURRENTLY "${this.index}"`);
      }
      await runner.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS "${this.index}" ${this.definition}`);
    } finally {
      await set(runner, settings[0]);
    }
  }

  /** The schema, quoted, in which the extension is, empty without one; undefined where it cannot be had. */
  private async extensionSchema(runner: QueryRunner): Promise<string | undefined> {
    const { extension } = this;
    if (extension === undefined) {
      return '';
    }
    try {
      await runner.query(`CREATE EXTENSION IF NOT EXISTS "${extension}"`);
    } catch (error) {
      if (!EXTENSION_MISSING.test(sqlState(error))) {
        throw error;
      }
      return this.leaveOut({ err: error });
    }
    const [{ schema, usable }] = (await runner.query(
      `SELECT extnamespace::regnamespace::text AS schema, has_schema_privilege(extnamespace, 'USAGE') AS usable
       FROM pg_extension WHERE extname = $1`,
      [extension],
    )) as [{ schema: string; usable: boolean }];
    return usable ? schema : this.leaveOut({ reason: `no right to use schema ${schema}` });
  }

  private leaveOut(why: object): undefined {
    new Logger('Migrations').warn({ msg: 'index left out', index: this.index, extension: this.extension, ...why });
  }

  private async isUnfinished(runner: QueryRunner): Promise<boolean> {
    const rows = (await runner.query('SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid', [
      `"${this.index}"`,
    ])) as unknown[];
    return rows.length > 0;
  }
}

interface Settings {
  lock_timeout: string;
  search_path: string;
}

async function set(runner: QueryRunner, { lock_timeout, search_path }: Settings): Promise<void> {
  await runner.query(`SELECT set_config('lock_timeout', $1, false), set_config('search_path', $2, false)`, [
    lock_timeout,
    search_path,
  ]);
}
