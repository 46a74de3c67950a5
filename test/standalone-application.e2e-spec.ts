import { NestFactory } from '@nestjs/core';
import { AppModule } from '../src/app.module.js';
import { ItemsService } from '../src/items/items.service.js';
import { Database } from '../src/platform/index.js';
import { createTestDatabase } from './support/test-database.js';

it('has the services of features after it has connected, and says before what it lacks [standalone-application]', async () => {
  const database = await createTestDatabase();
  Object.assign(process.env, database.environment);
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
  const create = () => app.get(ItemsService).create({ name: 'of a script' });
  const before = await create().catch((error: unknown) => error);
  expect(before).toMatchObject({ cause: { message: expect.stringContaining('await app.get(Database).connect()') } });
  await app.get(Database).connect();
  expect(await create()).toMatchObject({ name: 'of a script' });
  await app.close();
  await database.drop();
});
