import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import type { PoolConfig } from 'pg';
import { parse } from 'pg-protocol';
import { OperatorError } from '../config/operator-error.js';
import { clusterIn, createDirectory, DataDirectoryError, DataDirectoryInUseError, requireWritable } from './data-directory.js';

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

/** PostgreSQL inside this process: for development, trials and tests. */
export class EmbeddedDatabase {
  private constructor(
    private readonly pglite: PGlite,
    private readonly lock: DatabaseSync,
  ) {}

  /**
   * Opens the database in a directory.
   *
   * @param mayCreate - creates the database if the directory has none
   * @throws DataDirectoryInUseError if another process has it open
   * @throws DataDirectoryError if it cannot be read, written or opened
   * @throws OperatorError if there is none
   */
  static async open(directory: string, mayCreate = true): Promise<EmbeddedDatabase> {
    // The errors of SQLite and PGlite do not name the reason.
    if (existsSync(directory)) {
      await requireWritable(directory);
    }
    if (!mayCreate && !existsSync(clusterIn(directory))) {
      throw new OperatorError(`The data directory ${directory} has no database yet. Run "migrate", or start the service.`);
    }
    let lock: DatabaseSync | undefined;
    try {
      await createDirectory(directory);
      if (existsSync(clusterIn(directory))) {
        await requireWritable(directory, clusterIn(directory));
      }
      lock = new DatabaseSync(join(directory, 'lock'));
      // An operating system lock, which is released when the process ends, even by `kill -9`.
      lock.exec('PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
      return new EmbeddedDatabase(await openCluster(directory), lock);
    } catch (error) {
      lock?.close();
      if (Error.isError(error) && 'errcode' in error && error.errcode === SQLITE_BUSY) {
        throw new DataDirectoryInUseError(directory);
      }
      throw error instanceof DataDirectoryError ? error : new DataDirectoryError(directory, error);
    }
  }

  /** Options for `pg` with the only connection to this database, which must stay open when idle. */
  poolOptions(): PoolConfig {
    return Object.assign(createPgConfig(this.pglite), { max: 1, idleTimeoutMillis: 0 });
  }

  async close(): Promise<void> {
    await this.pglite.close();
    this.lock.close();
  }
}

/** Creates a cluster under another name and renames it, so that an existing one is always complete. */
async function openCluster(directory: string): Promise<PGlite> {
  const cluster = clusterIn(directory);
  if (!existsSync(cluster)) {
    const unfinished = `${cluster}.unfinished`;
    const remove = () => rm(unfinished, { recursive: true, force: true });
    await remove();
    try {
      const created = await PGlite.create(unfinished);
      await created.close();
      await rename(unfinished, cluster);
    } finally {
      await remove();
    }
  }
  // For `CREATE EXTENSION`, as on a server.
  const pglite = new ByteExactPGlite(cluster, { extensions: { pg_trgm } });
  await pglite.waitReady;
  return pglite;
}

type Messages = Awaited<ReturnType<PGlite['execProtocolStream']>>;

/** Parses responses with the parser of `pg`: that of PGlite 0.5.16 drops U+FEFF at the start of a text. Remove it once PGlite does not. */
class ByteExactPGlite extends PGlite {
  override async execProtocolStream(
    message: Uint8Array,
    options?: Parameters<PGlite['execProtocolStream']>[1],
  ): Promise<Messages> {
    const bytes = await this.execProtocolRaw(message, options);
    const messages: unknown[] = [];
    const stream = Readable.from([Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)]);
    await parse(stream, (parsed) => messages.push(parsed));
    return messages as Messages;
  }
}
