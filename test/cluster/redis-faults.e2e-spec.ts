import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { createRedis, keepConnected } from '../../src/platform/throttling/redis-window.js';
import { withTimeout } from '../../src/platform/time/duration.js';
import { HttpClient } from '../support/http-client.js';
import { ServiceProcess } from '../support/process.js';
import { locationOf, RedisServer } from '../support/redis.js';
import { loadingRedis } from '../support/refusing-servers.js';
import { eventually } from '../support/service.js';
import { admittedOfBurst, type Fault, SharedLimit } from '../support/shared-limit.js';

const settings = { requirepass: 'secret' };

/** Milliseconds: longer than the window of the limit. */
const LONG = 2500;

let redis: RedisServer;
let shared: SharedLimit;

beforeAll(async () => {
  redis = await RedisServer.start(settings);
  shared = await SharedLimit.start(redis.url);
});

const killed = (lasts: number): Fault => ({ lasts, begin: () => redis.kill(), end: () => redis.restart() });

/** A command that starts a failure, and one that ends it. */
const commanded = (begin: (string | number)[], end: string[]): Fault => ({
  begin: () => redis.command(...(begin as [string])),
  end: () => redis.command(...(end as [string])),
});

const stopped: Fault = {
  lasts: LONG,
  begin: () => Promise.resolve(redis.signal('SIGSTOP')),
  end: () => Promise.resolve(redis.signal('SIGCONT')),
};
const readOnly = commanded(['REPLICAOF', '127.0.0.1', 1], ['REPLICAOF', 'NO', 'ONE']);
const withoutMemory = commanded(['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']);
const held = commanded(['CLIENT', 'PAUSE', 60_000, 'WRITE'], ['CLIENT', 'UNPAUSE']);

async function restartWith(password: string): Promise<void> {
  await redis.kill();
  await redis.restart({ ...settings, requirepass: password });
}

const otherPassword: Fault = { begin: () => restartWith('other'), end: () => restartWith('secret') };

it.each<[string, () => Fault[]]>([
  ['is away', () => [killed(LONG), stopped]],
  ['refuses to write', () => [readOnly, withoutMemory]],
  ['responds late', () => [held]],
  ['has another password, and is back empty', () => [otherPassword, killed(0)]],
])('keeps the limit, fails no request and shares again when Redis %s [redis-return] [redis-return-empty]', (_name, faults) =>
  shared.examine(...faults()),
);

it('leaves a server that has become a replica, since its address may lead to its successor', async () => {
  const demoted = await RedisServer.start();
  const service = await ServiceProcess.startReady({ ...shared.environment, PORT: '0', REDIS_URL: demoted.url });
  const client = new HttpClient(service.origin, (await shared.newTokens(1))[0] ?? '', true);
  const connections = async () =>
    [...String(await demoted.command('CLIENT', 'LIST')).matchAll(/^id=(\d+) .* name=items /gm)].join();
  const before = await connections();
  await demoted.command('REPLICAOF', '127.0.0.1', 1);
  expect(await admittedOfBurst(client, 1)).toBe(1);
  await eventually(async () => {
    const now = await connections();
    return now !== '' && now !== before;
  });
  expect(await service.end('SIGTERM')).toBe(0);
  await demoted.kill();
});

it('uses a Redis soon after it has loaded its data, however long that was to take', async () => {
  const location = locationOf(`redis://127.0.0.1:${await loadingRedis()}`);
  const connection = createRedis(location);
  await withTimeout(1000, connection.connect());
  connection.disconnect();
});

it('keeps an idle connection, which Redis would close after its `timeout`', async () => {
  const server = await RedisServer.start();
  const location = locationOf(server.url);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'setTimeout', 'clearTimeout', 'performance', 'Date'] });
  const [connection, stopping] = [createRedis(location), new AbortController()];
  try {
    keepConnected(connection, location, stopping.signal);
    await connection.connect();
    jest.advanceTimersByTime(60_000);
    await eventually(async () => String(await server.command('INFO', 'commandstats')).includes('cmdstat_time:calls=4,'));
    stopping.abort();
    expect(jest.getTimerCount()).toBe(0);
  } finally {
    jest.useRealTimers();
    connection.disconnect();
  }
});

it('starts without Redis, is ready, counts alone, and shares once Redis is available', async () => {
  const [token = '', fresh = ''] = await shared.newTokens(2);
  await redis.kill();
  const service = await ServiceProcess.startReady({ ...shared.environment, PORT: '0' });
  expect(await admittedOfBurst(new HttpClient(service.origin, token, true), shared.limit)).toBe(shared.part);
  await redis.restart();
  await eventually(() => service.linesOf('Redis available again').length === 1);
  expect(service.linesOf('Redis unavailable, counting per process')).toHaveLength(1);
  // For that time, the process also keeps to its share.
  await delay(shared.window + 2500);
  expect(await admittedOfBurst(new HttpClient(service.origin, fresh, true), shared.limit + 10)).toBe(shared.limit);
  expect(await service.end('SIGTERM')).toBe(0);
});

it('logs each cause of an outage of Redis once, also a later one, and again in the next outage [outage-logged-once]', async () => {
  const own = await RedisServer.start(settings);
  const service = await ServiceProcess.startReady({ ...shared.environment, PORT: '0', REDIS_URL: own.url });
  const causes = () =>
    service
      .linesOf('Redis unavailable, counting per process')
      .map(({ level, reason }) => `${String(level)} ${String(reason)}`);
  const hasCause = (text: string) => eventually(() => causes().some((cause) => cause.includes(text)));
  await own.kill();
  await hasCause('ECONNREFUSED');
  await own.restart({ requirepass: 'other' });
  await hasCause('WRONGPASS');
  await own.kill();
  await own.restart({ ...settings, maxmemory: '1' });
  await hasCause('OOM');
  await own.command('CONFIG', 'SET', 'maxmemory', '0');
  await eventually(() => service.linesOf('Redis available again').length === 1);
  for (const text of ['ECONNREFUSED', 'WRONGPASS', 'OOM']) {
    expect(causes().filter((cause) => cause.startsWith('warn ') && cause.includes(text))).toHaveLength(1);
  }
  await own.kill();
  await eventually(() => causes().filter((cause) => cause.includes('ECONNREFUSED')).length === 2);
  expect(await service.end('SIGTERM')).toBe(0);
});
