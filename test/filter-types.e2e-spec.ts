import { DataSource } from 'typeorm';
import { v7 } from 'uuid';
import { constant } from '../src/platform/lists/filter/condition.js';
import { describeFilter } from '../src/platform/lists/filter/define-filter.js';
import { explain, keyStatements } from '../src/platform/lists/find-filtered.js';
import type { PageBody, ProblemBody } from './support/api.js';
import { insertSamples, Sample, sampleFilter, type SampleRow, SamplesModule } from './support/samples.js';
import { type Service, startService } from './support/service.js';

let service: Service;

/** By a letter each, oldest first; what is missing is absent. */
const SAMPLES: readonly (Partial<SampleRow> & Omit<SampleRow, keyof typeof EMPTY | 'id'>)[] = [
  { name: 'a', count: 0, weight: 0.1, active: true, size: 'small', seenAt: '2026-01-01T00:00:00.000000Z' },
  { name: 'b', count: -5, weight: -0, active: false, size: 'medium', seenAt: '2026-01-01T00:00:00.000001Z', rank: 1 },
  {
    name: 'c',
    count: 2_147_483_647,
    weight: 2 ** 53,
    active: true,
    size: 'large',
    seenAt: '2026-01-01T00:00:00.999999Z',
    approved: true,
  },
  {
    name: 'd',
    count: -2_147_483_648,
    weight: NaN,
    active: false,
    size: 'large',
    seenAt: '1969-12-31T23:59:59.999999Z',
    approved: false,
  },
  {
    name: 'e',
    count: 31,
    weight: Infinity,
    active: true,
    size: 'small',
    seenAt: '0001-01-01T00:00:00.000000Z',
    color: 'dark blue',
  },
  {
    name: 'f',
    count: 5,
    weight: 1e21,
    active: false,
    size: 'small',
    seenAt: '9999-12-31T23:59:59.999999Z',
    leftAt: '2026-01-01T00:00:00Z',
  },
];

const EMPTY = { description: null, rank: null, height: null, approved: null, color: null, leftAt: null };
const LETTERS = SAMPLES.map(({ name }) => name);
const ROWS: readonly SampleRow[] = SAMPLES.map((sample, seq) =>
  Object.assign({ id: v7({ msecs: 1_767_225_600_000, seq }) }, EMPTY, sample),
);
const letterOf = (id: string) => ROWS.find((row) => row.id === id)?.name ?? '?';

const listSamples = <Body = PageBody>(filter: string) =>
  service.api.call<Body>('GET', `/v1/samples?${new URLSearchParams({ filter }).toString()}`);

beforeAll(async () => {
  service = await startService({}, undefined, SamplesModule);
  await insertSamples(service.app.get(DataSource), ROWS);
});

afterAll(() => service.stop());

const ALL = LETTERS.join('');

describe('a filter finds', () => {
  it.each([
    // Whole numbers
    ['count == 5', 'f'],
    ['5 == count', 'f'],
    ['count == -5', 'b'],
    ['count == 0x1F', 'e'],
    ['count == -0x5', 'b'],
    ['count == 05', 'f'],
    ['count != 5', 'abcde'],
    ['count < 5', 'abd'],
    ['5 < count', 'ce'],
    ['count in [5, -5, 99999999999]', 'bf'],
    ['count in []', ''],
    // Beyond the column, and up to the bounds of CEL
    ['count > 2147483647', ''],
    ['count >= 2147483647', 'c'],
    ['count < 2147483648', ALL],
    ['count == 2147483648', ''],
    ['count > 9223372036854775807', ''],
    ['count <= 9223372036854775807', ALL],
    ['count > -9223372036854775808', ALL],
    ['count == -9223372036854775808', ''],
    ['rank == 32768', ''],
    ['rank < 32768', 'b'],
    ['rank in [1, 9223372036854775807]', 'b'],
    // Numbers of other types are compared by value
    ['count == 5u', 'f'],
    ['count < 18446744073709551615u', ALL],
    ['count == 18446744073709551615u', ''],
    ['count == 5.0', 'f'],
    ['count == 5.5', ''],
    ['count != 5.5', ALL],
    ['count < 5.5', 'abdf'],
    ['count <= 4.5', 'abd'],
    ['count > 4.5', 'cef'],
    ['count >= -4.5', 'acef'],
    ['count < 1e300', ALL],
    ['count > -1e300', ALL],
    ['count >= 1e300', ''],
    ['count in [5.0, 0.5, 0u]', 'af'],
    // Doubles
    ['weight == 0.1', 'a'],
    ['weight == 0', 'b'],
    ['weight == -0.0', 'b'],
    ['weight == 1e21', 'f'],
    ['weight == 1000000000000000000000.0', 'f'],
    ['weight < 1e-400', ''],
    ['weight in [0.1, 0, 5]', 'ab'],
    // 2^53 + 1 is a whole number that is no double, and lies between two
    ['weight == 9007199254740992', 'c'],
    ['weight == 9007199254740993', ''],
    ['weight < 9007199254740993', 'abc'],
    ['weight <= 9007199254740993', 'abc'],
    ['weight > 9007199254740993', 'ef'],
    ['weight >= 9007199254740993', 'ef'],
    ['weight in [9007199254740993]', ''],
    ['weight != 9007199254740993', ALL],
    // What is not a number is neither less nor greater
    ['weight > 0', 'acef'],
    ['weight <= 0 || weight > 0', 'abcef'],
    ['!(weight > 0)', 'bd'],
    ['weight != 0', 'acdef'],
    ['weight > 1.7976931348623157e308', 'e'],
    // True or false
    ['active', 'ace'],
    ['!active', 'bdf'],
    ['active == true', 'ace'],
    ['active != true', 'bdf'],
    ['false == active', 'bdf'],
    ['active in [true, false]', ALL],
    ['active in [false]', 'bdf'],
    ['active > false', 'ace'],
    ['active && size == "large" || count == 5', 'cf'],
    // Where it is absent, it is an error by itself, and another value in comparisons
    ['approved', 'c'],
    ['!approved', 'd'],
    ['!!approved', 'c'],
    ['approved || active', 'ace'],
    ['approved == true', 'c'],
    ['approved != true', 'abdef'],
    ['!(approved == true)', 'abdef'],
    ['approved in [true, null]', 'abcef'],
    ['approved == null', 'abef'],
    ['approved && false', ''],
    ['!(approved && false)', ALL],
    // One of some texts
    ['size == "small"', 'aef'],
    ['size != "small"', 'bcd'],
    ['size in ["small", "large"]', 'acdef'],
    ['color == "dark blue"', 'e'],
    ['color != "dark blue"', 'abcdf'],
    ['color in [null, "red"]', 'abcdf'],
    [String.raw`color == "\"'"`, ''],
    // Times, to the nanosecond
    ['seenAt == timestamp("2026-01-01T00:00:00Z")', 'a'],
    ['seenAt == timestamp("2026-01-01T00:00:00.000001Z")', 'b'],
    ['seenAt == timestamp("2026-01-01T00:00:00.000001001Z")', ''],
    ['seenAt != timestamp("2026-01-01T00:00:00.000001001Z")', ALL],
    ['seenAt > timestamp("2026-01-01T00:00:00.000000999Z")', 'bcf'],
    ['seenAt >= timestamp("2026-01-01T00:00:00.000000999Z")', 'bcf'],
    ['seenAt < timestamp("2026-01-01T00:00:00.000001001Z")', 'abde'],
    ['seenAt <= timestamp("2026-01-01T01:00:00.000000999+01:00")', 'ade'],
    ['seenAt < timestamp("1970-01-01T00:00:00Z")', 'de'],
    ['seenAt > timestamp("1969-12-31T23:59:59.999999Z")', 'abcf'],
    ['seenAt < timestamp("9999-12-31T23:59:59.999999999Z")', ALL],
    ['seenAt > timestamp("9999-12-31T23:59:59.999999999Z")', ''],
    ['seenAt <= timestamp("0001-01-01T00:00:00Z")', 'e'],
    ['seenAt in [timestamp("2026-01-01T00:00:00Z"), timestamp("2026-01-01T00:00:00.9999999Z")]', 'a'],
    // Absent values
    ['rank < 5', 'b'],
    ['!(rank < 5)', ''],
    ['rank != 5', ALL],
    ['rank == 5.5', ''],
    ['rank != 5.5', ALL],
    ['rank != null && rank < 5', 'b'],
    ['height == null', ALL],
    ['height > 0.5', ''],
    ['!(height > 0.5)', ''],
    ['leftAt == null', 'abcde'],
    ['leftAt < timestamp("2027-01-01T00:00:00Z")', 'f'],
    ['leftAt in [null, timestamp("2026-01-01T00:00:00Z")]', ALL],
  ])('%s', async (filter, letters) => {
    const { status, body } = await listSamples(filter);
    expect({ status, found: body.items.map(({ id }) => letterOf(id)).join('') }).toEqual({
      status: 200,
      found: Array.from(letters).toReversed().join(''),
    });
  });
});

/** A filter, in which the faulty part stands between two ¦; then the code and a part of the advice. */
const REFUSED: [filter: string, code: string, advice: string][] = [
  ['count == ¦"5"¦', 'type', 'compares count, which is a whole number, with something else: write 5'],
  ['count == ¦"-5"¦', 'type', 'write -5'],
  ['count == ¦"five"¦', 'type', 'write 5'],
  ['count == ¦true¦', 'type', 'a whole number'],
  ['count == ¦timestamp("2026-01-01T00:00:00Z")¦', 'type', 'a whole number'],
  ['count == ¦null¦', 'type', 'which it never is'],
  ['¦rank < null¦', 'type', 'order'],
  ['count in [1, ¦"2"¦]', 'type', 'write 2'],
  ['count in ¦5¦', 'type', 'write `count in [5]`'],
  ['count == ¦five¦', 'unknown_field', 'did you mean a value, as in 5?'],
  ['count == ¦NaN¦', 'unknown_field', 'did you mean a value'],
  ['count == ¦rank¦', 'unsupported', 'another field'],
  ['count == ¦-rank¦', 'unsupported', 'arithmetic'],
  ['count == ¦1 + 1¦', 'unsupported', 'arithmetic'],
  ['count == ¦--5¦', 'unsupported', 'arithmetic'],
  ['count == ¦-5u¦', 'type', 'leave the u out'],
  ['count == ¦-"5"¦', 'type', 'a whole number'],
  ['count == ¦-true¦', 'type', 'a whole number'],
  ['¦count¦', 'type', 'compare it, as in `count == 5`'],
  ['¦count.contains("5")¦', 'type', 'no text'],
  ['¦count.lowerAscii()¦ == "5"', 'type', 'field of text'],
  ['count < ¦9223372036854775808¦', 'value', 'more than 64 bits'],
  ['count < ¦-9223372036854775809¦', 'value', 'more than 64 bits'],
  [`count < ¦${'9'.repeat(500)}¦`, 'value', 'more than 64 bits'],
  [`count < ¦0x${'f'.repeat(17)}¦`, 'value', 'more than 64 bits'],
  ['count < ¦18446744073709551616u¦', 'value', 'more than 64 bits'],
  ['count < ¦1e400¦', 'value', 'more than 64 bits'],
  ['weight < -¦1e400¦', 'value', 'more than 64 bits'],
  ['weight < ¦9223372036854775808¦', 'value', 'more than 64 bits'],
  ['weight == ¦"1.5"¦', 'type', 'compares weight, which is a number, with something else: write 1.5'],
  ['weight == ¦Infinity¦', 'unknown_field', 'as in 1.5'],
  ['weight == 1¦,¦5', 'syntax', 'cannot be read'],
  ['active == ¦"True"¦', 'type', 'compares active, which is true or false, with something else: write true'],
  ['active == ¦1¦', 'type', 'write true'],
  ['active == ¦True¦', 'unknown_field', 'did you mean true?'],
  ['active == ¦yes¦', 'unknown_field', 'did you mean a value, as in true?'],
  ['active == ¦null¦', 'type', 'which it never is'],
  ['(active) == (¦count == 5¦)', 'unsupported', 'join conditions'],
  ['active == ¦approved¦', 'unsupported', 'another field'],
  ['¦active.contains("t")¦', 'type', 'no text'],
  ['size == ¦"smal"¦', 'value', 'compares size with "smal", which it never is; did you mean "small"?'],
  ['size == ¦"Small"¦', 'value', 'did you mean "small"?'],
  ['size in ["small", ¦"tiny"¦]', 'value', ': there are "small", "medium", "large"'],
  ['size == ¦5¦', 'type', 'compares size, which is one of "small", "medium", "large", with something else: write "small"'],
  ['size == ¦small¦', 'unknown_field', 'did you mean the text "small"?'],
  ['size == ¦null¦', 'type', 'which it never is'],
  ['¦size < "small"¦', 'type', 'compares the order of size, which has none: use `==`, `!=` or `in`'],
  ['¦"small" >= size¦', 'type', 'which has none'],
  ['¦size.contains("sm")¦', 'type', 'searches size, which is one of "small", "medium", "large": compare it instead'],
  ['¦size.lowerAscii()¦ == "small"', 'type', 'field of text'],
  ['seenAt > ¦"2026-01-01T00:00:00Z"¦', 'type', 'write `timestamp("2026-01-01T00:00:00Z")`'],
  ['seenAt > ¦1767225600¦', 'type', 'write `timestamp("…")`'],
  ['seenAt > timestamp(¦"2026-01-01"¦)', 'value', 'RFC 3339'],
  ['seenAt > timestamp(¦"10000-01-01T00:00:00Z"¦)', 'value', 'RFC 3339'],
  ['¦seenAt > null¦', 'type', 'order'],
  ['¦leftAt¦', 'type', 'compare it, as in `leftAt != null`'],
  [`${'active || '.repeat(32)}¦active¦`, 'limit', '32 conditions'],
];

describe('a filter is refused, with the place and how to fix it:', () => {
  it.each(REFUSED)('%s', async (marked, code, advice) => {
    const [before = '', part = '', after = ''] = marked.split('¦');
    const { status, body } = await listSamples<ProblemBody>(before + part + after);
    const start = before.length;
    const detail = expect.stringContaining(advice);
    expect({ status, errors: body.errors }).toEqual({
      status: 400,
      errors: [{ parameter: 'filter', code, detail, start, end: start + part.length }],
    });
  });
});

it('describes fields of every type', () => {
  expect(describeFilter(sampleFilter)).toContain(
    [
      '- `count`: a whole number, written `5`',
      '- `rank`: a whole number, written `5`; absent where `== null`',
      '- `weight`: a number, written `1.5`',
      '- `height`: a number, written `1.5`; absent where `== null`',
      '- `active`: true or false, written `true`, or a condition by itself',
      '- `approved`: true or false, written `true`, or a condition by itself; absent where `== null`',
      '- `size`: one of "small", "medium", "large", written `"small"`',
      String.raw`- ${'`color`'}: one of "red", "dark blue", "\"'", written ${'`"red"`'}; absent where ${'`== null`'}`,
      '- `seenAt`: a time, written `timestamp("2026-01-31T12:00:00Z")`',
      '- `leftAt`: a time, written `timestamp("2026-01-31T12:00:00Z")`; absent where `== null`',
    ].join('\n'),
  );
});

it('finds fields of every type by their indexes, whatever the value', async () => {
  const { manager } = service.app.get(DataSource);
  await manager.query(`
    INSERT INTO samples SELECT gen_random_uuid(), '', NULL, n, n % 30000, n, n, n = 1, n = 1,
      CASE n WHEN 1 THEN 'large' ELSE 'small' END, CASE n WHEN 1 THEN 'red' END,
      TIMESTAMPTZ '2020-01-01T00:00:00Z' + n * interval '1 day', TIMESTAMPTZ '2020-01-01T00:00:00Z' + n * interval '1 day'
    FROM generate_series(1, 20000) n`);
  await manager.query('ANALYZE samples');
  const samples = manager.getRepository(Sample);
  const readsTable = async (filter: string) => {
    const { condition } = sampleFilter.parse(filter);
    const statements = keyStatements(samples.metadata, condition ?? constant(true), undefined, 21);
    return (await explain(samples, statements.all)).readsTable;
  };
  const indexed = [
    'count == 5',
    'count == 5.0',
    'count > 19990',
    'count >= 19990.5',
    'count < 5u',
    'count in [1, 2, 3]',
    'count > 3000000000',
    'rank == 5',
    'rank > 29990',
    'rank in [1, 2]',
    'rank != null && rank < 2',
    'weight == 5',
    'weight == 0.5',
    'weight > 19990',
    'weight in [1, 2.5]',
    'weight < 1e-3',
    'height >= 19990',
    'active',
    'active == true',
    'active in [true]',
    'approved',
    'approved == true',
    'size == "large"',
    'size in ["large", "medium"]',
    'color == "red"',
    'color in ["red"]',
    'seenAt > timestamp("2074-09-01T00:00:00Z")',
    'seenAt == timestamp("2020-01-02T00:00:00Z")',
    'seenAt < timestamp("2020-01-03T00:00:00.000000001Z")',
    'leftAt in [timestamp("2020-01-02T00:00:00Z")]',
  ];
  for (const filter of indexed) {
    expect([filter, await readsTable(filter)]).toEqual([filter, false]);
  }
  // And it can tell: no index helps with what most rows have.
  expect(await readsTable('count != 5')).toBe(true);
});
