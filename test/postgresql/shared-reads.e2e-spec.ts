import { jest } from '@jest/globals';
import { Module } from '@nestjs/common';
import type { Client } from 'pg';
import { DataSource } from 'typeorm';
import { Item } from '../../src/items/item.entity.js';
import { itemFilter } from '../../src/items/item.filter.js';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { readerOf } from '../../src/platform/database/app-data-source.js';
import { Database, Lists } from '../../src/platform/index.js';
import { PageReader } from '../../src/platform/lists/page-reader.js';
import { LibraryModule } from '../fixtures/library/library.module.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { connectTo } from '../support/connect.js';
import { eventually, startService } from '../support/service.js';
import { databaseUrlOf } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule, LibraryModule] })
class AppModule {}

/** Statements of this database that wait for a lock. */
const WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

const service = useService(() =>
  startService({ FILTER_TIMEOUT: '60', DATABASE_STATEMENT_TIMEOUT: '60' }, undefined, AppModule),
);
let admin: Client;
/** Not in the transaction that holds the lock, in which PostgreSQL would repeat the first result. */
let observer: Client;

const waiting = async () => (await observer.query(WAITING)).rows.length;

beforeAll(async () => {
  admin = await connectTo(databaseUrlOf(service.database));
  observer = await connectTo(databaseUrlOf(service.database));
  for (const name of ['a', 'b', 'c']) await service.api.create({ name });
});

const names = async () => {
  const { status, body } = await service.api.list();
  return [status, body.items.map(({ name }) => name)];
};
const ALL = [200, ['c', 'b', 'a']];

it('reads on shared connections do not wait for one that waits for a lock', async () => {
  await admin.query('BEGIN; LOCK TABLE widgets IN ACCESS EXCLUSIVE MODE');
  const blocked = service.api.call('GET', '/v1/widgets');
  const read = Array.from({ length: 20 }, names);
  await eventually(async () => (await waiting()) > 0);
  for (const answer of await Promise.all([...read, names()])) expect(answer).toEqual(ALL);
  // Not for long where others wait behind it, and then on a connection of its own.
  await eventually(async () => (await waiting()) === 1);
  await admin.query('COMMIT');
  expect((await blocked).status).toBe(200);
  // Once a page was quick again, the next ones share a connection with others.
  expect((await service.api.call('GET', '/v1/widgets')).status).toBe(200);
  expect([...service.app.get(PageReader).paths.keys()]).toEqual([]);
});

it('filters do not wait for those of another table that wait for a lock', async () => {
  const filter = 'name == "a"';
  for (let time = 0; time < 2; time += 1) await service.api.list({ filter });
  const other = await service.newClient();
  await admin.query('BEGIN; LOCK TABLE widgets');
  const blocked = Array.from({ length: 12 }, () => service.api.list({ filter }, '/v1/widgets'));
  await eventually(async () => (await waiting()) > 0);
  for (let time = 0; time < 10; time += 1) expect((await other.list({ filter })).status).toBe(200);
  await admin.query('ROLLBACK');
  await Promise.all(blocked);
});

it('lists of several tables, which all wait, leave connections to creates, look-ups of tokens and readiness', async () => {
  await admin.query('BEGIN; LOCK TABLE items, books, loans IN ACCESS EXCLUSIVE MODE');
  const filters = Array.from({ length: 6 }, (_, index) => ({ filter: `name == "${index}"` }));
  const blocked = [
    ...['/v1/items', '/v1/books', '/v1/loans'].flatMap((path) =>
      Array.from({ length: 30 }, () => service.api.list({}, path)),
    ),
    ...filters.map((query) => service.api.list(query)),
  ];
  await eventually(async () => (await waiting()) > 0);
  for (let time = 0; time < 5; time += 1) {
    const other = await service.newClient();
    expect(
      (
        await other.callWith(
          'POST',
          '/v1/widgets',
          { name: `w${time}`, price: 1, size: 'small' },
          { 'Idempotency-Key': `beside-${time}` },
        )
      ).status,
    ).toBe(201);
    expect((await service.api.send('GET', '/readyz')).status).toBe(200);
  }
  expect(await waiting()).toBeGreaterThan(0);
  const sessions = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'items'";
  expect((await observer.query(sessions)).rows.length).toBeLessThanOrEqual(10);
  await admin.query('ROLLBACK');
  expect(new Set((await Promise.all(blocked)).map(({ status }) => status))).toEqual(new Set([200]));
});

it('large pages leave a connection to readiness', async () => {
  const pages = readerOf(service.app.get(DataSource))?.pages;
  let isRead = false;
  const reads = Array.from({ length: 250 }, async () => pages?.send({ text: 'SELECT pg_sleep(0.04)', values: [] }));
  const reading = Promise.allSettled(reads).then(() => (isRead = true));
  expect([(await service.api.send('GET', '/readyz')).status, isRead]).toEqual([200, false]);
  await reading;
});

it('filtered lists in transactions need no other connection than that of their transaction', async () => {
  const items = service.app.get(DataSource).getRepository(Item);
  const filter = itemFilter.parse('name == "inside"');
  const listed = Array.from({ length: 20 }, () =>
    service.app.get(Database).transaction(async () => {
      const { id } = await service.app.get(Lists).insert(items, { name: 'inside', description: null });
      const page = await service.app.get(Lists).findPage(items, { limit: 100, filter });
      return page.items.some((item) => item.id === id);
    }),
  );
  expect(await Promise.all(listed)).toEqual(listed.map(() => true));
  await admin.query("DELETE FROM items WHERE name = 'inside'");
});

it('filters that follow each other leave the only connection to others', async () => {
  const limits = { DATABASE_POOL_SIZE: '1', DATABASE_CONNECTION_TIMEOUT: '2' };
  const narrow = await startService(limits);
  let isDone = false;
  const filtering = async () => {
    while (!isDone) expect((await narrow.api.list({ filter: 'name == "x"' })).status).toBe(200);
  };
  const filters = filtering();
  for (let time = 0; time < 5; time += 1) expect((await narrow.api.create({ name: 'x' })).status).toBe(201);
  isDone = true;
  await filters;
  await narrow.stop();
});

it('they continue after a migration that invalidates their plans, and after lost connections', async () => {
  const items = service.app.get(DataSource).getRepository(Item);
  const query = { limit: 9, filter: itemFilter.parse('name == "a"') };
  const find = () => service.app.get(Lists).findPage(items, query);
  const findSlowly = () => {
    jest.spyOn(service.app.get(PageReader), 'quickly').mockResolvedValueOnce(undefined);
    return find();
  };
  const found = async () =>
    [await find(), await findSlowly(), await service.app.get(Database).transaction(find)].map((page) => page.items.length);
  expect(await found()).toEqual([1, 1, 1]);
  await admin.query('ALTER TABLE items ALTER COLUMN name TYPE varchar(300)');
  expect(await Promise.all([names(), names(), names()])).toEqual([ALL, ALL, ALL]);
  expect(await found()).toEqual([1, 1, 1]);
  await admin.query('ALTER TABLE items ALTER COLUMN name TYPE text');
  expect(await names()).toEqual(ALL);
  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'items'",
  );
  await eventually(async () => (await service.api.list()).status === 200);
  expect(await names()).toEqual(ALL);
});
