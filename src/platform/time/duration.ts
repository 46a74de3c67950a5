const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

/**
 * A duration as people write it: a whole number of days, hours or minutes, like `90d`, `24h` or `15m`.
 *
 * @returns milliseconds; undefined for any other text
 */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(0|[1-9][0-9]{0,5})([dhm])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** The time in so many milliseconds; null for infinitely many. */
export function dateIn(milliseconds: number): Date | null {
  return milliseconds === Infinity ? null : new Date(Date.now() + milliseconds);
}

/**
 * The result of some work, with a time limit.
 *
 * @param milliseconds - of time. What has arrived by then counts, even if this process was too busy to look at it.
 * @throws an error after that time, or what the work throws
 */
export function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // Timers come first in a turn of the event loop, arrivals then, and this last.
      setImmediate(() => reject(new Error(`No answer within ${milliseconds} ms.`)));
    }, milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
