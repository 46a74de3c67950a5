import { setTimeout as delay } from 'node:timers/promises';
import { HttpClient, type Reply } from '../support/http-client.js';
import { admittedOf, type Load, mostInAnyWindow, outcomesOf, statusesOf } from '../support/load.js';
import { measured } from '../support/measurements.js';
import { RedisServer } from '../support/redis-server.js';
import { admittedOfBurst, burst, SharedLimit } from '../support/shared-limit.js';
import { issueToken } from '../support/tokens.js';

const LIMIT = 100;
/** Milliseconds. */
const WINDOW = 10_000;

let redis: RedisServer;
let shared: SharedLimit;
let hammering: Load;

beforeAll(async () => {
  redis = await RedisServer.start();
  shared = await SharedLimit.start(redis.url, LIMIT, WINDOW / 1000);
});

afterAll(() => shared.stop());

function remainingOf({ headers }: Reply): number {
  return Number(/;r=(\d+);/.exec(String(headers['ratelimit']))?.[1]);
}

const keys = async () => ((await redis.command('KEYS', '*')) as string[]).toSorted();

/** Each key with its value and the time of its end, in milliseconds since 1970. */
function dump(names: readonly string[]): Promise<[string, unknown, number][]> {
  return Promise.all(
    names.map(async (name) => {
      const [value, end] = await Promise.all([redis.command('LRANGE', name, 0, -1), redis.command('PEXPIRETIME', name)]);
      return [name, value, Number(end)] as [string, unknown, number];
    }),
  );
}

it('begins to hammer one token, for as long as all that follows and two windows at least', async () => {
  hammering = await shared.hammer(await issueToken(shared.environment));
});

it('admits exactly 100 of 500 concurrent calls over four processes, and counts them down together', async () => {
  const replies = await shared.whileShared(async () => {
    const client = await shared.newClient();
    return Promise.all(Array.from({ length: 500 }, (_, index) => (index % 2 ? client.list() : client.create('x'))));
  });
  expect(statusesOf(replies)['429']).toBe(400);
  const admitted = replies.filter(({ status }) => status === 200 || status === 201);
  expect(admitted.map(remainingOf).toSorted((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, index) => index));
});

it('keeps what belongs to a token in one slot, under the prefix, for a window, and writes nothing for refused calls', async () => {
  const found = await shared.whileShared(async () => {
    const [fresh = ''] = await shared.newTokens(1);
    const others = new Set(await keys());
    const ours = async () => (await keys()).filter((name) => !others.has(name));
    const started = Date.now();
    await burst(shared.cluster.client(fresh), LIMIT + 1);
    const ended = Date.now();
    const before = await dump(await ours());
    const refused = statusesOf(await burst(shared.cluster.client(fresh), LIMIT));
    return { secret: fresh, started, ended, before, refused, after: await dump(await ours()) };
  });
  const names = found.before.map(([name]) => name);
  const tags = names.map((name) => /^items:.*\{([^{}]+)\}/.exec(name)?.[1]);
  expect([new Set(tags).size, tags[0]]).toEqual([1, expect.any(String)]);
  expect(names.join(' ')).not.toContain(found.secret);
  for (const [, , end] of found.before) {
    expect(end).toBeGreaterThanOrEqual(found.started + WINDOW);
    expect(end).toBeLessThanOrEqual(found.ended + WINDOW);
  }
  expect(found).toMatchObject({ refused: { 429: LIMIT }, after: found.before });
});

it('never lets more than 100 pass in any window of hammering, and as many as that', async () => {
  const begun = hammering.calls[0]?.sent ?? Infinity;
  await delay(Math.max(0, begun + 2 * WINDOW - performance.now()));
  const calls = await hammering.stop();
  const admitted = admittedOf(calls);
  expect(Object.keys(outcomesOf(calls)).toSorted()).toEqual(['200', '429']);
  // On a busy machine Redis may be too slow for some calls, which a process then decides alone.
  const alone = await shared.admittedAlone();
  measured('calls admitted without Redis in two windows', alone, 'calls');
  expect(mostInAnyWindow(admitted, WINDOW)).toBeLessThanOrEqual(Math.min(LIMIT + alone, LIMIT * 1.75));
  expect(admitted.length).toBeGreaterThanOrEqual((alone === 0 ? 2 : 1.5) * LIMIT);
});

it('lets a token that calls other processes than before have the part of each, and no more, when Redis goes away', async () => {
  const settled = () => shared.settled();
  const admitted = await shared.inOneWindow(settled, async () => {
    const [token = ''] = await shared.newTokens(1);
    const [first, ...others] = shared.cluster.processes.map(({ origin }) => new HttpClient(origin, token, true));
    if (!first) throw new Error('There is no process.');
    const before = await shared.changes();
    const together = await admittedOfBurst(first, LIMIT + 10);
    await redis.kill();
    await shared.expectAlone(before);
    const alone = await Promise.all(others.map((client) => admittedOfBurst(client, LIMIT)));
    await redis.restart();
    await shared.expectBack('was killed', before);
    const later = await Promise.all([first, ...others].map((client) => admittedOfBurst(client, 5)));
    return { result: { together, alone, later } };
  });
  // No other process had heard of the token. Redis, which was empty, hears of all its calls.
  expect(admitted).toEqual({ together: LIMIT, alone: [25, 25, 25], later: [0, 0, 0, 0] });
  expect(await shared.cluster.stop()).toEqual([0, 0, 0, 0]);
});
