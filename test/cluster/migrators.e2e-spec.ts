import { execFileSync } from 'node:child_process';
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

/** Kills a migrator after some changes, and starts another one. @returns the exit code of the first, null if it was killed */
async function migrateTwice(changes: number): Promise<{ code: number | null; result: Result }> {
  const database = await createTestDatabase();
  const url = databaseUrlOf(database);
  const gate = await TcpProxy.start(url);
  const { child, ended } = spawnCli(['migrate'], { DATABASE_URL: gate.url });
  let seen = 0;
  const isLast = (statement: string) => CHANGE.test(statement) && (seen += 1) === changes;
  gate.trap = { isHere: isLast, stage: 'after', action: () => child.kill('SIGKILL') };
  const { code } = await ended;
  expect([changes, (await runCli(['migrate'], database.environment)).code]).toEqual([changes, 0]);
  const result = await resultIn(url);
  await database.drop();
  return { code, result };
}

it('leave the same database wherever the previous one was killed [migrations-atomic]', async () => {
  const { result: reference } = await migrateTwice(Infinity);
  let changes = 0;
  for (let code: number | null = null; code === null;) {
    changes += 1;
    const killed = await migrateTwice(changes);
    code = killed.code;
    expect([changes, killed.result]).toEqual([changes, reference]);
  }
  expect(changes).toBeGreaterThan(reference.migrations.length * 2);
}, 600_000);

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
