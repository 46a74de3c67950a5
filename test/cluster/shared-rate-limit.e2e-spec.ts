import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../support/eventually.js';
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

it('admits exactly the requests of a limit of its own over four processes [token-own-limit]', async () => {
  for (const limit of [3, LIMIT + 40]) {
    const exactly = JSON.stringify([{ 200: limit, 429: 20 }, [`"default";q=${limit};w=20`]]);
    // As in `expectShared`, another token is tried.
    await eventually(async () => {
      const [token = ''] = await shared.newTokens(1, limit);
      const replies = await burst(shared.cluster.client(token, false), limit + 20);
      const policies = new Set(replies.map(({ headers }) => headers['ratelimit-policy']));
      return JSON.stringify([statusesOf(replies), [...policies]]) === exactly;
    });
  }
});

it('allows tokens that switch processes the shares of each in their limits, and no more, when Redis fails [redis-down-share] [own-limit-part] [own-limit-no-part]', async () => {
  const limits = [LIMIT, 42, 3];
  const tokens = await Promise.all(limits.map(async (limit) => (await shared.newTokens(1, limit))[0] ?? ''));
  const admitted = (process: { origin: string }, ...counts: number[]) =>
    Promise.all(
      tokens.map((token, place) => admittedOfBurst(new HttpClient(process.origin, token, true), counts[place] ?? 0)),
    );
  const [first, ...others] = shared.cluster.processes;
  if (!first) throw new Error('There is no process.');
  const before = await shared.changes();
  const together = await admitted(first, ...limits.map((limit) => limit + 10));
  await redis.kill();
  await shared.expectAlone(before);
  const alone = await Promise.all(others.map((process) => admitted(process, 30, 15, 5)));
  await redis.restart();
  await shared.expectBack(before);
  const later = await Promise.all([first, ...others].map((process) => admitted(process, 5, 5, 5)));
  // No other process had heard of the tokens. Redis, which was empty, hears of all their calls.
  expect({ together, alone, later }).toEqual({
    together: limits,
    alone: others.map(() => [25, 10, 0]),
    later: [first, ...others].map(() => [0, 0, 0]),
  });
  expect(await shared.cluster.stop()).toEqual([0, 0, 0, 0]);
});
