import { v7 } from 'uuid';
import { DataSource } from 'typeorm';
import { itemFilter } from '../src/items/item.filter.js';
import { Item } from '../src/items/item.entity.js';
import type { Statement } from '../src/platform/database/run-statement.js';
import { constant } from '../src/platform/lists/filter/condition.js';
import { keyStatements } from '../src/platform/lists/find-filtered.js';
import type { ProblemBody } from './support/api.js';
import { type ItemRow, matchesOf } from './support/cel-oracle.js';
import { hostileFilter } from './support/hostile-filter.js';
import { Random } from './support/random.js';
import { RandomFilter, randomSample, randomText } from './support/random-filter.js';
import { insertSamples, Sample, sampleFilter, type SampleRow, SamplesModule } from './support/samples.js';
import { type Service, startService } from './support/service.js';

/** More of them take minutes: `FUZZ_FILTERS=20000 npm test -- filter-oracle`. */
const FILTERS = Number(process.env['FUZZ_FILTERS'] ?? 700);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_101);

/** A busy machine takes longer than tests usually may, in milliseconds. */
const PATIENCE = FILTERS * 100;

let service: Service;
let rows: ItemRow[];
let samples: SampleRow[];

beforeAll(async () => {
  service = await startService({}, undefined, SamplesModule);
  const random = new Random(SEED);
  rows = Array.from({ length: 50 }, (_, index) => ({
    // Several within a millisecond, some in the next one, some far away.
    id: v7({ msecs: 1_767_225_600_000 + random.of([0, 1, 2, 999, 86_400_000]), seq: index }),
    name: randomText(random) || 'x',
    description: random.below(3) === 0 ? null : randomText(random, 6),
  }));
  await service.app.get(DataSource).getRepository(Item).insert(rows);
  samples = Array.from({ length: 50 }, (_, index) => randomSample(random, index));
  await insertSamples(service.app.get(DataSource), samples);
});

afterAll(() => service.stop());

it(
  `finds the same as another implementation of CEL, for ${FILTERS} random filters`,
  async () => {
    const random = new Random(SEED);
    const differences: object[] = [];
    let matched = 0;
    for (let number = 0; number < FILTERS; number += 1) {
      const filter = new RandomFilter(random, rows).expression();
      const expected = matchesOf(filter, rows).map(({ id }) => id);
      const { status, body } = await service.api.list({ filter, limit: '100' });
      const found = status === 200 ? body.items.map(({ id }) => id) : [];
      if (status !== 200 || found.toSorted().join() !== expected.toSorted().join()) {
        differences.push({ filter, expected, found, body: status === 200 ? undefined : body });
      }
      matched += found.length > 0 && found.length < rows.length ? 1 : 0;
    }
    expect(differences.slice(0, 5)).toEqual([]);
    // Filters that let through nothing or all would prove little.
    expect(matched).toBeGreaterThan(FILTERS / 3);
  },
  PATIENCE,
);

/** The keys that statements find, in their order, for a filter of any list. */
async function idsOf({ text, values }: Statement): Promise<string[]> {
  return (await service.app.get(DataSource).query<{ id: string }[]>(text, values)).map(({ id }) => id);
}

it(
  'finds the same in each way in which it may be looked for, from any row on',
  async () => {
    const random = new Random(SEED + 1);
    const { metadata } = service.app.get(DataSource).getRepository(Item);
    const differences: object[] = [];
    for (let number = 0; number < FILTERS / 5; number += 1) {
      const { condition, expression } = itemFilter.parse(new RandomFilter(random, rows).expression());
      const after = random.of([undefined, random.of(rows).id]);
      const expected = matchesOf(expression, rows)
        .map(({ id }) => id)
        .filter((id) => after === undefined || id < after)
        .toSorted()
        .toReversed()
        .slice(0, 7);
      const statements = keyStatements(metadata, condition ?? constant(true), after, 7);
      for (const statement of [statements.planned, statements.recent, statements.fenced]) {
        const ids = await idsOf(statement);
        if (ids.join() !== expected.join()) {
          differences.push({ expression, after, expected, ids, sql: statement.text });
        }
      }
    }
    expect(differences.slice(0, 5)).toEqual([]);
  },
  PATIENCE,
);

it(
  `finds the same with fields of every type, nullable ones too, for ${FILTERS / 2} random filters`,
  async () => {
    const random = new Random(SEED + 2);
    const { metadata } = service.app.get(DataSource).getRepository(Sample);
    const differences: object[] = [];
    let matched = 0;
    for (let number = 0; number < FILTERS / 2; number += 1) {
      const { condition, expression } = sampleFilter.parse(new RandomFilter(random, samples).expression());
      const expected = matchesOf(expression, samples).map(({ id }) => id);
      const statement = keyStatements(metadata, condition ?? constant(true), undefined, 100).fenced;
      const ids = await idsOf(statement);
      if (ids.toSorted().join() !== expected.toSorted().join()) {
        differences.push({ expression, expected, ids, sql: statement.text });
      }
      matched += ids.length > 0 && ids.length < samples.length ? 1 : 0;
    }
    expect(differences.slice(0, 5)).toEqual([]);
    expect(matched).toBeGreaterThan(FILTERS / 6);
  },
  PATIENCE,
);

const CODES = ['syntax', 'limit', 'unknown_field', 'type', 'value', 'unsupported'];

/** Sends hostile filters. @returns how often each outcome was */
async function outcomes(path: string, nextFilter: () => string): Promise<Record<string, number>> {
  const wrong: object[] = [];
  const counts: Record<string, number> = {};
  for (let number = 0; number < FILTERS; number += 1) {
    const filter = nextFilter();
    const query = new URLSearchParams({ filter }).toString();
    const { status, body } = await service.api.call<Partial<ProblemBody>>('GET', `${path}?${query}`);
    const [fault] = body.errors ?? [];
    const isExplained = fault?.parameter === 'filter' && CODES.includes(fault.code) && isWithin(filter, fault);
    if (status !== 200 && !(status === 400 && body.errors?.length === 1 && isExplained)) {
      wrong.push({ filter, status, body });
    }
    const outcome = status === 200 ? 'answered' : (fault?.code ?? 'none');
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  expect(wrong.slice(0, 5)).toEqual([]);
  // Every kind of refusal is among them.
  expect(Object.keys(counts).toSorted()).toEqual([...CODES, 'answered'].toSorted());
  return counts;
}

it(`refuses or answers ${FILTERS} hostile filters, and none reaches the database as SQL`, async () => {
  const random = new Random(SEED + 3);
  const counts = await outcomes('/v1/items', () => hostileFilter(random, new RandomFilter(random, rows).expression()));
  expect(counts['answered']).toBeLessThan(FILTERS / 3);
  // The table is still there, with its rows.
  expect((await service.api.list({ limit: '100' })).body.items).toHaveLength(rows.length);
});

it(`refuses or answers ${FILTERS} more with fields of every type, and no value is more than the database takes`, async () => {
  const random = new Random(SEED + 4);
  const fields = Object.keys(sampleFilter.fields);
  const counts = await outcomes('/v1/samples', () =>
    hostileFilter(random, new RandomFilter(random, samples).expression(), fields),
  );
  expect(counts['answered']).toBeLessThan(FILTERS / 2);
});

function isWithin(filter: string, { start = -1, end = -1 }: { start?: number; end?: number }): boolean {
  return start >= 0 && start <= end && end <= Array.from(filter).length;
}
