import { type Timestamp, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { create } from '@bufbuild/protobuf';
import { v7 } from 'uuid';
import { type Bindings, itemBindings } from './cel-oracle.js';
import type { Random } from './random.js';
import { RandomFilter, randomText } from './random-filter.js';
import { COLORS, type SampleRow, SIZES } from './samples.js';

const DOUBLES = [0, -0, 1, -1, 0.1, -0.1, 2.5, 3, 5e-324, 1e21, -1e300, 1.7976931348623157e308, NaN, Infinity, -Infinity];
const INTS = [0, 1, -1, 2, 3, 32_767, -32_768];
const LARGE_INTS = [...INTS, 2_147_483_647, -2_147_483_648];
const INSTANTS = [
  '2026-01-01T00:00:00.000000Z',
  '2026-01-01T00:00:00.000001Z',
  '2026-01-01T00:00:00.999999Z',
  '1969-12-31T23:59:59.999999Z',
  '0001-01-01T00:00:00.000000Z',
  '9999-12-31T23:59:59.999999Z',
];

export function randomSample(random: Random, seq: number): SampleRow {
  const orNull = <T>(value: T) => (random.below(3) === 0 ? null : value);
  return {
    id: v7({ msecs: 1_767_225_600_000 + random.of([0, 1, 2, 999, 86_400_000]), seq }),
    name: randomText(random),
    description: orNull(randomText(random)),
    count: random.of(LARGE_INTS),
    rank: orNull(random.of(INTS)),
    weight: random.of(DOUBLES),
    height: orNull(random.of(DOUBLES)),
    active: random.of([true, false]),
    approved: orNull(random.of([true, false])),
    size: random.of(SIZES),
    color: orNull(random.of(COLORS)),
    seenAt: random.of(INSTANTS),
    leftAt: orNull(random.of(INSTANTS)),
  };
}

export function sampleBindings(row: SampleRow): Bindings {
  const { count, rank, weight, height, active, approved, size, color, seenAt, leftAt } = row;
  return {
    ...itemBindings(row),
    weight,
    height,
    active,
    approved,
    size,
    color,
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

/** Numbers at the bounds of columns and of CEL, and in all ways in which they are written. */
const NUMBERS = [
  '2147483648',
  '-2147483649',
  '32768',
  '-32769',
  '9223372036854775807',
  '-9223372036854775808',
  '18446744073709551615u',
  '0x10',
  '-0x1',
  '0u',
  '3u',
  '1e3',
  '1E+3',
  '1.5e-3',
  '2.0',
  '2.5',
  '-2.5',
  '-0.0',
  '1e300',
  '-1e300',
  '1e-400',
  '05',
];

/** The oracle makes doubles of whole numbers before it compares their order, which is exact up to 2^53. */
const EXACT_AS_DOUBLES = NUMBERS.filter(
  (number) => Number.isSafeInteger(Math.trunc(Number.parseFloat(number))) || number.includes('e'),
);

/** Filters by fields of every type. */
export class RandomSampleFilter extends RandomFilter {
  constructor(
    random: Random,
    private readonly samples: readonly SampleRow[],
  ) {
    super(random, samples);
  }

  protected override leaf(): string {
    const { random } = this;
    const sample = random.of(this.samples);
    return random.of([
      () => super.leaf(),
      () => this.about(random.of(['count', 'rank']), () => this.int(random.of([sample.count, sample.rank ?? 0]))),
      () => this.about(random.of(['count', 'rank']), () => this.int(random.of([sample.count, sample.rank ?? 0]))),
      () => this.about(random.of(['weight', 'height']), () => this.double(random.of([sample.weight, sample.height ?? 0]))),
      () => this.about(random.of(['weight', 'height']), () => this.double(random.of([sample.weight, sample.height ?? 0]))),
      () => random.of(['active', 'approved', '!active', '!approved', '!!approved', '(active)']),
      () => this.about(random.of(['active', 'approved']), () => random.of(['true', 'false'])),
      () => this.choice('size', () => JSON.stringify(random.of(SIZES))),
      () => this.choice('color', () => JSON.stringify(random.of(COLORS))),
      () => this.about(random.of(['seenAt', 'leftAt']), () => this.instant(sample.leftAt ?? sample.seenAt)),
      () => this.about(random.of(['seenAt', 'leftAt']), () => this.instant(sample.seenAt)),
      () => this.absence(random.of(['rank', 'height', 'approved', 'color', 'leftAt'])),
    ])();
  }

  private about(field: string, literal: () => string): string {
    return this.random.below(4) === 0 ? this.among(field, literal) : this.compared(field, literal);
  }

  private compared(field: string, literal: () => string): string {
    this.conditions += 1;
    return this.comparison(field, literal);
  }

  private choice(field: string, literal: () => string): string {
    this.conditions += 1;
    const operator = this.random.of(['==', '!=']);
    return this.random.of([`${field} ${operator} ${literal()}`, `${literal()} ${operator} ${field}`, this.among(field, literal)]);
  }

  private among(field: string, literal: () => string): string {
    const orNull = () => (this.isNullable(field) && this.random.below(4) === 0 ? 'null' : literal());
    return `${field} in [${this.random.list(this.random.below(4), orNull).join(', ')}]`;
  }

  private absence(field: string): string {
    const operator = this.random.of(['==', '!=']);
    return this.random.of([`${field} ${operator} null`, `null ${operator} ${field}`, `${field} in [null]`]);
  }

  private isNullable(field: string): boolean {
    return ['rank', 'height', 'approved', 'color', 'leftAt'].includes(field);
  }

  private int(value: number): string {
    const { random } = this;
    const near = value + random.of([0, 0, 0, 1, -1]);
    return random.of([
      `${near}`,
      `${near}`,
      near < 0 ? `-0x${(-near).toString(16)}` : `0x${near.toString(16)}`,
      near < 0 ? `${near}.0` : `${near}u`,
      `${near}.${random.of(['0', '5', '25'])}`,
      random.of(NUMBERS),
    ]);
  }

  private double(value: number): string {
    const finite = Number.isFinite(value) ? value : 2.5;
    return this.random.of([`${finite}`, `${finite}`, `${finite}`, this.random.of(EXACT_AS_DOUBLES)]);
  }

  private instant(instant: string): string {
    const { epochMilliseconds } = Temporal.Instant.from(instant);
    // Far from both ends of the calendar, where a shift or a zone would leave it.
    const near = Math.min(Math.max(epochMilliseconds, Date.parse('0001-01-03T00:00:00Z')), Date.parse('9999-12-29T00:00:00Z'));
    const digits = ['', '000', '001', '999', '999999', '000001', '001001', '0005'];
    return this.random.of([`timestamp("${instant}")`, this.timestampNear(near, digits)]);
  }
}
