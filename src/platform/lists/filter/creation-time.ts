import { firstId } from '../../database/id.js';
import { type Comparison, type Condition, keyComparison } from './condition.js';
import { onClock } from './place.js';
import { MILLISECOND } from '../../time/timestamp.js';

/** A comparison with the creation time, as a range of the ids that are made of it. */
export function createdAt(operator: Comparison, nanoseconds: bigint): Condition {
  const { floor, exact } = onClock(nanoseconds, MILLISECOND);
  const lastTick = Number(floor / MILLISECOND);
  const firstTick = exact ? lastTick : lastTick + 1;
  switch (operator) {
    case '<':
      return before(firstTick);
    case '<=':
      return before(lastTick + 1);
    case '>':
      return since(lastTick + 1);
    case '>=':
      return since(firstTick);
    case '==':
      return { kind: 'and', conditions: [since(firstTick), before(lastTick + 1)] };
    case '!=':
      return { kind: 'not', condition: createdAt('==', nanoseconds) };
  }
}

function before(milliseconds: number): Condition {
  return keyComparison('<', firstId(milliseconds));
}

function since(milliseconds: number): Condition {
  return keyComparison('>=', firstId(milliseconds));
}
