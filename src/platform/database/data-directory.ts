import { existsSync } from 'node:fs';
import { access, constants, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { inspect } from 'node:util';
import { OperatorError } from '../config/operator-error.js';

/** Error codes of Node, PGlite (Emscripten's `errno`) and SQLite (13), with their meaning and fix. */
const FAULTS: readonly (readonly [codes: readonly unknown[], fault: string, fix: string])[] = [
  [['ENOSPC', 'EDQUOT', 51, 19, 13], 'the disk is full', 'Free some space'],
  [['EROFS', 69], 'the file system is read-only', 'Mount it writable'],
  [['EACCES', 'EPERM', 2, 63], `user ${process.getuid?.()} has no permission to write there`, 'Give the directory to this user'],
  [['ENOTDIR', 'EEXIST'], 'a part of its path is not a directory', 'Move it'],
  [['ENOENT'], 'no directory can be created there', 'Mount a volume there'],
];

/** The data directory cannot be read, written or opened. */
export class DataDirectoryError extends OperatorError {
  readonly fault: string;

  /** @param cause - PGlite also throws values that are no errors */
  constructor(directory: string, cause: unknown) {
    const given = Object(cause) as { code?: unknown; errno?: unknown; errcode?: unknown };
    const codes = [given.code, given.errno, given.errcode];
    const reason = Error.isError(cause) ? cause.message : inspect(cause);
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

/** Creates a directory with its parents. The `recursive` option of `mkdir` never returns for a path in `/proc`. */
export async function createDirectory(directory: string): Promise<void> {
  if (!existsSync(directory)) {
    await createDirectory(dirname(directory));
    await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
      if (!existsSync(directory)) {
        throw error;
      }
    });
  }
}

/**
 * @param existing - the directory to look at: part of the path, or below it
 * @throws DataDirectoryError if it is not a directory, or files cannot be created in it
 */
export async function requireWritable(directory: string, existing = directory): Promise<void> {
  // With the dot, a file is an error.
  await access(`${existing}/.`, constants.W_OK | constants.X_OK).catch((error: unknown) => {
    throw new DataDirectoryError(directory, error);
  });
}

/** The directory of PostgreSQL's files. */
export function clusterIn(directory: string): string {
  return join(directory, 'postgresql');
}
