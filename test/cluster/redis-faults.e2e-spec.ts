import { setTimeout as delay } from 'node:timers/promises';
import { HttpClient } from '../support/http-client.js';
import { outcomesOf } from '../support/load.js';
import { ServiceProcess } from '../support/process.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/service.js';
import { burst, type Fault, LIMIT, PART, SharedLimit, WINDOW } from '../support/shared-limit.js';

const settings = { requirepass: 'secret', 'enable-debug-command': 'yes' };

let redis: RedisServer;
let shared: SharedLimit;

beforeAll(async () => {
  redis = await RedisServer.start(settings);
  shared = await SharedLimit.start(redis.url);
});

afterAll(() => shared.stop());

const set = (name: string, value: string) => () => redis.command('CONFIG', 'SET', name, value);

/** Responds late again and again, each time until it counts as away. */
function fits(): Pick<Fault, 'begin' | 'end'> {
  const until = new AbortController();
  let all: Promise<void> | undefined;
  const run = async () => {
    while (!until.signal.aborted) {
      await redis.command('DEBUG', 'SLEEP', 0.8);
      await delay(800);
    }
  };
  return {
    begin: () => {
      all = run();
      return Promise.resolve();
    },
    end: async () => {
      until.abort();
      await all;
    },
  };
}

const faults: Record<string, Fault> = {
  'was killed and is away for longer than a window': {
    begin: () => redis.kill(),
    lasts: 7000,
    end: () => redis.restart(),
  },
  'is stopped and answers nothing for longer than a window': {
    begin: () => Promise.resolve(redis.pause()),
    lasts: 7000,
    end: () => Promise.resolve(redis.resume()),
  },
  'is a read-only replica': {
    begin: () => redis.command('REPLICAOF', '127.0.0.1', 1),
    lasts: 3000,
    end: () => redis.command('REPLICAOF', 'NO', 'ONE'),
  },
  'has not the replicas that it must write to': {
    begin: set('min-replicas-to-write', '1'),
    lasts: 3000,
    end: set('min-replicas-to-write', '0'),
  },
  'holds back all commands': {
    begin: () => redis.command('CLIENT', 'PAUSE', 3000, 'ALL'),
    lasts: 3000,
    end: () => redis.command('PING'),
  },
  'is slow in fits': { ...fits(), lasts: 3000, isIntermittent: true },
  'has no memory left': {
    begin: set('maxmemory', '1'),
    lasts: 3000,
    end: set('maxmemory', '0'),
  },
  'has another password': {
    begin: async () => {
      await redis.kill();
      await redis.restart({ ...settings, requirepass: 'other' });
    },
    lasts: 3000,
    end: async () => {
      await redis.kill();
      await redis.restart(settings);
    },
  },
};

it.each(Object.keys(faults))('holds the limit, fails no request and shares again when Redis %s', async (name) => {
  const fault = faults[name];
  if (!fault) throw new Error(`No fault is called ${name}.`);
  await shared.examine(`Redis ${name}`, fault);
});

it('lets Redis decide again after a slow response', async () => {
  const before = shared.changes();
  const [token = ''] = await shared.newTokens(1);
  const load = shared.hammer(token);
  for (let pause = 0; pause < 5; pause += 1) {
    await redis.command('DEBUG', 'SLEEP', 0.15);
    await delay(300);
  }
  expect(Object.keys(outcomesOf(await load.stop())).toSorted()).toEqual(['200', '429']);
  expect(shared.changes()).toEqual(before);
});

it('starts without Redis, is ready, counts alone, and shares once Redis is there', async () => {
  const [token = '', fresh = ''] = await shared.newTokens(2);
  await redis.kill();
  const service = await ServiceProcess.startReady({ ...shared.environment, PORT: '0' });
  expect(await burst(new HttpClient(service.origin, token, true), LIMIT)).toBe(PART);
  await redis.restart();
  await eventually(() => service.linesOf('rate limit storage back').length === 1);
  // For one window and 2 seconds, the process keeps to its part as well.
  await delay(WINDOW + 2500);
  expect(await burst(new HttpClient(service.origin, fresh, true), LIMIT + 10)).toBe(LIMIT);
  expect(await service.end('SIGTERM')).toBe(0);
});
