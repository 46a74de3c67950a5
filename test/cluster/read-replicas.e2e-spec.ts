import { Cluster, startDatabaseBalancer } from '../support/cluster.js';
import { HttpClient } from '../support/http-client.js';
import { Load, outcomesOf } from '../support/load.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';
import { issueToken, issueTokens } from '../support/tokens.js';
import { TcpProxy } from '../support/tcp-proxy.js';

let primary: PostgresServer;
let standby: PostgresServer;
/** The way to the standby. */
let proxy: TcpProxy;
let cluster: Cluster;
let token: string;
let count = 0;

beforeAll(async () => {
  primary = await PostgresServer.start();
  // Recovery does not wait for lists on the standby.
  standby = await PostgresServer.startStandby(primary, {
    max_standby_streaming_delay: '0',
    wal_retrieve_retry_interval: '100ms',
  });
  proxy = await TcpProxy.start(standby.url);
  token = await issueToken({ DATABASE_URL: primary.url });
  await standby.catchesUpWith(primary);
  cluster = await Cluster.start(2, { DATABASE_URL: primary.url, DATABASE_READ_URL: proxy.url });
  await isUsed();
});

/** Waits until every process reads from the standby: a list, or a scrape, connects it. */
async function isUsed(): Promise<void> {
  await eventually(async () => (await areReady()).every((isReady) => isReady === 1));
}

/** Creates an item on every process. @returns the names, newest first, as each of them lists them */
async function createAndList(): Promise<{ created: string[]; listed: string[][] }> {
  const created: string[] = [];
  for (const process of cluster.processes) {
    count += 1;
    const { status, body } = await process.client(token).create({ name: `item ${count}` });
    expect(status).toBe(201);
    created.unshift(body.name);
  }
  return { created, listed: await listed() };
}

/** The two newest names, as every process lists them. */
function listed(): Promise<string[][]> {
  const list = async (process: ServiceProcess) => {
    const { status, body } = await process.client(token).list({ limit: '2' });
    expect(status).toBe(200);
    return body.items.map(({ name }) => name);
  };
  return Promise.all(cluster.processes.map(list));
}

async function expectListedAtOnce(): Promise<void> {
  const pages = await createAndList();
  expect(pages.listed).toEqual([pages.created, pages.created]);
}

/** Waits until every process lists the rows of the standby instead of those of the primary. */
async function readsFromStandby(): Promise<void> {
  await standby.query('SELECT pg_wal_replay_pause()');
  await eventually(async () => {
    const pages = await createAndList();
    return pages.listed.every((names) => !names.includes(pages.created[0] ?? ''));
  });
  await standby.query('SELECT pg_wal_replay_resume()');
}

function lists(query: string): Load {
  const clients = cluster.processes.flatMap(({ origin }) => [1, 2].map(() => new HttpClient(origin, token, true)));
  return new Load(clients, (client) => client.list(query), 10);
}

async function goesOn({ calls }: Load): Promise<void> {
  const { length } = calls;
  await eventually(() => calls.length > length + 50);
}

function areReady(): Promise<(number | undefined)[]> {
  return Promise.all(cluster.processes.map((process) => process.metric('items_database_replica_ready{pool="replica"}')));
}

it('reads lists from the replica, and everything else from the primary [replica-first-pages] [replica-later-pages]', async () => {
  await standby.catchesUpWith(primary);
  await standby.query('SELECT pg_wal_replay_pause()');
  const before = await createAndList();
  expect(before.listed).toEqual([[], []]);
  // A token that the replica does not know, and a key that was used before.
  const [next = ''] = await issueTokens(primary.url, 1);
  const client = cluster.client(next);
  const headers = { 'Idempotency-Key': 'read-replicas' };
  const replies = [await client.create('once', headers), await client.create('once', headers), await client.list()];
  expect(replies.map(({ status }) => status)).toEqual([201, 201, 200]);
  expect(replies[1]?.body).toBe(replies[0]?.body);
  await standby.query('SELECT pg_wal_replay_resume()');
  await standby.catchesUpWith(primary);
  const { created } = await createAndList();
  await standby.catchesUpWith(primary);
  expect(await listed()).toEqual([created, created]);
});

it('lists from the primary without a failure while the replica is killed, and from the replica after it has recovered [replica-down]', async () => {
  const load = lists('limit=5');
  await goesOn(load);
  await standby.stop('immediate');
  await eventually(() => cluster.processes.every((process) => process.linesOf('replica away').length >= 1));
  await expectListedAtOnce();
  expect(await areReady()).toEqual([0, 0]);
  await goesOn(load);
  await standby.start();
  await readsFromStandby();
  expect(await areReady()).toEqual([1, 1]);
  expect(Object.keys(outcomesOf(await load.stop()))).toEqual(['200']);
});

it('lists from the primary without a failure while the replica does not respond', async () => {
  proxy.swallow();
  // At most two filters of one token run at the same time.
  const filtered = cluster.processes.flatMap((each) =>
    Array.from({ length: 6 }, () => each.client(token).list({ filter: 'name != ""' })),
  );
  expect((await Promise.all(filtered)).map(({ status }) => status)).toEqual(filtered.map(() => 200));
  await expectListedAtOnce();
  proxy.cut();
  proxy.restore();
  await readsFromStandby();
});

it('lists without a failure while recovery conflicts cancel lists on the replica', async () => {
  await primary.query(
    `INSERT INTO items (id, name, description)
     SELECT gen_random_uuid(), 'many ' || number, repeat('x', 500) FROM generate_series(1, 20000) AS number`,
  );
  await standby.catchesUpWith(primary);
  const load = lists(`filter=${encodeURIComponent('description.contains("y")')}`);
  await eventually(async () => {
    await primary.query('BEGIN; LOCK TABLE items IN ACCESS EXCLUSIVE MODE; COMMIT');
    const [row] = await standby.query<{ ended: string }>(
      'SELECT confl_lock + confl_snapshot AS ended FROM pg_stat_database_conflicts WHERE datname = current_database()',
    );
    return Number(row?.ended) >= 5;
  });
  expect(Object.keys(outcomesOf(await load.stop()))).toEqual(['200']);
  await readsFromStandby();
});

it('lists without a failure while one of two replicas behind a balancer dies under load, and from the other', async () => {
  const second = await PostgresServer.startStandby(primary);
  const url = await startDatabaseBalancer([standby.url, second.url]);
  const service = await ServiceProcess.startReady({ DATABASE_URL: primary.url, DATABASE_READ_URL: url });
  const clients = Array.from({ length: 8 }, () => new HttpClient(service.origin, token, true));
  const queries = ['limit=5', `filter=${encodeURIComponent('name.contains("item")')}`];
  let turn = 0;
  const load = new Load(clients, (client) => client.list(queries[(turn += 1) % 2]), 5);
  const isRead = async (server: PostgresServer) => {
    const [found] = await server.query<{ count: number }>(
      "SELECT count(*)::int FROM pg_stat_activity WHERE application_name = 'items' AND query LIKE 'SELECT r.%'",
    );
    return (found?.count ?? 0) > 0;
  };
  await eventually(async () => (await isRead(standby)) || isRead(second));
  const [dying, other] = (await isRead(second)) ? [second, standby] : [standby, second];
  await dying.stop('immediate');
  await goesOn(load);
  await eventually(() => isRead(other));
  await dying.start();
  await goesOn(load);
  expect(Object.keys(outcomesOf(await load.stop()))).toEqual(['200']);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('lists from the primary while the replica lacks a migration, and from the replica after it has it', async () => {
  await primary.query('CREATE DATABASE late');
  const [here, there] = [primary, standby].map(({ url }) => Object.assign(new URL(url), { pathname: 'late' }).href);
  await standby.catchesUpWith(primary);
  await standby.query('SELECT pg_wal_replay_pause()');
  const environment = { DATABASE_URL: here, DATABASE_READ_URL: there };
  expect((await runCli(['migrate'], { DATABASE_URL: here })).code).toBe(0);
  const [late = ''] = await issueTokens(here ?? '', 1);
  const service = await ServiceProcess.startReady(environment);
  const client = service.client(late);
  await eventually(async () => (await service.metric('items_database_replica_ready{pool="replica"}')) === 1);
  expect((await client.create({ name: 'new' })).status).toBe(201);
  const names = async (query: Record<string, string> = {}) => (await client.list(query)).body.items.map(({ name }) => name);
  const newest = async () => [await names(), await names({ filter: 'name != "new"' })].flat();
  expect([await names(), await names({ filter: 'name == "new"' })]).toEqual([['new'], ['new']]);
  await standby.query('SELECT pg_wal_replay_resume()');
  await standby.catchesUpWith(primary);
  await standby.query('SELECT pg_wal_replay_pause()');
  expect((await client.create({ name: 'newer' })).status).toBe(201);
  // On a busy machine, a list that the replica is late for comes from the primary.
  await eventually(async () => (await newest()).join() === 'new');
  await standby.query('SELECT pg_wal_replay_resume()');
  expect(await service.end('SIGTERM')).toBe(0);
});

it('starts and lists while the replica is away', async () => {
  proxy.cut();
  const service = await ServiceProcess.startReady({ DATABASE_URL: primary.url, DATABASE_READ_URL: proxy.url });
  const { status, body } = await service.client(token).list({ limit: '1' });
  expect([status, body.items.length]).toEqual([200, 1]);
  proxy.restore();
  await eventually(async () => (await service.metric('items_database_replica_ready{pool="replica"}')) === 1);
  expect(await service.end('SIGTERM')).toBe(0);
  expect(await cluster.stop()).toEqual([0, 0]);
});
