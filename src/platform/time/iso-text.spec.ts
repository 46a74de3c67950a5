import { assert, constantFrom, integer, oneof, property } from 'fast-check';
import { isoText } from './iso-text.js';

const LAST = 8_640_000_000_000_000;

describe('isoText', () => {
  it('writes every time as Date does', () => {
    const times = oneof(
      integer({ min: 0, max: 2 ** 48 - 1 }),
      integer({ min: -LAST, max: LAST }),
      constantFrom(0, -1, 86_399_999, 86_400_000, LAST, -LAST),
    );
    assert(property(times, (time) => isoText(time) === new Date(time).toISOString()));
  });

  it('has no text for a time that Date does not have', () => {
    expect(() => isoText(LAST + 86_400_000)).toThrow(RangeError);
    expect(isoText(0)).toBe('1970-01-01T00:00:00.000Z');
  });
});
