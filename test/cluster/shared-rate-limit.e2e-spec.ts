import { setTimeout as delay } from 'node:timers/promises';
import { HttpClient } from '../support/http-client.js';
import { statusesOf } from '../support/load.js';
import { RedisServer } from '../support/redis.js';
import { admittedOfBurst, burst, SharedLimit } from '../support/shared-limit.js';

const LIMIT = 100;
/** Milliseconds: longer than each test takes. */
const WINDOW = 20_000;

let redis: RedisServer;
let shared: SharedLimit;

beforeAll(async () => {
  redis = await RedisServer.start();
  shared = await SharedLimit.start(redis.url, LIMIT, WINDOW / 1000);
});

it('admits exactly 100 requests of a token over four processes, also after refusing many, and stores no token [replicas-share] [limit-sliding]', async () => {
  const client = await shared.expectShared();
  expect(statusesOf(await burst(client, LIMIT))).toEqual({ 429: LIMIT });
  for (const name of (await redis.command('KEYS', '*')) as string[]) {
    expect(name).toMatch(/^items:rate-limit:\{[0-9a-f-]{36}\}$/);
    // Refused calls are not stored.
    expect(await redis.command('LLEN', name)).toBeLessThanOrEqual(LIMIT);
  }
});

it('admits exactly 100 requests of a token to one of four processes, also while Redis pauses for 80 ms', async () => {
  const before = await shared.changes();
  const [token = ''] = await shared.newTokens(1);
  const client = new HttpClient(shared.cluster.processes[0]?.origin ?? '', token, true);
  // More than the share of the process.
  const early = await burst(client, 31);
  redis.signal('SIGSTOP');
  const during = burst(client, LIMIT - 31);
  await delay(80);
  redis.signal('SIGCONT');
  expect(statusesOf([...early, ...(await during)])).toEqual({ 200: LIMIT });
  expect(statusesOf(await burst(client, 10))).toEqual({ 429: 10 });
  expect(await shared.changes()).toEqual(before);
});

it('allows a token that switches processes the share of each, and no more, when Redis fails [redis-down-share]', async () => {
  const [token = ''] = await shared.newTokens(1);
  const [first, ...others] = shared.cluster.processes.map(({ origin }) => new HttpClient(origin, token, true));
  if (!first) throw new Error('There is no process.');
  const before = await shared.changes();
  const together = await admittedOfBurst(first, LIMIT + 10);
  await redis.kill();
  await shared.expectAlone(before);
  const alone = await Promise.all(others.map((client) => admittedOfBurst(client, LIMIT)));
  await redis.restart();
  await shared.expectBack(before);
  const later = await Promise.all([first, ...others].map((client) => admittedOfBurst(client, 5)));
  // No other process had heard of the token. Redis, which was empty, hears of all its calls.
  expect({ together, alone, later }).toEqual({ together: LIMIT, alone: [25, 25, 25], later: [0, 0, 0, 0] });
  expect(await shared.cluster.stop()).toEqual([0, 0, 0, 0]);
});
