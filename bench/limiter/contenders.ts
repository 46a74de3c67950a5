import { ThrottlerStorageService } from '@nestjs/throttler';
import { RateLimitStorage } from '#service/platform/throttling/rate-limit.storage';
import { SharedLimiter } from '#service/platform/throttling/shared-limiter';
import type { SharedWindow } from '#service/platform/throttling/shared-window';
import { SlidingWindow } from '#service/platform/throttling/sliding-window';

/** Calls that each key makes, as many as it may. */
export const LIMIT = 100;

/** Milliseconds; so long that no call leaves it meanwhile. */
const LENGTH = 3_600_000;

/** What decides about calls. */
export interface Contender {
  /** Counts one call. */
  readonly check: (key: string) => unknown;
  /** Lets so much time pass that no call counts any more. */
  readonly silence?: () => void;
}

/** Each in a process of its own, so that none pays for the memory of another. */
export const CONTENDERS: Readonly<Record<string, () => Contender | Promise<Contender>>> = {
  'our window': () => {
    let skipped = 0;
    const window = new SlidingWindow(LIMIT, LENGTH, () => performance.now() + skipped);
    return {
      check: (key) => window.hit(key),
      silence: () => {
        skipped += 3 * LENGTH;
      },
    };
  },
  'our window as storage of the guard': () => {
    const storage = new RateLimitStorage(new SlidingWindow(LIMIT, LENGTH), LIMIT, LENGTH);
    return { check: (key) => storage.increment(key, LENGTH, LIMIT) };
  },
  'stock storage of the guard': () => {
    const storage = new ThrottlerStorageService();
    return { check: (key) => storage.increment(key, LENGTH, LIMIT, 0, 'default') };
  },
  'beside Redis that answers at once': async () => {
    const limiter = new SharedLimiter({
      limit: LIMIT,
      length: LENGTH,
      replicas: 1,
      connect: () => Promise.resolve(atOnce()),
      onChange: () => undefined,
      onDecision: () => undefined,
    });
    await limiter.start();
    return { check: (key) => limiter.hit(key) };
  },
};

/** A shared window that costs next to nothing, so that what is left is what this process does and keeps itself. */
function atOnce(): SharedWindow {
  let stamp = 1_800_000_000_000_000;
  return {
    hit: () => {
      stamp += 1;
      return Promise.resolve({ admitted: true, remaining: LIMIT - 1, freeIn: LENGTH, stamp, latest: 0 });
    },
    report: () => Promise.resolve([]),
    probe: () => Promise.resolve(),
    onBreak: () => undefined,
    close: () => undefined,
  };
}
