import type { ThrottlerStorage } from '@nestjs/throttler';
import { SlidingWindow } from './sliding-window.js';

/** What a storage answers to one call; the type of `ThrottlerStorage.increment`, which the package does not export. */
type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** Counts in this process alone. A storage that replicas share takes its place behind the same interface. */
export class InProcessStorage implements ThrottlerStorage {
  private readonly window: SlidingWindow;

  /**
   * @param limit - calls in any window
   * @param ttl - length of the window in milliseconds
   */
  constructor(
    private readonly limit: number,
    private readonly ttl: number,
  ) {
    this.window = new SlidingWindow(limit, ttl);
  }

  /**
   * @param key - what is counted
   * @returns `timeToExpire` and `timeToBlockExpire` in whole seconds, rounded up, until a slot comes free
   * @throws Error for another limit or window than that of the service, as `@Throttle()` on a route would ask for
   */
  increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    if (limit !== this.limit || ttl !== this.ttl) {
      throw new Error('All routes share one limit, RATE_LIMIT in RATE_LIMIT_WINDOW seconds: remove @Throttle().');
    }
    const { admitted, remaining, freeIn } = this.window.hit(key);
    const seconds = Math.ceil(freeIn / 1000);
    return Promise.resolve({
      totalHits: limit - remaining,
      timeToExpire: seconds,
      isBlocked: !admitted,
      timeToBlockExpire: admitted ? 0 : seconds,
    });
  }
}
