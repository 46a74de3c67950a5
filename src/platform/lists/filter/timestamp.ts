/** RFC 3339, section 5.6, with at most the nanoseconds that CEL knows. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

const MILLISECOND = 1_000_000n;

/** CEL's timestamps are of the years 1 to 9999, in UTC. */
const EARLIEST = Date.parse('0001-01-01T00:00:00Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * A moment of CEL's `timestamp("…")`, seen from a clock of milliseconds: the last tick that is not after it and the first
 * that is not before it. They are the same unless it lies between two ticks. Milliseconds since 1970, negative before.
 */
export interface Moment {
  readonly lastTick: number;
  readonly firstTick: number;
}

/** @returns undefined for a text that is no RFC 3339 time with a zone, or no day of the calendar that CEL has */
export function parseTimestamp(text: string): Moment | undefined {
  if (!RFC_3339.test(text)) {
    return undefined;
  }
  try {
    const { epochNanoseconds, epochMilliseconds: lastTick } = Temporal.Instant.from(text);
    const firstTick = epochNanoseconds % MILLISECOND === 0n ? lastTick : lastTick + 1;
    return EARLIEST <= lastTick && lastTick <= LATEST ? { lastTick, firstTick } : undefined;
  } catch (error) {
    if (Error.isError(error) && error.name === 'RangeError') {
      return undefined;
    }
    throw error;
  }
}
