import { readdirSync, readFileSync } from 'node:fs';
import { printTable } from '../print.ts';
import { processorTime } from '../processor-time.ts';
import { type Answer, type Service, startService } from '../service.ts';
import type { RedisServer } from './redis.ts';

const REQUESTS = 10_000;
const AT_ONCE = 10;

/**
 * How processor time of a request is shared among the processes of the service, PostgreSQL and Redis: what one replica
 * takes, and how many replicas keep one PostgreSQL, or one Redis, as busy as itself.
 */
export async function measureShares(url: string, redis: RedisServer): Promise<void> {
  const service = await startService(url, { REDIS_URL: redis.url }, AT_ONCE);
  const database = new URL(url).pathname.slice(1);
  const workloads: Record<string, () => Promise<Answer>> = {
    'first page of 20': () => service.list(''),
    create: () => service.create(),
    'create with a key': () => service.create({ 'Idempotency-Key': crypto.randomUUID() }),
  };
  try {
    for (let warmUp = 0; warmUp < 2000; warmUp += 1) await service.list('');
    const rows = [];
    for (const [name, send] of Object.entries(workloads)) {
      const before = microsecondsOf(service, redis, database);
      await repeat(send);
      const after = microsecondsOf(service, redis, database);
      const [own, postgresql, inRedis] = after.map((used, index) => used - (before[index] ?? 0)) as [number, number, number];
      rows.push([
        name,
        ...[own, postgresql, inRedis].map((used) => (used / REQUESTS).toFixed(0)),
        (postgresql / own).toFixed(2),
        (inRedis / own).toFixed(2),
      ]);
    }
    printTable(['processor time', 'service µs', 'PostgreSQL µs', 'Redis µs', 'PostgreSQL ÷ service', 'Redis ÷ service'], rows);
  } finally {
    await service.stop();
  }
}

async function repeat(send: () => Promise<Answer>): Promise<void> {
  let left = REQUESTS;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      await send();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Microseconds of processor time so far, of the service, of what PostgreSQL runs for it, and of Redis. */
function microsecondsOf(service: Service, redis: RedisServer, database: string): number[] {
  const backends = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && commandOf(name).includes(` ${database} `))
    .map(Number);
  return [[service.pid], backends, [redis.pid]].map(processorTime);
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // It has just ended.
    return '';
  }
}
