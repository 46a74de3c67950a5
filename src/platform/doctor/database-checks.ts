import type { ConnectionOptions, TLSSocket } from 'node:tls';
import type { DataSource } from 'typeorm';
import type { Configuration } from '../config/configuration.js';
import { poolOf } from '../database/app-data-source.js';
import { sessionLimits } from '../database/data-source-options.js';
import { streamOf } from '../database/database-client.js';
import { originCheck } from '../database/read-replica.js';
import { HAS_PARAMETERS, POOLER_REMEDY } from '../database/require-session.js';
import { type Check, selecting, type Severity } from './check.js';
import { dataDirectoryCheck } from './data-directory-check.js';
import { migrationsCheck } from './schema-checks.js';

/** Checks the database, embedded or on servers. @param open - connects as the service does, or to another URL */
export function databaseChecks(settings: Configuration, open: (url?: string) => Promise<DataSource>): Check[] {
  const { DATABASE_URL, DATABASE_DIRECT_URL: directUrl, DATABASE_READ_URL: readUrl } = settings;
  const migrations = (dataSource: DataSource) => [migrationsCheck(dataSource, settings)];
  if (DATABASE_URL === undefined) {
    return [dataDirectoryCheck(settings, async () => migrations(await open()))];
  }
  const remedy = 'start the server, free connections, or see its log. If its CA is not public, set NODE_EXTRA_CA_CERTS.';
  const ofPrimary = { variable: '', pooler: ' Behind PgBouncer, set DATABASE_DIRECT_URL.' };
  // Without a hint on poolers, which are not allowed in front of replicas.
  const ofReplica = { variable: ' in DATABASE_READ_URL', pooler: '' };
  const connection = (name: string, severity: Severity, more: typeof migrations, url?: string, of = ofPrimary): Check => ({
    name: `database.${name}`,
    advice: `Correct the URL (host, database, user, password, sslmode)${of.variable}, ${remedy}${of.pooler}`,
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

/** Checks whether others in the network could read or change data: on the way to the server or pooler, and behind that. */
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
      CASE WHEN ssl <> ${encrypted} THEN '${beyond}' END) AS found
      FROM (SELECT pg_backend_pid() AS pid) AS own LEFT JOIN pg_stat_ssl USING (pid)`,
  );
}

/** Checks whether a replica is a copy of the database in `DATABASE_URL`. */
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

function serverChecks(dataSource: DataSource, configuration: Configuration): Check[] {
  const { DATABASE_STATEMENT_TIMEOUT, DATABASE_DIRECT_URL } = configuration;
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
      DATABASE_DIRECT_URL ? `Run ${settings.join(' ')} and RECONNECT in PgBouncer.` : POOLER_REMEDY,
      `bool_and(setting::int BETWEEN 1 AND value::int) AND ${DATABASE_DIRECT_URL ? 'true' : HAS_PARAMETERS} AS fine,
        string_agg(format('%s = %s', name, setting), ', ') AS found
        FROM pg_settings JOIN json_each_text('${JSON.stringify(limits)}') ON name = key`,
    ),
    ...(DATABASE_DIRECT_URL ? [] : [connectionsCheck(check, configuration)]),
    ...textChecks(check),
    clockCheck(dataSource),
  ];
}

/** Checks whether all instances can open their connections. Limits do not apply to superusers. */
function connectionsCheck(check: ReturnType<typeof selecting>, settings: Configuration): Check {
  const needed = settings.DATABASE_POOL_SIZE * settings.RATE_LIMIT_REPLICAS;
  return check(
    'connections',
    'warn',
    'Raise the CONNECTION LIMIT of the role or database, or max_connections, or lower DATABASE_POOL_SIZE: requests ' +
      'that get no connection get 503.',
    `rolsuper OR most >= ${needed} AS fine, CASE WHEN rolsuper THEN 'a superuser has no limit'
        ELSE format('%s allowed, %s needed: DATABASE_POOL_SIZE × RATE_LIMIT_REPLICAS', most, ${needed}) END AS found
      FROM pg_roles, pg_database, LATERAL (SELECT least(nullif(rolconnlimit, -1), nullif(datconnlimit, -1),
        current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int) AS most) AS of
      WHERE rolname = session_user AND datname = current_database()`,
  );
}

/** The schema of `pg_trgm` if its operators are not found without the schema's name. */
const ELSEWHERE = `(SELECT nspname FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
  WHERE extname = 'pg_trgm' AND nspname <> ALL (current_schemas(true)))`;

/** Checks what the service needs to find and to store texts. */
function textChecks(check: ReturnType<typeof selecting>): Check[] {
  return [
    check(
      'extensions',
      'warn',
      'Before migrate, run CREATE EXTENSION pg_trgm (postgresql-contrib) as the owner of the database. Without it, ' +
        'migrate leaves an index out. If its schema is not on the search_path, run ALTER ROLE <role> SET search_path.',
      `${ELSEWHERE} IS NULL AND bool_or(installed OR to_regclass('migrations') IS NULL
          AND (rolsuper OR trusted AND has_database_privilege(current_database(), 'CREATE'))) AS fine,
        CASE WHEN ${ELSEWHERE} IS NOT NULL THEN format('pg_trgm is in the schema %s, where it is not found', ${ELSEWHERE})
          WHEN bool_or(installed) THEN 'pg_trgm is installed' ELSE 'pg_trgm is not installed yet' END AS found
        FROM pg_available_extension_versions, pg_roles WHERE name = 'pg_trgm' AND rolname = current_user`,
    ),
    check(
      'encoding',
      'fail',
      "Create a database with ENCODING 'UTF8' TEMPLATE template0, and restore a dump into it.",
      `current_setting('server_encoding') = 'UTF8' AS fine, current_setting('server_encoding') AS found`,
    ),
  ];
}

/** The service takes the time from its own machine; the database serves all instances as a reference. */
function clockCheck(dataSource: DataSource): Check {
  return {
    name: 'database.clock',
    severity: 'warn',
    advice:
      'Synchronize both machines with NTP: rows get wrong times and, beyond 30 s, the wrong JWTs are accepted or refused. ' +
      'Then restart instances that were ahead: ids never go back.',
    run: async () => {
      const client = await poolOf(dataSource).connect();
      const sent = Date.now();
      const time = 'SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now';
      const { rows } = await client.query<{ now: string }>(time).finally(() => client.release());
      // The server read its clock in between.
      const ahead = Math.round(Number(rows[0]?.now) - (sent + Date.now()) / 2);
      return { fine: Math.abs(ahead) <= 1000, found: `the database is ${ahead} ms ahead` };
    },
  };
}
