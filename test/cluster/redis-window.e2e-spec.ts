import { randomUUID } from 'node:crypto';
import { connectRedis, type RedisConnection } from '../../src/platform/redis/connect-redis.js';
import { parseRedisUrl } from '../../src/platform/redis/redis-url.js';
import { RedisWindow } from '../../src/platform/throttling/redis-window.js';
import { RedisServer } from '../support/redis-server.js';

const LENGTH = 60_000;
const prefix = `items-test-${randomUUID()}:`;
const key = 'token';
const list = `${prefix}rate-limit:{${key}}`;

let connection: RedisConnection;

beforeAll(async () => {
  connection = await connect(process.env['TEST_REDIS_URL'] ?? '');
});

afterEach(() => connection.del(list));

afterAll(() => connection.disconnect());

async function connect(url: string): Promise<RedisConnection> {
  const location = parseRedisUrl(url);
  if (!location) throw new Error('TEST_REDIS_URL is not the URL of a Redis.');
  return connectRedis(location, 5000);
}

const windowOf = (limit: number, length = LENGTH) => new RedisWindow(connection, prefix, limit, length);

/** Microseconds of Redis' own clock. */
async function redisNow(): Promise<number> {
  const [seconds, microseconds] = await connection.time();
  return Number(seconds) * 1e6 + Number(microseconds);
}

async function times(): Promise<number[]> {
  return (await connection.lrange(list, 0, -1)).map(Number);
}

it('admits the limit, tells what is left, and adds nothing for what it refuses', async () => {
  const window = windowOf(3);
  const states = [await window.hit(key), await window.hit(key), await window.hit(key)];
  expect(states.map(({ admitted, remaining }) => [admitted, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
  ]);
  const before = await times();
  const refused = await window.hit(key);
  expect([refused.admitted, refused.remaining]).toEqual([false, 0]);
  expect(refused.freeIn).toBeLessThanOrEqual(LENGTH);
  expect(refused.freeIn).toBeGreaterThan(LENGTH - 5000);
  expect(await times()).toEqual(before);
  expect(await connection.pttl(list)).toBeGreaterThan(LENGTH - 5000);
});

it('drops what has left the window, be it one call, some of many, or all', async () => {
  const now = await redisNow();
  for (const expired of [1, 37, 99, 100]) {
    await connection.del(list);
    const old = Array.from({ length: expired }, (_, index) => now - LENGTH * 1000 - 1000 + index);
    const recent = Array.from({ length: 100 - expired }, (_, index) => now - 1000 + index);
    await connection.rpush(list, ...old, ...recent);
    const { admitted, remaining } = await windowOf(100).hit(key);
    expect([admitted, remaining]).toEqual([true, expired - 1]);
    expect(await times()).toEqual([...recent, expect.any(Number)]);
  }
});

it('admits nothing without memory, also when a call has just left the window', async () => {
  const server = await RedisServer.start();
  const own = await connect(server.url);
  try {
    await own.rpush(list, (await redisNow()) - LENGTH * 1000 - 1, await redisNow());
    await own.config('SET', 'maxmemory', '1');
    const window = new RedisWindow(own, prefix, 2, LENGTH);
    await expect(window.hit(key)).rejects.toThrow('OOM');
    expect(await own.llen(list)).toBe(2);
    await own.config('SET', 'maxmemory', '0');
    expect(await window.hit(key)).toMatchObject({ admitted: true, remaining: 0 });
  } finally {
    own.disconnect();
    await server.kill();
  }
});

it('takes calls that the clock puts into the future to be made now, and keeps their expiry', async () => {
  const now = await redisNow();
  const future = [now + 3_600_000_000, now + 3_600_000_001];
  await connection.rpush(list, now - 1000, ...future);
  const refused = await windowOf(3).hit(key);
  expect([refused.admitted, refused.remaining]).toEqual([false, 0]);
  const [first, ...others] = await times();
  expect(first).toBe(now - 1000);
  const later = await redisNow();
  for (const time of others) {
    expect(time).toBeGreaterThanOrEqual(now);
    expect(time).toBeLessThanOrEqual(later);
  }
  expect(others).toHaveLength(2);
  expect(await connection.pttl(list)).toBeGreaterThan(0);
});

it('puts reported calls where they belong, among those that it has', async () => {
  const window = windowOf(10);
  const now = await redisNow();
  await connection.rpush(list, now - 50_000_000, now - 30_000_000, now - 10_000_000);
  const known = now - 30_000_000;
  const given = await window.report(key, { stamps: [known, now - 58_000_000], ages: [70_000, 40_000, 20_000, 100] });
  expect(given.map((stamp) => Math.round((now - stamp) / 1e7))).toEqual([7, 4, 2, expect.closeTo(0)]);
  await window.report(key, { stamps: given, ages: [] });
  const tens = (await times()).map((time) => Math.abs(Math.round((now - time) / 1e7)));
  expect(tens).toEqual([6, 5, 4, 3, 2, 1, 0]);
  expect(await connection.pttl(list)).toBeGreaterThan(LENGTH - 5000);
  expect((await window.hit(key)).remaining).toBe(2);
});

it('keeps no more than the limit, however often the same calls are reported', async () => {
  const window = windowOf(5);
  for (let attempt = 0; attempt < 5; attempt += 1) await window.report(key, { stamps: [], ages: [3000, 2000, 1000] });
  expect(await times()).toHaveLength(5);
  expect((await window.hit(key)).admitted).toBe(false);
});

it('tells when a slot comes free under a limit that was lowered', async () => {
  const now = await redisNow();
  await connection.rpush(list, ...[50, 40, 30, 20, 10].map((seconds) => now - seconds * 1e6));
  const { admitted, remaining, freeIn } = await windowOf(2).hit(key);
  expect([admitted, remaining]).toEqual([false, 0]);
  // The fourth of five must leave first.
  expect(Math.round(freeIn / 1000)).toBe(40);
  expect((await windowOf(6).hit(key)).admitted).toBe(true);
});

it('takes large reports', async () => {
  const window = windowOf(1_000_000);
  for (let part = 0; part < 20; part += 1) {
    await window.report(key, { stamps: [], ages: Array.from({ length: 1000 }, () => 1000) });
  }
  expect(await connection.llen(list)).toBe(20_000);
  expect((await window.hit(key)).remaining).toBe(1_000_000 - 20_001);
});

it('finds out whether a window can be counted in', async () => {
  await windowOf(5).probe(key);
  expect(await connection.llen(list)).toBe(0);
  await connection.set(list, 'a text');
  await expect(windowOf(5).probe(key)).rejects.toThrow('WRONGTYPE');
});

it('does not take a database that Redis does not have for another', async () => {
  const url = new URL(process.env['TEST_REDIS_URL'] ?? '');
  url.pathname = '/9999';
  await expect(connect(url.href)).rejects.toThrow('No connection to Redis.');
});
