import { Cluster } from '../support/cluster.js';
import { HttpClient, type Reply } from '../support/http-client.js';
import { type Call, Load, outcomesOf } from '../support/load.js';
import { PostgresServer } from '../support/postgres-server.js';
import { eventually } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { issueToken } from '../support/tokens.js';

let primary: PostgresServer;
let standby: PostgresServer;
let proxy: TcpProxy;
let cluster: Cluster;
let token: string;
let count = 0;
/** Names of acknowledged items of all tests: no later failure may lose them. */
const acknowledged = new Set<string>();

beforeAll(async () => {
  // Synchronous replication: otherwise a failover could lose acknowledged items.
  primary = await PostgresServer.start({ synchronous_standby_names: '*' });
  // Creates wait for it: it must not take its time to come back to a primary that was away.
  standby = await PostgresServer.startStandby(primary, { wal_retrieve_retry_interval: '100ms' });
  proxy = await TcpProxy.start(primary.url);
  token = await issueToken({ DATABASE_URL: proxy.url });
  cluster = await Cluster.start(3, { DATABASE_URL: proxy.url });
});

function load(): Load {
  const clients = cluster.processes.flatMap(({ origin }) => [1, 2].map(() => new HttpClient(origin, token, true)));
  return new Load(clients, (client) => ((count += 1) % 2 ? create(client) : client.list()), 20);
}

async function create(client: HttpClient): Promise<Reply> {
  const name = `item ${count}`;
  const reply = await client.create(name);
  if (reply.status === 201) acknowledged.add(name);
  return reply;
}

async function recovers(): Promise<void> {
  await Promise.all(
    cluster.processes.map(async (process) => {
      const api = process.client(token);
      await eventually(async () => (await api.create({ name: 'recovery' })).status === 201);
      await eventually(async () => (await api.list({ limit: '1' })).status === 200);
      await process.becomesReady();
    }),
  );
}

/** Waits for more calls of a load with a status. */
async function has(status: number, { calls }: Load): Promise<void> {
  const { length } = calls;
  await eventually(() => calls.slice(length).filter((call) => call.status === status).length >= 5);
}

/** Every request has a response, and those without a database are 503. */
function expectHonest(calls: readonly Call[]): void {
  expect(Object.keys(outcomesOf(calls)).toSorted()).toEqual(['200', '201', '503']);
  const away = calls.filter(({ status }) => status === 503).map(({ result }) => (result as Reply).headers['retry-after']);
  expect(away.filter((seconds) => !(Number(seconds) > 0))).toEqual([]);
}

async function expectNothingLost(server: PostgresServer): Promise<void> {
  const rows = await server.query<{ name: string }>('SELECT name FROM items');
  const stored = new Set(rows.map(({ name }) => name));
  expect([...acknowledged].filter((name) => !stored.has(name))).toEqual([]);
  expect(acknowledged.size).toBeGreaterThan(0);
}

it.each(['immediate', 'fast'] as const)(
  'responds 503 and recovers when PostgreSQL is stopped (%s) and started',
  async (mode) => {
    const running = load();
    await has(201, running);
    await primary.stop(mode);
    await has(503, running);
    await primary.start();
    await recovers();
    await has(201, running);
    expectHonest(await running.stop());
    await expectNothingLost(primary);
  },
);

it('lists, responds 503 to creates, and recovers while PostgreSQL is read-only', async () => {
  const running = load();
  await has(201, running);
  await primary.set('default_transaction_read_only', 'on');
  await eventually(async () => (await cluster.client(token).create('refused')).status === 503);
  const lists = await Promise.all(cluster.processes.map((process) => process.client(token).list()));
  expect(lists.map(({ status }) => status)).toEqual([200, 200, 200]);
  await has(503, running);
  await primary.set('default_transaction_read_only', 'off');
  await recovers();
  expectHonest(await running.stop());
  await expectNothingLost(primary);
});

it('follows a failover to the standby, and loses no acknowledged item [failover-followed]', async () => {
  const running = load();
  await has(201, running);
  await primary.stop('immediate');
  await has(503, running);
  await standby.query('SELECT pg_promote()');
  proxy.lead(standby.url);
  await recovers();
  await has(201, running);
  expectHonest(await running.stop());
  await expectNothingLost(standby);
  expect(await cluster.stop()).toEqual([0, 0, 0]);
});
