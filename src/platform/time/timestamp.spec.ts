import { MICROSECOND, onClock } from '../lists/filter/place.js';
import { MILLISECOND, parseTimestamp } from './timestamp.js';

describe('a timestamp', () => {
  it.each<[string, bigint]>([
    ['2026-01-01T00:00:00Z', 1_767_225_600_000_000_000n],
    ['2026-01-01T02:00:00+02:00', 1_767_225_600_000_000_000n],
    ['2025-12-31T14:30:00.000-09:30', 1_767_225_600_000_000_000n],
    ['2026-01-01T00:00:00.0009Z', 1_767_225_600_000_900_000n],
    ['2026-01-01T00:00:00.999999999Z', 1_767_225_600_999_999_999n],
    ['2024-02-29T00:00:00Z', 1_709_164_800_000_000_000n],
    ['1969-12-31T23:59:59.9999Z', -100_000n],
    ['1970-01-01T00:00:00Z', 0n],
    ['0001-01-01T00:00:00Z', -62_135_596_800_000_000_000n],
    ['9999-12-31T23:59:59.999999999Z', 253_402_300_799_999_999_999n],
  ])('is %s, to the nanosecond', (text, nanoseconds) => {
    expect(parseTimestamp(text)).toBe(nanoseconds);
  });

  it.each<[bigint, bigint, bigint, boolean]>([
    [0n, MILLISECOND, 0n, true],
    [1n, MILLISECOND, 0n, false],
    [1_999_999n, MILLISECOND, 1_000_000n, false],
    [2_000_000n, MILLISECOND, 2_000_000n, true],
    [-1n, MILLISECOND, -1_000_000n, false],
    [-1_000_000n, MILLISECOND, -1_000_000n, true],
    [1_999n, MICROSECOND, 1_000n, false],
    [-1n, MICROSECOND, -1_000n, false],
    [-2_000n, MICROSECOND, -2_000n, true],
  ])('of %d ns lies on a clock with ticks of %d ns at or after %d ns', (nanoseconds, tick, floor, exact) => {
    expect(onClock(nanoseconds, tick)).toEqual({ floor, exact });
  });

  it.each([
    '',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00Z',
    '2026-01-01 00:00:00Z',
    '2026-01-01t00:00:00z',
    '2026-02-30T00:00:00Z',
    '2025-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00.Z',
    '2026-01-01T00:00:00.1234567890Z',
    '2026-01-01T00:00:00+0200',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00Z[Europe/Berlin]',
    '+002026-01-01T00:00:00Z',
    ' 2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00Z\n',
    '２０２６-01-01T00:00:00Z',
    '0000-12-31T23:59:59Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
  ])('is not %j', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});
