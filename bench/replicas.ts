/**
 * What replicas share by means of Redis: how many requests four processes admit when Redis is killed, and how the processor time of a
 * request divides among the service, PostgreSQL and Redis.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort } from '../test/support/free-port.ts';
import { Database } from './database.ts';
import { backendsOf, countProcessorTime } from './processes.ts';
import { printPromise, printTable } from './report.ts';
import { HIGH_LIMIT, type Server, SERVICE, startServer } from './server.ts';
import { type Load, sendCheckedLoad } from './wrk.ts';

const REPLICAS = 4;
const LIMIT = 100;
/** Seconds. */
const WINDOW = 10;
/** The most that the replicas may admit in the one window that spans the loss of Redis. */
const BOUND = LIMIT * (2 - 1 / REPLICAS);

/** Seconds of each load whose processor time is measured, and of the one before. */
const SECONDS = 5;

/** An admitted request; milliseconds. */
interface Admitted {
  readonly sent: number;
  readonly received: number;
}

const port = await freePort();
const REDIS_URL = `redis://127.0.0.1:${port}`;
let redis = await startRedis();
const database = await Database.create();
try {
  await database.fillTo(10_000);
  await measureBound();
  await measureShares();
} finally {
  redis.kill('SIGKILL');
  await database.drop();
}

/** Uses up the limit through one replica, kills Redis, and tries the others until three windows have passed. */
async function measureBound(): Promise<void> {
  const [own = '', token = ''] = await database.issueTokens(2);
  const limits = { RATE_LIMIT: String(LIMIT), RATE_LIMIT_WINDOW: String(WINDOW), RATE_LIMIT_REPLICAS: String(REPLICAS) };
  const start = () => startServer(SERVICE, database.url, own, { ...limits, REDIS_URL });
  const replicas = await Promise.all(Array.from({ length: REPLICAS }, start));
  const admitted: Admitted[] = [];
  const send = async ({ url }: Server) => {
    const sent = performance.now();
    const response = await fetch(`${url}?limit=1`, { headers: { Authorization: `Bearer ${token}` } });
    await response.text();
    if (response.ok) {
      admitted.push({ sent, received: performance.now() });
    } else if (response.status !== 429) {
      throw new Error(`A replica responds ${response.status}.`);
    }
  };
  try {
    const [first, ...others] = replicas;
    for (let count = 0; first && count < LIMIT; count += 1) await send(first);
    if (admitted.length < LIMIT) {
      throw new Error(
        `One replica admitted ${admitted.length} of ${LIMIT}: the machine is too busy for Redis to respond in time.`,
      );
    }
    const lost = performance.now();
    redis.kill('SIGKILL');
    await once(redis, 'close');
    for (let isBack = false; performance.now() < lost + 3000 * WINDOW; await delay(5)) {
      await Promise.all((performance.now() < lost + 1000 ? others : replicas).map(send));
      if (!isBack && performance.now() > lost + 1500 * WINDOW) {
        isBack = true;
        redis = await startRedis();
      }
    }
    const spanning = mostInAnyWindow(admitted);
    const later = mostInAnyWindow(admitted.filter(({ sent }) => sent > lost));
    printTable(
      [`of ${LIMIT} in ${WINDOW} s, ${REPLICAS} replicas`, 'admitted'],
      [
        ['in the window that spans the loss of Redis', String(spanning)],
        ['in any later window, Redis away and back', String(later)],
      ],
    );
    printPromise(`at most ${BOUND} in the window that spans the loss`, spanning <= BOUND);
    printPromise(`at most ${LIMIT} in any later window`, later <= LIMIT);
  } finally {
    await Promise.all(replicas.map((server) => server.stop()));
  }
}

/** Of the requests that were certainly decided within one window. */
function mostInAnyWindow(admitted: readonly Admitted[]): number {
  const countFrom = (from: number) =>
    admitted.filter(({ sent, received }) => sent >= from && received <= from + 1000 * WINDOW).length;
  return Math.max(0, ...admitted.map(({ sent }) => countFrom(sent)));
}

async function measureShares(): Promise<void> {
  const tokens = await database.issueTokens(1);
  const service = await startServer(SERVICE, database.url, tokens[0] ?? '', { ...HIGH_LIMIT, REDIS_URL });
  const list: Load = { url: service.url, tokens };
  const create: Load = { ...list, method: 'POST', body: JSON.stringify({ name: 'Blue bicycle', description: 'One bell.' }) };
  const loads = { 'first page of 20': list, create, 'create with a key': { ...create, isKeyed: true } };
  try {
    const rows: string[][] = [];
    for (const [name, load] of Object.entries(loads)) {
      await sendCheckedLoad(load, SECONDS);
      const groups = [[service.pid], await backendsOf(database.client), [redis.pid ?? 0]];
      const counts = groups.map(countProcessorTime);
      const { requests } = await sendCheckedLoad(load, SECONDS);
      const [own = NaN, ...others] = counts.map((count) => count() / requests);
      const ratios = others.map((other) => (other / own).toFixed(2));
      rows.push([name, ...[own, ...others].map((time) => time.toFixed(0)), ...ratios]);
    }
    const head = ['processor time', 'service µs', 'PostgreSQL µs', 'Redis µs'];
    printTable([...head, 'PostgreSQL ÷ service', 'Redis ÷ service'], rows);
  } finally {
    await service.stop();
  }
}

/** A Redis that keeps nothing on disk. */
async function startRedis(): Promise<ChildProcess> {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const child = spawn('redis-server', options, { cwd: tmpdir(), stdio: 'ignore' });
  const client = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  client.on('error', () => undefined);
  await client.ping();
  client.disconnect();
  return child;
}
