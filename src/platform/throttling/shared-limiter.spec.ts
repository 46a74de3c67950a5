import { setTimeout as delay } from 'node:timers/promises';
import { SharedLimiter } from './shared-limiter.js';
import type { SharedState, SharedWindow } from './shared-window.js';

const LIMIT = 20;
const LENGTH = 60_000;
const REPLICAS = 4;

/** The shared window in memory, which can be away, silent, and empty when it returns. */
class Store {
  isAway = false;
  isSilent = false;
  private readonly breaks = new Set<() => void>();
  private readonly stamps = new Map<string, number[]>();
  private clock = 0;

  async connect(): Promise<SharedWindow> {
    const answer = async <T>(work: () => T): Promise<T> => {
      if (this.isAway) throw new Error('away');
      if (this.isSilent) await new Promise(() => undefined);
      return work();
    };
    if (this.isAway) throw new Error('away');
    return Promise.resolve({
      hit: (key) => answer(() => this.hit(key)),
      report: (key, { stamps, ages }) => answer(() => this.report(key, stamps, ages)),
      probe: () => answer(() => undefined),
      onBreak: (callback) => this.breaks.add(callback),
      close: () => undefined,
    });
  }

  forget(): void {
    this.stamps.clear();
  }

  break(): void {
    const callbacks = [...this.breaks];
    this.breaks.clear();
    callbacks.forEach((callback) => callback());
  }

  private hit(key: string): SharedState {
    const stamps = this.stamps.get(key) ?? [];
    const admitted = stamps.length < LIMIT;
    this.clock += 1;
    this.stamps.set(key, admitted ? [...stamps, this.clock] : stamps);
    return { admitted, remaining: LIMIT - stamps.length - (admitted ? 1 : 0), freeIn: LENGTH, stamp: this.clock, latest: 0 };
  }

  private report(key: string, stamps: readonly number[], ages: readonly number[]): number[] {
    const given = ages.map(() => (this.clock += 1));
    const known = this.stamps.get(key) ?? [];
    this.stamps.set(key, [...new Set([...known, ...stamps]), ...given]);
    return given;
  }
}

let store: Store;
let limiters: SharedLimiter[];
let changes: boolean[];

beforeEach(async () => {
  store = new Store();
  changes = [];
  const options = {
    limit: LIMIT,
    length: LENGTH,
    replicas: REPLICAS,
    connect: () => store.connect(),
    onDecision: () => undefined,
  };
  const onChange = (isShared: boolean) => changes.push(isShared);
  limiters = Array.from({ length: REPLICAS }, () => new SharedLimiter({ ...options, onChange }));
  await Promise.all(limiters.map((limiter) => limiter.start()));
});

afterEach(() => Promise.all(limiters.map((limiter) => limiter.stop())));

/** Calls every replica in turn. @returns how many calls were admitted */
async function call(times: number, key = 'key'): Promise<number> {
  let admitted = 0;
  for (let index = 0; index < times; index += 1) {
    for (const limiter of limiters) admitted += (await limiter.hit(key)).admitted ? 1 : 0;
  }
  return admitted;
}

/** Until all replicas count together again. */
async function untilBack(): Promise<void> {
  const backs = () => changes.filter(Boolean).length;
  for (const before = backs(); backs() < before + REPLICAS; await delay(20));
}

it('admits the limit once for all replicas together', async () => {
  expect(await call(10)).toBe(LIMIT);
  expect(changes).toEqual([]);
});

it.each([
  ['is away', () => (store.isAway = true)],
  ['is silent', () => (store.isSilent = true)],
])('admits no more than the limit while the store %s, whenever that began, and after it is back', async (_case, fail) => {
  expect(await call(3)).toBe(12);
  fail();
  // Each replica has admitted 3 of its 5, or has heard of as many.
  expect(await call(10)).toBe(8);
  Object.assign(store, { isAway: false, isSilent: false });
  await untilBack();
  expect(await call(10)).toBe(0);
  expect(await call(10, 'another')).toBe(LIMIT);
});

it('admits no more than the limit though the store has forgotten all when it returns', async () => {
  expect(await call(2)).toBe(8);
  store.isAway = true;
  expect(await call(1)).toBe(4);
  store.forget();
  store.isAway = false;
  await untilBack();
  expect(await call(10)).toBe(LIMIT - 12);
});

it('reports each call once, however often the store goes and comes back', async () => {
  expect(await call(1)).toBe(4);
  for (let round = 1; round <= 2; round += 1) {
    store.isAway = true;
    expect(await call(1)).toBe(4);
    store.isAway = false;
    await untilBack();
  }
  expect(await call(10)).toBe(LIMIT - 12);
});

it('admits what both windows have room for while replicas may still have to report', async () => {
  store.isAway = true;
  expect(await call(1)).toBe(4);
  store.isAway = false;
  store.break();
  await delay(400);
  // The first replica is back, though not settled: its own part is all it may admit.
  let admitted = 0;
  for (let index = 0; index < LIMIT; index += 1) admitted += (await limiters[0]?.hit('key'))?.admitted ? 1 : 0;
  expect(admitted).toBe(LIMIT / REPLICAS - 1);
  await untilBack();
  expect(await call(10)).toBe(LIMIT - 4 - admitted);
});

it('notices that the connection broke before anybody calls', async () => {
  store.isAway = true;
  store.break();
  expect(changes).toEqual([false, false, false, false]);
  store.isAway = false;
  await untilBack();
});

it('keeps to its part when the store was never there', async () => {
  store.isAway = true;
  const limiter = new SharedLimiter({
    limit: LIMIT,
    length: LENGTH,
    replicas: 3,
    connect: () => store.connect(),
    onChange: () => undefined,
    onDecision: () => undefined,
  });
  await limiter.start();
  const states = [];
  for (let index = 0; index < LIMIT; index += 1) states.push(await limiter.hit('key'));
  await limiter.stop();
  expect(states.filter(({ admitted }) => admitted)).toHaveLength(6);
  expect(states.at(-1)?.freeIn).toBeGreaterThan(0);
});
