import { Injectable, Module } from '@nestjs/common';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { startApp } from '../../src/bootstrap.js';
import { Item } from '../../src/items/item.entity.js';
import { ItemsModule } from '../../src/items/items.module.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { Database, newId } from '../../src/platform/index.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { query } from '../support/query.js';
import { serverDefaults, startService } from '../support/service.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

@Injectable()
class SlowSeed {
  constructor(database: Database, @InjectRepository(Item) items: Repository<Item>) {
    database.onReady(async () => {
      if (await items.existsBy({ name: 'seed' })) return;
      await items.query('SELECT pg_sleep(0.3)');
      await items.insert({ id: newId(), name: 'seed', description: null });
    });
  }
}

@Module({ imports: [PlatformModule, ItemsModule, TypeOrmModule.forFeature([Item])], providers: [SlowSeed] })
class AppModule {}

it('runs in one instance at a time [seeding-one-at-a-time]', async () => {
  const database = await createTestDatabase();
  const services = await Promise.all(Array.from({ length: 4 }, () => startService({}, database, AppModule)));
  for (const { api } of services) expect((await api.list()).body.items.map(({ name }) => name)).toEqual(['seed']);
  await Promise.all(services.map((service) => service.stop()));
  await database.drop();
});

@Injectable()
class FailingSeed {
  constructor(database: Database) {
    database.onReady(() => Promise.reject(new Error('no seeds')));
  }
}

@Module({ imports: [PlatformModule, ItemsModule], providers: [FailingSeed] })
class FailingModule {}

it('keeps the service from becoming ready if it fails [seeding-failure]', async () => {
  const database = await createTestDatabase();
  const app = await startApp(
    readConfiguration({ ...serverDefaults, LOG_LEVEL: 'silent', ...database.environment }),
    FailingModule,
  );
  await expect(app.get(Database).started).rejects.toMatchObject({ cause: new Error('no seeds') });
  const { port } = app.getHttpServer().address() as { port: number };
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503);
  await app.close();
  expect(await query(databaseUrlOf(database), 'SELECT 1 FROM items')).toEqual([]);
  await database.drop();
});
