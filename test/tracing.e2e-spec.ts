import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { hostname } from 'node:os';
import { Module } from '@nestjs/common';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import { InMemorySpanExporter, type SpanExporter } from '@opentelemetry/sdk-trace';
import { DataSource } from 'typeorm';
import { generateToken } from '../src/platform/auth/token-format.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { SERVICE_VERSION } from '../src/platform/service/service.js';
import { startSdk } from '../src/platform/tracing/start-sdk.js';
import { Errands, ErrandsModule } from './fixtures/errands.module.js';
import { Api } from './support/api.js';
import { listen } from './support/listen.js';
import { eventually, startAwayFromDatabase, startService } from './support/service.js';
import { useService } from './support/use-service.js';

@Module({ imports: [PlatformModule, ItemsModule, ErrandsModule] })
class AppModule {}

const service = useService(() => startService({ RATE_LIMIT: '30' }, undefined, AppModule));
let errands: Errands;
let exporter: InMemorySpanExporter;
let sdk: ReturnType<typeof startSdk>;
/** The port of another service, and the `traceparent` of its last call. */
let port: number;
let passedOn: string;
const destination = createServer(({ url, headers }, response) => {
  passedOn = String(headers['traceparent']);
  response.writeHead(url === '/missing' ? 404 : 200).end();
});

function startTracing(settings: NodeJS.ProcessEnv): void {
  for (const api of [trace, context, propagation]) api.disable();
  exporter = new InMemorySpanExporter();
  sdk = startSdk(readConfiguration(settings), exporter);
}

beforeAll(async () => {
  errands = service.app.get(Errands, { strict: false });
  port = await listen(destination);
});

beforeEach(() => {
  startTracing({});
  errands.destination = `http://127.0.0.1:${port}/place?key=canary`;
});

const CALLER = '12'.repeat(8);

/** Sends a request of another trace, and waits for the end of its server span. */
async function traceOf(client: Api, request: string, status: number, init: RequestInit = {}) {
  const traceId = randomBytes(16).toString('hex');
  const [method = '', path = ''] = request.split(' ');
  const headers = { traceparent: `00-${traceId}-${CALLER}-01`, ...(init.headers as object) };
  const answer = await client.call(method, path, { ...init, headers });
  expect(answer.status).toBe(status);
  return { answer, ...(await spansOf(traceId)) };
}

/** The spans of a trace, after the end of its server span. */
async function spansOf(traceId: string) {
  const inTrace = () => exporter.getFinishedSpans().filter((span) => span.spanContext().traceId === traceId);
  await eventually(async () => {
    await sdk.forceFlush();
    return inTrace().some(({ kind }) => kind === SpanKind.SERVER);
  });
  // The day of last use is stored beside the first request with a token.
  const spans = inTrace().filter(({ name }) => name !== 'UPDATE access_tokens');
  const below = (id: string, indent = ''): string[] => {
    const children = spans.filter(({ parentSpanContext }) => parentSpanContext?.spanId === id);
    return children.flatMap((span) => [indent + span.name].concat(below(span.spanContext().spanId, `${indent}  `)));
  };
  const attributesOf = (name: string) => spans.find((span) => span.name === name)?.attributes;
  const failed = spans.filter((span) => span.status.code === SpanStatusCode.ERROR);
  return { spans, tree: below(CALLER), attributesOf, errors: failed.map(({ attributes }) => attributes['error.type']) };
}

it('a trace contains authentication, limiter and statements with names of the semantic conventions, and no values [traces-private]', async () => {
  const creation = { headers: { 'Content-Type': 'application/json', tracestate: 'a=1,b=2' }, body: '{"name":"canary"}' };
  const client = await service.newClient();
  const { answer, tree, spans, attributesOf, errors } = await traceOf(client, 'POST /v1/items', 201, creation);
  expect(tree).toEqual(['POST /v1/items', '  authenticate', '    SELECT access_tokens', '  rate limit', '  INSERT items']);
  expect(spans.map(({ kind }) => SpanKind[kind])).toEqual(['CLIENT', 'INTERNAL', 'INTERNAL', 'CLIENT', 'SERVER']);
  expect(spans.at(-1)?.spanContext().traceState?.serialize()).toBe('a=1,b=2');
  const request = { 'http.request.method': 'POST', 'http.route': '/v1/items', 'http.response.status_code': 201 };
  const requestId = answer.headers.get('x-request-id');
  expect(attributesOf('POST /v1/items')).toMatchObject({
    ...request,
    'url.path': '/v1/items',
    'items.request.id': requestId,
  });
  expect(attributesOf('POST /v1/items')?.['enduser.id']).toMatch(/^[0-9a-f-]{36}$/);
  expect(attributesOf('rate limit')).toEqual({ 'items.rate_limit.admitted': true, 'items.rate_limit.storage': 'process' });
  const operation = { 'db.system.name': 'postgresql', 'db.operation.name': 'INSERT', 'db.query.summary': 'INSERT items' };
  const text = 'INSERT INTO "items" ("id", "name") VALUES ($1, $2)';
  const insert = Object.entries(attributesOf('INSERT items') ?? {}).filter(
    ([name]) => !/^(?:db\.namespace|server)/.test(name),
  );
  expect([Object.fromEntries(insert), errors]).toEqual([{ ...operation, 'db.query.text': text }, []]);
});

it('a refusal is not an error', async () => {
  const stranger = new Api(service.api.origin, generateToken());
  const unknown = await traceOf(stranger, 'GET /v1/items/1', 401);
  expect(unknown.tree).toEqual(['GET /{*path}', '  authenticate', '    SELECT access_tokens']);
  expect(unknown.attributesOf('GET /{*path}')?.['items.authentication.refusal']).toBe('unknown');
  const client = await service.newClient();
  await Promise.all(Array.from({ length: 30 }, () => client.list()));
  const limited = await traceOf(client, 'GET /v1/items', 429);
  expect(limited.tree).toEqual(['GET /v1/items', '  rate limit']);
  expect(limited.attributesOf('rate limit')?.['items.rate_limit.admitted']).toBe(false);
  expect([unknown.errors, limited.errors]).toEqual([[], []]);
});

it('a method that OpenTelemetry does not know is none of its names', async () => {
  const { attributesOf } = await traceOf(service.api, 'PROPFIND /v1/items', 405);
  const methods = { 'http.request.method': '_OTHER', 'http.request.method_original': 'PROPFIND' };
  expect(attributesOf('HTTP /{*path}')).toMatchObject(methods);
  const known = (await traceOf(service.api, 'GET /v1/items', 200)).attributesOf('GET /v1/items');
  expect(known).not.toHaveProperty(['http.request.method_original']);
});

it('the path of a span has at most 256 characters', async () => {
  const { attributesOf } = await traceOf(service.api, `GET /${'a'.repeat(12_000)}`, 404);
  expect(attributesOf('GET /{*path}')?.['url.path']).toBe(`/${'a'.repeat(255)}`);
});

it.each([
  ['/broken', '', 500, ['42703', '500']],
  ['', '/missing', 204, ['404']],
  ['', 'http://user:canary@127.0.0.1:1/', 500, ['TypeError', 'TypeError', '500']],
])('an error has its name or code, but not its message: %s %s [traces-private]', async (path, url, status, expected) => {
  errands.value = path === '' ? 'note' : 'canary';
  errands.destination = new URL(url, errands.destination).href;
  const { spans, errors } = await traceOf(await service.newClient(), `GET /v1/errands${path}`, status);
  expect(errors).toEqual(expected);
  const exported = spans.map(({ name, attributes, events, status: { message } }) => [name, attributes, events, message]);
  expect(JSON.stringify(exported)).not.toContain('canary');
});

it('a response that is 503 has the type of its problem, also in the span that failed', async () => {
  const away = await startAwayFromDatabase();
  const { tree, errors } = await traceOf(new Api(away.origin, generateToken()), 'GET /v1/items', 503);
  await away.stop();
  expect([tree, errors]).toEqual([
    ['GET /v1/items', '  authenticate'],
    ['service-unavailable', '503'],
  ]);
});

it('a client that disconnects is no error, and its request has no status', async () => {
  const client = await service.newClient();
  const traceId = randomBytes(16).toString('hex');
  const socket = connect(service.port, '127.0.0.1');
  const fields = [
    `Authorization: Bearer ${client.token}`,
    `traceparent: 00-${traceId}-${CALLER}-01`,
    'Expect: 100-continue',
  ];
  const types = ['Content-Type: application/json', 'Content-Length: 9'];
  socket.write(`POST /v1/items HTTP/1.1\r\nHost: x\r\n${[...fields, ...types].join('\r\n')}\r\n\r\n`);
  // The body is being read from here on.
  await once(socket, 'data');
  socket.resetAndDestroy();
  const { attributesOf, errors } = await spansOf(traceId);
  expect(attributesOf('POST /v1/items')).toMatchObject({ 'http.route': '/v1/items', 'items.request.aborted': true });
  expect(attributesOf('POST /v1/items')).not.toHaveProperty(['http.response.status_code']);
  expect(errors).toEqual([]);
});

it('nothing is traced after the response, or outside of requests', async () => {
  const { spans, tree } = await traceOf(await service.newClient(), 'GET /v1/errands/late', 204);
  await errands.rest;
  await service.app.get(DataSource).query('SELECT 1');
  await sdk.forceFlush();
  expect(tree).toEqual(['GET /v1/errands/late', '  authenticate', '    SELECT access_tokens', '  rate limit']);
  const others = exporter.getFinishedSpans().filter((span) => !spans.includes(span));
  expect(others.map(({ name }) => name).filter((name) => name !== 'UPDATE access_tokens')).toEqual([]);
});

it('the called service continues the trace', async () => {
  const { tree, spans, attributesOf } = await traceOf(await service.newClient(), 'GET /v1/errands', 204);
  expect(tree.slice(-2)).toEqual(['  errand', '    GET']);
  const ids = spans.find(({ name }) => name === 'GET')?.spanContext();
  expect(passedOn).toBe(`00-${ids?.traceId}-${ids?.spanId}-01`);
  const called = { 'url.full': errands.destination.replace(/\?.*/, ''), 'server.address': '127.0.0.1', 'server.port': port };
  expect(attributesOf('GET')).toEqual({ ...called, 'http.request.method': 'GET', 'http.response.status_code': 200 });
});

it('concurrent requests have separate traces', async () => {
  const client = await service.newClient();
  await client.list();
  const traces = await Promise.all(Array.from({ length: 20 }, () => traceOf(client, 'GET /v1/items', 200)));
  for (const { tree } of traces) expect(tree).toEqual(['GET /v1/items', '  rate limit', '  SELECT']);
});

it.each([
  [undefined, '1', '00', '00'],
  ['parentbased_traceidratio', '0', '01', '01'],
  ['always_on', '0', '00', '01'],
  ['traceidratio', '0', '01', '00'],
])(
  'the sampler %s with %s makes of the flags %s of the caller %s [traces-sampled]',
  async (name, ratio, flags, expected) => {
    startTracing({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio });
    const headers = { traceparent: `00-${'ab'.repeat(16)}-${CALLER}-${flags}` };
    await (await service.newClient()).call('GET', '/v1/errands', { headers });
    expect(passedOn).toMatch(new RegExp(`^00-${'ab'.repeat(16)}-.*-${expected}$`));
  },
);

describe('a span', () => {
  const variables = ['OTEL_SERVICE_NAME', 'OTEL_RESOURCE_ATTRIBUTES'];
  afterEach(() => variables.forEach((name) => delete process.env[name]));

  const own = {
    'service.name': 'items',
    'service.version': SERVICE_VERSION,
    'service.instance.id': `${hostname()}:${process.pid}`,
  };

  it.each([
    ['by itself', [], own],
    [
      'with OTEL_RESOURCE_ATTRIBUTES',
      [undefined, 'service.name=shop,deployment.environment.name=a%20b'],
      { 'service.name': 'shop', 'deployment.environment.name': 'a b' },
    ],
    ['with OTEL_SERVICE_NAME beside it', ['items-a', 'service.name=shop'], { ...own, 'service.name': 'items-a' }],
  ])('says whose it is, %s', async (_case, values, expected) => {
    variables.forEach((name, index) => values[index] !== undefined && (process.env[name] = values[index]));
    startTracing({});
    trace.getTracer('test').startSpan('any').end();
    await sdk.forceFlush();
    expect(exporter.getFinishedSpans()[0]?.resource.attributes).toMatchObject(expected);
  });

  it('has texts of at most 4,096 characters', async () => {
    startTracing({});
    trace
      .getTracer('test')
      .startSpan('any', { attributes: { note: 'x'.repeat(5000) } })
      .end();
    await sdk.forceFlush();
    expect(exporter.getFinishedSpans()[0]?.attributes).toEqual({ note: 'x'.repeat(4096) });
  });

  it('is dropped when 2,048 others wait for a collector that does not respond', async () => {
    const batches: Parameters<SpanExporter['export']>[] = [];
    exporter.export = (...batch) => void batches.push(batch);
    const start = (count: number) => {
      for (let index = 0; index < count; index += 1) trace.getTracer('test').startSpan('any').end();
    };
    start(5000);
    const [first] = batches;
    exporter.export = (...batch) => {
      batches.push(batch);
      batch[1]({ code: ExportResultCode.SUCCESS });
    };
    first?.[1]({ code: ExportResultCode.SUCCESS });
    await sdk.forceFlush();
    expect(batches.slice(1).flatMap(([spans]) => spans)).toHaveLength(2048);
  });
});
