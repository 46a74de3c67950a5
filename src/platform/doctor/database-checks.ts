import { stat, statfs } from 'node:fs/promises';
import { type DataSource, MigrationExecutor } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { clusterIn, DataDirectoryError, DataDirectoryInUseError, existingPart } from '../database/embedded-database.js';
import { quotedTable } from '../lists/rows.js';
import { reasonOf } from '../observability/describe-error.js';
import type { Check, Finding } from './check.js';

/** The database, embedded or on servers. @param open - connects as the service does, or to another URL */
export function databaseChecks(settings: Configuration, open: (url?: string) => Promise<DataSource>): Check[] {
  const { DATABASE_URL, DATABASE_DIRECT_URL: directUrl, DATABASE_REPLICA_URLS: replicas } = settings;
  const migrations = async (url?: string) => [migrationsCheck(await open(url), settings)];
  if (DATABASE_URL === undefined) {
    return [dataDirectoryCheck(settings, migrations)];
  }
  const server = async () => {
    const dataSource = await open();
    const direct = directUrl && connectionCheck('direct', () => migrations(directUrl));
    return [...serverChecks(dataSource), direct || migrationsCheck(dataSource, settings)];
  };
  return [
    connectionCheck('connection', server, 'fail', ' Behind PgBouncer, set DATABASE_DIRECT_URL.'),
    // While a replica is unavailable, lists are read from the primary.
    ...replicas.map((url, index) => connectionCheck(`replica.${index + 1}`, () => open(url).then(() => []), 'warn')),
  ];
}

function connectionCheck(name: string, connect: () => Promise<Check[]>, severity: Check['severity'] = 'fail', more = ''): Check {
  return {
    name: `database.${name}`,
    advice: `Correct the URL (host, database, user, sslmode), start the server, or see its log.${more}`,
    severity,
    run: async () => ({ fine: true, found: 'connected', next: await connect() }),
  };
}

/** Checks that select a {@link Finding} with SQL. */
function selecting(dataSource: DataSource) {
  return (name: string, severity: 'warn' | 'fail', advice: string, sql: string): Check => {
    const run = async () => (await dataSource.query<[Finding]>(`SELECT ${sql}`))[0];
    return { name: `database.${name}`, severity, advice, run };
  };
}

function serverChecks(dataSource: DataSource): Check[] {
  const check = selecting(dataSource);
  return [
    check(
      'version',
      'fail',
      'Upgrade to PostgreSQL 15 or newer.',
      `current_setting('server_version_num')::int >= 150000 AS fine,
        format('%s, database %s as %s', current_setting('server_version'), current_database(), current_user) AS found`,
    ),
    check(
      'writable',
      'fail',
      'Set DATABASE_URL to the primary, and default_transaction_read_only to off.',
      `NOT current_setting('transaction_read_only')::bool AS fine,
        CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END AS found`,
    ),
    check(
      'extensions',
      'warn',
      'Before migrate, run CREATE EXTENSION pg_trgm (postgresql-contrib) as a superuser. Without it, migrate leaves an index out.',
      `bool_or(installed OR to_regclass('migrations') IS NULL
          AND (rolsuper OR trusted AND has_database_privilege(current_database(), 'CREATE'))) AS fine,
        CASE WHEN bool_or(installed) THEN 'pg_trgm is installed' ELSE 'pg_trgm is not installed yet' END AS found
        FROM pg_available_extension_versions, pg_roles WHERE name = 'pg_trgm' AND rolname = current_user`,
    ),
    // The service takes the time from its own machine; the database serves all replicas as a reference.
    check(
      'clock',
      'warn',
      'Synchronize both machines with NTP: items get wrong times and, beyond 30 s, the wrong JWTs are accepted or refused.',
      `abs(ahead) <= 1000 AS fine, format('the database is %s ms ahead', ahead) AS found
        FROM (SELECT round(extract(epoch FROM clock_timestamp()) * 1000) - ${Date.now()} AS ahead) AS clock`,
    ),
  ];
}

/** Checks for pending migrations and, if there are any, the rights to apply them. */
function migrationsCheck(dataSource: DataSource, { MIGRATE_ON_START }: Configuration): Check {
  const rights = selecting(dataSource)(
    'rights.migrate',
    MIGRATE_ON_START ? 'fail' : 'warn',
    'Run GRANT CREATE ON SCHEMA <schema> TO <role>, or run migrate as the role that owns the tables.',
    `has_schema_privilege(current_schema(), 'CREATE') AND NOT EXISTS
        (SELECT FROM pg_class WHERE oid = to_regclass('migrations') AND NOT pg_has_role(relowner, 'USAGE')) AS fine,
      format('%s in schema %s', current_user, current_schema()) AS found`,
  );
  const tables = dataSource.entityMetadatas.map((metadata) => `'${quotedTable(metadata)}'`).join();
  const use = selecting(dataSource)(
    'rights.use',
    'fail',
    'Run GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA <schema> TO <role>.',
    `bool_and(has_table_privilege(table_name, privilege)) AS fine, format('%s in schema %s', current_user, current_schema()) AS found
      FROM unnest(ARRAY[${tables}]) AS table_name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege`,
  );
  return {
    name: 'database.migrations',
    advice: 'Run migrate.',
    severity: 'warn',
    run: async () => {
      const executor = new MigrationExecutor(dataSource);
      const pending = (await executor.getPendingMigrations()).map(({ name }) => name);
      const known = new Set(dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name));
      const newer = (await executor.getExecutedMigrations()).map(({ name }) => name).filter((name) => !known.has(name));
      const others = newer.length === 0 ? '' : `; of a newer version: ${newer.join(', ')}`;
      if (pending.length === 0) {
        return { fine: true, found: `nothing to apply${others}`, next: [use] };
      }
      const advice = MIGRATE_ON_START ? '; run migrate, or start the service' : '';
      const found = `pending: ${pending.join(', ')}${others}${advice}`;
      return { fine: MIGRATE_ON_START, found, next: [rights] };
    },
  };
}

/** Space on disk for a new embedded database, in MiB. */
const NEW_DATABASE = 64;

/** Opens the directory only if it has a database that no process uses. */
function dataDirectoryCheck({ DATA_DIR: path, MIGRATE_ON_START }: Configuration, open: () => Promise<Check[]>): Check {
  return {
    name: 'data-directory',
    advice: 'Mount it writable, give it to the user of the service, free some space, or choose another one with DATA_DIR.',
    run: async () => {
      try {
        const existing = await existingPart(path);
        if (existing !== clusterIn(path)) {
          if (!MIGRATE_ON_START) {
            return { fine: false, found: `${path} has no database yet: run migrate` };
          }
          const { bavail, bsize } = await statfs(existing);
          const free = Math.floor((bavail * bsize) / 2 ** 20);
          const fine = free >= NEW_DATABASE;
          const lack = `it needs ${NEW_DATABASE} MiB, and the disk has ${free} MiB left`;
          return { fine, found: `${path} has no database yet: ${fine ? 'the first start creates it' : lack}` };
        }
        const { uid } = await stat(existing);
        if (uid !== process.getuid?.()) {
          return { fine: false, found: `${path} was not opened: run doctor as its owner, user ${uid}` };
        }
        return { fine: true, found: path, next: await open() };
      } catch (error) {
        if (error instanceof DataDirectoryInUseError) {
          return { fine: true, found: `${path} is in use by a running service` };
        }
        const reason = error instanceof DataDirectoryError ? error.fault : reasonOf(error);
        return { fine: false, found: `${path} cannot be used: ${reason}` };
      }
    },
  };
}
