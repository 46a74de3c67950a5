import type { Random } from './random.js';

/** Inputs that have broken other services: SQL, wildcards, escapes, other languages, and text that is hard to parse. */
const SQL = [`' OR '1'='1`, `'; DROP TABLE items; --`, `") OR TRUE --`, `" UNION SELECT token FROM access_tokens --`];
const CALLS = ['(SELECT pg_sleep(10))', 'CAST(name AS int)', '[1,2,3].all(x, x > 0)'];
const ODD = ['\u0000', '\u0007', '\u2028', '\uFEFF', '\uFFFF', '😀', 'é\u0301'];
const PAYLOADS = [
  ...[SQL, CALLS, ODD].flat(),
  ...String.raw`$1 $$ :filter0 :...filter0 %s \ \' \u0000 \xff \377 \uD800 /* // -- {{7*7}} pg_sleep(10) name::text`.split(' '),
  ...'"items"."name" constructor __proto__ toString this.name request.auth has(name) name.matches("(a+)+$") ${7*7}'.split(' '),
  ...String.raw`dyn(name) type(name) duration("1s") 9223372036854775808 0x 1e999 -9u b"\xff" r"\\" """ '''`.split(' '),
];

const TOKENS = [
  'name id description createdAt true false null in as x _ r b timestamp',
  '== != < <= > >= && || ! ( ) [ ] { } , . ? : + - * / % = & | ~ ^ @ # ` ; \\ \n \u0000',
  `"a" 'a' r"a" b"a" "" 1 1u 1.5 .5 0x1 timestamp("2026-01-01T00:00:00Z")`,
  '.contains( .startsWith("a") .lowerAscii() .matches("a") .all(x,true)',
].flatMap((tokens) => tokens.split(' '));

/** Values of every type at and beyond the limits of columns and of CEL, and invalid ones. */
const LONG = ['9'.repeat(400), `0x${'f'.repeat(40)}`, `${'9'.repeat(400)}.0`];
const TIMES = (
  '0001-01-01T00:00:00Z 9999-12-31T23:59:59.999999999Z 9999-12-31T23:59:59.999999999-23:59 -000001-01-01T00:00:00Z ' +
  'infinity now 2026-01-01T00:00:00.0000000001Z'
).split(' ');
const VALUES = [
  ...'0 -0 5 -5 5u -5u 2147483648 -2147483649 9223372036854775807 9223372036854775808 -9223372036854775808'.split(' '),
  ...'-9223372036854775809 18446744073709551615u 18446744073709551616u -0x8000000000000000'.split(' '),
  ...'0.5 -0.0 5e-324 1e-400 1.7976931348623157e308 1.7976931348623159e308 1e400 -1e400 NaN Infinity -Infinity'.split(' '),
  ...'1_000 1,5 ٣ true -true null -null "5" "NaN" "true" "small" "Small" -"small" timestamp(1767225600)'.split(' '),
  '"dark blue"',
  ...LONG,
  ...TIMES.map((time) => `timestamp("${time}")`),
];

/** Parts that are repeated until a limit is exceeded. */
const REPEATED = [
  '((name',
  'name == "a" || ',
  'true && ',
  ...String.raw`( [ ! - { name. !( "a", [[ name.contains( \ " ''' timestamp( x?y:`.split(' '),
];

/** A malicious expression or a damaged valid one. Some happen to be valid. */
export function hostileFilter(random: Random, valid: string, fields = ['id', 'name', 'description', 'createdAt']): string {
  const operators = ['==', '!=', '<', '<=', '>', '>='];
  return random.of([
    () => `${random.of(fields)} ${random.of(operators)} ${random.of(VALUES)}`,
    () => `${random.of(VALUES)} ${random.of(operators)} ${random.of(fields)}`,
    () => `${random.of(fields)} in [${random.list(random.below(3), () => random.of(VALUES)).join()}]`,
    () => `!${random.of(fields)} ${random.of(['&&', '||', '=='])} ${random.of(fields)}`,
    () => random.of(PAYLOADS) + random.of(['', ' == "a"', valid]),
    () => `name == "${random.of(PAYLOADS)}"`,
    () => `name.${random.of(['contains', 'startsWith', 'icontains'])}('${random.of(PAYLOADS)}')`,
    () => `id == "${random.of(PAYLOADS)}" || createdAt < timestamp("${random.of(PAYLOADS)}")`,
    () => `${random.of(PAYLOADS)} ${random.of(['==', '<', 'in', '&&'])} ${random.of(PAYLOADS)}`,
    () => random.list(1 + random.below(30), () => random.of(TOKENS)).join(random.of(['', ' '])),
    () =>
      `${random
        .of(REPEATED)
        .repeat(1 + random.below(400))
        .slice(0, 2100)}${random.of(['', valid])}`,
    () => damaged(random, valid),
    () => damaged(random, damaged(random, valid)),
    () => valid.repeat(1 + random.below(20)).slice(0, 2100),
  ])();
}

function damaged(random: Random, valid: string): string {
  const at = random.below(valid.length + 1);
  const insertion = random.of([...TOKENS, ...PAYLOADS, '', '', '']);
  return valid.slice(0, at) + insertion + valid.slice(at + random.below(3));
}
