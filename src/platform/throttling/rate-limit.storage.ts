import type { ThrottlerStorage } from '@nestjs/throttler';
import type { WindowState } from './sliding-window.js';

/** What a storage answers to one call; the type of `ThrottlerStorage.increment`, which the package does not export. */
type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** What decides about calls: a window in this process, or one that all replicas share. */
export interface Limiter {
  /** Counts one call, if there is room for it. */
  hit(key: string): WindowState | Promise<WindowState>;
}

/** Lets a {@link Limiter} stand behind the guard of `@nestjs/throttler`. */
export class RateLimitStorage implements ThrottlerStorage {
  /**
   * @param limit - calls in any window
   * @param ttl - length of the window in milliseconds
   */
  constructor(
    private readonly limiter: Limiter,
    private readonly limit: number,
    private readonly ttl: number,
  ) {}

  /**
   * @param key - what is counted
   * @returns `timeToExpire` and `timeToBlockExpire` in whole seconds, rounded up, until a slot comes free
   * @throws Error for another limit or window than that of the service, as `@Throttle()` on a route would ask for
   */
  async increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    if (limit !== this.limit || ttl !== this.ttl) {
      throw new Error('All routes share one limit, RATE_LIMIT in RATE_LIMIT_WINDOW seconds: remove @Throttle().');
    }
    const { admitted, remaining, freeIn } = await this.limiter.hit(key);
    const seconds = Math.ceil(freeIn / 1000);
    return {
      totalHits: limit - remaining,
      timeToExpire: seconds,
      isBlocked: !admitted,
      timeToBlockExpire: admitted ? 0 : seconds,
    };
  }
}
