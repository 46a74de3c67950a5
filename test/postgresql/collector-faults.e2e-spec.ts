import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { generateToken } from '../../src/platform/auth/token-format.js';
import { Tracing } from '../../src/platform/tracing/tracing.js';
import { AppModule } from '../../src/app.module.js';
import { Collector } from '../support/collector.js';
import { loadedBy } from '../support/loaded-modules.js';
import { startLogged } from '../support/logged-service.js';
import { runCli, ServiceProcess } from '../support/process.js';
import { eventually } from '../support/service.js';
import { createTestDatabase } from '../support/test-database.js';

let collector: Collector;

beforeEach(async () => {
  collector = await Collector.start();
});

afterEach(() => collector.stop());

/** Of what is loaded, what is asked for of OpenTelemetry by others. */
function ofOpenTelemetry(loaded: readonly string[]): string[] {
  return loaded.filter((line) => /^(?!@opentelemetry\/).*> (?:@opentelemetry\/|dist\/start-tracer\.js)/.test(line));
}

describe('OpenTelemetry', () => {
  it('is not loaded without a collector', async () => {
    const loaded = await loadedBy({});
    expect(loaded).toContain('dist/main.js > dist/start.js');
    expect(ofOpenTelemetry(loaded)).toEqual([]);
  });

  it('is loaded with one', async () => {
    const start = 'dist/start-tracer.js';
    expect(ofOpenTelemetry(await loadedBy(collector.environment))).toEqual(
      expect.arrayContaining([expect.stringMatching(` > ${start}$`), `${start} > @opentelemetry/sdk-trace`]),
    );
  });
});

/** A caller's trace. */
function newTrace() {
  const traceId = randomBytes(16).toString('hex');
  return { traceId, headers: { traceparent: `00-${traceId}-${randomBytes(8).toString('hex')}-01` } };
}

describe('a service with a collector', () => {
  it('names the trace in the lines of its log, says who it is, and exports its last requests before it ends', async () => {
    const database = await createTestDatabase();
    const token = (await runCli(['token', 'issue', '--name', 'x'], database.environment)).stdout.trim();
    const key = randomBytes(16).toString('hex');
    const service = await ServiceProcess.startReady({
      ...database.environment,
      ...collector.environment,
      OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${key},authorization=Basic%20abc%3D`,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bed,service.name=ignored',
      OTEL_SERVICE_NAME: 'shop-items',
      SHUTDOWN_DELAY: '2',
    });
    const { traceId, headers } = newTrace();
    const client = service.client(token);
    const { headers: answered } = await client.call('GET', '/v1/items', { headers });
    const { body } = await client.send('GET', '/v1/items', { headers: { Authorization: 'Bearer items_x', ...headers } });
    const ended = service.end('SIGTERM');
    await eventually(() => collector.trace(traceId).length > 0);
    const last = newTrace();
    await client.call('GET', '/v1/items', { headers: last.headers });
    expect(await ended).toBe(0);

    const lineOf = (requestId: string | null) => service.linesOf('request').find((line) => line['requestId'] === requestId);
    const servers = collector.spans.filter(({ kind }) => kind === 'server');
    for (const requestId of [answered.get('x-request-id'), body.requestId]) {
      const span = servers.find(({ attributes }) => attributes['items.request.id'] === requestId);
      expect(lineOf(requestId)).toMatchObject({ traceId, spanId: span?.spanId });
      expect(span?.traceId).toBe(traceId);
    }
    expect(collector.tree(last.traceId)).toContain('server GET /v1/items');
    const line = service.log.find(({ msg }) => msg === 'traces exported');
    expect(line).not.toHaveProperty('traceId');
    expect(line).not.toHaveProperty('requestId');

    const { headers: sent, path } = collector.received[0] ?? {};
    expect([path, sent?.['x-api-key'], sent?.authorization]).toEqual(['/v1/traces', key, 'Basic abc=']);
    const [span] = collector.spans;
    expect(span?.resource).toMatchObject({
      'service.name': 'shop-items',
      'service.version': '1.0.0',
      'service.instance.id': `${hostname()}:${service.child.pid}`,
      'deployment.environment.name': 'test bed',
    });
    expect(service.output.stdout + service.output.stderr).not.toContain(key);
    await database.drop();
  });

  it('ends in time when the collector is silent', async () => {
    collector.fault = 'silence';
    const service = await ServiceProcess.start({ ...collector.environment, DATABASE_URL: 'postgres://127.0.0.1:1/items' });
    const { traceId, headers } = newTrace();
    expect((await service.client(generateToken()).call('GET', '/v1/items', { headers })).status).toBe(503);
    expect(await service.end('SIGTERM')).toBe(0);
    const lines = service.log.filter((line) => line['traceId'] !== undefined);
    expect(lines.map((line) => [line.msg, line['traceId'], typeof line['requestId']])).toEqual([
      ['The database cannot be reached now.', traceId, 'string'],
      ['request', traceId, 'string'],
    ]);
    expect(service.has('last traces not exported')).toBe(true);
    expect(collector.spans).toEqual([]);
  });
});

describe('a collector', () => {
  afterEach(() => {
    delete process.env['OTEL_EXPORTER_OTLP_TIMEOUT'];
  });

  it('that is away, silent or failing is told of once, and stops nobody', async () => {
    process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '300';
    const password = randomBytes(16).toString('hex');
    const service = await startLogged(collector.environmentWith(`user:${password}@`), AppModule);
    const flush = async () => {
      expect((await service.api.list()).status).toBe(200);
      await service.app
        .get(Tracing)
        .flush()
        .catch(() => undefined);
    };
    await flush();
    expect(collector.received[0]?.headers.authorization).toBe(`Basic ${btoa(`user:${password}`)}`);
    for (const fault of [500, 'silence', 503] as const) {
      collector.fault = fault;
      await flush();
    }
    await collector.stop();
    await flush();
    collector.fault = undefined;
    await collector.listen();
    await flush();
    await flush();
    const lines = (await service.stop()).filter(({ context }) => context === 'Tracing');
    expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
      ['info', 'traces exported'],
      ['warn', 'traces not exported'],
      ['info', 'traces exported'],
    ]);
    expect(lines[1]).toMatchObject({ err: { type: 'OTLPExporterError' } });
    expect(JSON.stringify(lines)).not.toContain(password);
  });

  it('that does not answer costs no more memory than a bounded number of spans', async () => {
    process.env['OTEL_EXPORTER_OTLP_TIMEOUT'] = '5000';
    collector.fault = 'silence';
    const service = await startLogged(collector.environment, AppModule);
    for (let round = 0; round < 15; round += 1) await Promise.all(Array.from({ length: 50 }, () => service.api.list()));
    collector.fault = undefined;
    await service.app
      .get(Tracing)
      .flush()
      .catch(() => undefined);
    expect(collector.spans.length).toBeGreaterThan(0);
    expect(collector.spans.length).toBeLessThanOrEqual(2048);
    await service.stop();
  });
});
