import type { ThrottlerStorage } from '@nestjs/throttler';
import { SlidingWindow } from './sliding-window.js';

/** What a storage answers to one call; the type of `ThrottlerStorage.increment`, which the package does not export. */
type StorageRecord = Awaited<ReturnType<ThrottlerStorage['increment']>>;

/** Counts in this process alone. A storage that replicas share takes its place behind the same interface. */
export class InProcessStorage implements ThrottlerStorage {
  private window: SlidingWindow | undefined;

  /**
   * @param key - what is counted
   * @param ttl - length of the window in milliseconds, the same at every call
   * @param limit - calls in any window, the same at every call
   * @returns `timeToExpire` and `timeToBlockExpire` in whole seconds, rounded up, until a slot comes free
   */
  increment(key: string, ttl: number, limit: number): Promise<StorageRecord> {
    this.window ??= new SlidingWindow(limit, ttl);
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
