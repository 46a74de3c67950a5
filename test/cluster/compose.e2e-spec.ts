import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { readConfiguration } from '../../src/platform/config/read-configuration.js';
import { SERVICE_NAME } from '../../src/platform/service/service.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { RedisServer } from '../support/redis.js';
import { createTestDatabase, databaseUrlOf } from '../support/test-database.js';

interface ComposeService {
  environment: Record<string, string | number>;
  ports: string[];
  deploy: { replicas: number };
  healthcheck: { test: string[] };
  stop_grace_period: string;
}

// Compose itself needs a Docker engine: the lint checks the file against its schema, and this starts the same processes.
const text = readFileSync('compose.yaml', 'utf8');
const { services } = parse(text) as { services: Record<string, ComposeService> };
const { [SERVICE_NAME]: api, postgres } = services as Record<typeof SERVICE_NAME | 'postgres', ComposeService>;
const environment = Object.fromEntries(Object.entries(api.environment).map(([name, value]) => [name, String(value)]));
const { replicas } = api.deploy;

it('agrees with itself: replicas, ports, database and time to stop', () => {
  const configuration = readConfiguration(environment);
  const [, first, last] = /:(\d+)-(\d+):3000$/.exec(api.ports[0] ?? '') ?? [];
  const { username, password, hostname, pathname } = new URL(configuration.DATABASE_URL ?? '');
  const { POSTGRES_USER, POSTGRES_PASSWORD } = postgres.environment;
  expect([configuration.RATE_LIMIT_REPLICAS, Number(last) - Number(first) + 1]).toEqual([replicas, replicas]);
  expect([username, password, hostname, pathname]).toEqual([
    POSTGRES_USER,
    POSTGRES_PASSWORD,
    'postgres',
    `/${POSTGRES_USER}`,
  ]);
  expect(new URL(configuration.REDIS_URL ?? '').hostname).toBe('redis');
  expect(Number.parseInt(api.stop_grace_period, 10)).toBeGreaterThan(configuration.SHUTDOWN_TIMEOUT);
});

it('starts replicas that pass its health check and share items, tokens and one rate limit', async () => {
  const [database, redis] = [await createTestDatabase('empty'), await RedisServer.start()];
  const local = { ...environment, RATE_LIMIT: '100', DATABASE_URL: databaseUrlOf(database), REDIS_URL: redis.url };
  const processes: ServiceProcess[] = [];
  // One after the other: on a busy machine, several starts at once may not reach Redis in time.
  for (let count = 0; count < replicas; count += 1) processes.push(await ServiceProcess.startReady(local));
  const isHealthy = ({ metricsOrigin }: ServiceProcess) => {
    const [, command = '', ...args] = api.healthcheck.test.map((arg) => arg.replace('http://localhost:9464', metricsOrigin));
    return spawnSync(command, args).status === 0;
  };
  expect(processes.map(isHealthy)).toEqual(processes.map(() => true));
  // A replica that was asked before the database was ready has warned of just that.
  const warnings = processes.flatMap(({ log }) =>
    log.filter(({ level, context }) => level !== 'info' && context !== 'Problem'),
  );
  expect(warnings).toEqual([]);

  const [, command = ''] = /exec items node dist\/cli\.js (.*)$/m.exec(text) ?? [];
  const { stdout: token } = await runCli(command.split(' '), local);
  const clients = processes.map((process) => process.client(token.trim()));
  const created = await clients[0]?.create({ name: 'x' });
  expect((await clients[1]?.list())?.body.items).toEqual([created?.body]);
  const replies = await Promise.all(Array.from({ length: 60 }, () => clients.map((client) => client.list())).flat());
  const count = (wanted: number) => replies.filter(({ status }) => status === wanted).length;
  expect([replies.length, count(200), count(429)]).toEqual([60 * replicas, 98, 60 * replicas - 98]);

  expect(await Promise.all(processes.map((process) => process.end('SIGTERM')))).toEqual(processes.map(() => 0));
  expect(processes.map(isHealthy)).toEqual(processes.map(() => false));
  await redis.kill();
});
