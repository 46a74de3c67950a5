import { type CelInput, celEnv, celFunc, celMethod, CelScalar, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { creationTime } from '../../src/platform/ids/id.js';
import type { SampleRow } from './samples.js';

const { STRING, BOOL } = CelScalar;

/** Each character on its own, as PostgreSQL does: a capital sigma does not depend on its place, and none becomes two. */
const lowerCase = (text: string) => Array.from(text, (character) => Array.from(character.toLowerCase())[0]).join('');

/** The one function that is not CEL's. */
const icontains = celMethod('icontains', STRING, [STRING], BOOL, function (text) {
  return lowerCase(this).includes(lowerCase(text));
});

/** By code point, as CEL's specification has it: the library compares as JavaScript does, by UTF-16. */
const order = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const comparisons = [
  celFunc('_<_', [STRING, STRING], BOOL, (a, b) => order(a, b) < 0),
  celFunc('_<=_', [STRING, STRING], BOOL, (a, b) => order(a, b) <= 0),
  celFunc('_>_', [STRING, STRING], BOOL, (a, b) => order(a, b) > 0),
  celFunc('_>=_', [STRING, STRING], BOOL, (a, b) => order(a, b) >= 0),
];

const environment = celEnv({ funcs: [...strings, ...comparisons, icontains] });

/** The rows for which another implementation of CEL finds a filter true, neither false nor an error. */
export function matchesOf(filter: string, rows: readonly SampleRow[]): SampleRow[] {
  const evaluate = plan(environment, parse(filter)) as (values: Record<string, CelInput>) => unknown;
  return rows.filter((row) => evaluate(bindingsOf(row)) === true);
}

/** The names of an expression, with their values for a row. */
function bindingsOf(row: SampleRow): Record<string, CelInput> {
  const { count, rank, seenAt, leftAt } = row;
  return {
    ...row,
    createdAt: timestampFromMs(creationTime(row.id).getTime()),
    count: BigInt(count),
    rank: rank === null ? null : BigInt(rank),
    seenAt: timestampOf(seenAt),
    leftAt: leftAt === null ? null : timestampOf(leftAt),
  };
}

function timestampOf(instant: string): Timestamp {
  const { epochNanoseconds } = Temporal.Instant.from(instant);
  const nanos = ((epochNanoseconds % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n;
  return create(TimestampSchema, { seconds: (epochNanoseconds - nanos) / 1_000_000_000n, nanos: Number(nanos) });
}
