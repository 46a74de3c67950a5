import * as fc from 'fast-check';

/** Inputs that have broken other services: SQL, wildcards, escapes, other languages, and text that is hard to parse. */
const SQL = [`' OR '1'='1`, `'; DROP TABLE items; --`, `") OR TRUE --`, `" UNION SELECT token FROM access_tokens --`];
const CALLS = ['(SELECT pg_sleep(10))', 'CAST(name AS int)', '[1,2,3].all(x, x > 0)'];
const ODD = ['\u0000', '\u0007', '\u2028', '\uFEFF', '\uFFFF', '😀', 'é\u0301'];
const PAYLOADS = [
  ...[SQL, CALLS, ODD].flat(),
  ...String.raw`$1 $$ :filter0 :...filter0 %s \ \' \u0000 \xff \377 \uD800 /* // -- {{7*7}} pg_sleep(10) name::text`.split(
    ' ',
  ),
  ...'"items"."name" constructor __proto__ toString this.name request.auth has(name) name.matches("(a+)+$") ${7*7}'.split(
    ' ',
  ),
  ...String.raw`dyn(name) type(name) duration("1s") 9223372036854775808 0x 1e999 -9u b"\xff" r"\\" """ '''`.split(' '),
];

const TOKENS = [
  'name id description createdAt true false null in as x _ r b timestamp',
  '== != < <= > >= && || ! ( ) [ ] { } , . ? : + - * / % = & | ~ ^ @ # ` ; \\ \n \u0000',
  `"a" 'a' r"a" b"a" "" 1 1u 1.5 .5 0x1 timestamp("2026-01-01T00:00:00Z")`,
  '.contains( .startsWith("a") .lowerAscii() .matches("a") .all(x,true)',
].flatMap((tokens) => tokens.split(' '));

/** Values of every type at and beyond the limits of columns and of CEL, and invalid ones. */
const TIMES = '0001-01-01T00:00:00Z 9999-12-31T23:59:59.999999999-23:59 -000001-01-01T00:00:00Z infinity now';
const VALUES = [
  ...'0 -0 5u -5u 2147483648 9223372036854775807 9223372036854775808 -9223372036854775809 18446744073709551616u'.split(' '),
  ...'0.5 5e-324 1e-400 1.7976931348623159e308 1e400 NaN -Infinity 1_000 1,5 ٣ -true null -null "5" "true" "Small"'.split(
    ' ',
  ),
  '"dark blue"',
  '9'.repeat(400),
  `0x${'f'.repeat(40)}`,
  ...TIMES.split(' ').map((time) => `timestamp("${time}")`),
];

/** Parts that are repeated until a limit is exceeded. */
const REPEATED = [
  '((name',
  'name == "a" || ',
  ...String.raw`( [ ! - name. !( "a", name.contains( \ " ''' timestamp( x?y:`.split(' '),
];

const oneOf = (...texts: string[]) => fc.constantFrom(...texts);
const payload = oneOf(...PAYLOADS);

function joined(separator: string, ...parts: fc.Arbitrary<string>[]): fc.Arbitrary<string> {
  return fc.tuple(...parts).map((texts) => texts.join(separator));
}

/** Malicious expressions and damaged valid ones. Some happen to be valid. */
export function hostileFilters(valid: fc.Arbitrary<string>, fields: readonly string[]): fc.Arbitrary<string> {
  const field = oneOf(...fields);
  const operator = oneOf('==', '!=', '<', '<=', '>', '>=', '&&', '||', 'in');
  const damaged = fc
    .tuple(valid, fc.nat(), oneOf(...TOKENS, ...PAYLOADS, '', ''), fc.nat(2))
    .map(([filter, number, insertion, cut]) => {
      const at = number % (filter.length + 1);
      return filter.slice(0, at) + insertion + filter.slice(at + cut);
    });
  return fc.oneof(
    joined(' ', field, operator, oneOf(...VALUES)),
    joined(' ', oneOf(...VALUES), operator, field),
    joined(
      '',
      field,
      fc.array(oneOf(...VALUES), { maxLength: 3 }).map((list) => ` in [${list.join()}]`),
    ),
    joined('', payload, fc.oneof(oneOf('', ' == "a"'), valid)),
    joined('', oneOf('name == "', 'name.contains("', 'id == "', 'createdAt < timestamp("'), payload, oneOf('"', '")')),
    joined(' ', payload, operator, payload),
    fc
      .tuple(fc.array(oneOf(...TOKENS), { minLength: 1, maxLength: 30 }), oneOf('', ' '))
      .map(([tokens, by]) => tokens.join(by)),
    fc
      .tuple(oneOf(...REPEATED), fc.nat(400), valid)
      .map(([part, times, filter]) => part.repeat(times).slice(0, 2100) + filter),
    damaged,
    damaged,
    fc.tuple(valid, fc.integer({ min: 2, max: 20 })).map(([filter, times]) => filter.repeat(times).slice(0, 2100)),
  );
}
