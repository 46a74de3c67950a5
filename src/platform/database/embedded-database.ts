import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { PGlite } from '@electric-sql/pglite';
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm';
import { createPgConfig } from '@electric-sql/pglite/node-postgres';
import type { PoolConfig } from 'pg';
import { parse } from 'pg-protocol';
import { OperatorError } from '../config/operator-error.js';

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

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
    let lock: DatabaseSync | undefined;
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      lock = new DatabaseSync(join(directory, 'lock'));
      // A lock of the operating system, which ends with the process that holds it, also by `kill -9`.
      lock.exec('PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
      return new EmbeddedDatabase(await openCluster(directory), lock);
    } catch (error) {
      lock?.close();
      if (Error.isError(error) && 'errcode' in error && error.errcode === SQLITE_BUSY) {
        throw new DataDirectoryInUseError(directory);
      }
      // PGlite also throws what is no error, on a full disk for example.
      const reason = Error.isError(error) ? error.message : inspect(error);
      throw new OperatorError(
        `The data directory ${directory} cannot be used: ${reason}. Fix it or choose another with DATA_DIR.`,
      );
    }
  }

  /** Pool options that make `pg` talk to this database, over the one connection that it has, which must stay when it is idle. */
  poolOptions(): PoolConfig {
    return Object.assign(createPgConfig(this.pglite), { max: 1, idleTimeoutMillis: 0 });
  }

  async close(): Promise<void> {
    await this.pglite.close();
    this.lock.close();
  }
}

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
  // What a server has, too, for `CREATE EXTENSION`.
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
