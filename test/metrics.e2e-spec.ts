import { connect } from 'node:net';
import { jest } from '@jest/globals';
import { Logger, Module } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { DataSource } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import { Metrics } from '../src/platform/index.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { Api } from './support/api.js';
import { sendRaw } from './support/raw-http.js';
import { type Labels, startMeasured } from './support/scrape.js';
import { eventually, TESTER } from './support/service.js';
import { useService } from './support/use-service.js';

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule] })
class AppModule {}

const REQUESTS = 'items_http_request_duration_seconds_count';

const service = useService(() => startMeasured({ RATE_LIMIT_REPLICAS: '4' }, AppModule));

/** Expects series to grow while something is done, and all series of their metrics by no more. */
async function expectGrowth(work: () => Promise<unknown>, name: string, grown: readonly (readonly [Labels, number])[]) {
  const before = await service.scrape();
  await work();
  const after = await service.scrape();
  const growthOf = (labels?: Labels) => after.sum(name, labels) - before.sum(name, labels);
  expect(grown.map(([labels]) => [labels, growthOf(labels)])).toEqual(grown);
  expect(growthOf()).toBe(grown.reduce((sum, [, growth]) => sum + growth, 0));
}

const createWidget = (name: string, headers = {}) =>
  service.api.callWith('POST', '/v1/widgets', { name, price: 1, size: 'small' }, headers);

describe('requests', () => {
  const route = '/v1/items';
  const fallback = '/{*path}';

  it('are counted by method, route and status', async () => {
    const work = async () => {
      await service.api.list();
      await service.api.list({ limit: '0' });
      await service.api.create({ name: 'x' });
      await service.api.send('GET', '/v1/items');
      await service.api.call('GET', '/v1/nothing');
      await service.api.call('DELETE', '/v1/items');
      await sendRaw(service.port, 'PROPFIND /v1/items HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      await sendRaw(service.port, 'GET /v1/items HTTP/1.1\r\nConnection: close\r\n\r\n');
    };
    await expectGrowth(work, REQUESTS, [
      [{ method: 'GET', route, status: '200' }, 1],
      [{ method: 'GET', route, status: '400' }, 1],
      [{ method: 'POST', route, status: '201' }, 1],
      [{ method: 'GET', route, status: '401' }, 1],
      [{ method: 'GET', route: fallback, status: '404' }, 1],
      [{ method: 'DELETE', route: fallback, status: '405' }, 1],
      [{ method: 'other', route: fallback, status: '401' }, 1],
      [{ method: 'GET', route: 'none', status: '400' }, 1],
    ]);
    const scrape = await service.scrape();
    const buckets = scrape.of('items_http_request_duration_seconds_bucket', { method: 'GET', route, status: '200' });
    const bounds = '0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf';
    expect(buckets.map(({ labels: { le } }) => le).join(' ')).toBe(bounds);
    expect(scrape.sum('items_http_request_duration_seconds_sum')).toBeGreaterThan(0);
  });

  it('are in flight until their response ends, with their connections; an aborted one has the status 0', async () => {
    const socket = connect(service.port, '127.0.0.1');
    socket.write(`POST /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.api.token}\r\n`);
    socket.write('Content-Type: application/json\r\nContent-Length: 12\r\n\r\n{"nam');
    const inFlight = async () => (await service.scrape()).sum('items_http_requests_in_flight');
    await eventually(async () => (await inFlight()) === 1);
    expect((await service.scrape()).sum('items_http_connections')).toBeGreaterThan(0);
    const work = async () => {
      socket.destroy();
      await eventually(async () => (await inFlight()) === 0);
    };
    await expectGrowth(work, REQUESTS, [[{ route, status: '0' }, 1]]);
  });

  it.each([
    ['400', 'no request\r\n\r\n'],
    ['431', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('that cannot be read are counted separately: %s', async (status, bytes) => {
    const work = () => expectGrowth(() => sendRaw(service.port, bytes), REQUESTS, []);
    await expectGrowth(work, 'items_http_unreadable_requests_total', [[{ status }, 1]]);
  });
});

it('authentication counts successes, and refusals by reason', async () => {
  const tokens = service.app.get(AccessTokensService);
  const { token: revoked } = await service.newClient();
  await tokens.revoke({ token: revoked }, TESTER);
  const { token: expired } = await service.newClient('expired', { expiresAt: new Date(Date.now() - 1) });
  const { token: rotated } = await service.newClient('rotated');
  const { id = '' } = (await tokens.list()).find(({ name }) => name === 'rotated') ?? {};
  await tokens.rotate(id, { overlap: 0 }, TESTER);
  const work = async () => {
    await service.api.list();
    await service.api.send('GET', '/v1/items');
    const refused = ['x', generateToken(), 'items_0123456789012345678901234567890123456789', revoked, expired, rotated];
    for (const token of refused) await new Api(service.api.origin, token).list();
  };
  const reasons = ['missing', 'malformed', 'unknown', 'checksum', 'revoked', 'expired', 'rotated'];
  await expectGrowth(
    () => expectGrowth(work, 'items_authentications_total', [[{ kind: 'token' }, 1]]),
    'items_authentication_refusals_total',
    reasons.map((reason) => [{ reason }, 1]),
  );
});

it.each([
  [undefined, 0],
  ['redis://127.0.0.1:1', 1],
])('the rate limit is not shared with the Redis %s, and degraded is %i', async (REDIS_URL, degraded) => {
  const limited = await startMeasured({ RATE_LIMIT: '3', ...(REDIS_URL !== undefined && { REDIS_URL }) });
  for (let call = 0; call < 5; call += 1) await limited.api.list();
  const scrape = await limited.scrape();
  await limited.stop();
  const decisions = (labels: Labels) => scrape.sum('items_rate_limit_decisions_total', labels);
  expect(decisions({ decision: 'admitted', storage: 'process' })).toBe(3);
  expect(decisions({ decision: 'refused', storage: 'process' })).toBe(2);
  expect(decisions({ storage: 'redis' })).toBe(0);
  expect([scrape.sum('items_rate_limit_shared'), scrape.sum('items_rate_limit_degraded')]).toEqual([0, degraded]);
  expect(scrape.sum('items_rate_limit_storage_changes_total')).toBe(degraded);
});

describe('rows', () => {
  const rows = 'items_rows_created_total';
  const requests = 'items_idempotent_requests_total';

  it('are counted once for repeated requests, for the lists of every feature', async () => {
    const work = async () => {
      await service.api.create({ name: 'x' });
      const headers = { 'Idempotency-Key': 'repeated' };
      const statuses = await Promise.all(Array.from({ length: 5 }, () => createWidget('Repeated', headers)));
      expect(statuses.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
      await createWidget('Other', headers);
    };
    const grown = [
      [{ table: 'items' }, 1],
      [{ table: 'widgets' }, 1],
    ] as const;
    await expectGrowth(() => expectGrowth(work, rows, grown), requests, [
      [{ outcome: 'carried-out' }, 1],
      [{ outcome: 'replayed' }, 4],
      [{ outcome: 'key-reused' }, 1],
    ]);
  });

  it('are not counted after a rollback', async () => {
    const { manager } = service.app.get(DataSource);
    await manager.query(`ALTER TABLE idempotency_keys ADD CONSTRAINT no_answer CHECK (status IS NULL OR key <> 'doomed')`);
    const work = async () => {
      expect((await createWidget('Doomed', { 'Idempotency-Key': 'doomed' })).status).toBe(400);
    };
    await expectGrowth(() => expectGrowth(work, rows, []), requests, [[{ outcome: 'failed' }, 1]]);
    await manager.query('ALTER TABLE idempotency_keys DROP CONSTRAINT no_answer');
    expect((await createWidget('Doomed')).status).toBe(201);
  });
});

it('the database counts statements by operation, and errors by cause', async () => {
  const durations = 'items_database_statement_duration_seconds_count';
  const before = (await service.scrape()).sum(durations, { operation: 'insert' });
  const work = async () => {
    await createWidget('Taken');
    await createWidget('Taken');
    // Its transaction is rolled back.
    await service.api.list({ filter: 'name == "x"' });
  };
  await expectGrowth(work, 'items_database_statement_errors_total', [[{ operation: 'insert', cause: 'constraint' }, 1]]);
  expect((await service.scrape()).sum(durations, { operation: 'insert' })).toBe(before + 2);
});

it('readiness equals that of the probes, by indicator, also without probes', async () => {
  const { manager } = service.app.get(DataSource);
  const state = async () => {
    const scrape = await service.scrape();
    const ok = (indicator: string) => scrape.sum('items_health_indicator_ok', { indicator });
    return [scrape.sum('items_ready'), ok('database'), ok('widgets')];
  };
  expect(await state()).toEqual([1, 1, 1]);
  await manager.query('ALTER TABLE widgets RENAME TO hidden');
  expect(await state()).toEqual([0, 1, 0]);
  expect((await service.api.send('GET', '/readyz')).status).toBe(503);
  await manager.query('ALTER TABLE hidden RENAME TO widgets');
  expect(await state()).toEqual([1, 1, 1]);
});

it('the process reports its versions and resources', async () => {
  const scrape = await service.scrape();
  const labels = { version: expect.stringMatching(/^\d+\.\d+\.\d+/), node: process.version };
  expect(scrape.of('items_build_info')).toEqual([expect.objectContaining({ labels, value: 1 })]);
  expect(scrape.sum('process_resident_memory_bytes')).toBeLessThanOrEqual(scrape.sum('items_memory_limit_bytes'));
  expect(scrape.sum('nodejs_heap_size_used_bytes')).toBeLessThan(scrape.sum('nodejs_heap_size_limit_bytes'));
});

it('a feature can add metrics, with a series for each label value from the start [metric-labels]', async () => {
  const metrics = service.app.get(Metrics);
  const labels = { size: ['small', 'large'] } as const;
  const sold = metrics.counter({ name: 'widgets_sold_total', help: 'Widgets sold', labels });
  const packing = metrics.histogram({ name: 'widgets_packing_seconds', help: 'Time to pack one', labels }, [1, 5]);
  metrics.gauge({ name: 'widgets_in_stock', help: 'Widgets in stock', labels }, ({ size }) => size.length);
  sold.inc({ size: 'small' }, 2);
  packing.observe({ size: 'small' }, 3);
  const scrape = await service.scrape();
  const values = (name: string) => scrape.of(name).map(({ value }) => value);
  expect(values('items_widgets_sold_total')).toEqual([2, 0]);
  expect(values('items_widgets_packing_seconds_bucket')).toEqual([0, 1, 1, 0, 0, 0]);
  expect(values('items_widgets_in_stock')).toEqual([5, 5]);
});

it('a metric with the name of another throws when it is defined [start-duplicates]', () => {
  const metrics = service.app.get(Metrics);
  const define = () => metrics.counter({ name: 'authentications_total', help: 'x' });
  expect(define).toThrow('A metric with the name items_authentications_total has already been registered.');
});

it('a metric that is never read does not hold up the others', async () => {
  const metrics = service.app.get(Metrics);
  let settle: (value: number) => void = () => undefined;
  const pending = new Promise<number>((resolve) => {
    settle = resolve;
  });
  metrics.gauge({ name: 'pending', help: 'x' }, () => pending);
  const scrape = await service.scrape();
  expect([scrape.of('items_pending'), scrape.sum('items_ready')]).toEqual([[], 1]);
  settle(1);
  metrics.registry.removeSingleMetric('items_pending');
  metrics.registry.getSingleMetric('items_metrics_not_read_total')?.reset();
});

it('a metric that cannot be read loses only its own series, is counted, and is logged once a minute', async () => {
  const metrics = service.app.get(Metrics);
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  let isBroken = true;
  const rejecting = () => (isBroken ? Promise.reject(new Error('no')) : 1);
  metrics.gauge({ name: 'broken', help: 'x' }, rejecting);
  metrics.gauge({ name: 'throwing', help: 'x' }, () => {
    if (isBroken) throw new Error('no');
    return 2;
  });
  const collect = async (): Promise<void> => direct.set(await rejecting());
  const direct: Gauge = new Gauge({ name: 'items_direct', help: 'x', collect, registers: [metrics.registry] });
  const broken = ['items_broken', 'items_throwing', 'items_direct'];
  for (const failures of [0, 3, 6]) {
    const scrape = await service.scrape();
    expect(broken.flatMap((name) => scrape.of(name))).toEqual([]);
    expect([scrape.sum('items_ready'), scrape.sum('items_metrics_not_read_total')]).toEqual([1, failures]);
  }
  const lines = warn.mock.calls.map(([line]) => line as object);
  expect(lines).toHaveLength(3);
  expect(lines).toEqual(expect.arrayContaining(broken.map((name) => ({ msg: `metric ${name} not read`, reason: 'no' }))));
  warn.mockRestore();
  isBroken = false;
  const scrape = await service.scrape();
  expect(broken.map((name) => scrape.of(name)[0]?.value)).toEqual([1, 2, 1]);
});

it.each([
  ['GET', '/metrics', 200, / items_build_info /],
  ['POST', '/v1/items', 404, /^$/],
])('the port of the metrics responds to %s %s with %i', async (method, path, status, body) => {
  const response = await fetch(`http://127.0.0.1:${service.metricsPort}${path}`, { method });
  expect(response.status).toBe(status);
  expect(await response.text()).toMatch(body);
});
