import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../support/free-port.js';
import { dashboardQueries, RULE_TESTS, RULES, rules } from '../support/observability-files.js';
import { ServiceProcess } from '../support/process.js';
import { Prometheus } from '../support/prometheus.js';
import { RedisServer } from '../support/redis-server.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

const { TEST_PROMETHEUS: binary = '' } = process.env;
const promtool = (...args: string[]) => promisify(execFile)(join(dirname(binary), 'promtool'), args);

/** Panels that show nothing while all is well, before a collection of garbage, or where what they show is not configured. */
const EMPTY = new Set([
  '5xx by route',
  'Failed statements',
  'Garbage collection',
  'Read replicas',
  'Tokens file and issuer',
  'annotation',
]);

let database: TestDatabase;
let token: string;
let redis: RedisServer;
let service: ServiceProcess;
let prometheus: Prometheus;

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), RedisServer.start()]);
  token = await issueToken(database.environment);
  const port = await freePort();
  const environment = { REDIS_URL: redis.url, METRICS_PORT: String(port), SHUTDOWN_DELAY: '2' };
  service = await ServiceProcess.startReady({ ...database.environment, ...environment });
  // What takes minutes takes a second here.
  const quick = readFileSync(RULES, 'utf8').replaceAll(/^( +(?:for|interval): )\w+$/gm, '$11s');
  prometheus = await Prometheus.start(binary, port, quick);
  await eventually(async () => (await prometheus.query('up{job="items"} == 1')).length === 1);
  const client = service.client(token);
  // The first value of a series does not show an increase.
  for (let round = 0; round < 2; round += 1) {
    await client.list();
    await client.list({ filter: 'name == "x"' });
    await client.create({ name: 'x' });
    await client.post('{"name":"x"}', { 'Idempotency-Key': String(round) });
    await client.send('GET', '/v1/items');
    const scrapes = async () => Number((await prometheus.query('count_over_time(items_ready[1h])'))[0]?.value[1]);
    const before = await scrapes();
    await eventually(async () => (await scrapes()) > before + 1);
  }
});

afterAll(() => database.drop());

const activeAlerts = async () => (await prometheus.rules()).flatMap(({ alerts = [] }) => alerts);
const stateOf = async (name: string) => (await activeAlerts()).find(({ labels }) => labels['alertname'] === name);

describe('promtool', () => {
  it('finds nothing wrong with the rules, and that each alert fires when it should, and only then', async () => {
    expect((await promtool('check', 'rules', RULES)).stdout).toContain(`SUCCESS: ${rules().length} rules found`);
    expect((await promtool('test', 'rules', RULE_TESTS)).stdout).toContain('SUCCESS');
  });

  it('finds nothing wrong with the metrics', async () => {
    const running = promtool('check', 'metrics');
    running.child.stdin?.end(await service.metrics());
    expect(await running).toEqual({ stdout: '', stderr: '' });
  });
});

describe('Prometheus', () => {
  it('evaluates every rule, and no alert fires while all is well', async () => {
    await eventually(async () => (await prometheus.rules()).every(({ health }) => health !== 'unknown'));
    const evaluated = await prometheus.rules();
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
    const names = rules().map(({ record, alert }) => record ?? alert);
    expect(evaluated.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    // On a busy machine the event loop is late, and the requests of this test are slow.
    const loud = (await activeAlerts()).filter(({ labels }) => !/Latency|EventLoop/.test(labels['alertname'] ?? ''));
    expect(loud).toEqual([]);
  });

  it('has recorded what the objectives are measured by', async () => {
    for (const name of rules().flatMap(({ record }) => record ?? [])) {
      const found = await prometheus.query(name);
      expect(found.map(({ metric }) => metric)).toEqual([{ __name__: name, namespace: 'test' }]);
      expect(Number(found[0]?.value[1])).toBeGreaterThanOrEqual(0);
    }
  });

  it('runs every query of the dashboard, and most panels have data', async () => {
    const empty: string[] = [];
    for (const { title, expr } of dashboardQueries()) {
      if ((await prometheus.query(expr)).length === 0) empty.push(title);
    }
    expect(empty.filter((title) => !EMPTY.has(title))).toEqual([]);
  });

  it('raises the alert when Redis dies, says where, and lets it go when Redis is back', async () => {
    const admitted = (storage: string) =>
      service.metric(`items_rate_limit_decisions_total{decision="admitted",storage="${storage}"}`);
    expect(await admitted('redis')).toBeGreaterThan(0);
    expect(await service.metric('items_rate_limit_redis_duration_seconds_count')).toBe(await admitted('redis'));
    await redis.kill();
    await eventually(async () => (await stateOf('ItemsRateLimiterDegraded'))?.state === 'firing');
    await service.client(token).list();
    expect(await admitted('process')).toBe(1);
    const { labels, annotations } = (await stateOf('ItemsRateLimiterDegraded')) ?? {};
    expect(labels).toMatchObject({ severity: 'warning', namespace: 'test', instance: expect.stringContaining('127.0.0.1:') });
    expect(annotations?.['description']).toMatch(
      /^127\.0\.0\.1:\d+ in test has counted for itself for 2 minutes although REDIS_URL is set\./,
    );
    await redis.restart();
    await eventually(async () => (await stateOf('ItemsRateLimiterDegraded')) === undefined);
  });

  it('sees the last seconds of a process, and raises the alert when none is left', async () => {
    const ended = service.end('SIGTERM');
    const draining = 'items_draining == 1 and items_ready == 0';
    await eventually(async () => (await prometheus.query(draining)).length === 1);
    expect(await ended).toBe(0);
    await eventually(async () => (await stateOf('ItemsAbsent'))?.state === 'firing');
    for (const { annotations } of await activeAlerts()) expect(JSON.stringify(annotations)).not.toContain('<error');
  });
});
