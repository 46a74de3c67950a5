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

it('holds the limit, fails no request and shares again in the next master when Sentinel replaces a killed one, twice', () =>
  shared.examine(
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
  ));
