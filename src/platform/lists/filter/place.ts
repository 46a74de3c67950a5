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
