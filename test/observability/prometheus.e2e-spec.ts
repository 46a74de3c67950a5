import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Child, serverDirectory } from '../support/child.js';
import { freePort } from '../support/free-port.js';
import { dashboardQueries, handbookQueries, RULE_TESTS, RULES, rules } from '../support/observability-files.js';
import { ServiceProcess } from '../support/process.js';
import { RedisServer } from '../support/redis.js';
import { eventually } from '../support/service.js';
import { createTestDatabase, type TestDatabase } from '../support/test-database.js';
import { issueToken } from '../support/tokens.js';

const { TEST_PROMETHEUS: binary = '' } = process.env;
const promtool = (...args: string[]) => promisify(execFile)(join(dirname(binary), 'promtool'), args);

/** Panels without data while the service is healthy, before a garbage collection, or for features that are not configured. */
const EMPTY = new Set([
  '5xx by route',
  'Deprecated operations',
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
let origin: string;

interface Alert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
  state: 'pending' | 'firing';
}

interface Data {
  result: { metric: Record<string, string>; value: [time: number, value: string] }[];
  alerts: Alert[];
  groups: { rules: { name: string; health: 'ok' | 'err' | 'unknown' }[] }[];
}

/** @throws Error with the error of Prometheus */
async function ask(path: string): Promise<Data> {
  const { data, error } = (await (await fetch(`${origin}/api/v1/${path}`)).json()) as { data: Data; error?: string };
  if (error !== undefined) throw new Error(`${error} (${path})`);
  return data;
}

const query = async (expr: string) => (await ask(`query?${new URLSearchParams({ query: expr }).toString()}`)).result;
const stateOf = async (name: string) => (await ask('alerts')).alerts.find(({ labels }) => labels['alertname'] === name);
const evaluatedRules = async () => (await ask('rules')).groups.flatMap((group) => group.rules);

/** Starts a Prometheus that scrapes each second. */
async function startPrometheus(target: number): Promise<void> {
  const directory = serverDirectory('prometheus');
  const configuration = `
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: [rules.yaml]
scrape_configs:
  - job_name: items
    static_configs: [{ targets: ['127.0.0.1:${target}'], labels: { namespace: test } }]
`;
  // Minutes are shortened to seconds.
  const quick = readFileSync(RULES, 'utf8').replaceAll(/^( +(?:for|interval): )\w+$/gm, '$11s');
  const file = join(directory, 'prometheus.yaml');
  writeFileSync(join(directory, 'rules.yaml'), quick);
  writeFileSync(file, configuration);
  const address = `127.0.0.1:${await freePort()}`;
  const storage = `--storage.tsdb.path=${join(directory, 'data')}`;
  const server = new Child(binary, [
    `--config.file=${file}`,
    storage,
    `--web.listen-address=${address}`,
    '--log.level=warn',
  ]);
  origin = `http://${address}`;
  await server.becomes(async () => (await fetch(`${origin}/-/ready`)).ok);
}

beforeAll(async () => {
  [database, redis] = await Promise.all([createTestDatabase(), RedisServer.start()]);
  token = await issueToken(database.environment);
  const port = await freePort();
  const environment = { REDIS_URL: redis.url, METRICS_PORT: String(port), SHUTDOWN_DELAY: '2' };
  service = await ServiceProcess.startReady({ ...database.environment, ...environment });
  await startPrometheus(port);
  await eventually(async () => (await query('up{job="items"} == 1')).length === 1);
  const client = service.client(token);
  // The first value of a series does not show an increase.
  for (let round = 0; round < 2; round += 1) {
    await client.list();
    await client.list({ filter: 'name == "x"' });
    await client.create({ name: 'x' });
    await client.post('{"name":"x"}', { 'Idempotency-Key': String(round) });
    await client.send('GET', '/v1/items');
    const scrapes = async () => Number((await query('count_over_time(items_ready[1h])'))[0]?.value[1]);
    const before = await scrapes();
    await eventually(async () => (await scrapes()) > before + 1);
  }
});

afterAll(() => database.drop());

describe('promtool', () => {
  it('accepts the rules, and each alert fires exactly when it should', async () => {
    expect((await promtool('check', 'rules', RULES)).stdout).toContain(`SUCCESS: ${rules().length} rules found`);
    expect((await promtool('test', 'rules', RULE_TESTS)).stdout).toContain('SUCCESS');
  });

  it('accepts the metrics', async () => {
    const running = promtool('check', 'metrics');
    running.child.stdin?.end(await service.metrics());
    expect(await running).toEqual({ stdout: '', stderr: '' });
  });
});

describe('Prometheus', () => {
  it('evaluates every rule, has recorded all indicators, and no alert fires while the service is healthy', async () => {
    await eventually(async () => (await evaluatedRules()).every(({ health }) => health !== 'unknown'));
    const evaluated = await evaluatedRules();
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([]);
    const names = rules().map(({ record, alert }) => record ?? alert);
    expect(evaluated.map(({ name }) => name).toSorted()).toEqual(names.toSorted());
    for (const record of new Set(rules().flatMap((rule) => rule.record ?? []))) {
      expect([record, (await query(record)).map(({ metric }) => metric)]).toEqual([
        record,
        [{ __name__: record, namespace: 'test' }],
      ]);
    }
    // On a busy machine the event loop is late, and the requests of this test are slow.
    const loud = (await ask('alerts')).alerts.filter(({ labels }) => !/Latency|EventLoop/.test(labels['alertname'] ?? ''));
    expect(loud).toEqual([]);
  });

  it('runs every query of the dashboard, and most panels have data', async () => {
    const empty: string[] = [];
    for (const { title, expr } of dashboardQueries()) {
      if ((await query(expr)).length === 0) empty.push(title);
    }
    expect(empty.filter((title) => !EMPTY.has(title))).toEqual([]);
  });

  it('runs every query of the handbook, and those of the traffic have data', async () => {
    const results = await Promise.all(
      handbookQueries().map(async ({ expr }) => [expr, (await query(expr)).length] as const),
    );
    expect(results.length).toBeGreaterThan(10);
    const empty = results.filter(([, count]) => count === 0).map(([expr]) => expr);
    // Nothing is wrong: no 5xx, no deprecated operation, no failed statement.
    expect(empty.filter((expr) => !/5\.\.|deprecated|errors_total|== 0|kind="major"/.test(expr))).toEqual([]);
  });

  it('fires the alert when Redis fails, with its position, and resolves it when Redis is back', async () => {
    const admitted = (storage: string) =>
      service.metric(`items_rate_limit_decisions_total{decision="admitted",storage="${storage}"}`);
    expect(await admitted('redis')).toBeGreaterThan(0);
    expect(await service.metric('items_rate_limit_redis_duration_seconds_count')).toBe(await admitted('redis'));
    await redis.kill();
    await eventually(async () => (await stateOf('ItemsRateLimiterDegraded'))?.state === 'firing');
    await service.client(token).list();
    expect(await admitted('process')).toBe(1);
    const { labels, annotations } = (await stateOf('ItemsRateLimiterDegraded')) ?? {};
    expect(labels).toMatchObject({
      severity: 'warning',
      namespace: 'test',
      instance: expect.stringContaining('127.0.0.1:'),
    });
    expect(annotations?.['description']).toMatch(
      /^127\.0\.0\.1:\d+ in test has counted requests without Redis for 2 minutes although REDIS_URL is set\./,
    );
    await redis.restart();
    await eventually(async () => (await stateOf('ItemsRateLimiterDegraded')) === undefined);
  });

  it('scrapes the last seconds of a process, and fires the alert when no process is left', async () => {
    const ended = service.end('SIGTERM');
    const draining = 'items_draining == 1 and items_ready == 0';
    await eventually(async () => (await query(draining)).length === 1);
    expect(await ended).toBe(0);
    await eventually(async () => (await stateOf('ItemsAbsent'))?.state === 'firing');
    for (const { annotations } of (await ask('alerts')).alerts) expect(JSON.stringify(annotations)).not.toContain('<error');
  });
});
