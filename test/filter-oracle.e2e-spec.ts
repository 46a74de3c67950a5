import { v7 } from 'uuid';
import { DataSource } from 'typeorm';
import { itemFilter } from '../src/items/item.filter.js';
import { Item } from '../src/items/item.entity.js';
import { constant } from '../src/platform/lists/filter/condition.js';
import { keyStatements } from '../src/platform/lists/find-filtered.js';
import type { PageBody, ProblemBody } from './support/api.js';
import { type ItemRow, matchesOf } from './support/cel-oracle.js';
import { hostileFilter } from './support/hostile-filter.js';
import { Random } from './support/random.js';
import { RandomFilter, randomSample, randomText } from './support/random-filter.js';
import { insertSamples, sampleFilter, type SampleRow, SamplesModule } from './support/samples.js';
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

/** Lists, with what their oracle needs. */
const lists = (): [path: string, rows: readonly (ItemRow | SampleRow)[], fields?: string[]][] => [
  ['/v1/items', rows],
  ['/v1/samples', samples, Object.keys(sampleFilter.fields)],
];

const byKey = (a: string, b: string) => (a < b ? 1 : -1);

it(
  `finds the same as another implementation of CEL, for ${FILTERS} random filters, and for half as many with fields of every type`,
  async () => {
    for (const [place, [path, known]] of lists().entries()) {
      const random = new Random(SEED + place);
      const differences: object[] = [];
      const filters = FILTERS / (place + 1);
      let matched = 0;
      for (let number = 0; number < filters; number += 1) {
        const filter = new RandomFilter(random, known).expression();
        const expected = matchesOf(filter, known).map(({ id }) => id);
        const query = new URLSearchParams({ filter, limit: '100' }).toString();
        const { status, body } = await service.api.call<PageBody>('GET', `${path}?${query}`);
        const found = status === 200 ? body.items.map(({ id }) => id) : [];
        if (status !== 200 || found.join() !== expected.toSorted(byKey).join()) {
          differences.push({ filter, expected, found, body: status === 200 ? undefined : body });
        }
        matched += found.length > 0 && found.length < known.length ? 1 : 0;
      }
      expect(differences.slice(0, 5)).toEqual([]);
      // Filters that let through nothing or all would prove little.
      expect(matched).toBeGreaterThan(filters / 3);
    }
  },
  PATIENCE,
);

it(
  'finds the same in each way in which it may be looked for, from any row on',
  async () => {
    const random = new Random(SEED + 2);
    const dataSource = service.app.get(DataSource);
    const { metadata } = dataSource.getRepository(Item);
    const differences: object[] = [];
    for (let number = 0; number < FILTERS / 5; number += 1) {
      const { condition, expression } = itemFilter.parse(new RandomFilter(random, rows).expression());
      const after = random.of([undefined, random.of(rows).id]);
      const matches = matchesOf(expression, rows).map(({ id }) => id);
      const expected = matches.filter((id) => after === undefined || id < after).toSorted(byKey);
      const { planned, recent, fenced } = keyStatements(metadata, condition ?? constant(true), after, 7);
      for (const { text, values } of [planned, recent, fenced]) {
        const ids = (await dataSource.query<{ id: string }[]>(text, values)).map(({ id }) => id);
        if (ids.join() !== expected.slice(0, 7).join()) {
          differences.push({ expression, after, expected, ids, sql: text });
        }
      }
    }
    expect(differences.slice(0, 5)).toEqual([]);
  },
  PATIENCE,
);

const CODES = ['syntax', 'limit', 'unknown_field', 'type', 'value', 'unsupported'];

it(`refuses or answers ${FILTERS} hostile filters of each list, and none reaches the database as SQL`, async () => {
  for (const [place, [path, known, fields]] of lists().entries()) {
    const random = new Random(SEED + 3 + place);
    const wrong: object[] = [];
    const counts: Record<string, number> = {};
    for (let number = 0; number < FILTERS; number += 1) {
      const filter = hostileFilter(random, new RandomFilter(random, known).expression(), fields);
      const query = new URLSearchParams({ filter }).toString();
      const { status, body } = await service.api.call<Partial<ProblemBody>>('GET', `${path}?${query}`);
      const [fault, ...more] = body.errors ?? [];
      const isExplained = fault?.parameter === 'filter' && CODES.includes(fault.code) && isWithin(filter, fault);
      if (status !== 200 && !(status === 400 && isExplained && more.length === 0)) {
        wrong.push({ filter, status, body });
      }
      const outcome = status === 200 ? 'answered' : (fault?.code ?? 'none');
      counts[outcome] = (counts[outcome] ?? 0) + 1;
    }
    expect(wrong.slice(0, 5)).toEqual([]);
    // Every kind of refusal is among them.
    expect(Object.keys(counts).toSorted()).toEqual([...CODES, 'answered'].toSorted());
    expect(counts['answered']).toBeLessThan(FILTERS / 2);
    // The table is still there, with its rows.
    expect((await service.api.call<PageBody>('GET', `${path}?limit=100`)).body.items).toHaveLength(known.length);
  }
});

function isWithin(filter: string, { start = -1, end = -1 }: { start?: number; end?: number }): boolean {
  return start >= 0 && start <= end && end <= Array.from(filter).length;
}
