import * as fc from 'fast-check';
import { textsFrom } from './characters.js';

const moments = fc.date({ min: new Date('1900-01-01'), max: new Date('2199-01-01'), noInvalidDate: true });
const zones = fc.constantFrom('Z', '+14:00', '-09:30', '+00:00', '-00:00');
const fractions = fc.constantFrom('', '.1', '.12', '.123', '.1230', '.000000000');

/** Texts of a format in ways that few clients write them. */
export const unusual: Readonly<Record<string, readonly fc.Arbitrary<string>[]>> = {
  uuid: [fc.tuple(hex(8), hex(4), hex(4), hex(4), hex(12)).map((parts) => parts.join('-'))],
  'date-time': [
    fc.tuple(moments, fractions, zones).map(([date, fraction, zone]) => `${date.toISOString().slice(0, 19)}${fraction}${zone}`),
  ],
};

function hex(length: number): fc.Arbitrary<string> {
  return textsFrom('0123456789abcdefABCDEF', { minLength: length, maxLength: length });
}
