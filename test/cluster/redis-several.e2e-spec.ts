import { once } from 'node:events';
import { createRedis } from '../../src/platform/throttling/redis-window.js';
import { locationOf, RedisServer, startRedisCluster, startRedisSentinel } from '../support/redis.js';
import { SharedLimit } from '../support/shared-limit.js';

let redis: Awaited<ReturnType<typeof startRedisCluster>>;

beforeAll(async () => {
  redis = await startRedisCluster();
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

it('asks the same Sentinel again for the next connection', async () => {
  const master = await RedisServer.start();
  await RedisServer.start({ replicaof: `127.0.0.1 ${master.port}` });
  const location = locationOf((await startRedisSentinel(master)).url);
  const connection = createRedis(location);
  for (let count = 0; count < 3; count += 1) {
    await connection.connect();
    connection.disconnect();
    await once(connection, 'end');
  }
});
