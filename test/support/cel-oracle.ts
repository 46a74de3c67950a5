import { type CelInput, celEnv, celMethod, CelScalar, parse, plan } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { create } from '@bufbuild/protobuf';
import { type Timestamp, timestampFromMs, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { creationTime } from '../../src/platform/database/id.js';
import type { SampleRow } from './samples.js';

/** The one function that is not CEL's. */
const icontains = celMethod('icontains', CelScalar.STRING, [CelScalar.STRING], CelScalar.BOOL, function (text) {
  return this.toLowerCase().includes(text.toLowerCase());
});

const environment = celEnv({ funcs: [...strings, icontains] });

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
