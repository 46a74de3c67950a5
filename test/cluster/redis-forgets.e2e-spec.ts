import { HttpClient } from '../support/http-client.js';
import { RedisServer } from '../support/redis-server.js';
import { burst, LIMIT, PART, SharedLimit, WINDOW } from '../support/shared-limit.js';

let redis: RedisServer;
let shared: SharedLimit;

beforeAll(async () => {
  redis = await RedisServer.start();
  shared = await SharedLimit.start(redis.url);
});

afterAll(() => shared.stop());

it('lets a token that calls other processes than before have the part of each, and no more, when Redis goes away', async () => {
  const [token = ''] = await shared.newTokens(1);
  const [first, ...others] = shared.cluster.processes.map(({ origin }) => new HttpClient(origin, token, true));
  if (!first) throw new Error('There is no process.');
  await shared.settled();
  const before = shared.changes();
  const begun = performance.now();
  expect(await burst(first, LIMIT + 10)).toBe(LIMIT);
  await redis.kill();
  await shared.expectAlone(before);
  const admitted = await Promise.all(others.map((client) => burst(client, LIMIT)));
  await redis.restart();
  await shared.expectBack('Redis was killed', before);
  expect(performance.now() - begun).toBeLessThan(WINDOW);
  // None of them had heard of the token. Redis, which was empty, hears of all its calls.
  expect(admitted).toEqual([PART, PART, PART]);
  expect(await Promise.all(shared.cluster.processes.map(({ origin }) => burst(new HttpClient(origin, token, true), 5)))).toEqual([
    0, 0, 0, 0,
  ]);
});

it('holds the limit when Redis was killed and is back at once, empty', async () => {
  await shared.examine('Redis was killed and is back at once', {
    begin: () => redis.kill(),
    lasts: 300,
    end: () => redis.restart(),
  });
});
