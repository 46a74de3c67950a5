import * as fc from 'fast-check';
import { DataSource } from 'typeorm';
import { ALL_ROWS } from '../src/platform/lists/list-restriction.js';
import { sourcesOf } from '../src/platform/lists/sources.js';
import { statementForFirst } from '../src/platform/lists/rows.js';
import type { Answer, PageBody, ProblemBody } from './support/api.js';
import { matchesOf } from './support/cel-oracle.js';
import { hostileFilters } from './support/hostile-filter.js';
import { randomFilters, randomSamples } from './support/random-filter.js';
import { insertSamples, Sample, sampleFilter, type SampleRow, SamplesModule } from './support/samples.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

/** `.ci/run` tries more, on a server, which is faster. Many take minutes: `FUZZ_FILTERS=20000 npm test -- filter-oracle`. */
const FILTERS = Number(process.env['FUZZ_FILTERS'] ?? 500);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_101);

/** A busy machine takes longer than tests usually may, in milliseconds. */
const TIMEOUT = FILTERS * 400;

const service = useService(() => startService({}, undefined, SamplesModule));
let samples: SampleRow[];

beforeAll(async () => {
  samples = fc.sample(randomSamples, { numRuns: 50, seed: SEED });
  await insertSamples(service.app.get(DataSource), samples);
});

const list = <Body = PageBody>(filter: string): Promise<Answer<Body>> =>
  service.api.call('GET', `/v1/samples?${new URLSearchParams({ filter, limit: '100' }).toString()}`);

/** The keys of the rows that another implementation of CEL finds, newest first. */
const expectedKeys = (filter: string) =>
  matchesOf(filter, samples)
    .map(({ id }) => id)
    .toSorted((a, b) => (a < b ? 1 : -1));

it(
  `matches the same items as another implementation of CEL, for ${FILTERS} random filters [filter-null] [filter-comparison] [filter-logic]`,
  async () => {
    const differences: object[] = [];
    let matched = 0;
    for (const filter of fc.sample(randomFilters(samples), { numRuns: FILTERS, seed: SEED })) {
      const expected = expectedKeys(filter);
      const { status, body } = await list(filter);
      const found = status === 200 ? body.items.map(({ id }) => id) : [];
      if (status !== 200 || found.join() !== expected.join()) {
        differences.push({ filter, expected, found, body: status === 200 ? undefined : body });
      }
      matched += found.length > 0 && found.length < samples.length ? 1 : 0;
    }
    expect(differences.slice(0, 5)).toEqual([]);
    // Filters that let through nothing or all would prove little.
    expect(matched).toBeGreaterThan(FILTERS / 3);
  },
  TIMEOUT,
);

it(
  'matches the same items by each access path, after any row',
  async () => {
    const dataSource = service.app.get(DataSource);
    const repository = dataSource.getRepository(Sample);
    const differences: object[] = [];
    const positions = fc.constantFrom(undefined, ...samples.map(({ id }) => id));
    const cases = fc.tuple(randomFilters(samples), fc.oneof(fc.constant(undefined), positions));
    for (const [filter, after] of fc.sample(cases, { numRuns: FILTERS / 5, seed: SEED + 1 })) {
      const parsed = sampleFilter.parse(filter);
      const { expression } = parsed;
      const expected = expectedKeys(expression).filter((id) => after === undefined || id < after);
      const position = after === undefined ? {} : { cursor: { id: after, listDigest: '', value: '' } };
      const sources = sourcesOf(repository.metadata, { limit: 6, filter: parsed, ...position }, ALL_ROWS);
      for (const source of ['planned', 'recent', 'keyed'] as const) {
        const { text, values } = statementForFirst(repository, sources, source);
        const ids = (await dataSource.query<{ id: string }[]>(text, values)).map(({ id }) => id);
        if (ids.join() !== expected.slice(0, 7).join()) {
          differences.push({ expression, after, expected, ids, sql: text });
        }
      }
    }
    expect(differences.slice(0, 5)).toEqual([]);
  },
  TIMEOUT,
);

const CODES = ['syntax', 'limit', 'unknown_field', 'type', 'value', 'unsupported'];

it(`responds to ${FILTERS} hostile filters, none of which reaches the database as SQL [input-never-sql]`, async () => {
  const wrong: object[] = [];
  const counts: Record<string, number> = {};
  const filters = hostileFilters(randomFilters(samples), Object.keys(sampleFilter.fields));
  for (const filter of fc.sample(filters, { numRuns: FILTERS, seed: SEED + 2 })) {
    const { status, body } = await list<Partial<ProblemBody>>(filter);
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
  expect((await list('')).body.items).toHaveLength(samples.length);
});

function isWithin(filter: string, { start = -1, end = -1 }: { start?: number; end?: number }): boolean {
  return start >= 0 && start <= end && end <= Array.from(filter).length;
}
