import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { type DataSource, MigrationExecutor } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { pendingMigrations, poolOf } from '../database/app-data-source.js';
import { sessionLimits } from '../database/data-source-options.js';
import { streamOf } from '../database/database-client.js';
import { originCheck } from '../database/read-replica.js';
import { findDrift } from '../database/schema-drift.js';
import { quotedTable } from '../lists/sources.js';
import type { Check, Finding } from './check.js';
import { dataDirectoryCheck } from './data-directory-check.js';

type Severity = 'warn' | 'fail';

/** The database, embedded or on servers. @param open - connects as the service does, or to another URL */
export function databaseChecks(settings: Configuration, open: (url?: string) => Promise<DataSource>): Check[] {
  const { DATABASE_URL, DATABASE_DIRECT_URL: directUrl, DATABASE_READ_URL: readUrl } = settings;
  const migrations = (dataSource: DataSource) => [migrationsCheck(dataSource, settings)];
  if (DATABASE_URL === undefined) {
    return [dataDirectoryCheck(settings, async () => migrations(await open()))];
  }
  const ofPrimary = { variable: '', pooler: ' Behind PgBouncer, set DATABASE_DIRECT_URL.' };
  // A pooler is of no use for it.
  const ofReplica = { variable: ' in DATABASE_READ_URL', pooler: '' };
  const connection = (name: string, severity: Severity, more: typeof migrations, url?: string, of = ofPrimary): Check => ({
    name: `database.${name}`,
    advice: `Correct the URL (host, database, user, sslmode)${of.variable}, start the server, or see its log.${of.pooler}`,
    severity,
    run: async () => {
      const dataSource = await open(url);
      const tls = await tlsCheck(url ? `tls.${name}` : 'tls', dataSource);
      return { fine: true, found: 'connected', next: [tls, ...more(dataSource)] };
    },
  });
  const direct = directUrl && connection('direct', 'fail', migrations, directUrl);
  const primary = (dataSource: DataSource) => [
    ...serverChecks(dataSource, settings),
    ...(direct ? [direct] : migrations(dataSource)),
  ];
  // While a replica is unavailable, lists are read from the primary.
  const replica =
    readUrl && connection('replica', 'warn', (dataSource) => [originCheckOf(dataSource, open)], readUrl, ofReplica);
  return [connection('connection', 'fail', primary), ...(replica ? [replica] : [])];
}

/** Whether others in the network could read or change what is sent. Beyond a pooler, the server sees another connection. */
async function tlsCheck(name: string, dataSource: DataSource): Promise<Check> {
  const client = await poolOf(dataSource).connect();
  client.release();
  const { ssl } = client as unknown as { ssl: ConnectionOptions };
  // A Unix socket has no address.
  const { encrypted = false, authorized, remoteAddress = '::1' } = streamOf(client) as Partial<TLSSocket>;
  const isVerified = authorized === true && ssl.rejectUnauthorized !== false;
  const isLocal = /^(?:127\.|::1$|::ffff:127\.)/.test(remoteAddress);
  const state = encrypted ? `encrypted, certificate ${isVerified ? '' : 'not '}verified` : 'not encrypted';
  const beyond = `; from a pooler or proxy to the server ${encrypted ? 'not ' : ''}encrypted`;
  return selecting(dataSource)(
    name,
    'warn',
    'Add sslmode=verify-full to the URL, and sslrootcert=<file> if the CA of the server is not public.',
    `${isVerified || isLocal} AS fine, concat('${state}', '${isLocal ? ', to this machine' : ''}',
      CASE WHEN ssl <> ${encrypted} THEN '${beyond}' END) AS found FROM pg_stat_ssl WHERE pid = pg_backend_pid()`,
  );
}

/** Whether a replica is one of the database in `DATABASE_URL`. */
function originCheckOf(replica: DataSource, open: () => Promise<DataSource>): Check {
  return {
    name: 'database.replica.origin',
    severity: 'warn',
    advice:
      'Set DATABASE_READ_URL to the address of the replicas, or of a TCP load balancer in front of them. If ' +
      'permission is denied, run GRANT EXECUTE ON FUNCTION pg_control_system() TO its role.',
    run: async () => {
      await replica.query(await originCheck(await open()));
      return { fine: true, found: 'a copy of the primary' };
    },
  };
}

/** Checks that select a {@link Finding} with SQL. */
function selecting(dataSource: DataSource) {
  return (name: string, severity: Severity, advice: string, sql: string, next: readonly Check[] = []): Check => {
    const run = async () => ({ ...(await dataSource.query<[Finding]>(`SELECT ${sql}`))[0], next });
    return { name: `database.${name}`, severity, advice, run };
  };
}

function serverChecks(dataSource: DataSource, { DATABASE_STATEMENT_TIMEOUT }: Configuration): Check[] {
  const check = selecting(dataSource);
  const limits = sessionLimits(DATABASE_STATEMENT_TIMEOUT);
  const settings = Object.entries(limits).map(([name, most]) => `ALTER ROLE <role> SET ${name} = ${most};`);
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
        CASE WHEN pg_is_in_recovery() THEN 'standby' WHEN current_setting('transaction_read_only')::bool
          THEN 'read-only: default_transaction_read_only is on' ELSE 'primary' END AS found`,
    ),
    check(
      'timeouts',
      'fail',
      `Run ${settings.join(' ')} and RECONNECT in PgBouncer.`,
      `bool_and(setting::int BETWEEN 1 AND value::int) AS fine, string_agg(format('%s = %s', name, setting), ', ') AS found
        FROM pg_settings JOIN json_each_text('${JSON.stringify(limits)}') ON name = key`,
    ),
    check(
      'extensions',
      'warn',
      'Before migrate, run CREATE EXTENSION pg_trgm (postgresql-contrib) as a superuser. Without it, migrate leaves ' +
        'an index out.',
      `bool_or(installed OR to_regclass('migrations') IS NULL
          AND (rolsuper OR trusted AND has_database_privilege(current_database(), 'CREATE'))) AS fine,
        CASE WHEN bool_or(installed) THEN 'pg_trgm is installed' ELSE 'pg_trgm is not installed yet' END AS found
        FROM pg_available_extension_versions, pg_roles WHERE name = 'pg_trgm' AND rolname = current_user`,
    ),
    clockCheck(check),
  ];
}

/** The service takes the time from its own machine; the database serves all instances as a reference. */
function clockCheck(check: ReturnType<typeof selecting>): Check {
  return check(
    'clock',
    'warn',
    'Synchronize both machines with NTP: rows get wrong times and, beyond 30 s, the wrong JWTs are accepted or refused.',
    `abs(ahead) <= 1000 AS fine, format('the database is %s ms ahead', ahead) AS found
      FROM (SELECT round(extract(epoch FROM clock_timestamp()) * 1000) - ${Date.now()} AS ahead) AS clock`,
  );
}

/** Checks the right to see migrations, whether some are pending and, if so, the rights to apply them. */
function migrationsCheck(dataSource: DataSource, { MIGRATE_ON_START }: Configuration): Check {
  const check = selecting(dataSource);
  const role = `format('%s in schema %s', current_user, current_schema()) AS found`;
  const rights = check(
    'rights.migrate',
    MIGRATE_ON_START ? 'fail' : 'warn',
    'Run GRANT CREATE ON SCHEMA <schema> TO <role>, or run migrate as the role that owns the tables.',
    `has_schema_privilege(current_schema(), 'CREATE') AND NOT EXISTS
        (SELECT FROM pg_class WHERE oid = to_regclass('migrations') AND NOT pg_has_role(relowner, 'USAGE')) AS fine,
        ${role}`,
  );
  const tables = dataSource.entityMetadatas.map((metadata) => `'${quotedTable(metadata)}'`).join();
  const use = check(
    'rights.use',
    'fail',
    'Run GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA <schema> TO <role>.',
    `bool_and(has_table_privilege(table_name, privilege)) AS fine, ${role}
      FROM unnest(ARRAY[${tables}]) AS table_name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege`,
  );
  return check(
    'rights.read',
    'fail',
    'Run GRANT SELECT ON migrations TO <role> as the role that owns the table.',
    `coalesce(has_table_privilege(to_regclass('migrations'), 'SELECT'), true) AS fine, ${role}`,
    [pendingCheck(dataSource, MIGRATE_ON_START, rights, use)],
  );
}

/** @param rights - checked while migrations are pending. @param use - checked once they are applied */
function pendingCheck(dataSource: DataSource, migratesOnStart: boolean, rights: Check, use: Check): Check {
  return {
    name: 'database.migrations',
    advice: 'Run migrate.',
    severity: 'warn',
    run: async () => {
      const pending = await pendingMigrations(dataSource);
      const known = new Set(dataSource.migrations.map((migration) => migration.name ?? migration.constructor.name));
      const applied = (await new MigrationExecutor(dataSource).getExecutedMigrations()).map(({ name }) => name);
      const newer = applied.filter((name) => !known.has(name));
      const others = newer.length === 0 ? '' : `; of a newer version: ${newer.join(', ')}`;
      if (pending.length === 0) {
        const { faults, warnings } = await findDrift(dataSource);
        const schema = driftCheck('schema', 'fail', 'Run the SQL, or a version that fits the database.', faults, [use]);
        const drift = driftCheck('drift', 'warn', 'Let the entities and the database agree.', warnings);
        return { fine: true, found: `nothing to apply${others}`, next: [schema, drift] };
      }
      const advice = migratesOnStart ? '; run migrate, or start the service' : '';
      const found = `pending: ${pending.join(', ')}${others}${advice}`;
      return { fine: migratesOnStart, found, next: [rights] };
    },
  };
}

/** What was found when the entities were compared with the database. */
function driftCheck(name: string, severity: Severity, advice: string, found: string[], next: readonly Check[] = []): Check {
  const run = () => ({ fine: found.length === 0, found: found.join('\n') || 'as the entities have it', next });
  return { name: `database.${name}`, severity, advice, run };
}
