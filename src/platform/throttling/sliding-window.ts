// The global one is looked up behind a getter at each call, which is a twentieth of what a call costs.
import { performance } from 'node:perf_hooks';
import { IntegerQueues, Queue } from './integer-queues.js';
import { Rounds } from './rounds.js';

/** What one call found and did. */
export interface WindowState {
  /** Whether the call was counted; a refused one is not. */
  admitted: boolean;
  /** Calls that may still follow at once. */
  remaining: number;
  /** Milliseconds until the oldest counted call leaves the window and a slot comes free. */
  freeIn: number;
}

/** The counted calls of one key: a queue of their times in ticks. */
class Calls extends Queue {
  /** @param latest - when the latest was made, in milliseconds */
  constructor(public latest: number) {
    super();
  }
}

/**
 * Ticks in a millisecond, to which times are rounded up: a call may leave the window so much later, and never sooner. Times are kept
 * as 32-bit integers that wrap, so only those less than 2^31 ticks, three days, apart can be compared. A window may be half of that.
 */
const TICKS = 8;

/**
 * An exact sliding window: of the calls with one key, at most `limit` are admitted in any `length` milliseconds. Keys that have been
 * silent for a window are forgotten within another one, as calls come, so memory follows the keys in use.
 */
export class SlidingWindow {
  private readonly calls = new Map<string, Calls>();
  private readonly times = new IntegerQueues();
  /** Length of the window in ticks. */
  private readonly ticks: number;
  private readonly rounds: Rounds<Calls>;

  /**
   * @param limit - calls in any window
   * @param length - of the window, in milliseconds
   * @param now - a monotonic clock, in milliseconds
   */
  constructor(
    private readonly limit: number,
    private readonly length: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.ticks = Math.ceil(length * TICKS);
    this.rounds = new Rounds(this.calls, length, (key, calls, time) => {
      this.forgetIfSilent(key, calls, time);
    });
  }

  /** Keys in memory. */
  get size(): number {
    return this.calls.size;
  }

  /** Counts one call, if there is room for it. */
  hit(key: string): WindowState {
    const now = this.now();
    const calls = this.callsOf(key, now);
    const admitted = calls.length < this.limit;
    if (admitted) {
      this.add(key, calls, now);
    }
    // What was rounded up must not make a second more of it.
    const freeIn = Math.min(this.length, this.ticksLeft(calls, now) / TICKS);
    return { admitted, remaining: this.limit - calls.length, freeIn };
  }

  /**
   * Takes note of calls that were counted elsewhere, where each call here stands for several.
   *
   * @param count - as many are counted here at least from now on; those that are missing are taken to be made now
   * @param age - how long ago the latest of all was made, in milliseconds. The latest one here stands for that, too, and leaves
   *   the window no sooner
   */
  fill(key: string, count: number, age: number): void {
    const now = this.now();
    const calls = this.callsOf(key, now);
    if (calls.length > 0 && calls.latest < now - age) {
      calls.latest = now - age;
      this.times.replaceLast(calls, roundedUp(calls.latest));
    }
    while (calls.length < Math.min(count, this.limit)) {
      this.add(key, calls, now);
    }
  }

  /** The calls of a key as they are now: without those that have left the window. */
  private callsOf(key: string, now: number): Calls {
    if (this.rounds.step(now)) {
      this.times.trim();
    }
    const calls = this.calls.get(key) ?? new Calls(now);
    this.dropExpired(calls, now);
    return calls;
  }

  private add(key: string, calls: Calls, now: number): void {
    if (calls.length === 0) {
      this.calls.set(key, calls);
    }
    calls.latest = now;
    this.times.push(calls, roundedUp(now));
  }

  private dropExpired(calls: Calls, now: number): void {
    const isSilent = this.isSilent(calls, now);
    while (calls.length > 0 && (isSilent || this.ticksLeft(calls, now) <= 0)) {
      this.times.shift(calls);
    }
  }

  /** Whether all calls have left the window, however long ago that was. */
  private isSilent({ latest }: Calls, now: number): boolean {
    return latest + this.length <= now;
  }

  /** Ticks until the oldest call leaves the window. */
  private ticksLeft(calls: Calls, now: number): number {
    return this.ticks - ((Math.floor(now * TICKS) - calls.head) | 0);
  }

  private forgetIfSilent(key: string, calls: Calls, now: number): void {
    if (this.isSilent(calls, now)) {
      this.dropExpired(calls, now);
      this.calls.delete(key);
    }
  }
}

/** Milliseconds as ticks, in 32 bits. */
function roundedUp(milliseconds: number): number {
  return Math.ceil(milliseconds * TICKS) | 0;
}
