import * as fc from 'fast-check';

/** Bytes that the body of a request may have. */
const BODY_BYTES = 65_536;

/** Parts of texts that cost most to escape, mask, count or repeat in a problem, as they are in JSON. */
const UNITS = [
  ...String.raw`x ~ / \" \\ \u0001 \u0000 \ud800 \n 😀 é % %2e . items_ items_aaaaaaaaaaaaaaaaaaaaaaa. eyJ eyJ. a.a!`.split(
    ' ',
  ),
  ' ',
  `items_${'a'.repeat(40)}-`,
];

/** Values of members, small ones first. */
const VALUES = [
  ...String.raw`1 {} [] "" null "\u0000" "\ud800" 1e9 -0 0.1 true {"a":1} {"name":"x"} [[[[]]]] {"then":1}`.split(' '),
  `${'['.repeat(28)}1${']'.repeat(28)}`,
  `${'{"a":'.repeat(28)}1${'}'.repeat(28)}`,
  `"${'😀'.repeat(200)}"`,
  '9'.repeat(400),
];

const PROTOTYPE = 'constructor __proto__ prototype toString valueOf hasOwnProperty then'.split(' ');

/** Names by their number, of which some are integers, names of JavaScript or all the same. */
const NAMES: readonly ((index: number) => string)[] = [
  (index) => index.toString(36),
  String,
  (index) => String(index * 7919),
  (index) => PROTOTYPE[index % PROTOTYPE.length] ?? '',
  () => 'name',
];

/** Where members are: in the body itself, or deeper. */
const SHELLS: readonly [before: string, after: string][] = [
  ['{"name":', '}'],
  ['{"name":"x","description":', '}'],
  ['{"name":"x","other":', '}'],
  ['{"name":"x","__proto__":', '}'],
  ['{"a":'.repeat(30), '}'.repeat(30)],
  [`{"name":${'['.repeat(30)}`, `${']'.repeat(30)}}`],
];

const oneOf = <T>(...values: readonly T[]) => fc.constantFrom(...values);
const count = fc.oneof(oneOf(1, 99, 100, 101, 300, 398, 399, 400, BODY_BYTES), fc.integer({ min: 1, max: 1000 }));
const length = fc.oneof(oneOf(0, 40, 250, 640, 30_000, BODY_BYTES), fc.nat(100));

/** So many parts as fit in the bytes, joined by commas. */
function joined(partOf: (index: number) => string, most: number, bytes: number): string {
  let text = '';
  for (let index = 0; index < most; index += 1) {
    const part = `${index === 0 ? '' : ','}${partOf(index)}`;
    if (Buffer.byteLength(text) + Buffer.byteLength(part) > bytes) break;
    text += part;
  }
  return text;
}

const filled = (unit: string, bytes: number) => unit.repeat(Math.max(0, Math.floor(bytes / Buffer.byteLength(unit))));

/** Many members, or long ones, in one place. */
const crowded = fc
  .record({ shell: oneOf(['', ''] as const, ...SHELLS), nameOf: oneOf(...NAMES), isList: fc.boolean() })
  .chain(({ shell: [before, after], nameOf, isList }) =>
    fc.tuple(count, length, oneOf(...UNITS), oneOf(...VALUES)).map(([most, wanted, unit, value]) => {
      const room = BODY_BYTES - before.length - after.length - 2;
      const long = filled(unit, Math.min(wanted, room - 20 - Buffer.byteLength(value)));
      if (isList && before !== '') {
        return `${before}[${joined(() => (long === '' ? value : `"${long}"`), most, room)}]${after}`;
      }
      return `${before}{${joined((index) => `"${long}${nameOf(index)}":${value}`, most, room)}}${after}`;
    }),
  );

/** One long text, number or run of white space. */
const long = fc.tuple(oneOf(...UNITS), length).map(([unit, bytes]) => filled(unit, Math.min(bytes, BODY_BYTES - 40)));
const lengthy = fc.oneof(
  long.map((text) => `{"name":"${text}"}`),
  long.map((text) => `{"name":"x","description":"${text}"}`),
  length.map((digits) => `{"name":${'3'.repeat(Math.max(1, Math.min(digits, BODY_BYTES - 20)))}}`),
  length.map((spaces) => `{"name":"x"${' '.repeat(Math.min(spaces, BODY_BYTES - 20))}}`),
  fc.tuple(oneOf('[', ']', '{"a":', '"', ',', '\\', 'x'), length).map(([part, bytes]) => filled(part, bytes)),
);

/** Bodies of at most 64 KiB that are laborious to read, to validate or to refuse. Some are valid, others are no JSON. */
export const hostileBodies: fc.Arbitrary<string> = fc
  .tuple(fc.oneof({ arbitrary: crowded, weight: 4 }, lengthy), fc.nat(9))
  .map(([body, damage]) => (damage === 0 ? body.slice(0, -1) : body));
