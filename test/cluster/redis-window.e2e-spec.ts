import { randomUUID } from 'node:crypto';
import { createRedis, type RedisConnection, RedisWindow } from '../../src/platform/throttling/redis-window.js';
import { locationOf } from '../support/redis.js';

// Properties of the window that requests of clients cannot show: other clocks and other limits.

const LENGTH = 60_000;
const prefix = `items-test-${randomUUID()}:`;
const list = `${prefix}rate-limit:{token}`;

/** Opens a connection. @param change - of the script that it runs */
async function connect(change = (script: string) => script): Promise<RedisConnection> {
  const location = locationOf(process.env['TEST_REDIS_URL'] ?? '');
  const opened = createRedis(location);
  const define = opened.defineCommand.bind(opened);
  opened.defineCommand = (name, definition) => define(name, { ...definition, lua: change(definition.lua) });
  await opened.connect();
  return opened;
}

let connection: RedisConnection;

const hit = (limit: number) => new RedisWindow(connection, prefix).hit('token', limit, LENGTH);
const times = async () => (await connection.lrange(list, 0, -1)).map(Number);

/** Microseconds of Redis' own clock. */
async function redisNow(): Promise<number> {
  const [seconds, microseconds] = await connection.time();
  return Number(seconds) * 1e6 + Number(microseconds);
}

const properties: Readonly<Record<string, () => Promise<void>>> = {
  'admits as many calls as the limit, and says how many are left': async () => {
    const [before, states] = [await redisNow(), [await hit(2), await hit(2), await hit(2)]];
    expect(states).toMatchObject([
      { admitted: true, remaining: 1 },
      { admitted: true, remaining: 0 },
      { admitted: false, remaining: 0 },
    ]);
    expect(states[0]?.freeIn).toBe(LENGTH);
    const [first = 0, second = 0, ...more] = await times();
    expect([first > before, second > first, second < (await redisNow()), more]).toEqual([true, true, true, []]);
    expect((states[2]?.freeIn ?? 0) * 1000).toBeLessThan(first + LENGTH * 1000 - before);
  },

  'removes calls that have left the window': async () => {
    const [now, expired] = [await redisNow(), 37];
    const old = Array.from({ length: expired }, (_, index) => now - LENGTH * 1000 - 1000 + index);
    const recent = Array.from({ length: 100 - expired }, (_, index) => now - 1000 + index);
    await connection.rpush(list, ...old, ...recent);
    expect(await hit(100)).toMatchObject({ admitted: true, remaining: expired - 1 });
    expect(await times()).toEqual([...recent, expect.any(Number)]);
  },

  'removes a call once it is as old as the window is long': async () => {
    // Time stands still at the latest call.
    const newest = (await redisNow()) + 30_000_000;
    await connection.rpush(list, newest - LENGTH * 1000, newest - LENGTH * 1000 + 1, newest);
    expect(await hit(3)).toMatchObject({ admitted: true, remaining: 0, freeIn: 0.001 });
    expect(await times()).toEqual([newest - LENGTH * 1000 + 1, newest, newest]);
  },

  'counts a call also when all before it have left': async () => {
    const now = await redisNow();
    await connection.rpush(list, now - 2 * LENGTH * 1000, now - LENGTH * 1000);
    expect(await hit(1)).toEqual({ admitted: true, remaining: 0, freeIn: LENGTH });
    expect(await times()).toHaveLength(1);
  },

  'keeps the limit when the clock is set back by less than a window, and forgets calls of a later time': async () => {
    const now = await redisNow();
    await connection.rpush(list, now - 1000, now + 30_000_000);
    expect(await hit(3)).toMatchObject({ admitted: true, remaining: 0 });
    expect((await hit(3)).admitted).toBe(false);
    expect((await times()).at(-1)).toBe(now + 30_000_000);
    await connection.rpush(list, now + LENGTH * 1000 + 5_000_000);
    expect(await hit(3)).toMatchObject({ admitted: true, remaining: 2 });
  },

  'removes the list of a token a window after its last call': async () => {
    await hit(1);
    expect(await connection.pttl(list)).toBeGreaterThan(LENGTH - 10_000);
    expect(await connection.pttl(list)).toBeLessThanOrEqual(LENGTH);
    await connection.pexpire(list, 30_000);
    await hit(1);
    expect(await connection.pttl(list)).toBeLessThanOrEqual(30_000);
  },

  'reports when the oldest call leaves while slots are free': async () => {
    const now = await redisNow();
    await connection.rpush(list, now - 50_000_000, now - 40_000_000);
    const { admitted, remaining, freeIn } = await hit(5);
    expect([admitted, remaining, Math.round(freeIn / 1000)]).toEqual([true, 2, 10]);
  },

  'reports when a slot becomes free after the limit was lowered': async () => {
    const now = await redisNow();
    await connection.rpush(list, ...[50, 40, 30, 20, 10].map((seconds) => now - seconds * 1e6));
    const { admitted, remaining, freeIn } = await hit(2);
    // The fourth of five must leave first.
    expect([admitted, remaining, Math.round(freeIn / 1000)]).toEqual([false, 0, 40]);
    expect((await hit(6)).admitted).toBe(true);
  },

  'admits nothing at a limit of 0': async () => {
    expect(await hit(0)).toEqual({ admitted: false, remaining: 0, freeIn: LENGTH });
  },
};

beforeAll(async () => {
  connection = await connect();
});

afterEach(() => connection.del(list));

afterAll(() => connection.disconnect());

it.each(Object.entries(properties))('%s', (_name, show) => show());

it('counts in no other database than that of the URL', async () => {
  const location = locationOf(new URL('/9999', process.env['TEST_REDIS_URL']).href);
  const errors: string[] = [];
  const lost = createRedis(location).on('error', ({ message }: Error) => errors.push(message));
  const window = new RedisWindow(lost, prefix);
  try {
    await expect(lost.connect().then(() => window.hit('token', 1, LENGTH))).rejects.toThrow();
    await expect(window.hit('token', 1, LENGTH)).rejects.toThrow();
    expect([await times(), errors[0]]).toEqual([[], expect.stringContaining('DB index is out of range')]);
  } finally {
    lost.disconnect();
  }
});

describe('a property is lost when the script has', () => {
  it.each([
    ['+ time[2]', ''],
    ['time[1] * 1000000 + time[2]', 'tonumber(ARGV[2])'],
    ["'LINDEX', key, -1", "'LINDEX', key, 0"],
    [' or 0)', ')'],
    ['newest > now + length', 'newest > now'],
    ['newest > now + length', 'newest >= now + 2 * length'],
    ['newest > now + length', 'false'],
    ["redis.call('DEL', key) else", 'else'],
    ['else now = math.max(now, newest) end', 'end'],
    ['math.max(now, newest)', 'newest'],
    ['count > 0 and ', ''],
    ['+ length <= now', '+ length < now'],
    ['+ length <= now', '<= now'],
    ["'LPOP'", "'RPOP'"],
    ["redis.call('LPOP', key)", ''],
    ['count = count - 1', ''],
    ['count < limit', 'count <= limit'],
    ['count < limit', 'true'],
    ['count < limit', 'false'],
    ['if admitted then', 'if true then'],
    ["'RPUSH'", "'LPUSH'"],
    ['%.0f', '%.3g'],
    ["redis.call('PEXPIRE', key, math.ceil(length / 1000))", ''],
    ['math.ceil(length / 1000)', 'math.ceil(length)'],
    ['math.ceil(length / 1000)', 'math.ceil(length / 1000000)'],
    ['count = count + 1', ''],
    ['math.max(count - limit, 0)', '0'],
    ['math.max(count - limit, 0)', 'count - limit'],
    ['math.max(count - limit, 0)', 'math.max(count - limit, 1)'],
    [' or now', ''],
    ['or now', 'or 0'],
    ['admitted and 1 or 0', '1'],
    ['admitted and 1 or 0', '0'],
    ['math.max(limit - count, 0)', 'limit - count'],
    ['math.max(limit - count, 0)', 'limit'],
    ['leaving + length - now', 'leaving + length'],
    ['leaving + length - now', 'length'],
    ['leaving + length - now', 'leaving - now'],
    ['tonumber(ARGV[1])', 'tonumber(ARGV[2])'],
    ['tonumber(ARGV[2])', 'tonumber(ARGV[1])'],
  ])('no longer `%s`, but `%s`', async (part, other) => {
    const whole = connection;
    connection = await connect((script) => {
      expect(script.split(part)).toHaveLength(2);
      return script.replace(part, () => other);
    });
    try {
      const outcomes: boolean[] = [];
      for (const show of Object.values(properties)) {
        outcomes.push(
          await show().then(
            () => true,
            () => false,
          ),
        );
        await connection.del(list);
      }
      expect(outcomes).toContain(false);
    } finally {
      connection.disconnect();
      connection = whole;
    }
  });
});
