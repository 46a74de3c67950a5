import { Database } from '../src/platform/database/database.js';
import type { ProblemBody } from './support/api.js';
import { hostileFilter } from './support/hostile-filter.js';
import { Random } from './support/random.js';
import { RandomFilter } from './support/random-filter.js';
import { randomSample, RandomSampleFilter } from './support/random-sample.js';
import { insertSamples, sampleFilter, SamplesModule } from './support/samples.js';
import { type Service, startService } from './support/service.js';

/** More of them take minutes: `FUZZ_FILTERS=20000 npm test -- filter-hostile`. */
const FILTERS = Number(process.env['FUZZ_FILTERS'] ?? 1000);
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_102);
const CODES = ['syntax', 'limit', 'unknown_field', 'type', 'value', 'unsupported'];

let service: Service;

beforeAll(async () => {
  service = await startService({}, undefined, SamplesModule);
  await service.api.create({ name: 'a', description: 'b' });
});

afterAll(() => service.stop());

/** Sends hostile filters, and tells how often each outcome was. */
async function outcomes(path: string, nextFilter: () => string): Promise<Record<string, number>> {
  const wrong: object[] = [];
  const counts: Record<string, number> = {};
  for (let number = 0; number < FILTERS; number += 1) {
    const filter = nextFilter();
    const query = new URLSearchParams({ filter }).toString();
    const { status, body } = await service.api.call<Partial<ProblemBody>>('GET', `${path}?${query}`);
    const [fault] = body.errors ?? [];
    const told = fault?.parameter === 'filter' && CODES.includes(fault.code) && isWithin(filter, fault);
    if (status !== 200 && !(status === 400 && body.errors?.length === 1 && told)) {
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
  const random = new Random(SEED);
  const rows = [{ id: '0190163d-8694-739b-aea5-966c26f8ad91', name: 'a', description: 'b' }];
  const counts = await outcomes('/v1/items', () => hostileFilter(random, new RandomFilter(random, rows).expression()));
  expect(counts['answered']).toBeLessThan(FILTERS / 3);
  // The table is still there, with its row.
  expect((await service.api.list()).body.items).toHaveLength(1);
});

it(`refuses or answers ${FILTERS} more with fields of every type, and no value is more than the database takes`, async () => {
  const random = new Random(SEED + 1);
  const rows = Array.from({ length: 10 }, (_, index) => randomSample(random, index));
  await insertSamples(service.app.get(Database), rows);
  const fields = Object.keys(sampleFilter.fields);
  const counts = await outcomes('/v1/samples', () =>
    hostileFilter(random, new RandomSampleFilter(random, rows).expression(), fields),
  );
  expect(counts['answered']).toBeLessThan(FILTERS / 2);
});

function isWithin(filter: string, { start = -1, end = -1 }: { start?: number; end?: number }): boolean {
  return start >= 0 && start <= end && end <= Array.from(filter).length;
}
