import { setTimeout as delay } from 'node:timers/promises';
import { admittedOf, mostInAnyWindow, outcomesOf } from '../support/load.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisSentinel } from '../support/redis-sentinel.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/service.js';
import { type Fault, SharedLimit } from '../support/shared-limit.js';

/** Of how many tokens each node counts some, but for a chance of one in ten thousand million. */
const TOKENS = 60;

describe('a Redis Cluster', () => {
  let redis: RedisCluster;
  let shared: SharedLimit;

  beforeAll(async () => {
    redis = await RedisCluster.start();
    shared = await SharedLimit.start(redis.url);
  });

  afterAll(() => shared.stop());

  /** A node that counts calls now with the keys by which it does, and one that counts none. */
  async function nodesNow(): Promise<{ busy: RedisServer; keys: string[]; idle: RedisServer }> {
    let keys: string[][] = [];
    await eventually(async () => {
      keys = await redis.keys();
      return keys.some(({ length }) => length > 0) && keys.some(({ length }) => length === 0);
    });
    const place = keys.findIndex(({ length }) => length > 0);
    const [busy, idle] = [redis.nodes[place], redis.nodes[keys.findIndex(({ length }) => length === 0)]];
    return { busy: busy as RedisServer, keys: keys[place] ?? [], idle: idle as RedisServer };
  }

  /** What decides about the node of a key. */
  function tokenIn(key: string): string {
    return /\{([^{}]+)\}/.exec(key)?.[1] ?? key;
  }

  it('shares the limit of each token on one node, and the tokens over all nodes', async () => {
    const nodesOf = new Map<string, Set<number>>();
    const nodes = () => new Set([...nodesOf.values()].flatMap((places) => Array.from(places)));
    // Keys are looked at after each token: those of the first are gone when the last was counted.
    for (let token = 0; token < TOKENS && nodes().size < redis.nodes.length; token += 1) {
      await shared.expectShared();
      for (const [place, keys] of (await redis.keys()).entries()) {
        for (const key of keys) nodesOf.set(tokenIn(key), (nodesOf.get(tokenIn(key)) ?? new Set()).add(place));
      }
    }
    expect(nodes().size).toBe(3);
    expect([...nodesOf.values()].filter(({ size }) => size > 1)).toEqual([]);
  });

  it('holds the limit and goes on sharing when the keys of a token move to another node', async () => {
    // What was counted before is gone then.
    await delay(shared.window);
    const [token = ''] = await shared.newTokens(1);
    await shared.isShared();
    const before = await shared.admittedAlone();
    const load = await shared.hammer(token);
    const { busy, keys, idle } = await nodesNow();
    await redis.move(keys[0] ?? '', busy, idle);
    await delay(2 * shared.window);
    const calls = await load.stop();
    expect(Object.keys(outcomesOf(calls)).toSorted()).toEqual(['200', '429']);
    const alone = (await shared.admittedAlone()) - before;
    expect(mostInAnyWindow(admittedOf(calls), shared.window)).toBeLessThanOrEqual(shared.limit + alone);
    await shared.expectShared();
  });

  it('holds the limit, fails no request and shares again when a node was killed', async () => {
    await delay(shared.window);
    let killed: RedisServer | undefined;
    const node = (which: 'busy' | 'idle'): Fault => ({
      name: `lost a ${which} node`,
      lasts: 2500,
      begin: async () => {
        killed = (await nodesNow())[which];
        await killed.kill();
      },
      end: async () => {
        await killed?.restart();
        await redis.isWhole();
      },
    });
    await shared.examine(node('busy'), node('idle'));
  });
});

it('holds the limit, fails no request and shares again in the next master when Sentinel replaces a killed one, twice', async () => {
  const master = await RedisServer.start();
  const replica = await RedisServer.start({ replicaof: `127.0.0.1 ${master.port}` });
  const sentinel = await RedisSentinel.start(master);
  const shared = await SharedLimit.start(sentinel.url);
  await shared.examine(
    {
      name: 'got another master from Sentinel',
      begin: () => master.kill(),
      // Sentinel brings Redis back by itself, perhaps before all processes were asked.
      isIntermittent: true,
      end: () => sentinel.becomesMaster(replica),
    },
    {
      name: 'got the first master back, which was a replica in between',
      begin: async () => {
        await master.restart({ replicaof: `127.0.0.1 ${replica.port}` });
        await replica.kill();
      },
      isIntermittent: true,
      end: () => sentinel.becomesMaster(master),
    },
  );
  await shared.stop();
});
