import { randomUUID } from 'node:crypto';
import { createRedis, type RedisConnection } from '../../src/platform/redis/connect-redis.js';
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
  const opened = createRedis(location);
  await opened.connect();
  return opened;
}

const hit = (limit: number, server = connection) => new RedisWindow(server, prefix).hit(key, limit, LENGTH);

/** Microseconds of Redis' own clock. */
async function redisNow(): Promise<number> {
  const [seconds, microseconds] = await connection.time();
  return Number(seconds) * 1e6 + Number(microseconds);
}

async function times(): Promise<number[]> {
  return (await connection.lrange(list, 0, -1)).map(Number);
}

it('admits the limit, says what is left, and writes nothing for what it refuses', async () => {
  const states = [await hit(3), await hit(3), await hit(3)];
  expect(states.map(({ admitted, remaining }) => [admitted, remaining])).toEqual([
    [true, 2],
    [true, 1],
    [true, 0],
  ]);
  const before = await times();
  const refused = await hit(3);
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
    const { admitted, remaining } = await hit(100);
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
    await expect(hit(2, own)).rejects.toThrow('OOM');
    expect(await own.llen(list)).toBe(2);
    await own.config('SET', 'maxmemory', '0');
    expect(await hit(2, own)).toMatchObject({ admitted: true, remaining: 0 });
  } finally {
    own.disconnect();
    await server.kill();
  }
});

it('holds the limit when the clock was set back by less than a window, and forgets calls of a later time', async () => {
  const now = await redisNow();
  await connection.rpush(list, now - 1000, now + 30_000_000);
  expect(await hit(3)).toMatchObject({ admitted: true, remaining: 0 });
  expect((await hit(3)).admitted).toBe(false);
  expect((await times()).at(-1)).toBe(now + 30_000_000);
  await connection.rpush(list, now + 3_600_000_000);
  expect(await hit(3)).toMatchObject({ admitted: true, remaining: 2 });
  expect(await connection.pttl(list)).toBeGreaterThan(0);
});

it('says when a slot becomes free under a limit that was lowered', async () => {
  const now = await redisNow();
  await connection.rpush(list, ...[50, 40, 30, 20, 10].map((seconds) => now - seconds * 1e6));
  const { admitted, remaining, freeIn } = await hit(2);
  expect([admitted, remaining]).toEqual([false, 0]);
  // The fourth of five must leave first.
  expect(Math.round(freeIn / 1000)).toBe(40);
  expect((await hit(6)).admitted).toBe(true);
});

it('finds out whether a window can be counted in', async () => {
  const window = new RedisWindow(connection, prefix);
  await window.probe(key);
  expect(await connection.llen(list)).toBe(0);
  await connection.set(`${list}:probe`, 'a text');
  await expect(window.probe(key)).rejects.toThrow('WRONGTYPE');
  await connection.del(`${list}:probe`);
});
