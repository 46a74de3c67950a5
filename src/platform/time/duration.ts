const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

/** Parses whole days, hours or minutes, like `90d`, `24h` or `15m`. @returns milliseconds; undefined for other texts */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = /^(0|[1-9][0-9]{0,5})([dhm])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** The time so many milliseconds from now; null for `Infinity`. */
export function dateIn(milliseconds: number): Date | null {
  return milliseconds === Infinity ? null : new Date(Date.now() + milliseconds);
}

/** Limits the time of a promise. A result that arrived in time counts even if this process was too busy to handle it. */
export function withTimeout<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // The event loop runs timers before I/O, and `setImmediate` after it: a result that has arrived is first.
      setImmediate(() => reject(new Error(`No response within ${Math.round(milliseconds)} ms.`)));
    }, milliseconds);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
