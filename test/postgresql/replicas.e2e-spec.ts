import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { Client } from 'pg';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { startApp } from '../../src/app.js';
import { AppModule } from '../../src/app.module.js';
import { AccessTokensService } from '../../src/platform/auth/access-tokens.service.js';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { Database } from '../../src/platform/index.js';
import { Api } from '../support/api.js';
import { IdentityProvider } from '../support/identity-provider.js';
import { runCli, runServiceToEnd, ServiceProcess, spawnCli } from '../support/process.js';
import { query } from '../support/query.js';
import { eventually, serverDefaults, startService, TESTER } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

// Starts of processes, alone and at the same time, and their shared state.

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(() => database.drop());

const run = (statement: string) => query(databaseUrlOf(database), statement);

it('stops the start for a migration whose SQL fails, with its reason', async () => {
  await run('CREATE TABLE items (x int)');
  const { code, stderr } = await runServiceToEnd(database.environment);
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/^The migration CreateItems1767225600001 failed: relation "items" already exists\./),
  ]);
});

it('starts before its database, logs each attempt in one line with increasing pauses, and serves once it is available', async () => {
  const proxy = await TcpProxy.start(databaseUrlOf(database));
  proxy.cut();
  const service = await ServiceProcess.start({ DATABASE_URL: proxy.url });
  const { origin } = service;
  expect([(await fetch(`${origin}/livez`)).status, (await fetch(`${origin}/readyz`)).status]).toEqual([200, 503]);
  await eventually(() => service.linesOf('database not ready').length >= 4);
  for (const [index, line] of service.linesOf('database not ready').slice(0, 4).entries()) {
    const reason = expect.stringMatching(/^No connection to the database\. ./) as unknown;
    expect(line).toMatchObject({ level: 'warn', reason, retryInMs: 100 * 2 ** index, hint: expect.stringContaining('doctor') });
    expect(line).not.toHaveProperty('err');
  }
  proxy.restore();
  await service.becomesReady();
  expect(await service.end('SIGTERM')).toBe(0);
  await proxy.stop();
});

it('waits, not ready, for migrations that another process applies', async () => {
  const service = await ServiceProcess.start({ ...database.environment, MIGRATE_ON_START: 'false' });
  await delay(500);
  expect((await fetch(`${service.origin}/readyz`)).status).toBe(503);
  expect((await runCli(['migrate'], database.environment)).code).toBe(0);
  await service.becomesReady();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('migrates an empty database once when many replicas start at the same time', async () => {
  const environment = { ...database.environment, LOG_LEVEL: 'debug' };
  const replicas = await Promise.all(Array.from({ length: 4 }, () => ServiceProcess.startReady(environment)));
  const applied = replicas.flatMap(({ log }) => log.filter(({ msg }) => msg === 'migration applied'));
  expect(applied.length).toBeGreaterThan(0);
  expect(new Set(applied.map(({ migration }) => migration)).size).toBe(applied.length);
  expect(replicas.flatMap(({ log }) => log.filter(({ msg }) => msg === 'database not ready'))).toEqual([]);
  expect(await Promise.all(replicas.map((replica) => replica.end('SIGTERM')))).toEqual([0, 0, 0, 0]);
});

it('applies a revocation, expiry or rotation on every replica within the time of the cache', async () => {
  const first = await startService({ TOKEN_CACHE_TTL: '1' }, database);
  const second = await startService({ TOKEN_CACHE_TTL: '1' }, database);
  const expiring = await first.newClient('expiring', { expiresAt: new Date(Date.now() + 2000) });
  const given = [first.api.token, (await first.newClient('rotated')).token, expiring.token];
  const statuses = async (tokens = given) => {
    const replicas = tokens.flatMap((token) => [first, second].map(({ api }) => new Api(api.origin, token)));
    return Promise.all(replicas.map(async (replica) => (await replica.list()).status));
  };
  expect(new Set(await statuses())).toEqual(new Set([200]));
  const tokens = first.app.get(AccessTokensService);
  const idOf = async (wanted: string) => (await tokens.list()).find(({ name }) => name === wanted)?.id ?? '';
  await tokens.revoke({ id: await idOf('test') }, TESTER);
  const replacement = await tokens.rotate(await idOf('rotated'), { overlap: 0 }, TESTER);
  await delay(2000);
  expect(new Set(await statuses())).toEqual(new Set([401]));
  expect(await statuses([replacement])).toEqual([200, 200]);
  await second.stop();
  await first.stop();
});

it.each([
  ['a service', 'SIGTERM', 0],
  ['migrate, also as process 1 of a container', 'SIGTERM', 143],
  ['migrate, also as process 1 of a container', 'SIGINT', 130],
] as const)(
  '%s ends on %s while it waits for the migrations of another process, and migrates nothing',
  async (what, signal, expected) => {
    const migrator = new Client(databaseUrlOf(database));
    await migrator.connect();
    await migrator.query('SELECT pg_advisory_lock(7235915402217)');
    const service = what === 'a service' ? await ServiceProcess.start(database.environment) : undefined;
    const { child } = service ?? spawnCli(['migrate'], database.environment);
    await eventually(async () => {
      const waiting =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'";
      return (await migrator.query(waiting)).rows.length > 0;
    });
    child.kill(signal);
    expect(await once(child, 'close')).toEqual([expected, null]);
    expect((await migrator.query("SELECT to_regclass('items') AS items")).rows).toEqual([{ items: null }]);
    await migrator.end();
  },
);

/** Between two times that a replica asks for keys, in seconds. */
const PAUSE = 30;

it('follows new keys on every replica, limits its requests to the issuer, and continues while the issuer is away', async () => {
  const provider = await IdentityProvider.start();
  const environment = { ...database.environment, ...provider.environment };
  const began = performance.now();
  const replicas = await Promise.all([ServiceProcess.startReady(environment), ServiceProcess.startReady(environment)]);
  const statusesOf = (jwt: string) => Promise.all(replicas.map(async (replica) => (await replica.client(jwt).list()).status));
  const becomesValid = async (jwt: string) => {
    for (const deadline = performance.now() + (PAUSE + 10) * 1000; performance.now() < deadline; await delay(200)) {
      if (!(await statusesOf(jwt)).includes(401)) return;
    }
  };

  const old = await provider.sign();
  await becomesValid(old);
  await provider.rotate();
  const fresh = await provider.sign();
  // An attacker's key names use up the attempt that is free.
  expect(await statusesOf(await provider.sign({}, { kid: 'invented' }))).toEqual([401, 401]);
  await becomesValid(fresh);
  expect([await statusesOf(fresh), await statusesOf(old)]).toEqual([
    [200, 200],
    [200, 200],
  ]);

  await provider.leave();
  expect(await statusesOf(await provider.sign({ sub: 'bob' }))).toEqual([200, 200]);
  await provider.rotate();
  expect(await statusesOf(await provider.sign({ sub: 'bob' }))).toEqual([401, 401]);
  const attempts = 1 + Math.floor((performance.now() - began) / (PAUSE * 1000));
  expect(provider.requests.keys).toBeLessThanOrEqual(replicas.length * attempts);
  expect(await Promise.all(replicas.map((replica) => replica.end('SIGTERM')))).toEqual([0, 0]);
});

// Last, because `@nestjs/typeorm` collects the entities of all applications in the process.
it('stops the start for an entity that TypeORM does not accept', async () => {
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
