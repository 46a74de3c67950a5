import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { DatabaseSync } from 'node:sqlite';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import type { PoolConfig } from 'pg';
import { OperatorError } from '../config/operator-error.js';
import { ByteExactPGlite } from './byte-exact-pglite.js';

/** Two processes on one data directory would destroy it. */
export class DataDirectoryInUseError extends OperatorError {
  override readonly name = 'DataDirectoryInUseError';

  constructor(directory: string) {
    super(
      `Another process is using the data directory ${directory}. ` +
        'Stop it first, choose another directory with DATA_DIR, or use a PostgreSQL server with DATABASE_URL.',
    );
  }
}

/** PostgreSQL inside this process: for development, trials and tests. */
export class EmbeddedDatabase {
  private constructor(
    private readonly pglite: PGlite,
    private readonly lock: DatabaseSync,
  ) {}

  /**
   * Opens the database in a directory, creating it at first.
   *
   * @throws DataDirectoryInUseError when another process has it open
   * @throws OperatorError when it cannot be read, written or opened
   */
  static async open(directory: string): Promise<EmbeddedDatabase> {
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const lock = lockDirectory(directory);
      try {
        return new EmbeddedDatabase(await openCluster(directory), lock);
      } catch (error) {
        lock.close();
        throw error;
      }
    } catch (error) {
      throw error instanceof OperatorError ? error : unusable(directory, error);
    }
  }

  /** Pool options that make `pg` talk to this database, over the one connection that it has. */
  poolOptions(): PoolConfig {
    // Idle as it may be, that connection must stay.
    return Object.assign(createPgConfig(this.pglite), { max: 1, idleTimeoutMillis: 0 });
  }

  async close(): Promise<void> {
    await this.pglite.close();
    this.lock.close();
  }
}

/** A lock of the operating system, which dies with the process that holds it, be it by `kill -9`: SQLite's file lock. */
function lockDirectory(directory: string): DatabaseSync {
  const lock = new DatabaseSync(join(directory, 'lock'));
  try {
    lock.exec('PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if (Error.isError(error) && 'errcode' in error && error.errcode === SQLITE_BUSY) {
      throw new DataDirectoryInUseError(directory);
    }
    throw error;
  }
}

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

/** What a server has, too, for `CREATE EXTENSION`. */
const extensions = { pg_trgm };

/** A new cluster is made beside its place and then moved there, so that one that is there is always whole. */
async function openCluster(directory: string): Promise<PGlite> {
  const cluster = join(directory, 'postgresql');
  if (!existsSync(cluster)) {
    const unfinished = `${cluster}.unfinished`;
    await rm(unfinished, { recursive: true, force: true });
    const created = await PGlite.create(unfinished);
    await created.close();
    await rename(unfinished, cluster);
  }
  const pglite = new ByteExactPGlite(cluster, { extensions });
  await pglite.waitReady;
  return pglite;
}

/** What goes wrong with the directory is for the operator to fix. */
function unusable(directory: string, error: unknown): OperatorError {
  // PGlite also throws what is no error, on a full disk for example.
  const reason = Error.isError(error) ? error.message : inspect(error);
  return new OperatorError(`The data directory ${directory} cannot be used: ${reason}. Fix it or choose another with DATA_DIR.`);
}
