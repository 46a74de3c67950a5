import { Module } from '@nestjs/common';
import { Client } from 'pg';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { WidgetsModule } from '../fixtures/widgets/widgets.module.js';
import { type Service, startService } from '../support/service.js';
import { makeFilterSlow, SLOW_FILTER } from '../support/slow-filter.js';
import { databaseUrlOf } from '../support/test-database.js';

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule] })
class AppModule {}

let admin: Client;

async function start(poolSize: string): Promise<Service> {
  const service = await startService({ DATABASE_POOL_SIZE: poolSize, DATABASE_CONNECTION_TIMEOUT: '2' }, undefined, AppModule);
  admin = new Client(databaseUrlOf(service.database));
  await admin.connect();
  return service;
}

async function stop(service: Service): Promise<void> {
  await admin.end();
  await service.stop();
}

it('a quick filter that is slow at some cursor does not block other tokens', async () => {
  const service = await start('10');
  await service.api.create({ name: 'newest' });
  const victim = await service.newClient();
  const attacker = await service.newClient();
  // Quick on the first page of one, and slow behind it.
  const filter = `name == "newest" || (${SLOW_FILTER})`;
  for (let time = 0; time < 3; time += 1) expect((await attacker.list({ filter, limit: '1' })).status).toBe(200);
  await makeFilterSlow(admin, 2000);
  await service.api.create({ name: 'newest' });
  const { nextCursor = '' } = (await attacker.list({ filter, limit: '1' })).body;
  const slow = Array.from({ length: 20 }, () => attacker.list({ filter, cursor: nextCursor }));
  const statuses: number[] = [];
  for (let time = 0; time < 10; time += 1) statuses.push((await victim.list({ filter: 'name == "newest"' })).status);
  expect(statuses).toEqual(Array(10).fill(200));
  await Promise.allSettled(slow);
  await stop(service);
});

it('a lock on one table does not block the filters of others', async () => {
  const service = await start('10');
  await service.api.create({ name: 'x' });
  const other = await service.newClient();
  const filter = `name == "x"`;
  for (let time = 0; time < 2; time += 1) await service.api.list({ filter });
  await admin.query('BEGIN; LOCK TABLE widgets');
  const blocked = Array.from({ length: 12 }, () => service.api.call('GET', `/v1/widgets?filter=${encodeURIComponent(filter)}`));
  for (let time = 0; time < 10; time += 1) expect((await other.list({ filter })).status).toBe(200);
  await admin.query('ROLLBACK');
  await Promise.all(blocked);
  await stop(service);
});

it('consecutive filters leave the only connection to others', async () => {
  const service = await start('1');
  let done = false;
  const filters = (async () => {
    while (!done) expect((await service.api.list({ filter: 'name == "x"' })).status).toBe(200);
  })();
  for (let time = 0; time < 5; time += 1) expect((await service.api.create({ name: 'x' })).status).toBe(201);
  done = true;
  await filters;
  await stop(service);
});
