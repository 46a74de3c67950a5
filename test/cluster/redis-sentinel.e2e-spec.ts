import { RedisSentinel } from '../support/redis-sentinel.js';
import { RedisServer } from '../support/redis-server.js';
import { SharedLimit } from '../support/shared-limit.js';

let master: RedisServer;
let replica: RedisServer;
let sentinel: RedisSentinel;
let shared: SharedLimit;

beforeAll(async () => {
  master = await RedisServer.start();
  replica = await RedisServer.start({ replicaof: `127.0.0.1 ${master.port}` });
  sentinel = await RedisSentinel.start(master);
  shared = await SharedLimit.start(sentinel.url);
});

afterAll(() => shared.stop());

it('holds the limit, fails no request and shares again in the next master when Sentinel replaces a killed one', async () => {
  await shared.examine('Sentinel made a replica the master', {
    begin: () => master.kill(),
    lasts: 0,
    // Sentinel brings Redis back by itself, perhaps before all processes were asked.
    isIntermittent: true,
    end: () => sentinel.becomesMaster(replica),
  });
});

it('holds the limit, fails no request and shares again when the old master comes back as a replica', async () => {
  await master.restart({ replicaof: `127.0.0.1 ${replica.port}` });
  await shared.examine('Sentinel made the first one the master again', {
    begin: () => replica.kill(),
    lasts: 0,
    isIntermittent: true,
    end: () => sentinel.becomesMaster(master),
  });
});
