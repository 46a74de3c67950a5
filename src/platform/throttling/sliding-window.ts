// The global one is looked up behind a getter at each call, which is a twentieth of what a call costs.
import { performance } from 'node:perf_hooks';

/** The result of one call. */
export interface WindowState {
  /** Whether the call was counted; a refused one is not. */
  admitted: boolean;
  /** Calls that may follow at once. */
  remaining: number;
  /** Milliseconds until a slot becomes free. */
  freeIn: number;
}

/** Times of the counted calls of one key in milliseconds, oldest first; those before `first` have left the window. */
interface Calls {
  times: number[];
  first: number;
}

/**
 * An exact sliding window: of the calls with one key, at most `limit` are admitted in any `length` milliseconds.
 *
 * Keys lie in two maps. After each window the older map is dropped: its keys were not called for a window.
 */
export class SlidingWindow {
  private current = new Map<string, Calls>();
  private previous = new Map<string, Calls>();
  private nextTurn = -Infinity;

  /**
   * @param length - of the window, in milliseconds
   * @param now - a monotonic clock, in milliseconds
   */
  constructor(
    private readonly length: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get size(): number {
    return this.current.size + this.previous.size;
  }

  /** Counts one call, if fewer than `limit` are counted. */
  hit(key: string, limit: number): WindowState {
    const now = this.now();
    const { times, first } = this.callsOf(key, now);
    const admitted = times.length - first < limit;
    if (admitted) {
      times.push(now);
    }
    const count = times.length - first;
    // A key may have more calls than the limit: those that were added.
    const leaving = times[first + Math.max(0, count - limit)] ?? now;
    // In this order, as the sum of a time and the length may be rounded up, to a second more than the window.
    return { admitted, remaining: Math.max(0, limit - count), freeIn: leaving - now + this.length };
  }

  /** Counts one call that was admitted elsewhere. */
  add(key: string): void {
    const now = this.now();
    this.callsOf(key, now).times.push(now);
  }

  /** Removes the latest counted call, which was refused elsewhere. */
  remove(key: string): void {
    this.callsOf(key, this.now()).times.pop();
  }

  private callsOf(key: string, now: number): Calls {
    if (now >= this.nextTurn) {
      this.previous = now >= this.nextTurn + this.length ? new Map<string, Calls>() : this.current;
      this.current = new Map();
      this.nextTurn = now + this.length;
    }
    let calls = this.current.get(key);
    if (!calls) {
      calls = this.previous.get(key) ?? { times: [], first: 0 };
      this.previous.delete(key);
      this.current.set(key, calls);
    }
    const { times } = calls;
    while (calls.first < times.length && (times[calls.first] ?? 0) + this.length <= now) {
      calls.first += 1;
    }
    if (calls.first * 2 > times.length) {
      times.splice(0, calls.first);
      calls.first = 0;
    }
    return calls;
  }
}
