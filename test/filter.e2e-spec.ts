import { v7 } from 'uuid';
import { DataSource } from 'typeorm';
import { Item } from '../src/items/item.entity.js';
import { runStatement } from '../src/platform/database/run-statement.js';
import { describeFilter } from '../src/platform/lists/filter/define-filter.js';
import { explain } from '../src/platform/lists/find-filtered.js';
import { ALL_ROWS } from '../src/platform/lists/list-restriction.js';
import { sourcesOf } from '../src/platform/lists/sources.js';
import type { Answer, PageBody, ProblemBody } from './support/api.js';
import { NODES_311, REFUSED_FILTERS } from './support/refused-filters.js';
import { insertSamples, Sample, sampleFilter, type SampleRow, SamplesModule } from './support/samples.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// The semantics of filters are tested by filter-oracle.e2e-spec.ts; this file tests errors and cases that its oracle does not support.

const service = useService(() => startService({}, undefined, SamplesModule));

const newIds = (times: readonly string[]) => times.map((time, seq) => v7({ msecs: Date.parse(time), seq }));

/** Oldest first, by a letter each. */
const ITEMS: readonly (readonly [created: string, name: string, description: string | null])[] = [
  ['2024-06-14T10:14:09.300Z', 'Blue bicycle', 'Seven gears, one bell.'],
  ['2024-06-14T10:14:09.300Z', 'blue bicycle', null],
  ['2025-01-01T00:00:00.000Z', 'Red bicycle', ''],
  ['2025-06-01T00:00:00.000Z', '100% wool', 'a_b'],
  ['2025-12-31T23:59:59.999Z', '100 wool', 'a*b'],
  ['2026-01-01T00:00:00.000Z', 'back\\slash', `it's "quoted"`],
  ['2026-01-01T00:00:00.001Z', 'ÉCOLE', 'école'],
  ['2026-03-01T00:00:00.000Z', '😀', null],
  ['2026-03-02T00:00:00.000Z', '\uFEFFmark', '\uFFFD'],
  ['2026-03-03T00:00:00.000Z', 'line\nbreak', 'tab\there'],
  ['2026-03-04T00:00:00.000Z', 'Zebra', 'NULL'],
  ['2026-03-05T00:00:00.000Z', 'x', "1'; DROP TABLE items; --"],
];
const ALL = 'abcdefghijkl';
const ITEM_IDS = newIds(ITEMS.map(([created]) => created));
const idOf = (letter: string) => ITEM_IDS[ALL.indexOf(letter)] ?? '';

const EMPTY = { description: null, rank: null, height: null, approved: null, color: null, leftAt: null };
const SAMPLES: readonly (Partial<SampleRow> & Omit<SampleRow, keyof typeof EMPTY | 'id'>)[] = [
  { name: 'a', count: 0, weight: 0.1, active: true, size: 'small', seenAt: '2026-01-01T00:00:00.000000Z' },
  { name: 'b', count: -5, weight: -0, active: false, size: 'medium', seenAt: '2026-01-01T00:00:00.000001Z', rank: 1 },
  {
    name: 'c',
    count: 2 ** 31 - 1,
    weight: 1e21,
    active: true,
    size: 'large',
    seenAt: '2026-01-02T00:00:00Z',
    approved: true,
  },
  {
    name: 'd',
    count: -(2 ** 31),
    weight: NaN,
    active: false,
    size: 'large',
    seenAt: '0001-01-01T00:00:00Z',
    approved: false,
  },
  { name: 'e', count: 5, weight: Infinity, active: true, size: 'small', seenAt: '9999-12-31T23:59:59Z', color: 'dark blue' },
];
const SAMPLE_IDS = newIds(SAMPLES.map(() => '2026-01-01T00:00:00Z'));

beforeAll(async () => {
  const items = ITEMS.map(([, name, description], place) => ({ id: ITEM_IDS[place] ?? '', name, description }));
  await service.app.get(DataSource).getRepository(Item).insert(items);
  const samples = SAMPLES.map((sample, place) => Object.assign({ id: SAMPLE_IDS[place] ?? '' }, EMPTY, sample));
  await insertSamples(service.app.get(DataSource), samples);
});

function list<Body = PageBody>(path: 'items' | 'samples', filter: string): Promise<Answer<Body>> {
  return service.api.call<Body>('GET', `/v1/${path}?${new URLSearchParams({ filter }).toString()}`);
}

async function expectFound(path: 'items' | 'samples', filter: string, letters: string): Promise<void> {
  const ids = path === 'items' ? ITEM_IDS : SAMPLE_IDS;
  const { status, body } = await list(path, filter);
  expect([status, body.items.map(({ id }) => ALL[ids.indexOf(id)])]).toEqual([200, Array.from(letters).toReversed()]);
}

describe('a filter of items matches [filter-contains] [filter-starts-ends] [filter-logic] [filter-blank] [filter-code-point] [filter-membership] [filter-no-wildcards] [filter-icontains] [filter-lower-ascii] [filter-null] [filter-literals] [filter-size] [filter-conditions] [filter-comparison]', () => {
  it.each([
    ['', ALL],
    [' \n\t', ALL],
    ['true // not false', ALL],
    ['true || false && false', ALL],
    // String literals as CEL has them
    [String.raw`name == "\u00C9COLE" || name == "\x78"`, 'gl'],
    [String.raw`name == "\170" || description == "tab\there"`, 'jl'],
    // Order by code point, not by language
    ['name < "A"', 'de'],
    ['"Z" <= name && "[" > name', 'k'],
    ['name > "x"', 'ghi'],
    ['name > "\uFFFD"', 'h'],
    [`name in [${Array.from({ length: 100 }, (_, index) => (index === 50 ? '"x"' : '"y"')).join()}]`, 'l'],
    // No character is a wildcard
    ['name.contains("%") || description.contains("_") || description.contains("*")', 'de'],
    // Texts
    ['name.contains("bicycle")', 'abc'],
    ['name.startsWith("Blue")', 'a'],
    ['name.endsWith("wool")', 'de'],
    ['name.startsWith("bicycle") || name.endsWith("Blue")', ''],
    // Case
    ['name.icontains("école")', 'g'],
    ['name.lowerAscii() == "École"', 'g'],
    ['name.lowerAscii() == "école"', ''],
    // Absent descriptions, as docs/filtering.md has them
    ['!description.contains("b")', 'cfgikl'],
    ['description == null || !description.contains("b")', 'bcfghikl'],
    // Ids, by value
    [`id == "${idOf('c').toUpperCase()}"`, 'c'],
    [`id in ["${idOf('c')}", "${idOf('k').toUpperCase()}"]`, 'ck'],
    // Times, at the bounds and in other zones
    ['createdAt != timestamp("2024-06-14T10:14:09.300000001Z")', ALL],
    ['createdAt > timestamp("1969-12-31T23:59:59Z")', ALL],
    ['createdAt < timestamp("9999-12-31T23:59:59.999999999Z") && createdAt > timestamp("0001-01-01T00:00:00Z")', ALL],
    ['createdAt < timestamp("2026-01-01T00:00:00.001Z") && createdAt >= timestamp("2026-01-01T00:00:00Z")', 'f'],
    ['createdAt <= timestamp("2026-01-01T00:00:00Z") && createdAt > timestamp("2025-12-31T23:59:59.999Z")', 'f'],
    // As much as is allowed
    [Array.from({ length: 32 }, () => 'name == "x"').join(' || '), 'l'],
    [`${'('.repeat(16)}name == "x"${')'.repeat(16)}`, 'l'],
    [`${'!'.repeat(398)}true`, ALL],
    [`${'true && '.repeat(199)}true`, ALL],
    ['name == "x"'.padEnd(2000), 'l'],
    [`${NODES_311} || name in [${Array(85).fill('"x"').join()}]`, 'l'],
    [`name == "${'😀'.repeat(1000)}"`, ''],
  ])('%s', (filter, letters) => expectFound('items', filter, letters));
});

describe('a filter of every type matches [filter-null] [filter-comparison]', () => {
  it.each([
    // Numbers are compared by value, regardless of type, also beyond the range of the column.
    ['count > 4.5', 'ce'],
    ['count < 18446744073709551615u && count > -1e300', 'abcde'],
    ['rank in [1, 9223372036854775807]', 'b'],
    // NaN is neither less nor greater than any number.
    ['weight <= 0 || weight > 0', 'abce'],
    ['weight > 1.7976931348623157e308', 'e'],
    // Where it is absent, it is an error by itself, and another value in comparisons.
    ['active && size == "large"', 'c'],
    ['color != "dark blue"', 'abcd'],
    // To the nanosecond
    ['seenAt > timestamp("2026-01-01T00:00:00.000000999Z")', 'bce'],
    ['seenAt <= timestamp("2026-01-01T01:00:00.000000999+01:00")', 'ad'],
    ['seenAt == timestamp("2026-01-01T00:00:00.000001001Z")', ''],
    ['seenAt in [timestamp("2026-01-01T00:00:00Z"), timestamp("2026-01-01T00:00:00.0000001Z")]', 'a'],
  ])('%s', (filter, letters) => expectFound('samples', filter, letters));
});

describe('a filter is refused with its position and the fix: [filter-error-position] [filter-unsupported] [filter-size] [filter-conditions]', () => {
  it.each(REFUSED_FILTERS)('%s %s', async (path, marked, code, advice) => {
    const [before = '', part = '', after = ''] = marked.split('¦');
    const start = Array.from(before).length;
    const { status, body } = await list<ProblemBody>(path, before + part + after);
    const fault = {
      parameter: 'filter',
      code,
      detail: expect.stringContaining(advice),
      start,
      end: start + Array.from(part).length,
    };
    expect([status, body.type, body.errors]).toEqual([400, '/docs/problems#invalid-parameters', [fault]]);
    expect(body.detail).toMatch(/^filter .*[.?]$/s);
  });

  it('is reported once when it is repeated, and alone when the cursor depends on it', async () => {
    const twice = await service.api.call('GET', '/v1/items?filter=true&filter=true');
    expect(twice.body.errors).toEqual([{ parameter: 'filter', code: 'repeated', detail: expect.any(String) }]);
    const { nextCursor = '' } = (await service.api.list({ limit: '1' })).body;
    const { body } = await service.api.list<ProblemBody>({ cursor: nextCursor, filter: 'nam == "x"' });
    expect(body.errors?.map(({ parameter }) => parameter)).toEqual(['filter']);
  });

  it('reports its errors together with those of other parameters [all-errors]', async () => {
    const { body } = await service.api.list<ProblemBody>({ limit: '0', filter: 'nam == "x"' });
    expect(body.errors?.map(({ parameter, code }) => `${parameter} ${code}`).toSorted()).toEqual([
      'filter unknown_field',
      'limit range',
    ]);
  });

  it.each([
    ['filter=true&filter=true&limit=0&page=2', ['filter repeated', 'limit range', 'page unknown']],
    ['filter=%FF&limit=5&limit=5&cursor=abc', ['filter encoding', 'limit repeated']],
    [
      'filter=name&cursor=%FF&%FF=1&__proto__=1&__proto__=2',
      ['%FF encoding', '__proto__ repeated', 'cursor encoding', 'filter type'],
    ],
    ['cursor=abc&page=%FF&page=1&%6Cimit=%', ['cursor cursor', 'limit encoding', 'page encoding']],
  ])('is reported together with what is repeated or malformed: %s [all-errors]', async (query, faults) => {
    const { status, body } = await service.api.call('GET', `/v1/items?${query}`);
    const found = body.errors?.map(({ parameter, code }) => `${parameter} ${code}`);
    expect([status, found?.toSorted()]).toEqual([400, faults]);
  });
});

describe('paging through a filter', () => {
  it('continues after the last page, for the same filter only [cursor-one-filter] [cursor-only-if-more]', async () => {
    const filter = 'name.contains("bicycle") || description == null';
    const first = await service.api.list({ filter, limit: '3' });
    expect(first.body.items.map(({ id }) => id)).toEqual([idOf('h'), idOf('c'), idOf('b')]);
    const cursor = first.body.nextCursor ?? '';
    // No next page after exactly as many as asked for.
    const second = await service.api.list({ filter, limit: '1', cursor });
    expect(second.body).toEqual({ items: [expect.objectContaining({ id: idOf('a') })] });
    for (const other of [{}, { filter: '' }, { filter: `${filter} ` }, { filter: 'true' }]) {
      const { status, body } = await service.api.list<ProblemBody>({ ...other, cursor });
      expect(status).toBe(400);
      expect(body.errors).toEqual([expect.objectContaining({ parameter: 'cursor', code: 'cursor' })]);
    }
  });
});

it('describes fields of every type', () => {
  const description = describeFilter(sampleFilter);
  for (const line of [
    '- `rank`: a whole number, written `5` or `null`',
    '- `weight`: a number, written `1.5`',
    '- `active`: true or false, written `true`; also a condition by itself',
    '- `size`: one of "small", "medium", "large", written `"small"`',
    '- `leftAt`: a time, written `timestamp("2026-01-31T12:00:00Z")` or `null`',
  ]) {
    expect(description).toContain(`${line}\n`);
  }
});

it('finds fields of every type by their indexes, for any value', async () => {
  const { manager } = service.app.get(DataSource);
  await manager.query(`
    INSERT INTO sample_rows SELECT gen_random_uuid(), '', NULL, n, n % 30000, n, n, n = 1, n = 1,
      CASE n WHEN 1 THEN 'large' ELSE 'small' END, CASE n WHEN 1 THEN 'red' END,
      TIMESTAMPTZ '2020-01-01T00:00:00Z' + n * interval '1 day', TIMESTAMPTZ '2020-01-01T00:00:00Z' + n * interval '1 day'
    FROM generate_series(1, 20000) n`);
  await manager.query('ANALYZE sample_rows');
  const samples = manager.getRepository(Sample);
  const readsTable = async (filter: string) => {
    const { all } = sourcesOf(samples.metadata, { limit: 20, filter: sampleFilter.parse(filter) }, ALL_ROWS);
    return (await explain((statement) => runStatement(samples.manager, statement), all)).readsTable;
  };
  const indexed = [
    ['count == 5.0', 'count >= 19990.5', 'count < 5u', 'count in [1, 2, 3]', 'count > 3000000000'],
    ['rank > 29990', 'rank in [1, 2]', 'rank != null && rank < 2'],
    ['weight == 5', 'weight > 19990', 'weight in [1, 2.5]', 'height >= 19990'],
    ['active', 'active in [true]', 'approved', 'approved == true'],
    ['size == "large"', 'size in ["large", "medium"]', 'color == "red"', 'color in ["red"]'],
    ['seenAt > timestamp("2074-09-01T00:00:00Z")', 'seenAt < timestamp("2020-01-03T00:00:00.000000001Z")'],
    ['leftAt in [timestamp("2020-01-02T00:00:00Z")]'],
  ].flat();
  for (const filter of indexed) {
    expect([filter, await readsTable(filter)]).toEqual([filter, false]);
  }
  // And it can tell: no index helps with what most rows have.
  expect(await readsTable('count != 5')).toBe(true);
});
