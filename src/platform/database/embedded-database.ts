import { existsSync } from 'node:fs';
import { access, constants, mkdir, rename, rm } from 'node:fs/promises';
import { constants as system } from 'node:os';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import type { PGlite } from '@electric-sql/pglite';
import type { PoolConfig } from 'pg';
import { parse } from 'pg-protocol';
import { OperatorError, reportFailure } from '../errors/operator-error.js';

/** `EDQUOT`, for which Node has no code. */
const QUOTA_USED_UP = -system.errno.EDQUOT;

/** Codes of Node, PGlite (Emscripten's `errno`) and SQLite (13), or ends of PostgreSQL's messages, with meaning and fix. */
const FAULTS: readonly (readonly [codes: readonly unknown[], fault: string, fix: string])[] = [
  [['ENOSPC', QUOTA_USED_UP, 51, 19, 13], 'the disk is full', 'Free some space'],
  [['No space left on device'], 'the disk is full (no space left on device)', 'Free some space'],
  [['EROFS', 69], 'the file system is read-only', 'Mount it writable'],
  [
    ['EACCES', 'EPERM', 2, 63],
    `user ${process.getuid?.()} has no permission to write there`,
    'Give the directory to this user',
  ],
  [['ENOENT'], 'no directory can be created there', 'Mount a volume there'],
  [['ENOTDIR', 'EEXIST'], 'a part of its path is not a directory', 'Move it'],
];

/** The data directory cannot be read, written or opened. */
export class DataDirectoryError extends OperatorError {
  readonly fault: string;

  /** @param cause - PGlite also throws values that are no errors */
  constructor(directory: string, cause: unknown) {
    const given = Object(cause) as { code?: unknown; errno?: unknown; errcode?: unknown };
    const reason = Error.isError(cause) ? cause.message : inspect(cause);
    const codes = [given.code, given.errno, given.errcode, reason.split(': ').at(-1)];
    const [, fault, fix] = FAULTS.find(([known]) => codes.some((code) => known.includes(code))) ?? [[], reason, 'Fix this'];
    super(`The data directory ${directory} cannot be used: ${fault}. ${fix}, or choose another directory with DATA_DIR.`);
    this.fault = fault;
  }
}

/** Two processes on one data directory would destroy it. */
export class DataDirectoryInUseError extends OperatorError {
  constructor(directory: string) {
    super(
      `Another process is using the data directory ${directory}. ` +
        'Stop it first, choose another directory with DATA_DIR, or use a PostgreSQL server with DATABASE_URL.',
    );
  }
}

/** The directory of PostgreSQL's files. */
export function clusterIn(directory: string): string {
  return resolve(directory, 'postgresql');
}

/**
 * Finds the innermost directory of the path to PostgreSQL's files that exists.
 *
 * @throws DataDirectoryError if it is not a directory, or files cannot be created in it: SQLite and PGlite report neither
 */
export async function existingPart(directory: string): Promise<string> {
  let existing = clusterIn(directory);
  while (!existsSync(existing)) {
    existing = dirname(existing);
  }
  // The dot makes this fail if the path is a file.
  await access(`${existing}/.`, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new DataDirectoryError(directory, error);
  });
  return existing;
}

/** https://www.sqlite.org/rescode.html#busy */
const SQLITE_BUSY = 5;

/** PostgreSQL inside this process: for development, trials and tests. */
export class EmbeddedDatabase {
  private constructor(
    private readonly pglite: PGlite,
    private readonly lock: DatabaseSync,
    /** Options of a pool, which has the only connection to this database and must keep it when idle. */
    readonly poolOptions: () => PoolConfig,
  ) {}

  /**
   * Opens the database in a directory.
   *
   * @param mayCreate - creates the database if the directory has none
   * @throws DataDirectoryInUseError if another process has it open
   * @throws DataDirectoryError if it cannot be read, written or opened
   * @throws OperatorError if the directory has none and `mayCreate` is false
   */
  static async open(directory: string, mayCreate = true): Promise<EmbeddedDatabase> {
    const existing = await existingPart(directory);
    if (existing !== clusterIn(directory) && !mayCreate) {
      throw new OperatorError(`The data directory ${directory} has no database yet. Run "migrate", or start the service.`);
    }
    let lock: DatabaseSync | undefined;
    try {
      // The first missing directory alone: with the option `recursive`, `mkdir` never returns for a directory in /proc.
      const [first = ''] = relative(existing, resolve(directory)).split(sep);
      await mkdir(join(existing, first), { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') {
          throw error;
        }
      });
      await mkdir(directory, { recursive: true, mode: 0o700 });
      lock = new DatabaseSync(join(directory, 'lock'));
      // An operating system lock, which is released when the process ends, even by `kill -9`.
      lock.exec('PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
      // Loaded only when used, because it is large.
      const { createPgConfig } = await import('@electric-sql/pglite/node-postgres');
      const pglite = await openCluster(directory);
      return new EmbeddedDatabase(pglite, lock, () =>
        Object.assign(createPgConfig(pglite), { max: 1, idleTimeoutMillis: 0, isEmbedded: true }),
      );
    } catch (error) {
      lock?.close();
      const isBusy = Error.isError(error) && 'errcode' in error && error.errcode === SQLITE_BUSY;
      throw isBusy ? new DataDirectoryInUseError(directory) : new DataDirectoryError(directory, error);
    }
  }

  async close(): Promise<void> {
    await this.pglite.close();
    this.lock.close();
  }
}

/** Creates a cluster under another name and renames it, so that an existing one is always complete. */
async function createCluster(path: string, create: (path: string) => Promise<PGlite>): Promise<void> {
  const unfinished = `${path}.unfinished`;
  const remove = () => rm(unfinished, { recursive: true, force: true });
  await remove();
  try {
    const created = await create(unfinished);
    await created.close();
    await rename(unfinished, path);
  } finally {
    await remove();
  }
}

async function openCluster(directory: string): Promise<PGlite> {
  const cluster = clusterIn(directory);
  const { PGlite } = await import('@electric-sql/pglite');
  const { pg_trgm } = await import('@electric-sql/pglite/contrib/pg_trgm');
  // PostgreSQL's default of 128 MB would be memory of this process, which each start uses completely.
  const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=16MB'];
  if (!existsSync(cluster)) {
    await createCluster(cluster, (path) => PGlite.create(path, { startParams }));
  }
  let reason: string | undefined;
  // Only this line says why PostgreSQL ended, for good. Values cannot forge it, because continuations begin with a tab.
  const onStderr = (line: string) => {
    reason ??= /^\S+ \S+ \S+ \[\d+\] (?:FATAL|PANIC): +(.*)/.exec(line)?.[1];
    if (reason !== undefined && pglite.ready) {
      reportFailure(new DataDirectoryError(directory, new Error(reason)));
    }
    return false;
  };
  // Makes the extension available to `CREATE EXTENSION`, as on a server.
  const pglite: PGlite = new PGlite(cluster, { extensions: { pg_trgm }, startParams, onStderr });
  await pglite.waitReady.catch((error: unknown) => {
    throw reason === undefined ? error : new Error(reason, { cause: error });
  });
  // The parser of PGlite 0.5.17 drops U+FEFF at the start of a text, unlike that of `pg`. Remove this once it does not.
  const execProtocolStream: PGlite['execProtocolStream'] = async (message, options) => {
    const { buffer, byteOffset, byteLength } = await pglite.execProtocolRaw(message, options);
    const messages: unknown[] = [];
    await parse(Readable.from([Buffer.from(buffer, byteOffset, byteLength)]), (parsed) => messages.push(parsed));
    return messages as Awaited<ReturnType<PGlite['execProtocolStream']>>;
  };
  return Object.assign(pglite, { execProtocolStream });
}
