import { exactly, type Place } from './place.js';

/** The whole numbers that CEL has. */
export const MAXIMUM_INT = 2n ** 63n - 1n;
export const MINIMUM_INT = -(2n ** 63n);

/**
 * Where a number lies among whole numbers. One beyond 64 bits lies after the last or before the first of them: no column
 * keeps those two, as it has 32 bits at most.
 */
export function amongInts(number: bigint | number): Place<bigint> {
  const whole = typeof number === 'bigint' ? number : BigInt(Math.floor(number));
  if (whole > MAXIMUM_INT || whole < MINIMUM_INT) {
    return { floor: whole > MAXIMUM_INT ? MAXIMUM_INT : MINIMUM_INT, exact: false };
  }
  return { floor: whole, exact: typeof number === 'bigint' || Number.isInteger(number) };
}

/** Where a number lies among doubles: not each whole number beyond 2^53 is one, and it must not become its neighbour. */
export function amongDoubles(number: bigint | number): Place<number> {
  const nearest = Number(number);
  if (typeof number === 'number' || BigInt(nearest) === number) {
    return exactly(nearest);
  }
  return { floor: BigInt(nearest) < number ? nearest : doubleBefore(nearest), exact: false };
}

/** Doubles that follow one another have bits that do, too, counted away from zero (IEEE 754). */
function doubleBefore(double: number): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, double);
  view.setBigInt64(0, view.getBigInt64(0) + (double > 0 ? -1n : 1n));
  return view.getFloat64(0);
}
