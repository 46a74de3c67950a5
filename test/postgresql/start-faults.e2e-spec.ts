import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { startApp } from '../../src/app.js';
import { AppModule } from '../../src/app.module.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { Database } from '../../src/platform/index.js';
import { runServiceToEnd, ServiceProcess } from '../support/process.js';
import { eventually, serverDefaults } from '../support/service.js';
import { query } from '../support/query.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { issueToken } from '../support/tokens.js';

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(() => database.drop());

const run = (statement: string) => query(databaseUrlOf(database), statement);

describe('a fault that no retry can change ends the start, with its reason:', () => {
  it('a migration whose SQL fails', async () => {
    await run('CREATE TABLE items (x int)');
    const { code, stderr } = await runServiceToEnd(database.environment);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The migration CreateItems1767225600001 failed: relation "items" already exists\./),
    ]);
  });

  it.each([
    ['a table that is missing', 'DROP TABLE items'],
    ['a column that is missing', 'ALTER TABLE items DROP COLUMN description'],
  ])('%s', async (_name, statement) => {
    await issueToken(database.environment);
    await run(statement);
    const { code, stderr } = await runServiceToEnd(database.environment);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^The entity Item does not fit the database: .* does not exist/)]);
  });

  it('an entity that TypeORM does not accept', async () => {
    @Entity('oddities')
    class Oddity {
      @PrimaryColumn('uuid')
      declare id: string;

      @Column('nonsense' as 'text')
      declare value: string;
    }

    @Module({ imports: [AppModule, TypeOrmModule.forFeature([Oddity])] })
    class OddModule {}

    const app = await startApp(readConfiguration({ ...serverDefaults, ...database.environment, LOG_LEVEL: 'silent' }), OddModule);
    await expect(app.get(Database).started()).rejects.toThrow('Data type "nonsense" in "Oddity.value" is not supported');
    await app.close();
  });

  it('also when the database could not be reached at first', async () => {
    await run('CREATE TABLE items (x int)');
    const proxy = await TcpProxy.start(databaseUrlOf(database));
    proxy.cut();
    const service = await ServiceProcess.start({ DATABASE_URL: proxy.url });
    await eventually(() => service.has('database not ready'));
    proxy.restore();
    await eventually(() => service.child.exitCode !== null);
    expect([service.child.exitCode, service.output.stderr]).toEqual([1, expect.stringContaining('CreateItems1767225600001')]);
    await proxy.stop();
  });
});

it('tells of a database that cannot be reached in one line for each attempt, with longer and longer pauses', async () => {
  const service = await ServiceProcess.start({ DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items', LOG_LEVEL: 'debug' });
  await eventually(() => service.linesOf('database not ready').filter(({ level }) => level === 'warn').length >= 4);
  await delay(100);
  expect(await service.end('SIGTERM')).toBe(0);
  const lines = service.linesOf('database not ready').filter(({ level }) => level === 'warn');
  for (const [index, line] of lines.slice(0, 4).entries()) {
    expect(line).toMatchObject({
      reason: 'No connection to the database. connect ECONNREFUSED 127.0.0.1:1',
      retryInMs: 100 * 2 ** index,
      hint: expect.stringContaining('doctor'),
    });
    expect(line).not.toHaveProperty('err');
  }
  expect(service.log.find(({ level, err }) => level === 'debug' && err !== undefined)).toMatchObject({
    err: { type: 'ConnectionFailedError', stack: expect.any(String) },
  });
});
