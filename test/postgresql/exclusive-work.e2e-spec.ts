import { setTimeout as delay } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { Item } from '../../src/items/item.entity.js';
import { Database } from '../../src/platform/database/database.js';
import { newId } from '../../src/platform/ids/id.js';
import { SERVICE_NAME } from '../../src/platform/service/service.js';
import { eventually } from '../support/eventually.js';
import { startPgBouncer } from '../support/pgbouncer.js';
import { runCli } from '../support/process.js';
import { query } from '../support/query.js';
import { type Service, startService } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

/** Fewer connections and less time than the work needs. */
const SCARCE = { DATABASE_POOL_SIZE: '1', DATABASE_STATEMENT_TIMEOUT: '1' };

let database: TestDatabase;
let url: string;
const services: Service[] = [];

async function instance(environment: NodeJS.ProcessEnv = {}): Promise<Service> {
  const service = await startService({ ...SCARCE, ...environment }, database);
  services.push(service);
  return service;
}

const exclusively = <T>({ app }: Service, name: string, work: (signal: AbortSignal) => Promise<T>) =>
  app.get(Database).exclusively(name, work);
const add = ({ app }: Service, name: string) =>
  app.get(Database).transaction(() => app.get(DataSource).getRepository(Item).insert({ id: newId(), name }));

interface Session {
  pid: number;
  state: string;
  holdsUp: boolean;
  keys: number;
}

/** Sessions that have the lock of a name. */
const holders = (name: string) =>
  query<Session>(
    url,
    `SELECT pid, state, backend_xmin IS NOT NULL OR backend_xid IS NOT NULL AS "holdsUp", objsubid AS keys
      FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE locktype = 'advisory' AND granted AND application_name = $1`,
    [`${SERVICE_NAME} ${name}`],
  );

beforeAll(async () => {
  database = await createTestDatabase();
  url = databaseUrlOf(database);
});

afterAll(async () => {
  for (const service of services) await service.stop();
  await database.drop();
});

it('runs in one of two instances, although all connections are in use and the work exceeds the time of a statement [exclusive-work]', async () => {
  const [one, two] = [await instance(), await instance()];
  for (let round = 0; round < 5; round += 1) {
    let running = 0;
    const work = async (service: Service) => {
      running += 1;
      expect(running).toBe(1);
      await add(service, `round ${round}`);
      // All others have tried.
      await Promise.all(tries.slice(0, 4).map((each) => Promise.race([each, delay(200)])));
      running -= 1;
    };
    const tries = [one, two, one, two].map((service) => exclusively(service, 'test.rounds', () => work(service)));
    expect((await Promise.all(tries)).filter(({ ran }) => ran)).toHaveLength(1);
  }
  const rows = await query<{ count: number }>(url, "SELECT count(*)::int AS count FROM items WHERE name LIKE 'round%'");
  expect(rows).toEqual([{ count: 5 }]);

  const long = await exclusively(one, 'test.long', async (signal) => {
    await delay(2500);
    const others = [await exclusively(two, 'test.long', () => Promise.resolve()), await holders('test.long')];
    // Behind the lock of a single key, migrations are not: they have another one.
    const migrated = await runCli(['migrate'], { DATABASE_URL: url });
    return [...others, migrated.code, signal.aborted];
  });
  const session = { pid: expect.any(Number), state: 'idle in transaction', holdsUp: false, keys: 2 };
  expect(long).toEqual({ ran: true, result: [{ ran: false }, [session], 0, false] });
  expect(await exclusively(two, 'test.long', () => Promise.resolve(1))).toEqual({ ran: true, result: 1 });
  await eventually(async () => (await holders('test.long')).length === 0);
});

it('tells the work that its lock is lost, and the caller, and another instance may run it [exclusive-work-lost]', async () => {
  const [one = await instance(), two = await instance()] = services;
  let reason: unknown;
  const working = exclusively(one, 'test.lost', async (signal) => {
    const [holder] = await holders('test.lost');
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
    await query(url, 'SELECT pg_terminate_backend($1)', [holder?.pid]);
    await aborted;
    ({ reason } = signal);
    expect(await exclusively(two, 'test.lost', () => Promise.resolve('other'))).toEqual({ ran: true, result: 'other' });
    return 'done although it is of no use';
  });
  const error = await working.catch((failure: unknown) => failure);
  expect(error).toMatchObject({ message: expect.stringContaining('The lock of "test.lost" was lost while the work ran') });
  expect(reason).toBe(error);
  expect(await exclusively(one, 'test.lost', () => Promise.resolve('again'))).toEqual({ ran: true, result: 'again' });
});

it('notices a connection without responses before the server frees its lock [exclusive-work-lost]', async () => {
  const proxy = await TcpProxy.start(url);
  const [two = await instance()] = services;
  const cutOff = await instance({ DATABASE_URL: proxy.url });
  let isFree: boolean | undefined;
  const working = exclusively(cutOff, 'test.silent', async (signal) => {
    proxy.losesEnds = true;
    proxy.swallow();
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    isFree = (await exclusively(two, 'test.silent', () => Promise.resolve())).ran;
  });
  await expect(working).rejects.toThrow('The lock of "test.silent" was lost');
  expect(isFree).toBe(false);
  proxy.restore();
  await eventually(async () => (await exclusively(two, 'test.silent', () => Promise.resolve())).ran, 90);
  await eventually(async () => (await fetch(`http://127.0.0.1:${cutOff.port}/readyz`)).status === 200);
});

it('rejects if the lock may have been lost unnoticed when the work ends [exclusive-work-lost]', async () => {
  const proxy = await TcpProxy.start(url);
  const [two = await instance()] = services;
  const cutOff = await instance({ DATABASE_URL: proxy.url });
  const working = exclusively(cutOff, 'test.unnoticed', async () => {
    const [holder] = await holders('test.unnoticed');
    proxy.losesEnds = true;
    proxy.swallow();
    await query(url, 'SELECT pg_terminate_backend($1)', [holder?.pid]);
    await eventually(async () => (await holders('test.unnoticed')).length === 0);
    expect((await exclusively(two, 'test.unnoticed', () => Promise.resolve())).ran).toBe(true);
  });
  await expect(working).rejects.toThrow('The lock of "test.unnoticed" was lost');
  proxy.restore();
  await eventually(async () => (await fetch(`http://127.0.0.1:${cutOff.port}/readyz`)).status === 200);
});

it('works behind PgBouncer in transaction mode [exclusive-work]', async () => {
  const pooled = await startPgBouncer(url, 3);
  const limits = { DATABASE_STATEMENT_TIMEOUT: '60', FILTER_TIMEOUT: '60' };
  const environment = { ...limits, DATABASE_URL: pooled, DATABASE_DIRECT_URL: url };
  const [one, two] = [await instance(environment), await instance(environment)];
  const run = await exclusively(one, 'test.pooled', async () => {
    await add(one, 'pooled');
    const others = [1, 2, 3, 4, 5].map(() => exclusively(two, 'test.pooled', () => Promise.resolve()));
    return (await Promise.all(others)).filter(({ ran }) => ran).length;
  });
  expect(run).toEqual({ ran: true, result: 0 });
  // No session of the pooler keeps the lock.
  const locks =
    "SELECT FROM pg_locks JOIN pg_database ON oid = database WHERE locktype = 'advisory' AND datname = current_database()";
  expect(await query(url, locks)).toEqual([]);
  for (let call = 0; call < 5; call += 1) {
    for (const service of [one, two])
      expect(await exclusively(service, 'test.pooled', () => Promise.resolve(1))).toEqual({ ran: true, result: 1 });
  }
});

it('fails while the database is down, and the name is free when it is back', async () => {
  const proxy = await TcpProxy.start(url);
  const service = await instance({ DATABASE_URL: proxy.url });
  proxy.cut();
  await expect(exclusively(service, 'test.down', () => Promise.resolve())).rejects.toThrow('No connection to the database.');
  proxy.restore();
  await eventually(async () => (await fetch(`http://127.0.0.1:${service.port}/readyz`)).status === 200);
  expect(await exclusively(service, 'test.down', () => Promise.resolve(1))).toEqual({ ran: true, result: 1 });
});
