import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { AccessTokensService } from '../../src/platform/auth/access-tokens.service.js';
import { Api } from '../support/api.js';
import { runCli, runServiceToEnd, ServiceProcess, spawnCli } from '../support/process.js';
import { connectTo } from '../support/connect.js';
import { query } from '../support/query.js';
import { eventually, startService, TESTER } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';

// Starts of processes, alone and at the same time, and their shared state.

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

it('stops the start with the reason when a migration fails, which no retry fixes', async () => {
  await query(databaseUrlOf(database), 'CREATE TABLE items (x int)');
  const { code, stderr } = await runServiceToEnd(database.environment);
  const reason = /^The migration CreateItems1767225600001 failed: relation "items" already exists\./;
  expect([code, stderr]).toEqual([1, expect.stringMatching(reason)]);
});

it('stops the start for that also when the database was away at first', async () => {
  await query(databaseUrlOf(database), 'CREATE TABLE items (x int)');
  const proxy = await TcpProxy.start(databaseUrlOf(database));
  proxy.cut();
  const service = await ServiceProcess.start({ DATABASE_URL: proxy.url });
  await eventually(() => service.has('database not ready'));
  proxy.restore();
  expect(await service.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('CreateItems1767225600001') });
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
    expect(line).toMatchObject({
      level: 'warn',
      reason,
      retryInMs: 100 * 2 ** index,
      hint: expect.stringContaining('doctor'),
    });
    expect(line).not.toHaveProperty('err');
  }
  proxy.restore();
  await service.becomesReady();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('waits, not ready, for migrations that another process applies [migrate-separately] [ready-when-migrated]', async () => {
  const service = await ServiceProcess.start({ ...database.environment, MIGRATE_ON_START: 'false' });
  await delay(500);
  expect((await fetch(`${service.origin}/readyz`)).status).toBe(503);
  expect((await runCli(['migrate'], database.environment)).code).toBe(0);
  await service.becomesReady();
  expect(await service.end('SIGTERM')).toBe(0);
});

it('migrates an empty database once when many replicas start at the same time [migrations-one-at-a-time] [migrators-wait]', async () => {
  const environment = { ...database.environment, LOG_LEVEL: 'debug' };
  const replicas = await Promise.all(Array.from({ length: 4 }, () => ServiceProcess.startReady(environment)));
  const applied = replicas.flatMap(({ log }) => log.filter(({ msg }) => msg === 'migration applied'));
  expect(applied.length).toBeGreaterThan(0);
  expect(new Set(applied.map(({ migration }) => migration)).size).toBe(applied.length);
  expect(replicas.flatMap(({ log }) => log.filter(({ msg }) => msg === 'database not ready'))).toEqual([]);
  expect(await Promise.all(replicas.map((replica) => replica.end('SIGTERM')))).toEqual([0, 0, 0, 0]);
});

it('applies a revocation, expiry or rotation on every replica within the time of the cache [revocation-time]', async () => {
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
  const { token: replacement } = await tokens.rotate(await idOf('rotated'), { overlap: 0 }, TESTER);
  await delay(2000);
  expect(new Set(await statuses())).toEqual(new Set([401]));
  expect(await statuses([replacement])).toEqual([200, 200]);
  await second.stop();
  await first.stop();
});

it.each([
  ['the service', (environment: NodeJS.ProcessEnv) => ServiceProcess.spawn(environment), 0],
  ['migrate', (environment: NodeJS.ProcessEnv) => spawnCli(['migrate'], environment), 143],
])(
  '%s ends on SIGTERM while it waits for the migrations of another process, and migrates nothing',
  async (_what, start, code) => {
    const migrator = await connectTo(databaseUrlOf(database));
    await migrator.query('SELECT pg_advisory_lock(7235915402217)');
    const { child } = start(database.environment);
    await eventually(async () => {
      const waiting =
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_try_advisory_lock%'";
      return (await migrator.query(waiting)).rows.length > 0;
    });
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([code, null]);
    expect((await migrator.query("SELECT to_regclass('items') AS items")).rows).toEqual([{ items: null }]);
  },
);
