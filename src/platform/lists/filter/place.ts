import type { Comparison, Condition, Operand } from './condition.js';

/**
 * Where a value lies among those that a column can keep: the last one that is not after it, and whether it is that one.
 * Between two of them lies, for a column of whole numbers, `2.5`.
 */
export interface Place<Value> {
  readonly floor: Value;
  readonly exact: boolean;
}

/** The place of a value that a column can keep. */
export function exactly<Value>(value: Value): Place<Value> {
  return { floor: value, exact: true };
}

/** In nanoseconds: the clock of PostgreSQL. */
export const MICROSECOND = 1_000n;

/** Where a time lies on a clock with ticks of a certain length; the floor is in nanoseconds, too. */
export function onClock(nanoseconds: bigint, tick: bigint): Place<bigint> {
  const since = ((nanoseconds % tick) + tick) % tick;
  return { floor: nanoseconds - since, exact: since === 0n };
}

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

/** A comparison of a column with a value that may lie between those that the column can keep. */
export function compareWith(operand: Operand, operator: Comparison, { floor, exact }: Place<string>): Condition {
  if (exact) {
    return { kind: 'comparison', operand, operator, value: floor };
  }
  switch (operator) {
    case '==':
      return { kind: 'constant', value: false };
    case '!=':
      return { kind: 'constant', value: true };
    case '<':
    case '<=':
      return { kind: 'comparison', operand, operator: '<=', value: floor };
    case '>':
    case '>=':
      return { kind: 'comparison', operand, operator: '>', value: floor };
  }
}

/** Whether a column has one of some values. */
export function isAmong(operand: Operand, places: readonly Place<string>[]): Condition {
  return { kind: 'membership', operand, values: places.filter(({ exact }) => exact).map(({ floor }) => floor) };
}
