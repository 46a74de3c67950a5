import { v7 } from 'uuid';
import { creationTime } from '../../src/platform/database/id.js';
import type { Random } from './random.js';
import { COLORS, type SampleRow, SIZES } from './samples.js';

/**
 * Characters that have a meaning in SQL, LIKE, CEL or JSON, and some that have two cases. None is between U+E000 and U+FFFF:
 * the oracle orders those after the ones beyond, as JavaScript does, and not by code point.
 */
const CHARACTERS = [...Array.from('abAB%_*\\"\' éÉß😀\n\u200B;'), '$1', ':a'];

function randomText(random: Random, longest = 4): string {
  return random.list(random.below(longest + 1), () => random.of(CHARACTERS)).join('');
}

const INTS = [0, 1, -1, 2, 3, 32_767, -32_768];
const DOUBLES = [0, -0, 1, -1, 0.1, -0.1, 2.5, 3, 5e-324, 1e21, -1e300, 1.7976931348623157e308, NaN, Infinity, -Infinity];
const INSTANTS = (
  '2026-01-01T00:00:00.000000Z 2026-01-01T00:00:00.000001Z 2026-01-01T00:00:00.999999Z ' +
  '1969-12-31T23:59:59.999999Z 0001-01-01T00:00:00.000000Z 9999-12-31T23:59:59.999999Z'
).split(' ');

export function randomSample(random: Random, seq: number): SampleRow {
  const orNull = <T>(value: T) => (random.below(3) === 0 ? null : value);
  return {
    id: v7({ msecs: 1_767_225_600_000 + random.of([0, 1, 2, 999, 86_400_000]), seq }),
    name: randomText(random),
    description: orNull(randomText(random)),
    count: random.of([...INTS, 2_147_483_647, -2_147_483_648]),
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

/** Numbers at the bounds of columns and of CEL, and in all ways in which they are written. */
const NUMBERS = (
  '2147483648 -2147483649 32768 -32769 9223372036854775807 -9223372036854775808 18446744073709551615u 0x10 -0x1 0u 3u ' +
  '1e3 1E+3 1.5e-3 2.0 2.5 -2.5 -0.0 1e300 -1e300 1e-400 05'
).split(' ');

/** The oracle makes doubles of whole numbers before it compares their order, which is exact up to 2^53. */
const EXACT_AS_DOUBLES = NUMBERS.filter(
  (number) => Number.isSafeInteger(Math.trunc(Number.parseFloat(number))) || number.includes('e'),
);

const NULLABLE = ['description', 'rank', 'height', 'approved', 'color', 'leftAt'];

/** Filters that are valid, within the bounds, and often about the rows that there are. */
export class RandomFilter {
  private conditions = 0;
  private searches = 0;

  constructor(
    private readonly random: Random,
    private readonly rows: readonly SampleRow[],
  ) {}

  expression(depth = 0): string {
    const space = this.random.of(['', ' ', '  ', '\n', '\t', ' // a comment "\n']);
    return `${space}${this.condition(depth)}${this.random.of(['', ' '])}`;
  }

  private condition(depth: number): string {
    const { random } = this;
    const nested = () => this.expression(depth + 1);
    const joined = (operator: string) => `(${random.list(2 + random.below(2), nested).join(operator)})`;
    const leaf = () => this.leaf();
    const isLeaf = depth > 3 || this.conditions > 20;
    const kinds = [leaf, leaf, () => `!(${nested()})`, () => `(${nested()})`, () => joined('&&'), () => joined('||')];
    return (isLeaf ? leaf : random.of(kinds))();
  }

  /** A condition without parts. */
  private leaf(): string {
    const { random } = this;
    const row = random.of(this.rows);
    this.conditions += 1;
    const leaves = [
      () => random.of(['true', 'false']),
      () => this.about('id', () => `"${row.id}"`),
      () => this.about('createdAt', () => this.timestampNear(creationTime(row.id).getTime())),
      () => this.about(this.text(), () => this.literal(row)),
      () => this.about(this.text(), () => this.literal(row)),
      () => this.search(row),
      () => this.search(row),
      () => this.about(random.of(['count', 'rank']), () => this.int(random.of([row.count, row.rank ?? 0]))),
      () => this.about(random.of(['weight', 'height']), () => this.double(random.of([row.weight, row.height ?? 0]))),
      () => random.of(['active', 'approved', '!active', '!approved', '!!approved', '(active)']),
      () => this.about(random.of(['active', 'approved']), () => random.of(['true', 'false'])),
      () => this.about('size', () => JSON.stringify(random.of(SIZES)), ['==', '!=']),
      () => this.about('color', () => JSON.stringify(random.of(COLORS)), ['==', '!=']),
      () => this.about(random.of(['seenAt', 'leftAt']), () => this.instant(random.of([row.seenAt, row.leftAt ?? row.seenAt]))),
      () => this.absence(random.of(NULLABLE)),
    ];
    return random.of(leaves)();
  }

  /** A comparison, in either direction, or a list that the field may be in. */
  private about(field: string, literal: () => string, operators = ['==', '!=', '<', '<=', '>', '>=']): string {
    const { random } = this;
    if (random.below(4) === 0) {
      const orNull = () => (NULLABLE.includes(field) && random.below(4) === 0 ? 'null' : literal());
      const elements = random.list(random.below(4), orNull);
      this.conditions += elements.length;
      return `${field} in [${elements.join(', ')}]`;
    }
    const operator = random.of(operators);
    return random.below(3) === 0 ? `${literal()} ${operator} ${field}` : `${field} ${operator} ${literal()}`;
  }

  private absence(field: string): string {
    const operator = this.random.of(['==', '!=']);
    return this.random.of([`${field} ${operator} null`, `null ${operator} ${field}`, `${field} in [null]`]);
  }

  private search(row: SampleRow): string {
    this.searches += 1;
    const name = this.searches > 4 ? 'startsWith' : this.random.of(['contains', 'startsWith', 'endsWith', 'icontains']);
    return `${this.text()}.${name}(${this.literal(row)})`;
  }

  private text(): string {
    return `${this.random.of(['name', 'description'])}${this.random.of(['', '', '.lowerAscii()'])}`;
  }

  /** A value of a row, a part of one, or something new; in one of the ways in which CEL writes strings. */
  private literal({ name, description }: SampleRow): string {
    const { random } = this;
    const whole = random.of([name, description ?? '', randomText(random)]);
    const characters = Array.from(whole);
    const start = random.below(characters.length + 1);
    const text = random.of([whole, characters.slice(start, start + 2).join('')]);
    const isRaw = !/["\\\n]/.test(text);
    const codes = Array.from(text, (character) => (character.codePointAt(0) ?? 0).toString(16).padStart(8, '0'));
    return random.of([
      JSON.stringify(text),
      `'${text.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`,
      `"""${text.replaceAll(/["\\]/g, String.raw`\$&`)}"""`,
      isRaw ? `r"${text}"` : JSON.stringify(text),
      `"${codes.map((code) => String.raw`\U${code}`).join('')}"`,
    ]);
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

  /** Around a time, in some zone, with up to nine digits of a second. */
  private timestampNear(milliseconds: number, digits = ['', '', '000', '000001', '5', '999999']): string {
    const shifted = milliseconds + this.random.of([0, 0, 0, 1, -1, 1000, -60_000]);
    const [zone, minutes] = this.random.of([
      ['Z', 0],
      ['+02:00', 120],
      ['-09:30', -570],
    ] as const);
    const local = new Date(shifted + minutes * 60_000).toISOString().slice(0, -1);
    return `timestamp("${local}${this.random.of(digits)}${zone}")`;
  }
}
