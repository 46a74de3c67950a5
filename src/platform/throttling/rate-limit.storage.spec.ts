import { setImmediate as microtasks } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import * as fc from 'fast-check';
import { type SimulatedConnection, SimulatedRedis } from '../../../test/support/simulated-redis.js';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { RateLimitStorage } from './rate-limit.storage.js';
import type { RedisConnection } from './redis-window.js';

// Interleavings that real servers show only by chance, on a simulated clock and network. test/cluster has real ones.

const [PROCESSES, LIMIT, PART] = [4, 12, 3];

/** Milliseconds. A simulated timer is late by up to one. */
const [WINDOW, LONGEST_WAIT] = [2000, 500 + 1];

const BOUND = LIMIT * (2 - 1 / PROCESSES);

let redis: SimulatedRedis;

class SimulatedStorage extends RateLimitStorage {
  protected override createConnection() {
    return redis.connect() as unknown as RedisConnection;
  }
}

interface Call {
  sent: number;
  received: number;
  isAdmitted: boolean;
  /** Seconds. */
  retryAfter: number;
}

/** Processes that share the limit of a token, and their calls. */
class Simulation {
  readonly calls: Call[] = [];
  readonly metrics = Array.from({ length: PROCESSES }, () => new Metrics());
  private readonly storages: SimulatedStorage[];

  private constructor(private readonly limit: number) {
    const settings = { REDIS_URL: 'redis://simulated', RATE_LIMIT_REPLICAS: PROCESSES };
    const configuration = Object.assign(new Configuration(), settings);
    this.storages = this.metrics.map((metrics) => new SimulatedStorage(configuration, metrics));
  }

  /** @param limit - of the token */
  static async start(limit = LIMIT): Promise<Simulation> {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    redis = new SimulatedRedis();
    const simulation = new Simulation(limit);
    await Promise.all(simulation.storages.map((storage) => storage.start()));
    return simulation;
  }

  get admitted(): Call[] {
    return this.calls.filter(({ isAdmitted }) => isAdmitted);
  }

  get refused(): Call[] {
    return this.calls.filter(({ isAdmitted }) => !isAdmitted);
  }

  async elapse(milliseconds: number): Promise<void> {
    let isOver = false;
    setTimeout(() => (isOver = true), milliseconds);
    while (!isOver) {
      jest.advanceTimersToNextTimer();
      await microtasks();
    }
  }

  send(process: number, count = 1): void {
    for (let index = 0; index < count; index += 1) void this.call(process);
  }

  /** Sends requests, and waits for the responses. @returns how many were admitted */
  async admittedOf(process: number, count: number): Promise<number> {
    const before = this.admitted.length;
    this.send(process, count);
    await this.elapse(LONGEST_WAIT);
    return this.admitted.length - before;
  }

  private async call(process: number): Promise<void> {
    const sent = performance.now();
    const state = await this.storages[process]?.increment('token', WINDOW, this.limit, 0, 'default');
    if (!state) throw new Error('There is no such process.');
    this.calls.push({ sent, received: performance.now(), isAdmitted: !state.isBlocked, retryAfter: state.timeToExpire });
  }
}

/** The largest number of calls that were certainly decided, between request and response, within a window. */
function mostInAnyWindow(calls: readonly Call[]): number {
  const countFrom = (start: number) =>
    calls.filter(({ sent, received }) => sent >= start && received < start + WINDOW).length;
  return Math.max(0, ...calls.map(({ sent }) => countFrom(sent)));
}

function connectionOf(process: number): SimulatedConnection {
  const connection = redis.connections[process];
  if (!connection) throw new Error('There is no such process.');
  return connection;
}

const faults = {
  pause: (lasts: number) => redis.pause(lasts),
  kill: (lasts: number) => redis.kill(lasts),
  hold: (lasts: number, process: number) => connectionOf(process).hold(lasts),
  cut: (lasts: number, process: number) => connectionOf(process).cut(lasts),
  delay: (lasts: number, process: number) => connectionOf(process).delay(lasts, lasts / 10),
};

const someProcess = fc.nat(PROCESSES - 1);
const duration = fc.integer({ min: 20, max: 1500 });
const someFault = fc.record({
  after: fc.nat(6000),
  lasts: duration,
  process: someProcess,
  kind: fc.constantFrom(...(Object.keys(faults) as (keyof typeof faults)[])),
});
const traffic = fc.array(
  fc.record({ gap: fc.nat(500), process: someProcess, count: fc.integer({ min: 1, max: LIMIT + 2 }) }),
  {
    minLength: 30,
    maxLength: 60,
  },
);

type Traffic = typeof traffic extends fc.Arbitrary<infer Bursts> ? Bursts : never;

/** Plays bursts of requests, after `begin` has planned faults. */
async function play(bursts: Traffic, begin: () => void, limit = LIMIT): Promise<Simulation> {
  const simulation = await Simulation.start(limit);
  begin();
  for (const { gap, process, count } of bursts) {
    await simulation.elapse(gap);
    simulation.send(process, count);
  }
  await simulation.elapse(LONGEST_WAIT);
  jest.useRealTimers();
  expect(simulation.calls).toHaveLength(bursts.reduce((sum, { count }) => sum + count, 0));
  return simulation;
}

beforeAll(() => {
  Logger.overrideLogger(false);
});

afterEach(() => jest.useRealTimers());

it('admits at most limit × (2 − 1/N) in any window and waits at most 500 ms, whatever fails [redis-loss-bound] [redis-wait-limit]', async () => {
  await fc.assert(
    fc.asyncProperty(traffic, fc.array(someFault, { maxLength: 5 }), async (bursts, planned) => {
      const { calls, admitted } = await play(bursts, () => {
        for (const { after, lasts, process, kind } of planned) setTimeout(() => faults[kind](lasts, process), after);
      });
      expect(mostInAnyWindow(admitted)).toBeLessThanOrEqual(BOUND);
      expect(Math.max(...calls.map(({ sent, received }) => received - sent))).toBeLessThanOrEqual(LONGEST_WAIT);
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

it('keeps the bound of a limit of its own, which is the limit itself if processes have no part of it [own-limit-part] [own-limit-no-part]', async () => {
  const ownLimit = fc.constantFrom(1, PROCESSES - 1, PROCESSES, 2 * PROCESSES - 1, 3 * LIMIT);
  await fc.assert(
    fc.asyncProperty(traffic, fc.array(someFault, { maxLength: 5 }), ownLimit, async (bursts, planned, limit) => {
      const begin = () => {
        for (const { after, lasts, process, kind } of planned) setTimeout(() => faults[kind](lasts, process), after);
      };
      const { admitted } = await play(bursts, begin, limit);
      expect(mostInAnyWindow(admitted)).toBeLessThanOrEqual(limit < PROCESSES ? limit : limit * (2 - 1 / PROCESSES));
    }),
    { numRuns: 100, endOnFailure: true },
  );
});

it('admits at most the limit in every window that begins after Redis was lost [redis-later-windows]', async () => {
  await fc.assert(
    fc.asyncProperty(traffic, fc.nat(6000), duration, async (bursts, after, lasts) => {
      let lost = Infinity;
      const { admitted } = await play(bursts, () =>
        setTimeout(() => {
          lost = performance.now();
          redis.kill(lasts);
        }, after),
      );
      expect(mostInAnyWindow(admitted.filter(({ sent }) => sent > lost))).toBeLessThanOrEqual(LIMIT);
    }),
    { numRuns: 50, endOnFailure: true },
  );
});

it('neither admits nor refuses a request by mistake while Redis pauses for less than 500 ms [redis-slow-responses]', async () => {
  await fc.assert(
    fc.asyncProperty(traffic, fc.nat(6000), fc.integer({ min: 20, max: 490 }), async (bursts, after, lasts) => {
      const { admitted, refused } = await play(bursts, () => setTimeout(() => redis.pause(lasts), after));
      expect(mostInAnyWindow(admitted)).toBeLessThanOrEqual(LIMIT);
      for (const refusal of refused) {
        const counted = admitted.filter(
          ({ sent, received }) => received > refusal.sent - WINDOW && sent <= refusal.received,
        );
        expect(counted.length).toBeGreaterThanOrEqual(LIMIT);
      }
    }),
    { numRuns: 50, endOnFailure: true },
  );
});

it('keeps the bound when responses are late just before the calls of a window leave it', async () => {
  const simulation = await Simulation.start();
  await simulation.admittedOf(1, LIMIT);
  await simulation.elapse(WINDOW - LONGEST_WAIT - 200);
  for (const process of [0, 2, 3]) {
    connectionOf(process).delay(150, 60);
    simulation.send(process, PART);
  }
  await simulation.elapse(250);
  // The first calls have left.
  simulation.send(0, LIMIT);
  await simulation.elapse(50);
  connectionOf(1).delay(150, 60);
  simulation.send(1, PART);
  await simulation.elapse(300);
  expect(simulation.calls).toHaveLength(LIMIT + 3 * PART + LIMIT + PART);
  expect(mostInAnyWindow(simulation.admitted)).toBe(LIMIT);
});

it('counts alone after responses that were late for 500 ms, and asks Redis again when it is quick [redis-counts-as-down]', async () => {
  const simulation = await Simulation.start();
  connectionOf(0).delay(1500, 100);
  for (let count = 0; count < 10; count += 1) {
    simulation.send(0);
    await simulation.elapse(100);
  }
  // The fifth and the sixth waited when the process left Redis: its share was used up, whatever Redis responds later.
  const decisions = simulation.calls.toSorted((a, b) => a.sent - b.sent).map(({ isAdmitted }) => isAdmitted);
  expect(decisions).toEqual([...Array(4).fill(true), ...Array(6).fill(false)]);
  await simulation.elapse(500 + 2 * WINDOW + 2500);
  expect(await simulation.admittedOf(0, LIMIT + 1)).toBe(LIMIT);
});

it('returns to Redis once, when a stall of the process lets two probes overlap [redis-return]', async () => {
  const simulation = await Simulation.start();
  connectionOf(0).delay(1000, 0);
  connectionOf(0).cut(0);
  // Two probes are due, with no time for a response in between.
  jest.advanceTimersByTime(500);
  await simulation.elapse(10);
  expect(await simulation.metrics[0]?.registry.metrics()).toContain(
    'items_rate_limit_storage_changes_total{to="redis"} 1\n',
  );
});

it('does not count in a process that is back what Redis refuses [redis-return-empty]', async () => {
  const simulation = await Simulation.start();
  simulation.send(1, LIMIT);
  connectionOf(0).cut(0);
  await simulation.elapse(WINDOW - LONGEST_WAIT - 100);
  expect(await simulation.admittedOf(0, PART)).toBe(0);
  await simulation.elapse(200);
  expect(await simulation.admittedOf(0, LIMIT)).toBe(PART);
});

it('names the time after which a process that counts alone admits again [redis-down-retry-after]', async () => {
  const simulation = await Simulation.start();
  const call = async () => {
    simulation.send(0);
    await simulation.elapse(1);
    return simulation.calls.at(-1);
  };
  expect(await simulation.admittedOf(0, PART - 1)).toBe(PART - 1);
  redis.kill(10 * WINDOW);
  expect(await call()).toMatchObject({ isAdmitted: true });
  const { retryAfter = 0, isAdmitted } = (await call()) ?? {};
  expect([isAdmitted, retryAfter]).toEqual([false, 2]);
  await simulation.elapse((retryAfter - 1) * 1000);
  expect(await call()).toMatchObject({ isAdmitted: false, retryAfter: 1 });
  await simulation.elapse(1000);
  expect(await call()).toMatchObject({ isAdmitted: true });
});

it('names the time after which a token without a part is admitted again [own-limit-no-part]', async () => {
  const simulation = await Simulation.start(PROCESSES - 1);
  const call = async () => {
    simulation.send(0);
    await simulation.elapse(1);
    return simulation.calls.at(-1);
  };
  expect(await call()).toMatchObject({ isAdmitted: true });
  redis.kill(100);
  // As if Redis were back at once: a window, and the time in which all processes return.
  expect(await call()).toMatchObject({ isAdmitted: false, retryAfter: (WINDOW + 2000) / 1000 });
  await simulation.elapse(600);
  const { retryAfter = 0, isAdmitted } = (await call()) ?? {};
  expect([isAdmitted, retryAfter]).toEqual([false, 4]);
  await simulation.elapse((retryAfter - 1) * 1000);
  expect(await call()).toMatchObject({ isAdmitted: false, retryAfter: 1 });
  await simulation.elapse(1000);
  expect(await call()).toMatchObject({ isAdmitted: true });
});

it('allows a route with a limit below the number of processes one request of each without Redis', async () => {
  const storage = new SimulatedStorage(
    Object.assign(new Configuration(), { RATE_LIMIT_REPLICAS: PROCESSES }),
    new Metrics(),
  );
  const count = async (name: string) => !(await storage.increment(name, WINDOW, 1, 0, name)).isBlocked;
  expect([await count('route'), await count('route'), await count('default')]).toEqual([true, false, false]);
});
