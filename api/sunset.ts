import { type BreakingChange, NOTICE, REMOVAL } from './breaking-change.ts';
import { describeChange } from './describe-change.ts';
import type { JsonObject, Pair } from './json.ts';
import { operationsOf } from './operations.ts';

/** Until when an operation that is deprecated is kept; undefined for one that is not, or without an announced day. */
function sunsetOf(operation: JsonObject): Temporal.PlainDate | undefined {
  const day = operation['x-sunset'];
  if (operation['deprecated'] !== true || typeof day !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(day)) {
    return undefined;
  }
  try {
    return Temporal.PlainDate.from(day);
  } catch {
    return undefined;
  }
}

/** An operation may go once the day has come that was announced. */
export function judgeRemoval(operation: JsonObject, place: string, today: Temporal.PlainDate): BreakingChange[] {
  const sunset = sunsetOf(operation);
  if (sunset && isNotAfter(sunset, today)) {
    return [];
  }
  return [{ place, change: sunset ? `is gone before its sunset, ${sunset.toString()}` : 'is gone', harm: REMOVAL }];
}

/** What was announced stays, or comes later; or there is no deprecation any more. */
export function compareSunsets({ before, after }: Pair<JsonObject>, place: string): BreakingChange[] {
  const [announced, current] = [sunsetOf(before), sunsetOf(after)];
  const isKept = !announced || after['deprecated'] !== true || (current && isNotAfter(announced, current));
  const days = { before: before['x-sunset'], after: after['x-sunset'] };
  return isKept ? [] : [{ place, change: `x-sunset ${describeChange(days)}`, harm: NOTICE }];
}

/** Sunsets that a release of today would announce, of what was released before, less than 12 months ahead. */
export function lateNotices({ before, after }: Pair<JsonObject>, today: Temporal.PlainDate): string[] {
  const current = operationsOf(after);
  const earliest = today.add({ months: 12 });
  return [...operationsOf(before)].flatMap(([place, released]) => {
    const sunset = sunsetOf(current.get(place) ?? {});
    return sunset && !sunsetOf(released) && !isNotAfter(earliest, sunset)
      ? [`${place}: its sunset is ${sunset.toString()}, and must be ${earliest.toString()} or later.`]
      : [];
  });
}

function isNotAfter(day: Temporal.PlainDate, other: Temporal.PlainDate): boolean {
  return Temporal.PlainDate.compare(day, other) <= 0;
}
