import { parseRedisUrl } from '../../src/platform/config/redis-url.js';
import { createRedis, RedisWindow } from '../../src/platform/throttling/redis-window.js';
import { RedisServer, startRedisCluster, startRedisSentinel } from '../support/redis.js';
import { SharedLimit } from '../support/shared-limit.js';

let redis: Awaited<ReturnType<typeof startRedisCluster>>;

beforeAll(async () => {
  redis = await startRedisCluster();
});

it('distributes tokens over the nodes of a Redis Cluster, and counts on for one whose slot moves to another node', async () => {
  const location = parseRedisUrl(redis.url);
  if (!location) throw new Error('This is not the URL of a Redis.');
  const connection = createRedis(location);
  await connection.connect();
  const window = new RedisWindow(connection, '');
  const remaining = async (token: string) => (await window.hit(token, 10, 60_000)).remaining;
  for (let token = 0; token < 20; token += 1) expect(await remaining(`token ${token}`)).toBe(9);
  const sizes = (await Promise.all(redis.nodes.map((node) => node.command('DBSIZE')))) as number[];
  expect(sizes.reduce((sum, size) => sum + size)).toBe(20);
  expect(Math.min(...sizes)).toBeGreaterThan(0);

  const source = redis.nodes[sizes.indexOf(Math.max(...sizes))];
  const target = redis.nodes.find((node) => node !== source);
  if (!source || !target) throw new Error('There is one node only.');
  const [key = ''] = (await source.command('KEYS', '*')) as string[];
  const [, token = ''] = /\{(.*)\}/.exec(key) ?? [];
  expect(await remaining(token)).toBe(8);
  const slot = Number(await source.command('CLUSTER', 'KEYSLOT', key));
  const [from, to] = (await Promise.all([source, target].map((node) => node.command('CLUSTER', 'MYID')))) as [
    string,
    string,
  ];
  await target.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from);
  await source.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to);
  expect(await remaining(token)).toBe(7);
  await source.command('MIGRATE', '127.0.0.1', target.port, key, 0, 5000);
  expect(await remaining(token)).toBe(6);
  for (const node of [target, source]) await node.command('CLUSTER', 'SETSLOT', slot, 'NODE', to);
  expect(await remaining(token)).toBe(5);
  connection.disconnect();
  for (const node of redis.nodes) await node.command('FLUSHALL');
});

it('shares and keeps the limit in a Redis Cluster, fails no request, and shares again after a node was killed [redis-cluster]', async () => {
  const shared = await SharedLimit.start(redis.url);
  await shared.expectShared();
  await shared.examine({
    lasts: 2500,
    begin: () => redis.nodes[0]?.kill() ?? Promise.reject(new Error('There is no node.')),
    end: async () => {
      await redis.nodes[0]?.restart();
      await redis.isWhole();
    },
  });
});

it('keeps the limit, fails no request and shares again when Sentinel replaces a killed master, twice', async () => {
  const master = await RedisServer.start();
  const replica = await RedisServer.start({ replicaof: `127.0.0.1 ${master.port}` });
  const sentinel = await startRedisSentinel(master);
  const shared = await SharedLimit.start(sentinel.url);
  await shared.examine(
    {
      begin: () => master.kill(),
      // Sentinel brings Redis back by itself, perhaps before all processes were asked.
      isIntermittent: true,
      end: () => sentinel.becomesMaster(replica),
    },
    {
      begin: async () => {
        await master.restart({ replicaof: `127.0.0.1 ${replica.port}` });
        await replica.kill();
      },
      isIntermittent: true,
      end: () => sentinel.becomesMaster(master),
    },
  );
});
