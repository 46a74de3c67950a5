import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Database } from '../../src/platform/index.js';
import { connectTo } from '../support/connect.js';
import { PostgresServer } from '../support/postgres-server.js';
import { type Labels, type Scrape, startMeasured } from '../support/scrape.js';
import { eventually } from '../support/service.js';
import { databaseUrlOf } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

const service = useService(() =>
  startMeasured({
    DATABASE_POOL_SIZE: '2',
    // Long enough to see waiting requests on a busy machine.
    DATABASE_CONNECTION_TIMEOUT: '15',
    // Statements wait for a lock as long as the test needs.
    DATABASE_STATEMENT_TIMEOUT: '60',
    FILTER_TIMEOUT: '60',
  }),
);
/** Another session, which locks the table at times. */
let other: Client;

beforeAll(async () => {
  other = await connectTo(databaseUrlOf(service.database));
});

/** With a key, each is a transaction, and has a connection to itself. */
const creates = (count: number) =>
  Array.from({ length: count }, () => service.api.post('{"name":"x"}', { 'Idempotency-Key': randomUUID() }));
const lock = () => other.query('BEGIN; LOCK TABLE items');
const unlock = () => other.query('ROLLBACK');

async function scrapeWhen(isSo: (scrape: Scrape) => boolean): Promise<Scrape> {
  let scrape = await service.scrape();
  await eventually(async () => isSo(scrape) || isSo((scrape = await service.scrape())));
  return scrape;
}

it('shows used connections and waiting requests', async () => {
  await lock();
  const answers = creates(5);
  const held = await scrapeWhen((scrape) => scrape.sum('items_database_pool_waiting', { pool: 'primary' }) >= 1);
  await unlock();
  expect(held.sum('items_database_pool_connections', { pool: 'primary', state: 'used' })).toBe(2);
  expect(held.sum('items_database_pool_connections', { pool: 'primary', state: 'idle' })).toBe(0);
  expect(held.sum('items_database_pool_limit')).toBe(2);
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
  const free = await scrapeWhen((scrape) => scrape.sum('items_database_pool_connections', { state: 'idle' }) === 2);
  expect(free.sum('items_database_pool_connections', { state: 'used' })).toBe(0);
  expect(free.sum('items_database_pool_waiting')).toBe(0);
});

it('counts failed statements by cause', async () => {
  const { manager } = service.app.get(DataSource);
  const within = (setting: string, statement: string) =>
    service.app.get(Database).transaction(async () => {
      await manager.query(`SET LOCAL ${setting}`);
      await manager.query(statement);
    });
  const errors = async (labels: Labels) => (await service.scrape()).sum('items_database_statement_errors_total', labels);
  await lock();
  for (const [operation, cause, message, work] of [
    ['select', 'timeout', 'timeout', () => within('statement_timeout = 50', 'SELECT pg_sleep(5)')],
    ['select', 'connection', 'terminating', () => manager.query('SELECT pg_terminate_backend(pg_backend_pid())')],
    ['update', 'conflict', 'lock', () => within('lock_timeout = 50', `UPDATE items SET name = 'x'`)],
    ['other', 'other', 'nothing', () => manager.query('VACUUM nothing')],
  ] as const) {
    const before = await errors({ operation, cause });
    await expect(work()).rejects.toThrow(message);
    expect([cause, (await errors({ operation, cause })) - before]).toEqual([cause, 1]);
  }
  await unlock();
});

it('shows running and waiting filters, and counts those that get no turn or no connection', async () => {
  await lock();
  // One filter and one create have the two connections.
  const filtered = [1, 2, 3].map(() => service.api.list({ filter: 'name == "x"' }));
  await scrapeWhen((scrape) => scrape.sum('items_filters_running') === 1 && scrape.sum('items_filters_waiting') === 2);
  const plain = creates(3);
  const refused: unknown[] = [];
  for (const create of plain) void create.then(({ status }) => status === 503 && refused.push(create));
  const after = await scrapeWhen((scrape) => scrape.sum('items_filter_rejections_total') === 2 && refused.length === 2);
  await unlock();
  expect(after.sum('items_filters_waiting')).toBe(0);
  const statuses = async (answers: Promise<{ status: number }>[]) =>
    (await Promise.all(answers)).map(({ status }) => status).toSorted();
  expect(await statuses(filtered)).toEqual([200, 503, 503]);
  expect(await statuses(plain)).toEqual([201, 503, 503]);
  expect((await service.scrape()).sum('items_filters_running')).toBe(0);
});

it('counts attempts to connect that fail, by cause, also while the service is ready', async () => {
  const server = await PostgresServer.start();
  await server.query('CREATE ROLE app LOGIN');
  await server.query('CREATE DATABASE app OWNER app');
  const measured = await startMeasured({
    DATABASE_URL: server.url.replace(/postgres@(.*)postgres$/, 'app@$1app'),
    DATABASE_POOL_SIZE: '3',
  });
  const errors = async (labels: Labels = {}) =>
    (await measured.scrape()).sum('items_database_connection_errors_total', labels);
  const create = () => measured.api.post('{"name":"x"}', { 'Idempotency-Key': randomUUID() });
  const disconnect = () =>
    server.query(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'app'`);
  expect(await errors()).toBe(0);

  await disconnect();
  await server.query('ALTER ROLE app CONNECTION LIMIT 1');
  await eventually(async () => {
    const created = await Promise.all([create(), create(), create()]);
    return created.some(({ status }) => status === 201) && created.some(({ status }) => status === 503);
  });
  expect((await measured.api.send('GET', '/readyz')).status).toBe(200);
  expect(await errors({ cause: 'full' })).toBeGreaterThan(0);
  expect(await errors()).toBe(await errors({ cause: 'full' }));

  for (const [cause, prevent] of [
    ['login', () => server.query('ALTER ROLE app CONNECTION LIMIT -1 NOLOGIN')],
    [
      'server',
      () => server.query('ALTER DATABASE app ALLOW_CONNECTIONS false').then(() => server.query('ALTER ROLE app LOGIN')),
    ],
    ['network', () => server.stop('fast')],
  ] as const) {
    await prevent();
    if (cause !== 'network') await disconnect();
    await eventually(async () => (await create()).status === 503 && (await errors({ cause })) > 0);
  }
  await measured.stop();
});
