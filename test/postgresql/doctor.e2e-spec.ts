import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Client } from 'pg';
import { accountOf, serverDirectory } from '../support/daemon.js';
import { Diagnosis } from '../support/doctor.js';
import { freePort } from '../support/free-port.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli } from '../support/process.js';
import { silentServer } from '../support/refusing-servers.js';
import { onServerDatabase } from '../support/test-database.js';

/** A server that asks all but its superuser for a password, and has few connections and settings that are to be found. */
let server: PostgresServer;
let directory: string;
/** Has the migrations, and belongs to the role `owner`. */
let migrated: string;

const PASSWORD = 'canary/hunter2@';

beforeAll(async () => {
  directory = serverDirectory('hba', accountOf('postgres'));
  const file = join(directory, 'pg_hba.conf');
  const rules = ['all postgres 127.0.0.1/32 trust', 'all locked 127.0.0.1/32 reject', 'all all 127.0.0.1/32 scram-sha-256'];
  await writeFile(file, rules.map((rule) => `host ${rule}\n`).join(''));
  server = await PostgresServer.start({ hba_file: file, max_connections: '20' });
  for (const role of ['owner', 'reader', 'writer', 'nobody']) {
    await server.query(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
  }
  migrated = await create('migrated', 'OWNER owner');
  expect((await runCli(['migrate'], { DATABASE_URL: as('owner', migrated) })).code).toBe(0);
});

/** Makes a database. @returns its URL, for the superuser */
async function create(name: string, options = ''): Promise<string> {
  await server.query(`CREATE DATABASE ${name} TEMPLATE template0 ${options}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

/** The same database for a role. */
function as(role: string, url: string, password = PASSWORD): string {
  const other = new URL(url);
  other.username = role;
  other.password = encodeURIComponent(password);
  return other.href;
}

async function faultsOf(url: string, environment: NodeJS.ProcessEnv = {}): Promise<Record<string, string>> {
  return (await Diagnosis.of({ DATABASE_URL: url, ...environment })).faults;
}

/** All that a database holds. */
function dump(url: string): string {
  const text = execFileSync('pg_dump', ['--dbname', url], { encoding: 'utf8' });
  // Commands of psql, whose key differs each time.
  return text.replaceAll(/^\\.*$/gm, '');
}

describe('of a database that is as it should be, doctor', () => {
  it('finds nothing to mend, and changes nothing', async () => {
    const before = dump(migrated);
    const diagnosis = await Diagnosis.of({ DATABASE_URL: as('owner', migrated) });
    expect(diagnosis.faults).toEqual({});
    const found = (name: string) => diagnosis.find(`database.${name}`).found;
    expect(found('connection')).toMatch(/^PostgreSQL \d+.*, database migrated as owner, without TLS$/);
    expect(found('migrations')).toBe('all 7 applied');
    expect(found('tables')).toBe('fit the 3 entities');
    expect(found('rights')).toBe('reads and writes 3 tables');
    expect(found('extensions')).toBe('pg_trgm is there');
    expect(found('connections')).toMatch(/^1 × 10 and 1 for migrate of 17, \d+ in use now$/);
    expect(found('clock')).toMatch(/^the database's is \d+ ms (?:behind|ahead of) this one, ±\d+ ms$/);
    expect(diagnosis.find('database.rights.migrate').status).toBe('skipped');
    expect(dump(migrated)).toBe(before);
  });

  it('finds an empty one that the service will fill, and leaves it empty', async () => {
    const empty = await create('empty', 'OWNER owner');
    const before = dump(empty);
    const diagnosis = await Diagnosis.of({ DATABASE_URL: as('owner', empty) });
    expect(diagnosis.faults).toEqual({});
    expect(diagnosis.find('database.rights.migrate').found).toBe('may create in schema public');
    expect(diagnosis.find('database.extensions').found).toBe('pg_trgm can be created');
    expect(diagnosis.find('database.rights').status).toBe('skipped');
    const waiting = await faultsOf(as('owner', empty), { MIGRATE_ON_START: 'false' });
    expect(Object.keys(waiting)).toEqual(['database.migrations']);
    expect(dump(empty)).toBe(before);
  });
});

describe('doctor explains why there is no connection', () => {
  it.each<[string, () => string | Promise<string>, RegExp]>([
    [
      'a wrong password',
      () => as('owner', migrated, 'canary-wrong'),
      /password authentication failed.*Correct the user and the password/,
    ],
    ['no password', () => as('owner', migrated, ''), /client password must be a string.*Correct the user and the password/],
    ['no database', () => as('owner', `${server.url}x`), /database "postgresx" does not exist.*Create the database/],
    ['an address that may not', () => as('locked', migrated), /pg_hba\.conf rejects.*no encryption.*sslmode=verify-full/],
    ['no TLS', () => `${as('owner', migrated)}?sslmode=verify-full`, /does not support SSL.*take sslmode out/],
    ['a closed port', async () => `postgres://127.0.0.1:${await freePort()}/x`, /ECONNREFUSED.*Nothing listens there/],
    ['no such host', () => 'postgres://nowhere.invalid/x', /(?:ENOTFOUND|EAI_AGAIN) nowhere\.invalid.*cannot be looked up/],
    ['silence', async () => `postgres://127.0.0.1:${await silentServer()}/x`, /timeout.*Packets get lost/],
  ])('%s', async (_case, url, fault) => {
    const diagnosis = await Diagnosis.of({ DATABASE_URL: await url(), DATABASE_CONNECTION_TIMEOUT: '1' });
    expect(diagnosis.faults).toEqual({ 'database.connection': expect.stringMatching(fault) });
    expect(JSON.stringify(diagnosis.report)).not.toMatch(/canary/);
    expect(diagnosis.find('database.migrations')).toMatchObject({ status: 'skipped', found: 'database.connection failed' });
  });
});

describe('doctor finds', () => {
  it('an encoding that has no room for most characters', async () => {
    const url = await create('latin', `OWNER owner ENCODING 'LATIN1' LOCALE 'C'`);
    const fault = expect.stringMatching(/^failed: the database is encoded in LATIN1.*ENCODING 'UTF8'/);
    expect(await faultsOf(as('owner', url))).toEqual({ 'database.encoding': fault });
  });

  it('a database that takes no writes', async () => {
    const url = await create('frozen', 'OWNER owner');
    await server.query('ALTER DATABASE frozen SET default_transaction_read_only = on');
    const fault = expect.stringMatching(/^failed: transactions are read-only here/);
    expect(await faultsOf(as('owner', url))).toEqual({ 'database.writable': fault });
  });

  it('a role that may not migrate, with what it takes', async () => {
    const url = await create('elsewhere');
    await onServerDatabase(url, 'CREATE TABLE items (id uuid)');
    const { 'database.rights.migrate': migrating, ...others } = await faultsOf(as('nobody', url));
    expect(migrating).toMatch(
      /^failed: .*may not create tables in schema public\nthis role does not own .*items.*GRANT CREATE ON SCHEMA public/s,
    );
    expect(others).toEqual({
      'database.rights': expect.stringMatching(/^failed: no right to SELECT, INSERT, UPDATE, DELETE on "items"/),
      'database.extensions': expect.stringMatching(/^warning: pg_trgm is not there, and this role may not create it.*superuser/),
    });
    const apart = await faultsOf(as('nobody', url), { MIGRATE_ON_START: 'false' });
    expect(apart['database.rights.migrate']).toMatch(/^warning: /);
  });

  it('a role that lacks rights on tables, and says which', async () => {
    await onServerDatabase(as('owner', migrated), 'GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader, writer');
    await onServerDatabase(as('owner', migrated), 'GRANT INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO writer');
    expect(await faultsOf(as('reader', migrated))).toEqual({
      'database.rights': expect.stringMatching(
        /^failed: no right to INSERT, UPDATE, DELETE on "access_tokens"\n.*GRANT INSERT, UPDATE, DELETE ON "items"/s,
      ),
    });
    expect(await faultsOf(as('writer', migrated))).toEqual({
      'database.rights': expect.stringMatching(/^warning: no right to DELETE on "access_tokens"\n/),
    });
    // TypeORM would take all migrations for missing, and try to apply them.
    expect(await faultsOf(as('nobody', migrated))).toEqual({
      'database.migrations': expect.stringMatching(/^failed: .*may not read which migrations.*GRANT SELECT ON migrations/),
    });
  });

  it('settings that lose what was acknowledged, and sessions that end early', async () => {
    await server.query(`ALTER ROLE owner SET synchronous_commit = off`);
    await server.query(`ALTER ROLE owner SET idle_session_timeout = '10s'`);
    const faults = await faultsOf(as('owner', migrated));
    await server.query('ALTER ROLE owner RESET ALL');
    expect(faults).toEqual({
      'database.settings': expect.stringMatching(/^warning: synchronous_commit is off.*\nidle_session_timeout 10000 ms/),
    });
    await server.set('full_page_writes', 'off');
    expect(await faultsOf(as('owner', migrated))).toEqual({
      'database.settings': expect.stringMatching(/^warning: fsync or full_page_writes is off/),
    });
    await server.set('full_page_writes', 'on');
  });

  it('fewer connections than all replicas may make, whoever limits them', async () => {
    const url = as('owner', migrated);
    const shared = { RATE_LIMIT_REPLICAS: '2', REDIS_URL: '' };
    const of = async (environment: NodeJS.ProcessEnv) => (await faultsOf(url, environment))['database.connections'];
    expect(await of({ ...shared, DATABASE_POOL_SIZE: '8' })).toBeUndefined();
    expect(await of({ ...shared, DATABASE_POOL_SIZE: '9' })).toMatch(/^warning: 2 × 9 and 1 for migrate of 17.*above 19/);
    await server.query('ALTER ROLE owner CONNECTION LIMIT 10');
    expect(await of({})).toMatch(/^warning: 1 × 10 and 1 for migrate of 10,/);
    await server.query('ALTER ROLE owner CONNECTION LIMIT -1');
    await server.query('ALTER DATABASE migrated CONNECTION LIMIT 5');
    expect(await of({})).toMatch(/^warning: 1 × 10 and 1 for migrate of 5,/);
    await server.query('ALTER DATABASE migrated CONNECTION LIMIT -1');
  });

  it.each([
    [5, /^warning: the database's is (?:4[89]\d\d|5\d{3}) ms behind this one.*NTP/],
    [-40, /^failed: the database's is \d{5} ms ahead of this one.*JWTs/],
  ])('a clock that is %d s ahead', async (seconds, fault) => {
    const now = Date.now.bind(Date);
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() + seconds * 1000);
    const faults = await faultsOf(as('owner', migrated));
    clock.mockRestore();
    expect(faults).toEqual({ 'database.clock': expect.stringMatching(fault) });
  });

  it('indexes that are missing or unfinished, and tables that do not fit', async () => {
    const url = await create('damaged', 'OWNER owner');
    expect((await runCli(['migrate'], { DATABASE_URL: as('owner', url) })).code).toBe(0);
    await onServerDatabase(url, 'DROP INDEX items_name_trigrams_idx');
    await onServerDatabase(url, `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'items_name_id_idx'::regclass`);
    const indexes = (await faultsOf(as('owner', url)))['database.indexes'] ?? '';
    expect(indexes).toMatch(/^warning: items_name_trigrams_idx is missing.*\nitems_name_id_idx was left unfinished/);
    const [, statement = ''] = /→ (CREATE EXTENSION.*)/.exec(indexes) ?? [];
    for (const each of [...statement.split('; '), 'REINDEX INDEX CONCURRENTLY items_name_id_idx']) {
      await onServerDatabase(as('owner', url), each);
    }
    expect(await faultsOf(as('owner', url))).toEqual({});
    await onServerDatabase(url, 'ALTER TABLE items RENAME COLUMN description TO text');
    const fault = expect.stringMatching(/^failed: The entity Item does not fit the database: .*description.*Write a migration/);
    expect(await faultsOf(as('owner', url))).toEqual({ 'database.tables': fault });
  });

  it('what a newer version left, which is no fault, and what it has not applied', async () => {
    const url = await create('newer', 'OWNER owner');
    expect((await runCli(['migrate'], { DATABASE_URL: as('owner', url) })).code).toBe(0);
    await onServerDatabase(url, `INSERT INTO migrations (timestamp, name) VALUES (1999999999999, 'AddColours1999999999999')`);
    await onServerDatabase(url, `DELETE FROM migrations WHERE name LIKE 'AddTokenR%'`);
    const diagnosis = await Diagnosis.of({ DATABASE_URL: as('owner', url), MIGRATE_ON_START: 'false' });
    expect(diagnosis.faults).toEqual({
      'database.migrations': expect.stringMatching(
        /^warning: 1 of 7 to apply: AddTokenRotation\d+\nof a newer version.*: AddColours1999999999999/,
      ),
    });
    await onServerDatabase(
      url,
      `INSERT INTO migrations (timestamp, name) VALUES (1767225600006, 'AddTokenRotation1767225600006')`,
    );
    const rolledBack = await Diagnosis.of({ DATABASE_URL: as('owner', url) });
    expect([rolledBack.faults, rolledBack.find('database.migrations').found]).toEqual([
      {},
      'all 7 applied\nof a newer version, which this one can live with: AddColours1999999999999',
    ]);
  });

  it('a table that somebody keeps locked, and ends all the same', async () => {
    const url = as('owner', migrated);
    const holder = new Client(migrated);
    await holder.connect();
    await holder.query('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
    const diagnosis = await Diagnosis.of({ DATABASE_URL: url, DATABASE_STATEMENT_TIMEOUT: '1', FILTER_TIMEOUT: '1' });
    await holder.query('ROLLBACK');
    await holder.end();
    expect(diagnosis.find('database.tables')).toMatchObject({ status: 'failed', found: expect.stringContaining('lock timeout') });
    expect(diagnosis.find('database.migrations').status).toBe('ok');
  });
});
