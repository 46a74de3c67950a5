import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Configuration } from '../../config/configuration.js';
import type { DatabaseLocation } from '../../database/data-source-options.js';
import type { EmbeddedDatabase } from '../../database/embedded-database.js';
import { type Check, failed, type Finding, ok, skipped, warning } from '../check.js';
import type { DatabaseAccess } from './database-access.js';

/** The data directory of the embedded database. It is opened only where there is a database in it that nobody else uses. */
export class DataDirectory {
  private opened: EmbeddedDatabase | undefined;

  /** @param path - may lead nowhere yet */
  constructor(private readonly path: string) {}

  /** Whether the service could use it. */
  async judge(): Promise<Finding> {
    const reason = reasonNotToWrite(nearestExisting(resolve(this.path)));
    if (reason !== undefined) {
      return failed(`${this.path} cannot be written: ${reason}`, 'Give it to the service, or choose another with DATA_DIR.');
    }
    if (!existsSync(join(this.path, 'postgresql'))) {
      return ok(`${this.path} has no database yet; the first start makes it`);
    }
    const { uid } = statSync(this.path);
    if (uid !== process.getuid?.()) {
      // PostgreSQL writes when it opens, and its files would then be ours.
      return warning(
        `${this.path} belongs to user ${uid}, and this is ${process.getuid?.()}: it was not opened, for files would be left that the service may not read`,
        `Run doctor as that user.`,
      );
    }
    return this.open();
  }

  /** How to reach the database; undefined when it is not open here. */
  get location(): DatabaseLocation | undefined {
    return this.opened && { embedded: this.opened.poolOptions() };
  }

  async close(): Promise<void> {
    await this.opened?.close();
  }

  private async open(): Promise<Finding> {
    // Loaded only by those who use it: it is large.
    const { DataDirectoryInUseError, EmbeddedDatabase } = await import('../../database/embedded-database.js');
    try {
      this.opened = await EmbeddedDatabase.open(this.path);
      return ok(this.path);
    } catch (error) {
      if (error instanceof DataDirectoryInUseError) {
        return ok(`${this.path} is in use by a running service, which is not disturbed`);
      }
      return failed((error as Error).message, 'Restore it from a copy, or choose another with DATA_DIR.');
    }
  }
}

/** Whether the embedded database can be used, if it is to be. */
export function dataDirectoryCheck(directory: DataDirectory, { DATABASE_URL }: Configuration): Check {
  return {
    name: 'data-directory',
    run: () => (DATABASE_URL === undefined ? directory.judge() : skipped('DATABASE_URL is set')),
  };
}

/** What `database.connection` means there. */
export function embeddedConnectionCheck(access: DatabaseAccess, directory: DataDirectory): Check {
  return {
    name: 'database.connection',
    needs: ['data-directory'],
    run: async () => {
      if (!directory.location) {
        return skipped('the embedded database is not there yet, or not open here');
      }
      const { version } = await access.row<{ version: string }>(`SELECT current_setting('server_version') AS version`);
      return ok(`PostgreSQL ${version}, embedded: for development and trials`);
    },
  };
}

function reasonNotToWrite(path: string): string | undefined {
  try {
    const isDirectory = statSync(path).isDirectory();
    accessSync(path, constants.W_OK | (isDirectory ? constants.X_OK : 0));
    return isDirectory ? undefined : `${path} is no directory`;
  } catch (error) {
    return (error as Error).message;
  }
}

function nearestExisting(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : nearestExisting(dirname(path));
}
