/** RFC 3339, section 5.6, with at most the nanoseconds that CEL knows. */
const RFC_3339 = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

/** In nanoseconds, like all times here. */
export const MILLISECOND = 1_000_000n;

/** CEL's timestamps are of the years 1 to 9999, in UTC. */
const EARLIEST = BigInt(Date.parse('0001-01-01T00:00:00Z')) * MILLISECOND;
const END = BigInt(Date.parse('+010000-01-01T00:00:00Z')) * MILLISECOND;

/**
 * The nanoseconds since 1970, negative before, of CEL's `timestamp("…")`.
 *
 * @returns undefined for a text that is no RFC 3339 time with a zone, or no day of the calendar that CEL has
 */
export function parseTimestamp(text: string): bigint | undefined {
  if (!RFC_3339.test(text)) {
    return undefined;
  }
  try {
    const { epochNanoseconds } = Temporal.Instant.from(text);
    return EARLIEST <= epochNanoseconds && epochNanoseconds < END ? epochNanoseconds : undefined;
  } catch (error) {
    if (Error.isError(error) && error.name === 'RangeError') {
      return undefined;
    }
    throw error;
  }
}
