/** How the CPU time of a request divides among the service, PostgreSQL and Redis. */
import { type ChildProcess, spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { Redis } from 'ioredis';
import { freePort } from '../test/support/free-port.ts';
import { Database } from './database.ts';
import { backendsOf, countProcessorTime } from './processes.ts';
import { printTable } from './report.ts';
import { HIGH_LIMIT, SERVICE, startServer } from './server.ts';
import { requestsOf } from './load.ts';
import { sendCheckedLoad } from './wrk.ts';

/** Seconds of each load whose CPU time is measured, and of the one before. */
const SECONDS = 5;

const port = await freePort();
const REDIS_URL = `redis://127.0.0.1:${port}`;
const redis = await startRedis();
const database = await Database.create();
try {
  await database.fillTo(10_000);
  await measureShares();
} finally {
  redis.kill('SIGKILL');
  await database.drop();
}

/** Divides the CPU time of each kind of request. */
async function measureShares(): Promise<void> {
  const tokens = await database.issueTokens(1);
  const service = await startServer(SERVICE, database.url, tokens[0] ?? '', { ...HIGH_LIMIT, REDIS_URL });
  const create = { body: JSON.stringify({ name: 'Blue bicycle', description: 'One bell.' }) };
  const loads = { 'first page of 20': {}, create, 'create with a key': { ...create, isKeyed: true } };
  try {
    const rows: string[][] = [];
    for (const [name, options] of Object.entries(loads)) {
      const load = { url: service.url, requests: requestsOf(service.url, tokens, options) };
      await sendCheckedLoad(load, SECONDS);
      const groups = [[service.pid], await backendsOf(database.client), [redis.pid ?? 0]];
      const counts = groups.map(countProcessorTime);
      const { requests } = await sendCheckedLoad(load, SECONDS);
      const [own = NaN, ...others] = counts.map((count) => count() / requests);
      const ratios = others.map((other) => (other / own).toFixed(2));
      rows.push([name, ...[own, ...others].map((time) => time.toFixed(0)), ...ratios]);
    }
    const head = ['CPU time', 'service µs', 'PostgreSQL µs', 'Redis µs'];
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
