export interface WindowState {
  /** Whether the call was counted. */
  admitted: boolean;
  remaining: number;
  /** Milliseconds until a slot is free. */
  freeIn: number;
}

/** Times of the counted calls of a key in milliseconds, oldest first. Those before index `first` have left the window. */
interface Calls {
  times: number[];
  first: number;
}

/** Exact: at most `limit` calls per key in any `length` milliseconds. Keys unused for a window go with `previous`. */
export class SlidingWindow {
  private current = new Map<string, Calls>();
  private previous = new Map<string, Calls>();
  private nextTurn = -Infinity;

  /** @param length - of the window, in milliseconds, as is the monotonic clock `now` */
  constructor(
    private readonly length: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  get size(): number {
    return this.current.size + this.previous.size;
  }

  /** Counts a call if fewer than `limit` are counted. `Infinity` counts a call that Redis has admitted. */
  hit(key: string, limit: number, now = this.now()): WindowState {
    const { times, first } = this.callsOf(key, now);
    const admitted = times.length - first < limit;
    if (admitted) {
      times.push(now);
    }
    const count = times.length - first;
    // Calls that Redis has admitted can exceed the limit.
    const leaving = times[first + Math.max(0, count - limit)] ?? now;
    // Subtracts first: the sum of a time and the length could be rounded up beyond the window.
    return { admitted, remaining: Math.max(0, limit - count), freeIn: leaving - now + this.length };
  }

  /** Removes a call that was counted at this time, and then refused by Redis. */
  remove(key: string, time: number): void {
    const { times, first } = this.callsOf(key, this.now());
    const index = times.lastIndexOf(time);
    // It may have left the window since.
    if (index >= first) {
      times.splice(index, 1);
    }
  }

  private callsOf(key: string, now: number): Calls {
    if (now >= this.nextTurn) {
      this.previous = now >= this.nextTurn + this.length ? new Map<string, Calls>() : this.current;
      this.current = new Map();
      this.nextTurn = now + this.length;
    }
    const calls = this.current.get(key) ?? this.previous.get(key) ?? { times: [], first: 0 };
    this.previous.delete(key);
    this.current.set(key, calls);
    while ((calls.times[calls.first] ?? Infinity) + this.length <= now) {
      calls.first += 1;
    }
    if (calls.first * 2 > calls.times.length) {
      calls.times.splice(0, calls.first);
      calls.first = 0;
    }
    return calls;
  }
}
