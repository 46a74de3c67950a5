import { randomUUID } from 'node:crypto';
import { parseRedisUrl } from '../../src/platform/redis/redis-url.js';
import { createRedis, type RedisConnection, RedisWindow } from '../../src/platform/redis/redis-window.js';

// Properties of the window that requests of clients cannot show: other clocks and other limits.

const LENGTH = 60_000;
const prefix = `items-test-${randomUUID()}:`;
const list = `${prefix}rate-limit:{token}`;

let connection: RedisConnection;

beforeAll(async () => {
  const location = parseRedisUrl(process.env['TEST_REDIS_URL'] ?? '');
  if (!location) throw new Error('TEST_REDIS_URL is not the URL of a Redis.');
  connection = createRedis(location);
  await connection.connect();
});

afterEach(() => connection.del(list));

afterAll(() => connection.disconnect());

const hit = (limit: number) => new RedisWindow(connection, prefix).hit('token', limit, LENGTH);
const times = async () => (await connection.lrange(list, 0, -1)).map(Number);

/** Microseconds of Redis' own clock. */
async function redisNow(): Promise<number> {
  const [seconds, microseconds] = await connection.time();
  return Number(seconds) * 1e6 + Number(microseconds);
}

it('removes calls that have left the window', async () => {
  const [now, expired] = [await redisNow(), 37];
  const old = Array.from({ length: expired }, (_, index) => now - LENGTH * 1000 - 1000 + index);
  const recent = Array.from({ length: 100 - expired }, (_, index) => now - 1000 + index);
  await connection.rpush(list, ...old, ...recent);
  expect(await hit(100)).toMatchObject({ admitted: true, remaining: expired - 1 });
  expect(await times()).toEqual([...recent, expect.any(Number)]);
});

it('keeps the limit when the clock is set back by less than a window, and forgets calls of a later time', async () => {
  const now = await redisNow();
  await connection.rpush(list, now - 1000, now + 30_000_000);
  expect(await hit(3)).toMatchObject({ admitted: true, remaining: 0 });
  expect((await hit(3)).admitted).toBe(false);
  expect((await times()).at(-1)).toBe(now + 30_000_000);
  await connection.rpush(list, now + 3_600_000_000);
  expect(await hit(3)).toMatchObject({ admitted: true, remaining: 2 });
});

it('removes the list of a token a window after its last call', async () => {
  await hit(3);
  expect(await connection.pttl(list)).toBeGreaterThan(LENGTH - 10_000);
  expect(await connection.pttl(list)).toBeLessThanOrEqual(LENGTH);
});

it('reports when a slot becomes free after the limit was lowered', async () => {
  const now = await redisNow();
  await connection.rpush(list, ...[50, 40, 30, 20, 10].map((seconds) => now - seconds * 1e6));
  const { admitted, remaining, freeIn } = await hit(2);
  // The fourth of five must leave first.
  expect([admitted, remaining, Math.round(freeIn / 1000)]).toEqual([false, 0, 40]);
  expect((await hit(6)).admitted).toBe(true);
});
