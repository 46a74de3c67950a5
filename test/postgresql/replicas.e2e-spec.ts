import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { AccessTokensService } from '../../src/platform/auth/access-tokens.service.js';
import { Api } from '../support/api.js';
import { runCli, ServiceProcess, spawnCli } from '../support/process.js';
import { eventually, startService, TESTER } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

it('starts before its database is there, and serves once it is', async () => {
  const database = await createTestDatabase();
  const proxy = await TcpProxy.start(databaseUrlOf(database));
  proxy.cut();
  const service = await ServiceProcess.start({ DATABASE_URL: proxy.url });
  const { origin } = service;
  expect([(await fetch(`${origin}/livez`)).status, (await fetch(`${origin}/readyz`)).status]).toEqual([200, 503]);
  proxy.restore();
  await service.becomesReady();
  expect(service.log.some(({ msg }) => msg === 'database not ready')).toBe(true);
  expect(await service.end('SIGTERM')).toBe(0);
  await proxy.stop();
  await database.drop();
});

it('waits, unready, for migrations that somebody else applies', async () => {
  const database = await createTestDatabase();
  const service = await ServiceProcess.start({ ...database.environment, MIGRATE_ON_START: 'false' });
  await delay(500);
  expect((await fetch(`${service.origin}/readyz`)).status).toBe(503);
  expect((await runCli(['migrate'], database.environment)).code).toBe(0);
  await service.becomesReady();
  expect(await service.end('SIGTERM')).toBe(0);
  await database.drop();
});

it('migrates an empty database once, however many replicas start at the same moment', async () => {
  const database = await createTestDatabase();
  const replicas = await Promise.all(Array.from({ length: 4 }, () => ServiceProcess.startReady(database.environment)));
  const applied = replicas.flatMap(({ log }) => log.filter(({ msg }) => msg === 'migration applied'));
  expect(applied.length).toBeGreaterThan(0);
  expect(new Set(applied.map(({ migration }) => migration)).size).toBe(applied.length);
  expect(replicas.flatMap(({ log }) => log.filter(({ msg }) => msg === 'database not ready'))).toEqual([]);
  expect(await Promise.all(replicas.map((replica) => replica.end('SIGTERM')))).toEqual([0, 0, 0, 0]);
  await database.drop();
});

it('honours on every replica, within the time of the cache, that a token was revoked, expired or rotated on another', async () => {
  const database = await createTestDatabase();
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
  await database.drop();
});

/** A database that somebody else keeps from being migrated. */
async function createLockedDatabase() {
  const database = await createTestDatabase();
  const migrator = new Client(databaseUrlOf(database));
  await migrator.connect();
  await migrator.query('SELECT pg_advisory_lock(7235915402217)');
  const isWaitedFor = async () => {
    const { rows } = await migrator.query(
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'",
    );
    return rows.length > 0;
  };
  const expectUntouched = async () => {
    const { rows } = await migrator.query("SELECT to_regclass('items') AS items");
    expect(rows).toEqual([{ items: null }]);
    await migrator.end();
    await database.drop();
  };
  return { environment: database.environment, isWaitedFor, expectUntouched };
}

it('ends on SIGTERM while another process keeps it from migrating, and migrates nothing', async () => {
  const locked = await createLockedDatabase();
  const service = await ServiceProcess.start(locked.environment);
  await eventually(locked.isWaitedFor);
  expect(await service.end('SIGTERM')).toBe(0);
  await locked.expectUntouched();
});

it.each([
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)('ends a waiting migrate on %s by itself, as process 1 of a container must', async (signal, code) => {
  const locked = await createLockedDatabase();
  const { child, ended } = spawnCli(['migrate'], locked.environment);
  await eventually(locked.isWaitedFor);
  child.kill(signal);
  expect((await ended).code).toBe(code);
  await locked.expectUntouched();
});
