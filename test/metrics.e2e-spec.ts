import { DataSource } from 'typeorm';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { ItemsModule } from '../src/items/items.module.js';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { digestOf, generateToken } from '../src/platform/auth/token-format.js';
import { Database, HealthIndicators, Metrics } from '../src/platform/index.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { WidgetsModule } from './fixtures/widgets/widgets.module.js';
import { Api } from './support/api.js';
import { sendRaw } from './support/raw-http.js';
import { type Labels, type MeasuredService, startMeasured } from './support/scrape.js';
import { eventually, TESTER } from './support/service.js';

@Module({ imports: [PlatformModule, ItemsModule, WidgetsModule] })
class AppModule {}

const REQUESTS = 'items_http_request_duration_seconds_count';

let service: MeasuredService;

beforeAll(async () => {
  service = await startMeasured({ RATE_LIMIT_REPLICAS: '4' }, AppModule);
});

afterAll(() => service.stop());

/** By how much series have grown while something was done; each is a name, with labels perhaps. */
async function growth(work: () => Promise<unknown>, ...series: readonly [name: string, labels?: Labels][]): Promise<number[]> {
  const before = await service.scrape();
  await work();
  const after = await service.scrape();
  return series.map(([name, labels]) => after.sum(name, labels) - before.sum(name, labels));
}

const json = { 'Content-Type': 'application/json' };
const createWidget = (name: string, headers = {}) =>
  service.api.call('POST', '/v1/widgets', {
    body: JSON.stringify({ name, price: 1, size: 'small' }),
    headers: { ...json, ...headers },
  });

describe('requests', () => {
  it('count by method, route and status', async () => {
    const work = async () => {
      await service.api.list();
      await service.api.list({ limit: '0' });
      await service.api.create({ name: 'x' });
      await service.api.send('GET', '/v1/items');
      await service.api.call('GET', '/v1/nothing');
      await service.api.call('DELETE', '/v1/items');
      await sendRaw(service.port, 'PROPFIND /v1/items HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
      await sendRaw(service.port, 'GET /v1/items HTTP/1.1\r\nHost: x\r\nHost: y\r\nConnection: close\r\n\r\n');
    };
    const route = '/v1/items';
    const fallback = '/{*path}';
    const grown = await growth(
      work,
      [REQUESTS, { method: 'GET', route, status: '200' }],
      [REQUESTS, { method: 'GET', route, status: '400' }],
      [REQUESTS, { method: 'POST', route, status: '201' }],
      [REQUESTS, { method: 'GET', route, status: '401' }],
      [REQUESTS, { method: 'GET', route: fallback, status: '404' }],
      [REQUESTS, { method: 'DELETE', route: fallback, status: '405' }],
      [REQUESTS, { method: 'other', route: fallback, status: '401' }],
      [REQUESTS, { method: 'GET', route: 'none', status: '400' }],
      [REQUESTS],
    );
    expect(grown).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 8]);
  });

  it('count in the bucket of their time', async () => {
    const scrape = await service.scrape();
    const labels = { method: 'GET', route: '/v1/items', status: '200' };
    const buckets = scrape.of('items_http_request_duration_seconds_bucket', labels);
    const bounds = '0.0025 0.005 0.01 0.025 0.05 0.1 0.25 0.5 1 2.5 5 10 +Inf';
    expect(buckets.map(({ labels: { le } }) => le).join(' ')).toBe(bounds);
    expect(buckets.map(({ value }) => value)).toEqual(buckets.map(({ value }) => value).toSorted((a, b) => a - b));
    expect(buckets.at(-1)?.value).toBe(scrape.sum(REQUESTS, labels));
    const seconds = scrape.sum('items_http_request_duration_seconds_sum', labels);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(20);
  });

  it('are in flight until their response ends, with their connections; one that its client gives up has the status 0', async () => {
    const socket = connect(service.port, '127.0.0.1');
    const body = '{"name":"x"}';
    socket.write(`POST /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.api.token}\r\n`);
    socket.write(`Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    const inFlight = async () => (await service.scrape()).sum('items_http_requests_in_flight');
    await eventually(async () => (await inFlight()) === 1);
    expect((await service.scrape()).sum('items_http_connections')).toBeGreaterThan(0);
    const ended = await growth(
      async () => {
        socket.destroy();
        await eventually(async () => (await inFlight()) === 0);
      },
      [REQUESTS, { route: '/v1/items', status: '0' }],
      [REQUESTS],
    );
    expect(ended).toEqual([1, 1]);
  });

  it.each([
    ['400', 'no request\r\n\r\n'],
    ['431', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('that cannot be read count apart: %s', async (status, bytes) => {
    const name = 'items_http_unreadable_requests_total';
    const grown = await growth(() => sendRaw(service.port, bytes), [name, { status }], [name], [REQUESTS]);
    expect(grown).toEqual([1, 1, 0]);
  });
});

describe('authentication', () => {
  it('counts who was let in, and why others were not', async () => {
    const refusals = 'items_authentication_refusals_total';
    const refused = (token: string) => new Api(service.api.origin, token).list();
    const tokens = service.app.get(AccessTokensService);
    const [revoked, rotated] = [(await service.newClient()).token, (await service.newClient('rotated')).token];
    await tokens.revoke({ digest: digestOf(revoked) }, TESTER);
    const id = (await tokens.list()).find(({ name }) => name === 'rotated')?.id ?? '';
    await tokens.rotate(id, { overlap: 0 }, TESTER);
    const work = async () => {
      await service.api.list();
      await service.api.send('GET', '/v1/items');
      await refused('x');
      await refused(generateToken());
      await refused('items_0123456789012345678901234567890123456789');
      await refused(revoked);
      await refused(rotated);
    };
    const grown = await growth(
      work,
      ['items_authentications_total', { kind: 'token' }],
      ['items_authentications_total', { kind: 'jwt' }],
      [refusals, { reason: 'missing' }],
      [refusals, { reason: 'malformed' }],
      [refusals, { reason: 'unknown' }],
      [refusals, { reason: 'checksum' }],
      [refusals, { reason: 'revoked' }],
      [refusals, { reason: 'rotated' }],
      [refusals],
    );
    expect(grown).toEqual([1, 0, 1, 1, 1, 1, 1, 1, 6]);
  });
});

describe('the rate limit', () => {
  it('is neither shared nor degraded without a Redis', async () => {
    const scrape = await service.scrape();
    expect([scrape.sum('items_rate_limit_shared'), scrape.sum('items_rate_limit_degraded')]).toEqual([0, 0]);
    expect(scrape.of('items_rate_limit_storage_changes_total').map(({ value }) => value)).toEqual([0, 0]);
  });

  it('counts what it decides in this process, and is degraded, while its Redis is away', async () => {
    const limited = await startMeasured({ RATE_LIMIT: '3', REDIS_URL: 'redis://127.0.0.1:1' });
    for (let call = 0; call < 5; call += 1) await limited.api.list();
    const scrape = await limited.scrape();
    await limited.stop();
    const decisions = (labels: Labels) => scrape.sum('items_rate_limit_decisions_total', labels);
    expect(decisions({ decision: 'admitted', storage: 'process' })).toBe(3);
    expect(decisions({ decision: 'refused', storage: 'process' })).toBe(2);
    expect(decisions({ storage: 'redis' })).toBe(0);
    expect([scrape.sum('items_rate_limit_shared'), scrape.sum('items_rate_limit_degraded')]).toEqual([0, 1]);
    expect(scrape.sum('items_rate_limit_storage_changes_total', { to: 'process' })).toBe(1);
  });
});

describe('rows', () => {
  const rows = 'items_rows_created_total';
  const requests = 'items_idempotent_requests_total';

  it('count once they are committed, for the lists of every feature', async () => {
    const work = async () => {
      await service.api.create({ name: 'x' });
      await service.api.create({ name: '' });
      await createWidget('Sprocket');
      await createWidget('Sprocket');
    };
    expect(await growth(work, [rows, { table: 'items' }], [rows, { table: 'widgets' }], [rows])).toEqual([1, 1, 2]);
  });

  it('count once however often their request is repeated', async () => {
    const work = async () => {
      const headers = { 'Idempotency-Key': 'repeated' };
      const statuses = await Promise.all(Array.from({ length: 5 }, () => createWidget('Repeated', headers)));
      expect(statuses.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
      await createWidget('Other', headers);
    };
    const outcomes = ['carried-out', 'replayed', 'key-reused', 'failed'].map((outcome): [string, Labels] => [
      requests,
      { outcome },
    ]);
    expect(await growth(work, [rows, { table: 'widgets' }], ...outcomes)).toEqual([1, 1, 4, 1, 0]);
  });

  it('do not count when they are rolled back after they were written', async () => {
    const { manager } = service.app.get(DataSource);
    await manager.query(`ALTER TABLE idempotency_keys ADD CONSTRAINT no_answer CHECK (status IS NULL OR key <> 'doomed')`);
    const work = async () => {
      expect((await createWidget('Doomed', { 'Idempotency-Key': 'doomed' })).status).toBe(400);
    };
    expect(await growth(work, [rows], [requests, { outcome: 'failed' }])).toEqual([0, 1]);
    await manager.query('ALTER TABLE idempotency_keys DROP CONSTRAINT no_answer');
    expect((await createWidget('Doomed')).status).toBe(201);
  });

  it('of a transaction count after it, and not if it fails', async () => {
    const database = service.app.get(Database);
    const done: string[] = [];
    const note = (what: string) => database.afterCommit(() => done.push(what));
    await database.transaction(async () => {
      note('outer');
      await database.transaction(() => Promise.resolve(note('inner')));
      expect(done).toEqual([]);
    });
    const failing = database.transaction(() => {
      note('rolled back');
      return Promise.reject(new Error('no'));
    });
    await expect(failing).rejects.toThrow('no');
    note('outside');
    expect(done).toEqual(['outer', 'inner', 'outside']);
  });
});

describe('the database', () => {
  const count = 'items_database_statement_duration_seconds_count';
  const errors = 'items_database_statement_errors_total';

  it('counts statements by what they do, and why they fail', async () => {
    await service.api.list();
    const work = async () => {
      await createWidget('Taken');
      await createWidget('Taken');
      await createWidget('With a key', { 'Idempotency-Key': 'counted' });
      await service.api.list({ filter: 'name == "x"' });
    };
    const operations = ['insert', 'update', 'begin', 'commit'].map((operation): [string, Labels] => [count, { operation }]);
    const grown = await growth(work, ...operations, [errors, { operation: 'insert', cause: 'constraint' }], [errors]);
    // Two widgets of one name; a key, a widget, and the response under it; a list in a transaction of its own.
    expect(grown).toEqual([4, 1, 2, 2, 1, 1]);
  });
});

describe('readiness', () => {
  it('is as probes see it, by the indicator that fails, and where nothing probes', async () => {
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

  it('is read without waiting for an indicator that hangs', async () => {
    let release = (): void => undefined;
    const hanging = new Promise<void>((resolve) => (release = resolve));
    service.app.get(HealthIndicators).add('slow', () => hanging);
    expect((await service.scrape()).sum('items_ready')).toBe(1);
    expect((await service.api.send('GET', '/readyz')).body.detail).toBe('Not ready: slow.');
    expect((await service.scrape()).sum('items_ready')).toBe(0);
    release();
  });
});

describe('the process', () => {
  it('shows what it is, and what it takes of the machine', async () => {
    const until = Date.now() + 300;
    while (Date.now() < until);
    await delay(50);
    const scrape = await service.scrape();
    expect(scrape.of('items_build_info')).toEqual([
      expect.objectContaining({ labels: { version: expect.stringMatching(/^\d+\.\d+\.\d+/), node: process.version }, value: 1 }),
    ]);
    expect(scrape.sum('nodejs_eventloop_lag_max_seconds')).toBeGreaterThan(0.2);
    expect(scrape.sum('nodejs_eventloop_lag_p50_seconds')).toBeLessThan(scrape.sum('nodejs_eventloop_lag_max_seconds'));
    const positive = [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'items_memory_limit_bytes',
      'nodejs_heap_size_used_bytes',
      'process_open_fds',
      'process_max_fds',
    ];
    expect(positive.filter((name) => !(scrape.sum(name) > 0))).toEqual([]);
    expect(scrape.sum('process_resident_memory_bytes')).toBeLessThanOrEqual(scrape.sum('items_memory_limit_bytes'));
    expect(scrape.sum('nodejs_heap_size_used_bytes')).toBeLessThan(scrape.sum('nodejs_heap_size_limit_bytes'));
    expect(Math.abs(scrape.sum('process_start_time_seconds') - (Date.now() / 1000 - process.uptime()))).toBeLessThan(5);
  });
});

describe('a feature', () => {
  it('has metrics of its own, with a series for each listed label value from the start', async () => {
    const metrics = service.app.get(Metrics);
    const labels = { size: ['small', 'large'] } as const;
    const sold = metrics.counter({ name: 'items_widgets_sold_total', help: 'Widgets sold', labels });
    const packing = metrics.histogram({ name: 'items_widgets_packing_seconds', help: 'Time to pack one', labels }, [1, 5]);
    metrics.gauge({ name: 'items_widgets_in_stock', help: 'Widgets in stock', labels }, ({ size }) => size.length);
    sold.inc({ size: 'small' }, 2);
    packing.observe({ size: 'small' }, 3);
    const scrape = await service.scrape();
    const values = (name: string) => scrape.of(name).map(({ value }) => value);
    expect(values('items_widgets_sold_total')).toEqual([2, 0]);
    expect(values('items_widgets_packing_seconds_bucket')).toEqual([0, 1, 1, 0, 0, 0]);
    expect(values('items_widgets_packing_seconds_sum')).toEqual([3, 0]);
    expect(values('items_widgets_in_stock')).toEqual([5, 5]);
  });

  it('cannot take the name of another metric', () => {
    const make = () => service.app.get(Metrics).counter({ name: 'items_authentications_total', help: 'x' });
    expect(make).toThrow(/already been registered/);
  });
});

describe('the port of the metrics', () => {
  it.each([
    ['GET', '/metrics', 200],
    ['GET', '/metrics?name[]=x', 200],
    ['HEAD', '/metrics', 200],
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/metrics', 404],
    ['POST', '/v1/items', 404],
  ])('responds to %s %s with %i', async (method, path, status) => {
    const response = await fetch(`http://127.0.0.1:${service.metricsPort}${path}`, { method });
    expect(response.status).toBe(status);
    if (status === 200) {
      expect((await response.text()).includes('items_build_info')).toBe(method === 'GET');
      expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    }
  });

  it('fails a scrape with a metric that cannot be read, and no other', async () => {
    let isBroken = true;
    service.app.get(Metrics).gauge({ name: 'items_broken', help: 'x' }, () => (isBroken ? Promise.reject(new Error('no')) : 1));
    const status = async () => (await fetch(`http://127.0.0.1:${service.metricsPort}/metrics`)).status;
    expect(await status()).toBe(500);
    isBroken = false;
    expect(await status()).toBe(200);
  });
});
