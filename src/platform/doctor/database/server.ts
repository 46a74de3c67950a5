import { IDLE_TIMEOUT } from '../../database/data-source-options.js';
import { type Check, failed, needing, ok, warning } from '../check.js';
import { allOf } from '../worst-of.js';
import type { DatabaseAccess } from './database-access.js';

/** The oldest major version that the service is tested on. */
const OLDEST_POSTGRESQL = 15;

/** Whether the server can be what the service takes it for. */
export function serverChecks(access: DatabaseAccess): Check[] {
  const checks = [versionCheck(access), encodingCheck(access), writableCheck(access), settingsCheck(access)];
  return checks.map((check) => needing(['database.connection'], check));
}

function versionCheck(access: DatabaseAccess): Check {
  return {
    name: 'database.version',
    run: async () => {
      const statement = `SELECT current_setting('server_version_num')::int AS number`;
      const version = Math.floor((await access.row<{ number: number }>(statement)).number / 10_000);
      return version >= OLDEST_POSTGRESQL
        ? ok(`${version}`)
        : failed(`PostgreSQL ${version} is too old`, `Upgrade it to ${OLDEST_POSTGRESQL} or newer.`);
    },
  };
}

function encodingCheck(access: DatabaseAccess): Check {
  return {
    name: 'database.encoding',
    run: async () => {
      const { encoding } = await access.row<{ encoding: string }>(`SELECT current_setting('server_encoding') AS encoding`);
      return encoding === 'UTF8'
        ? ok(encoding)
        : failed(
            `the database is encoded in ${encoding}: most characters cannot be stored`,
            `Dump it, and restore it into one that was created with ENCODING 'UTF8' TEMPLATE template0.`,
          );
    },
  };
}

function writableCheck(access: DatabaseAccess): Check {
  return {
    name: 'database.writable',
    run: async () => {
      const { standby, readonly } = await access.row<{ standby: boolean; readonly: boolean }>(
        `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only')::bool AS readonly`,
      );
      if (standby) {
        return failed(
          'the server is a standby, which takes no writes',
          'Lead DATABASE_URL to the primary; read replicas belong into DATABASE_REPLICA_URLS.',
        );
      }
      return readonly
        ? failed(
            'transactions are read-only here (default_transaction_read_only)',
            'ALTER ROLE, ALTER DATABASE or ALTER SYSTEM … SET default_transaction_read_only = off. Some providers set it when the disk is full.',
          )
        : ok('takes writes');
    },
  };
}

interface Settings {
  fsync: boolean;
  pages: boolean;
  commit: string;
  idle: number;
}

function settingsCheck(access: DatabaseAccess): Check {
  const statement = `
    SELECT current_setting('fsync')::bool AS fsync, current_setting('full_page_writes')::bool AS pages,
           current_setting('synchronous_commit') AS commit,
           (SELECT setting::int FROM pg_settings WHERE name = 'idle_session_timeout') AS idle`;
  return {
    name: 'database.settings',
    run: async () => {
      const { fsync, pages, commit, idle } = await access.row<Settings>(statement);
      const faults = [
        fsync && pages
          ? []
          : warning('fsync or full_page_writes is off: a power cut may destroy the database', 'Turn both on: ALTER SYSTEM SET …'),
        commit === 'off'
          ? warning(
              'synchronous_commit is off: a crash loses items whose creation was acknowledged',
              'Turn it on, for the role, the database or the server.',
            )
          : [],
        idle > 0 && idle < IDLE_TIMEOUT
          ? warning(
              `idle_session_timeout ${idle} ms: the server ends connections that the pool keeps for ${IDLE_TIMEOUT} ms`,
              `Set it to 0 for the role, or to more than ${IDLE_TIMEOUT}.`,
            )
          : [],
      ];
      return allOf(faults.flat(), ok(`synchronous_commit ${commit}`));
    },
  };
}
