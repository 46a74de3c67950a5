import * as fc from 'fast-check';
import { v7 } from 'uuid';
import { creationTime } from '../../src/platform/ids/id.js';
import { COLORS, type SampleRow, SIZES } from './samples.js';

/**
 * Characters that have a meaning in SQL, LIKE, CEL or JSON; that have two cases, or another length in the other one; that combine; and
 * around the surrogates, where the orders by code point and by UTF-16 differ.
 */
const CHARACTERS = [
  ...Array.from('abAB%_*\\"\' éÉß😀\n\u200B;'),
  '$1',
  ':a',
  ...Array.from('İıſKΣςẞ\u0301\uD7FF\uE000\uFFFD\u{10FFFF}'),
];
const unit = fc.constantFrom(...CHARACTERS);
/** Of up to 255 code points, as names of items. */
const newTexts = fc.oneof(
  { weight: 9, arbitrary: fc.string({ unit, maxLength: 4 }) },
  { weight: 1, arbitrary: fc.string({ unit, minLength: 120, maxLength: 127 }) },
);

const INTS = [0, 1, -1, 2, 3, 32_767, -32_768];
const DOUBLES = [0, -0, 1, -1, 0.1, -0.1, 2.5, 3, 5e-324, 1e21, -1e300, 1.7976931348623157e308, NaN, Infinity, -Infinity];
const INSTANTS = (
  '2026-01-01T00:00:00.000000Z 2026-01-01T00:00:00.000001Z 2026-01-01T00:00:00.999999Z ' +
  '1969-12-31T23:59:59.999999Z 0001-01-01T00:00:00.000000Z 9999-12-31T23:59:59.999999Z'
).split(' ');

const orNull = <T>(values: fc.Arbitrary<T>) => fc.option(values, { freq: 3 });

export const randomSamples: fc.Arbitrary<SampleRow> = fc.record({
  id: fc
    .tuple(fc.constantFrom(0, 1, 2, 999, 86_400_000), fc.noBias(fc.nat()))
    .map(([later, seq]) => v7({ msecs: 1_767_225_600_000 + later, seq })),
  name: newTexts,
  description: orNull(newTexts),
  count: fc.constantFrom(...INTS, 2_147_483_647, -2_147_483_648),
  rank: orNull(fc.constantFrom(...INTS)),
  weight: fc.constantFrom(...DOUBLES),
  height: orNull(fc.constantFrom(...DOUBLES)),
  active: fc.boolean(),
  approved: orNull(fc.boolean()),
  size: fc.constantFrom(...SIZES),
  color: orNull(fc.constantFrom(...COLORS)),
  seenAt: fc.constantFrom(...INSTANTS),
  leftAt: orNull(fc.constantFrom(...INSTANTS)),
});

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
const SPACES = ['', ' ', '\n', '\t', ' // a comment "\n'];

const oneOf = (...texts: string[]) => fc.constantFrom(...texts);

/** A text in one of the ways in which CEL writes strings. */
function spelt(text: string): fc.Arbitrary<string> {
  const codes = Array.from(text, (character) => (character.codePointAt(0) ?? 0).toString(16).padStart(8, '0'));
  return oneOf(
    JSON.stringify(text),
    `'${text.replaceAll(/['\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`)}'`,
    `"""${text.replaceAll(/["\\]/g, String.raw`\$&`)}"""`,
    /["\\\n]/.test(text) ? JSON.stringify(text) : `r"${text}"`,
    `"${codes.map((code) => String.raw`\U${code}`).join('')}"`,
  );
}

/** A whole number or one beside it. */
function int(value: number): fc.Arbitrary<string> {
  return fc.constantFrom(0, 0, 0, 1, -1).chain((more) => {
    const near = value + more;
    const written = near < 0 ? [`-0x${(-near).toString(16)}`, `${near}.0`] : [`0x${near.toString(16)}`, `${near}u`];
    return oneOf(`${near}`, `${near}`, ...written, `${near}.5`, ...NUMBERS);
  });
}

/** Around a time, in some zone, with up to nine digits of a second. */
function timestamp(milliseconds: number): fc.Arbitrary<string> {
  // Far from both ends of the calendar, where a shift or a zone would leave it.
  const near = Math.min(Math.max(milliseconds, Date.parse('0001-01-03T00:00:00Z')), Date.parse('9999-12-29T00:00:00Z'));
  const zones = fc.constantFrom(['Z', 0] as const, ['+02:00', 120] as const, ['-09:30', -570] as const);
  const shifts = fc.constantFrom(0, 0, 0, 1, -1, 1000, -60_000);
  return fc
    .tuple(zones, shifts, oneOf('', '', '000', '001', '999999', '001001', '0005'))
    .map(([[zone, minutes], shift, digits]) => {
      const local = new Date(near + shift + minutes * 60_000).toISOString().slice(0, -1);
      return `timestamp("${local}${digits}${zone}")`;
    });
}

/** A comparison, in either direction, or a list that the field may be in. */
function compared(field: string, literals: fc.Arbitrary<string>, operators = ['==', '!=', '<', '<=', '>', '>=']) {
  const elements = NULLABLE.includes(field) ? fc.oneof(literals, literals, fc.constant('null')) : literals;
  return fc.oneof(
    fc.array(elements, { maxLength: 3 }).map((list) => `${field} in [${list.join(', ')}]`),
    fc.tuple(literals, oneOf(...operators)).map(([literal, operator]) => `${literal} ${operator} ${field}`),
    fc.tuple(literals, oneOf(...operators)).map(([literal, operator]) => `${field} ${operator} ${literal}`),
  );
}

/** A condition without parts, mostly about a row that there is. */
function leafAbout({ name, description, count, rank, weight, height, seenAt, leftAt, id }: SampleRow): fc.Arbitrary<string> {
  const texts = fc
    .oneof(fc.constantFrom(name, description ?? ''), newTexts)
    .chain((text) => fc.tuple(fc.constant(Array.from(text)), fc.nat(2), fc.constantFrom(2, 4)))
    .chain(([characters, start, length]) => spelt(characters.slice(start, start + length).join('')));
  const text = oneOf('name', 'description', 'name.lowerAscii()', 'description.lowerAscii()');
  const search = fc
    .tuple(text, oneOf('contains', 'startsWith', 'endsWith', 'icontains'), texts)
    .map(([field, method, literal]) => `${field}.${method}(${literal})`);
  const double = (value: number) =>
    oneOf(...[1, 2, 3].map(() => `${Number.isFinite(value) ? value : 2.5}`), ...EXACT_AS_DOUBLES);
  const instant = (value: string) =>
    fc.oneof(fc.constant(`timestamp("${value}")`), timestamp(Temporal.Instant.from(value).epochMilliseconds));
  return fc.oneof(
    oneOf('true', 'false', 'active', 'approved', '!active', '!approved', '!!approved', '(active)'),
    compared('id', fc.constant(`"${id}"`)),
    compared('createdAt', timestamp(creationTime(id).getTime())),
    text.chain((field) => compared(field, texts)),
    search,
    search,
    compared('count', int(count)),
    compared('rank', int(rank ?? 0)),
    compared('weight', double(weight)),
    compared('height', double(height ?? 0)),
    oneOf('active', 'approved').chain((field) => compared(field, oneOf('true', 'false'))),
    compared('size', oneOf(...SIZES.map((size) => JSON.stringify(size))), ['==', '!=']),
    compared('color', oneOf(...COLORS.map((color) => JSON.stringify(color))), ['==', '!=']),
    compared('seenAt', instant(seenAt)),
    compared('leftAt', instant(leftAt ?? seenAt)),
    oneOf(...NULLABLE).chain((field) => oneOf(`${field} == null`, `null != ${field}`, `${field} in [null]`)),
  );
}

/** Filters that are valid, within the bounds, and often about the rows that there are. */
export function randomFilters(rows: readonly SampleRow[]): fc.Arbitrary<string> {
  const leaf = fc.oneof(...rows.map(leafAbout));
  const within = (part: fc.Arbitrary<string>) => {
    const joined = fc.tuple(part, oneOf('&&', '||'), part).map(([a, operator, b]) => `(${a}${operator}${b})`);
    const condition = fc.oneof(
      leaf,
      part.map((text) => `!(${text})`),
      part.map((text) => `(${text})`),
      joined,
      joined,
    );
    return fc.tuple(oneOf(...SPACES), condition, oneOf('', ' ')).map((parts) => parts.join(''));
  };
  // Four searches are allowed.
  return within(within(within(leaf))).filter((filter) => filter.split(/contains\(|endsWith\(/).length <= 5);
}
