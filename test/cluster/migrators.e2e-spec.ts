import { execFileSync } from 'node:child_process';
import { createContext } from '../../src/app.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { Database } from '../../src/platform/database/database.js';
import { runCli, spawnCli } from '../support/process.js';
import { PostgresServer } from '../support/postgres-server.js';
import { query } from '../support/query.js';
import { eventually } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

interface Result {
  migrations: string[];
  schema: string;
}

/** Statements that change the database, or end a transaction that did, behind the bytes that wrap them. */
const CHANGE = /(?:CREATE|ALTER|DROP|INSERT INTO|COMMIT)\b/;

async function resultIn(url: string): Promise<Result> {
  const rows = await query<{ name: string }>(url, 'SELECT name FROM migrations ORDER BY id');
  const dump = execFileSync('pg_dump', ['--schema-only', '--no-owner', url], { encoding: 'utf8' });
  // Commands of psql, whose key differs each time, and comments with version numbers.
  const schema = dump.replaceAll(/^(?:\\|--).*$/gm, '');
  return { migrations: rows.map(({ name }) => name), schema };
}

/** Applies the migrations like the command, but in this process, because starts of processes would take most of the time. */
async function migrate(url: string): Promise<void> {
  const app = await createContext(readConfiguration({ DATABASE_URL: url, MIGRATE_ON_START: 'false', LOG_LEVEL: 'silent' }));
  try {
    await app.get(Database).migrate();
  } finally {
    await app.close();
  }
}

/** Cuts a migrator off after some changes, which its server cannot tell from a kill, and runs another one. */
async function migrateTwice(changes: number): Promise<{ isCut: boolean; result: Result }> {
  const database = await createTestDatabase();
  const url = databaseUrlOf(database);
  const gate = await TcpProxy.start(url);
  let seen = 0;
  let isCut = false;
  const isLast = (statement: string) => CHANGE.test(statement) && (seen += 1) === changes;
  const cut = () => {
    isCut = true;
    gate.cut();
  };
  gate.trap = { isHere: isLast, stage: 'after', action: cut };
  const [{ status }] = await Promise.allSettled([migrate(gate.url)]);
  expect([changes, status]).toEqual([changes, isCut ? 'rejected' : 'fulfilled']);
  await migrate(url);
  const result = await resultIn(url);
  await database.drop();
  return { isCut, result };
}

it('leave the same database wherever the previous one was cut off [migrations-atomic]', async () => {
  const { result: reference } = await migrateTwice(Infinity);
  let changes = 0;
  for (let isCut = true; isCut;) {
    changes += 1;
    const second = await migrateTwice(changes);
    isCut = second.isCut;
    expect([changes, second.result]).toEqual([changes, reference]);
  }
  expect(changes).toBeGreaterThan(reference.migrations.length * 2);
}, 600_000);

it('leave the same database when the previous one was killed', async () => {
  const database = await createTestDatabase();
  const url = databaseUrlOf(database);
  const gate = await TcpProxy.start(url);
  const { child, ended } = spawnCli(['migrate'], { DATABASE_URL: gate.url });
  gate.trap = {
    isHere: (text) => text.includes('CREATE TABLE items'),
    stage: 'after',
    action: () => child.kill('SIGKILL'),
  };
  expect((await ended).code).toBe(null);
  expect((await runCli(['migrate'], database.environment)).code).toBe(0);
  expect(await resultIn(url)).toEqual((await migrateTwice(Infinity)).result);
  await database.drop();
});

it('get the lock of a table that an autovacuum has, for minutes, also as a role that sees little of it', async () => {
  const server = await PostgresServer.start({ autovacuum_naptime: '1s' });
  await server.query('CREATE ROLE owner LOGIN');
  await server.query('GRANT CREATE ON SCHEMA public TO owner');
  const environment = { DATABASE_URL: server.url.replace('postgres@', 'owner@') };
  expect((await runCli(['migrate'], environment)).code).toBe(0);
  await server.query(`DELETE FROM migrations WHERE name LIKE 'AddTokenR%'`);
  await server.query('ALTER TABLE access_tokens DROP COLUMN last_four, DROP COLUMN family_id, DROP COLUMN replaced_by');
  await server.query(`INSERT INTO access_tokens (id, name, digest, created_at)
    SELECT gen_random_uuid(), repeat('long', 50), sha256(n::text::bytea), now() FROM generate_series(1, 50000) AS n`);
  await server.query(`ALTER TABLE access_tokens SET (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_cost_limit = 1, autovacuum_vacuum_cost_delay = 100)`);
  await server.query('DELETE FROM access_tokens');
  const vacuums = `SELECT pid FROM pg_stat_progress_vacuum WHERE relid = 'access_tokens'::regclass`;
  await eventually(async () => (await server.query(vacuums)).length > 0);
  const [vacuum] = await server.query<{ pid: number }>(vacuums);
  const { code, stderr } = await runCli(['migrate'], environment);
  expect(stderr).toContain(`"reason":"canceling statement due to lock timeout","blockedBy":[${vacuum?.pid}]`);
  expect(code).toBe(0);
});
