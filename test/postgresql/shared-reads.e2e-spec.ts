import { Module } from '@nestjs/common';
import type { Client } from 'pg';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { connectTo } from '../support/connect.js';
import { eventually, startService } from '../support/service.js';
import { databaseUrlOf } from '../support/test-database.js';
import { useService } from '../support/use-service.js';

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule] })
class AppModule {}

/** Statements of this database that wait for a lock. */
const WAITING = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

const service = useService(() => startService({ DATABASE_POOL_SIZE: '4' }, undefined, AppModule));
let admin: Client;

beforeAll(async () => {
  admin = await connectTo(databaseUrlOf(service.database));
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
  await eventually(async () => (await admin.query(WAITING)).rows.length > 0);
  for (const answer of await Promise.all([...read, names()])) expect(answer).toEqual(ALL);
  expect((await admin.query(WAITING)).rows).toHaveLength(1);
  await admin.query('COMMIT');
  expect((await blocked).status).toBe(200);
});

it('filters do not wait for those of another table that wait for a lock', async () => {
  const filter = 'name == "a"';
  for (let time = 0; time < 2; time += 1) await service.api.list({ filter });
  const other = await service.newClient();
  await admin.query('BEGIN; LOCK TABLE widgets');
  const blocked = Array.from({ length: 12 }, () => service.api.list({ filter }, '/v1/widgets'));
  await eventually(async () => (await admin.query(WAITING)).rows.length > 0);
  for (let time = 0; time < 10; time += 1) expect((await other.list({ filter })).status).toBe(200);
  await admin.query('ROLLBACK');
  await Promise.all(blocked);
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
  await admin.query('ALTER TABLE items ALTER COLUMN name TYPE varchar(300)');
  expect(await Promise.all([names(), names(), names()])).toEqual([ALL, ALL, ALL]);
  await admin.query('ALTER TABLE items ALTER COLUMN name TYPE text');
  expect(await names()).toEqual(ALL);
  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'items'",
  );
  await eventually(async () => (await service.api.list()).status === 200);
  expect(await names()).toEqual(ALL);
});
