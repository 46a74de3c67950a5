import { cpus } from 'node:os';
import type { Client } from 'pg';
import { printTable } from '../print.ts';
import { backendsOf, busySeconds, countProcessorTime } from '../processor-time.ts';
import { RedisServer } from '../replicas/redis.ts';
import { type Service, startService } from '../service.ts';
import { median } from '../statistics.ts';
import { load } from './wrk.ts';

const SECONDS = 4;
const ROUNDS = 4;

interface Run {
  readonly throughput: number;
  readonly service: number;
  readonly postgresql: number;
  readonly redis: number;
  /** Processors that were busy with anything. */
  readonly busy: number;
}

/** One process beside two, on one database and one Redis: requests each second, and processor time of a request. */
export async function measureProcesses(client: Client, url: string): Promise<void> {
  const redis = await RedisServer.start();
  const services = [
    await startService(url, { REDIS_URL: redis.url, RATE_LIMIT_REPLICAS: '2' }),
    await startService(url, { REDIS_URL: redis.url, RATE_LIMIT_REPLICAS: '2' }),
  ];
  const runs: Run[][] = [[], []];
  try {
    await Promise.all(services.map((service) => load(service, SECONDS)));
    for (let round = 0; round < ROUNDS; round += 1) {
      runs[0]?.push(await run(services.slice(round % 2, (round % 2) + 1), client, redis));
      runs[1]?.push(await run(services, client, redis));
    }
  } finally {
    await Promise.all(services.map((service) => service.stop()));
    await redis.stop();
  }
  const typical = runs.map((some) => (part: keyof Run) => median(some.map((each) => each[part])));
  const rows = typical.map((of, index) => [
    index === 0 ? 'one process' : 'two processes',
    of('throughput').toFixed(0),
    (of('throughput') / (typical[0]?.('throughput') ?? NaN)).toFixed(2),
    of('service').toFixed(0),
    of('postgresql').toFixed(0),
    of('redis').toFixed(0),
    ((of('throughput') * (of('service') + of('postgresql') + of('redis'))) / 1e6).toFixed(2),
    of('busy').toFixed(2),
  ]);
  const head = ['first page, as fast as it goes', 'requests/s', '× one', 'service µs', 'PostgreSQL µs', 'Redis µs'];
  printTable([...head, 'processors busy with these', `of ${cpus().length} busy at all`], rows);
}

async function run(services: readonly Service[], client: Client, redis: RedisServer): Promise<Run> {
  const backends = await backendsOf(client);
  const groups = [services.map(({ pid }) => pid), backends, [redis.pid]];
  const counts = groups.map(countProcessorTime);
  const [begun, busy] = [performance.now(), busySeconds()];
  const requests = (await Promise.all(services.map((service) => load(service, SECONDS)))).reduce((sum, count) => sum + count, 0);
  const seconds = (performance.now() - begun) / 1000;
  const busyAtAll = (busySeconds() - busy) / seconds;
  const [service = NaN, postgresql = NaN, inRedis = NaN] = counts.map((count) => count() / requests);
  return { throughput: requests / seconds, service, postgresql, redis: inRedis, busy: busyAtAll };
}
