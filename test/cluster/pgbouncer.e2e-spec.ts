import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { sessionLimits } from '../../src/platform/database/data-source-options.js';
import { Cluster } from '../support/cluster.js';
import { IGNORE_LIMITS, startPgBouncer } from '../support/pgbouncer.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { connectTo } from '../support/connect.js';
import { eventually } from '../support/eventually.js';
import { query } from '../support/query.js';
import { makeFilterSlow, runningFilters, SLOW_FILTER } from '../support/slow-filter.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { declareToken, issueToken } from '../support/tokens.js';

/** Connections that everything has to share. */
const POOL_SIZE = 2;

let database: TestDatabase;
let pooled: string;
let environment: NodeJS.ProcessEnv;
let token: string;
let cluster: Cluster;

beforeAll(async () => {
  database = await createTestDatabase();
  const url = databaseUrlOf(database);
  pooled = await startPgBouncer(url, POOL_SIZE);
  const limits = { FILTER_TIMEOUT: '60', DATABASE_STATEMENT_TIMEOUT: '60' };
  environment = { ...limits, DATABASE_URL: pooled, DATABASE_DIRECT_URL: url };
});

it('migrates and issues a token through the direct URL, without the pooler [pgbouncer-works]', async () => {
  const poolerAway = { ...environment, DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items' };
  expect(await runCli(['migrate'], poolerAway)).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('Migrations applied: '),
  });
  token = await issueToken(environment);
});

it('serves many requests over two connections, and repeats the response of a key to concurrent requests [pgbouncer-works] [unknown-outcome-once]', async () => {
  cluster = await Cluster.start(2, environment);
  const client = cluster.client(token);
  const headers = { 'Idempotency-Key': randomUUID() };
  const filter = `filter=${encodeURIComponent('name.contains("many")')}`;
  const once = Promise.all(Array.from({ length: 20 }, () => client.create('once', headers)));
  const many = Array.from({ length: 50 }, () => [client.create('many'), client.list('limit=100'), client.list(filter)]);
  const statuses = (await Promise.all(many.flat())).map(({ status }) => status);
  expect(statuses).toEqual(many.flatMap(() => [201, 200, 200]));
  const { body } = await client.list(`${filter}&limit=100`);
  expect((JSON.parse(body) as { items: object[] }).items).toHaveLength(50);
  const replies = await once;
  expect(new Set(replies.map((reply) => `${reply.status} ${reply.body}`))).toEqual(new Set([`201 ${replies[0]?.body}`]));
  expect(replies.filter((reply) => reply.headers['idempotent-replayed'] === 'true')).toHaveLength(19);
});

it('cancels the filter of a client that disconnects [filters-of-gone-clients]', async () => {
  const direct = await connectTo(databaseUrlOf(database));
  await makeFilterSlow(direct, 20_000);
  const [origin = ''] = cluster.processes.map((each) => each.origin);
  const abort = new AbortController();
  const init = { headers: { Authorization: `Bearer ${token}` }, signal: abort.signal };
  const list = fetch(`${origin}/v1/items?filter=${encodeURIComponent(SLOW_FILTER)}`, init);
  const aborted = expect(list).rejects.toThrow('aborted');
  await eventually(async () => (await runningFilters(direct)) === 1);
  abort.abort();
  await aborted;
  await eventually(async () => (await runningFilters(direct)) === 0, 10);
  expect((await cluster.client(token).list(`filter=${encodeURIComponent('name == "once"')}`)).status).toBe(200);
  await direct.end();
});

it('leaves no setting, lock or transaction on connections that others use', async () => {
  const others = await Promise.all(Array.from({ length: POOL_SIZE }, () => connectTo(pooled)));
  const sessions = new Set<number>();
  for (const other of others) {
    // A separate transaction keeps each on another connection.
    await other.query('BEGIN');
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    sessions.add(rows[0]?.pid ?? 0);
    // PgBouncer gives each of its clients its own name and style.
    const settings = await other.query(
      `SELECT name FROM pg_settings WHERE source = 'session' AND name NOT IN ('application_name', 'DateStyle')`,
    );
    const locks = await other.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`);
    expect([settings.rows, locks.rows]).toEqual([[], []]);
  }
  expect(sessions.size).toBe(POOL_SIZE);
  for (const other of others) {
    await other.query('ROLLBACK');
    await other.end();
  }
  expect(await cluster.stop()).toEqual([0, 0]);
});

it('does not carry out later what got 503, with the time limits of the handbook', async () => {
  const [, limits = ''] = /^```sql\n(ALTER ROLE items SET .*?)^```$/ms.exec(await readFile('docs/scaling.md', 'utf8')) ?? [];
  const server = await PostgresServer.start();
  await server.query(`CREATE ROLE items LOGIN; ${limits}`);
  await server.query('CREATE DATABASE items OWNER items');
  const url = server.url.replace(/postgres@(.*)postgres$/, 'items@$1items');
  const declared = await declareToken();
  const own = { DATABASE_URL: await startPgBouncer(url, POOL_SIZE), DATABASE_DIRECT_URL: url };
  const service = await ServiceProcess.startReady({ ...own, ...declared.variables });
  const client = service.client(declared.token);
  const blocker = await connectTo(url);
  await blocker.query('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE');
  expect((await client.create({ name: 'given up' })).status).toBe(503);
  await blocker.query('COMMIT');
  await eventually(
    async () =>
      (await query(url, `SELECT FROM pg_stat_activity WHERE query LIKE 'INSERT%' AND state = 'active'`)).length === 0,
  );
  expect((await client.create({ name: 'kept' })).status).toBe(201);
  expect((await client.list()).body.items).toMatchObject([{ name: 'kept' }]);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('does not start behind a pooler that ignores the limits of the connection, without the direct URL [pooler-undeclared]', async () => {
  const server = await PostgresServer.start();
  const names = Object.keys(sessionLimits(1));
  // With limits of the role, `doctor` found no fault, and others used sessions in which lists had forbidden writes.
  await server.query(
    `CREATE ROLE limited LOGIN SUPERUSER; ${names.map((name) => `ALTER ROLE limited SET ${name} = '1s';`).join(' ')}`,
  );
  const url = server.url.replace('postgres@', 'limited@');
  const ignoring = await startPgBouncer(url, POOL_SIZE, IGNORE_LIMITS);
  const undeclared = { DATABASE_URL: ignoring };
  const refusal = {
    code: 1,
    stderr: expect.stringContaining('A pooler ignores startup parameters: set DATABASE_DIRECT_URL'),
  };
  expect(await runCli(['migrate'], undeclared)).toMatchObject(refusal);
  expect(await ServiceProcess.spawn(undeclared).ended).toMatchObject(refusal);
  expect(await query(url, `SELECT FROM pg_tables WHERE tablename = 'migrations'`)).toEqual([]);
  const service = await ServiceProcess.startReady({ ...undeclared, DATABASE_DIRECT_URL: url });
  expect(await service.end('SIGTERM')).toBe(0);
});
