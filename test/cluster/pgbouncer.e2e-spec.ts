import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { Cluster } from '../support/cluster.js';
import { HttpClient } from '../support/http-client.js';
import { PgBouncer } from '../support/pgbouncer.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { abandonSlowFilter, makeFilterSlow } from '../support/slow-filter.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

/** Connections that everything has to share. */
const POOL_SIZE = 2;

let database: TestDatabase;
let url: string;
let pooled: string;
let environment: NodeJS.ProcessEnv;
let token: string;
let cluster: Cluster;
let client: HttpClient;

beforeAll(async () => {
  database = await createTestDatabase();
  url = databaseUrlOf(database);
  pooled = (await PgBouncer.start(url, POOL_SIZE)).url;
  environment = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: url };
});

afterAll(() => database.drop());

it('migrates past the pooler, which need not even be there, and issues a token', async () => {
  const poolerAway = { ...environment, DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items' };
  expect(await runCli(['migrate'], poolerAway)).toMatchObject({ code: 0, stderr: expect.stringContaining('migration applied') });
  token = await issueToken(environment);
});

it('starts, creates, lists and filters', async () => {
  cluster = await Cluster.start(2, environment);
  client = cluster.client(token);
  const created = await client.create('pooled');
  expect(created.status).toBe(201);
  const item: unknown = JSON.parse(created.body);
  expect(JSON.parse((await client.list()).body)).toEqual({ items: [item] });
  const filters = [
    'name == "pooled"',
    'name.icontains("POOL")',
    'name.startsWith("p") && createdAt > timestamp("2026-01-01T00:00:00Z")',
  ];
  for (const filter of filters) {
    const { status, body } = await client.list(`filter=${encodeURIComponent(filter)}`);
    expect([filter, status, JSON.parse(body)]).toEqual([filter, 200, { items: [item] }]);
  }
});

it('cancels the filter of a client that is gone', async () => {
  const limits = { FILTER_TIMEOUT: '60', DATABASE_STATEMENT_TIMEOUT: '60' };
  const service = await ServiceProcess.startReady({ ...environment, ...limits });
  const direct = new Client(url);
  await direct.connect();
  await makeFilterSlow(direct, 20_000);
  await abandonSlowFilter(service.origin, token, direct);
  expect((await service.client(token).list({ filter: 'name == "pooled"' })).body.items).toHaveLength(1);
  await direct.query(`DELETE FROM items WHERE name = 'x'`);
  await direct.end();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('repeats the answer to a key, also to those who ask at the same moment', async () => {
  const headers = { 'Idempotency-Key': randomUUID() };
  const replies = await Promise.all(Array.from({ length: 20 }, () => client.create('once', headers)));
  expect(new Set(replies.map(({ status, body }) => `${status} ${body}`)).size).toBe(1);
  expect(replies[0]?.status).toBe(201);
  expect(replies.filter((reply) => reply.headers['idempotent-replayed'] === 'true')).toHaveLength(19);
});

it('serves many at once over two connections', async () => {
  const filter = `filter=${encodeURIComponent('name.contains("many")')}`;
  const replies = await Promise.all(
    Array.from({ length: 50 }, () => [client.create('many'), client.list('limit=100'), client.list(filter)]).flat(),
  );
  expect(replies.map(({ status }) => status).filter((status) => status !== 200 && status !== 201)).toEqual([]);
  const rows = await query<{ count: number }>(url, `SELECT count(*)::int FROM items WHERE name = 'many'`);
  expect(rows).toEqual([{ count: 50 }]);
});

it('leaves no setting, no lock and no transaction behind on the connections that others use', async () => {
  const others = Array.from({ length: POOL_SIZE }, () => new Client(pooled));
  const sessions = new Set<number>();
  for (const other of others) {
    await other.connect();
    // A transaction of its own keeps each on another connection.
    await other.query('BEGIN');
    const { rows } = await other.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    sessions.add(rows[0]?.pid ?? 0);
    // PgBouncer itself sees to the name.
    const settings = await other.query(`SELECT name FROM pg_settings WHERE source = 'session' AND name <> 'application_name'`);
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
