import type { Comparison, Condition, Operand } from './condition.js';
import type { Place } from './place.js';

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
