import type { ProblemBody } from './support/api.js';
import { hostileFilter } from './support/hostile-filter.js';
import { Random } from './support/random.js';
import { RandomFilter } from './support/random-filter.js';
import { type Service, startService } from './support/service.js';

const FILTERS = 5000;
const CODES = ['syntax', 'limit', 'unknown_field', 'type', 'value', 'unsupported'];

let service: Service;

beforeAll(async () => {
  service = await startService();
  await service.api.create({ name: 'a', description: 'b' });
});

afterAll(() => service.stop());

it(`refuses or answers ${FILTERS} hostile filters, and none reaches the database as SQL`, async () => {
  const random = new Random(20_260_102);
  const wrong: object[] = [];
  const counts: Record<string, number> = {};
  for (let number = 0; number < FILTERS; number += 1) {
    const rows = [{ id: '0190163d-8694-739b-aea5-966c26f8ad91', name: 'a', description: 'b' }];
    const filter = hostileFilter(random, new RandomFilter(random, rows).expression());
    const { status, body } = await service.api.list<Partial<ProblemBody>>({ filter });
    const [fault] = body.errors ?? [];
    const told = fault?.parameter === 'filter' && CODES.includes(fault.code) && isWithin(filter, fault);
    if (status !== 200 && !(status === 400 && body.errors?.length === 1 && told)) {
      wrong.push({ filter, status, body });
    }
    const outcome = status === 200 ? 'answered' : (fault?.code ?? 'none');
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  expect(wrong.slice(0, 5)).toEqual([]);
  // Every kind of refusal is among them, and most are refused.
  expect(Object.keys(counts).toSorted()).toEqual([...CODES, 'answered'].toSorted());
  expect(counts['answered']).toBeLessThan(FILTERS / 3);
  // The table is still there, with its row.
  expect((await service.api.list()).body.items).toHaveLength(1);
});

function isWithin(filter: string, { start = -1, end = -1 }: { start?: number; end?: number }): boolean {
  return start >= 0 && start <= end && end <= Array.from(filter).length;
}
