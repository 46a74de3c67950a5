import { randomUUID } from 'node:crypto';
import { printTable } from '../print.ts';
import { type Answer, type Service, startService } from '../service.ts';
import { median, quantile } from '../statistics.ts';

/** Requests for each case that are not counted, and that are. */
const WARM_UP = 300;
const COUNTED = 1500;

/** What replicas pay for being many: a list counted in Redis beside one counted in the process, a create with a key beside one without. */
export async function measureCosts(url: string, redisUrl: string): Promise<void> {
  const alone = await startService(url);
  const shared = await startService(url, { REDIS_URL: redisUrl });
  const repeated = newKey();
  await alone.create(repeated);
  const cases: Record<string, { send: () => Promise<Answer>; times: number[] }> = {
    'list, counted in the process': { send: () => list(alone), times: [] },
    'list, counted in Redis': { send: () => list(shared), times: [] },
    'create without a key': { send: () => alone.create(), times: [] },
    'create with a new key': { send: () => alone.create(newKey()), times: [] },
    'create repeated': { send: () => alone.create(repeated), times: [] },
  };
  try {
    for (let round = 0; round < WARM_UP + COUNTED; round += 1) {
      for (const { send, times } of Object.values(cases)) {
        times.push((await send()).milliseconds);
      }
    }
  } finally {
    await Promise.all([alone.stop(), shared.stop()]);
  }
  const rows = Object.entries(cases).map(([name, { times }]) => {
    const counted = times.slice(WARM_UP);
    const base = cases[name.startsWith('list') ? 'list, counted in the process' : 'create without a key']?.times ?? [];
    const ratio = median(counted) / median(base.slice(WARM_UP));
    return [name, median(counted).toFixed(2), quantile(counted, 0.99).toFixed(2), ratio.toFixed(2)];
  });
  printTable(['one request at a time', 'median ms', 'p99 ms', '× the first of its kind'], rows);
}

function newKey(): Record<string, string> {
  return { 'Idempotency-Key': randomUUID() };
}

function list(service: Service): Promise<Answer> {
  return service.list('limit=1');
}
