/** What one call found and did. */
export interface WindowState {
  /** Whether the call was counted; a refused one is not. */
  admitted: boolean;
  /** Calls that may still follow at once. */
  remaining: number;
  /** Milliseconds until the oldest counted call leaves the window and a slot comes free. */
  freeIn: number;
}

/** Times of the counted calls of one key: a ring that grows as it needs, up to the limit. */
interface Ring {
  times: Float64Array;
  /** Index of the oldest. */
  start: number;
  count: number;
}

const INITIAL_CAPACITY = 8;

/**
 * An exact sliding window: of the calls with one key, at most `limit` are admitted in any `length` milliseconds.
 * Keys that have been silent for a whole window are forgotten, so memory follows the keys in use.
 */
export class SlidingWindow {
  /** Ordered by latest admitted call, so that silent keys gather at the front. */
  private readonly rings = new Map<string, Ring>();

  /**
   * @param limit - calls in any window
   * @param length - of the window, in milliseconds
   * @param now - a monotonic clock, in milliseconds
   */
  constructor(
    private readonly limit: number,
    private readonly length: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Keys in memory. */
  get size(): number {
    return this.rings.size;
  }

  /** Counts one call, if there is room for it. */
  hit(key: string): WindowState {
    const now = this.now();
    const ring = this.ringOf(key, now);
    const admitted = ring.count < this.limit;
    if (admitted) {
      this.push(key, ring, now);
    }
    return { admitted, remaining: this.limit - ring.count, freeIn: at(ring, 0) + this.length - now };
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
    const ring = this.ringOf(key, now);
    if (ring.count > 0) {
      const latest = (ring.start + ring.count - 1) % ring.times.length;
      ring.times[latest] = Math.max(ring.times[latest] ?? 0, now - age);
    }
    while (ring.count < Math.min(count, this.limit)) {
      this.push(key, ring, now);
    }
  }

  /** Keys with calls in the window, and perhaps some whose calls have just left it. */
  keys(): string[] {
    return [...this.rings.keys()];
  }

  /** How long ago each counted call of a key was made, in milliseconds, the oldest first. */
  ages(key: string): number[] {
    const now = this.now();
    const ring = this.ringOf(key, now);
    return Array.from({ length: ring.count }, (_, place) => now - at(ring, place));
  }

  /** From now on no call with that key counts as made. */
  forget(key: string): void {
    this.rings.delete(key);
  }

  /** The ring of a key as it is now: without the calls that have left the window. */
  private ringOf(key: string, now: number): Ring {
    this.forgetSilent(now);
    const ring = this.rings.get(key) ?? { times: new Float64Array(Math.min(INITIAL_CAPACITY, this.limit)), start: 0, count: 0 };
    this.dropExpired(ring, now);
    return ring;
  }

  private dropExpired(ring: Ring, now: number): void {
    while (ring.count > 0 && at(ring, 0) + this.length <= now) {
      ring.start = (ring.start + 1) % ring.times.length;
      ring.count -= 1;
    }
  }

  private push(key: string, ring: Ring, now: number): void {
    if (ring.count === ring.times.length) {
      const grown = new Float64Array(Math.min(ring.count * 2, this.limit));
      for (let index = 0; index < ring.count; index += 1) {
        grown[index] = at(ring, index);
      }
      ring.times = grown;
      ring.start = 0;
    }
    ring.times[(ring.start + ring.count) % ring.times.length] = now;
    ring.count += 1;
    this.rings.delete(key);
    this.rings.set(key, ring);
  }

  private forgetSilent(now: number): void {
    for (const [key, ring] of this.rings) {
      if (at(ring, ring.count - 1) + this.length > now) {
        return;
      }
      this.rings.delete(key);
    }
  }
}

/** The time of the call at that place, 0 being the oldest. */
function at(ring: Ring, place: number): number {
  return ring.times[(ring.start + place) % ring.times.length] ?? 0;
}
