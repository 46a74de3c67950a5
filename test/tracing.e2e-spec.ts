import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { startApp } from '../src/app.js';
import { ItemsModule } from '../src/items/items.module.js';
import { IssuerKeys } from '../src/platform/auth/jwt/issuer-keys.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { Metrics } from '../src/platform/observability/metrics.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { currentTrace, runIn } from '../src/platform/tracing/current-span.js';
import { traced } from '../src/platform/tracing/traced.js';
import { Tracing } from '../src/platform/tracing/tracing.js';
import { Errands, ErrandsModule } from './fixtures/errands.module.js';
import { Api } from './support/api.js';
import { Canaries } from './support/canaries.js';
import { Collector } from './support/collector.js';
import { HttpClient } from './support/http-client.js';
import { IdentityProvider } from './support/identity-provider.js';
import { eventually, serverDefaults, type Service, startService } from './support/service.js';

@Module({ imports: [PlatformModule, ItemsModule, ErrandsModule] })
class AppModule {}

const RATE_LIMIT = 60;

let collector: Collector;
let provider: IdentityProvider;
let service: Service;
let errands: Errands;
let destination: Server;
/** Headers of what came to the destination of errands. */
const arrived: IncomingHttpHeaders[] = [];

beforeAll(async () => {
  collector = await Collector.start();
  provider = await IdentityProvider.start();
  const environment = {
    ...collector.environment,
    ...provider.environment,
    RATE_LIMIT: String(RATE_LIMIT),
    DATABASE_POOL_SIZE: '2',
  };
  service = await startService(environment, undefined, AppModule);
  errands = service.app.get(Errands, { strict: false });
  destination = createServer((request, response) => {
    arrived.push(request.headers);
    response.writeHead(request.url?.startsWith('/missing') === true ? 404 : 200).end();
  });
  destination.listen(0, '127.0.0.1');
  await once(destination, 'listening');
  errands.destination = `http://127.0.0.1:${(destination.address() as AddressInfo).port}/place?key=canary`;
});

afterAll(async () => {
  await service.stop();
  await provider.stop();
  await collector.stop();
  destination.close();
});

/** A trace that a caller has begun. */
function newTrace(flags = '01') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } };
}

/** Exports until the span of the request is there, and those of other names. */
async function exported(traceId: string, ...names: string[]): Promise<void> {
  await eventually(async () => {
    await service.app.get(Tracing).flush();
    const spans = collector.trace(traceId);
    return spans.some(({ kind }) => kind === 'server') && names.every((name) => spans.some((span) => span.name === name));
  });
}

/** The first use of a token in a day is noted beside the request, which may be answered before that has begun. */
function treeOf(traceId: string): string[] {
  return collector.tree(traceId).filter((line) => !line.endsWith('UPDATE access_tokens'));
}

/** The trace of a request that is answered with that status. @param names - of spans to wait for */
async function traceOf(client: Api, request: string, status: number, init: RequestInit = {}, ...names: string[]) {
  const { traceId, headers } = newTrace();
  const [method = '', path = ''] = request.split(' ');
  const send = client.token === '' ? client.send.bind(client) : client.call.bind(client);
  const answer = await send(method, path, { ...init, headers: { ...headers, ...(init.headers as object) } });
  expect(answer.status).toBe(status);
  await exported(traceId, ...names);
  const spans = collector.trace(traceId);
  const attributesOf = (name: string) => spans.find((span) => span.name === name)?.attributes;
  return { answer, spans, tree: treeOf(traceId), attributesOf, failed: spans.filter((span) => span.isFailed) };
}

const json = { 'Content-Type': 'application/json' };
const item = (name: string) => ({ headers: json, body: JSON.stringify({ name }) });

describe('the trace of a request', () => {
  it('shows authentication, limiter and statements of a create, and nothing that the client sent', async () => {
    const client = await service.newClient();
    const { answer, spans, tree, attributesOf, failed } = await traceOf(client, 'POST /v1/items', 201, item('x'));
    expect(tree).toEqual([
      'server POST /v1/items',
      '  internal authenticate',
      '    client SELECT access_tokens',
      '  internal rate limit',
      '  client INSERT items',
    ]);
    const principal = attributesOf('authenticate')?.['enduser.id'];
    expect(principal).toMatch(/^[0-9a-f-]{36}$/);
    expect(attributesOf('POST /v1/items')).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/items',
      'http.response.status_code': 201,
      'url.scheme': 'http',
      'url.path': '/v1/items',
      'network.protocol.version': '1.1',
      'enduser.id': principal,
      'items.request.id': answer.headers.get('x-request-id'),
    });
    expect(attributesOf('authenticate')).toEqual({ 'enduser.id': principal, 'items.authentication.kind': 'access token' });
    expect(attributesOf('rate limit')).toEqual({ 'items.rate_limit.admitted': true, 'items.rate_limit.storage': 'process' });
    expect(attributesOf('INSERT items')).toEqual({
      'db.system.name': 'postgresql',
      'db.operation.name': 'INSERT',
      'db.query.summary': 'INSERT items',
      'db.query.text': 'INSERT INTO "items" ("id", "name") VALUES ($1, $2)',
    });
    expect(failed).toEqual([]);
    const server = spans.find(({ kind }) => kind === 'server');
    for (const span of spans) {
      expect([span.start <= span.end, (server?.start ?? 0n) <= span.start]).toEqual([true, true]);
    }
  });

  it('shows what a list, a filter and repeats of a create ask of the database', async () => {
    const client = await service.newClient();
    await client.list();
    const children = ['  internal authenticate', '  internal rate limit'];
    const list = await traceOf(client, 'GET /v1/items?limit=7', 200);
    expect(list.tree).toEqual(['server GET /v1/items', ...children, '  client SELECT items']);
    expect(list.attributesOf('SELECT items')?.['db.query.text']).toMatch(/^SELECT .* ORDER BY "id" DESC LIMIT \?$/);
    const filter = `/v1/items?filter=${encodeURIComponent('name == "x"')}`;
    expect((await traceOf(client, `GET ${filter}`, 200, {}, 'ROLLBACK')).tree).toEqual([
      'server GET /v1/items',
      ...children,
      '  client START',
      '  client EXPLAIN items',
      '  client SELECT items',
      '  client ROLLBACK',
    ]);
    const repeatable = { ...item('once'), headers: { ...json, 'Idempotency-Key': randomBytes(8).toString('hex') } };
    const begun = [...children, '  client START', '  client INSERT idempotency_keys'];
    expect((await traceOf(client, 'POST /v1/items', 201, repeatable)).tree).toEqual([
      'server POST /v1/items',
      ...begun,
      '  client INSERT items',
      '  client UPDATE idempotency_keys',
      '  client COMMIT',
    ]);
    expect((await traceOf(client, 'POST /v1/items', 201, repeatable)).tree).toEqual([
      'server POST /v1/items',
      ...begun,
      '  client SELECT idempotency_keys',
      '  client COMMIT',
    ]);
  });

  it.each([
    ['no token', () => '', { 'items.authentication.refusal': 'missing' }, []],
    ['no such token', generateToken, refusal('unknown', 'access token'), ['    client SELECT access_tokens']],
    ['a mistyped token', () => `${generateToken().slice(0, -6)}aaaaaa`, refusal('checksum', 'access token'), []],
    ['a late JWT', () => provider.sign({ exp: 1 }), refusal('jwt-expired', 'jwt'), []],
  ])('says why it was refused: %s', async (_case, makeToken, attributes, statements) => {
    const client = new Api(service.api.origin, await makeToken());
    const { tree, attributesOf, failed } = await traceOf(client, 'GET /v1/items', 401);
    expect(tree).toEqual(['server GET /v1/items', '  internal authenticate', ...statements]);
    expect(attributesOf('authenticate')).toEqual(attributes);
    expect(attributesOf('GET /v1/items')).toMatchObject({ 'http.response.status_code': 401 });
    expect(failed).toEqual([]);
  });

  it.each([
    ['GET /v1/nothing/at/all', 404, 'GET /{*path}'],
    ['DELETE /v1/items', 405, 'DELETE /{*path}'],
    ['PROPFIND /v1/items', 405, 'HTTP /{*path}'],
    ['GET /v1/items?limit=0', 400, 'GET /v1/items'],
    ['GET /openapi.json', 200, 'GET /openapi.json'],
    ['HEAD /docs/assets/swagger-ui.css', 200, 'HEAD'],
  ])('has one of few names, and is no failure of the service: %s', async (request, status, name) => {
    const { spans, attributesOf, failed } = await traceOf(await service.newClient(), request, status, {});
    const server = spans.find(({ kind }) => kind === 'server');
    expect([server?.name, server?.attributes['http.response.status_code']]).toEqual([name, status]);
    expect(server?.attributes['url.path']).toBe(request.split(/[ ?]/)[1]);
    expect(server?.attributes['http.request.method_original']).toBe(request.startsWith('PROPFIND') ? 'PROPFIND' : undefined);
    expect(failed).toEqual([]);
    expect(attributesOf('rate limit')?.['items.rate_limit.admitted']).toBe(status === 200 ? undefined : true);
  });
});

function refusal(reason: string, kind: string) {
  return { 'items.authentication.refusal': reason, 'items.authentication.kind': kind };
}

describe('a failure in a trace', () => {
  it('is an answer of the service that it is to blame for, at the span where it happened', async () => {
    const client = await service.newClient();
    const { tree, spans } = await traceOf(client, 'GET /v1/errands/failing', 500);
    expect(tree.at(-1)).toBe('  internal errand');
    const failed = spans.filter(({ isFailed }) => isFailed).map(({ name, attributes }) => [name, attributes['error.type']]);
    expect(new Map(failed as [string, unknown][])).toEqual(
      new Map([
        ['GET /v1/errands/failing', '500'],
        ['errand', 'TypeError'],
      ]),
    );
  });

  it('of a statement tells its code alone', async () => {
    errands.value = 'no-number';
    const { attributesOf, failed } = await traceOf(await service.newClient(), 'GET /v1/errands/broken', 500);
    expect(attributesOf('SELECT')).toMatchObject({
      'db.query.text': 'SELECT ? || $1::int',
      'db.response.status_code': '22P02',
      'error.type': '22P02',
    });
    expect(failed.map(({ message }) => message)).toEqual(['', '']);
    expect(failed).toHaveLength(2);
  });

  it('is none where the limiter refuses', async () => {
    const client = await service.newClient();
    await Promise.all(Array.from({ length: RATE_LIMIT }, () => client.list()));
    const { tree, attributesOf, failed } = await traceOf(client, 'GET /v1/items', 429);
    expect(tree).toEqual(['server GET /v1/items', '  internal authenticate', '  internal rate limit']);
    expect(attributesOf('rate limit')).toEqual({ 'items.rate_limit.admitted': false, 'items.rate_limit.storage': 'process' });
    expect(failed).toEqual([]);
  });

  it('is none where the client hangs up', async () => {
    const client = await service.newClient();
    const { traceId, headers } = newTrace();
    const fields = {
      Authorization: `Bearer ${client.token}`,
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': 9,
    };
    const socket = connect(service.port, '127.0.0.1');
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /v1/items HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n{"`);
    await delay(200);
    socket.resetAndDestroy();
    await exported(traceId);
    const server = collector.trace(traceId).find(({ kind }) => kind === 'server');
    expect(server?.attributes).toMatchObject({ 'http.route': '/v1/items', 'items.request.aborted': true });
    expect(server?.attributes).not.toHaveProperty(['http.response.status_code']);
    expect(collector.trace(traceId).filter(({ isFailed }) => isFailed)).toEqual([]);
  });

  it('is one while the database is away, at the span that needed it', async () => {
    const environment = {
      ...serverDefaults,
      ...collector.environment,
      LOG_LEVEL: 'silent',
      DATABASE_URL: 'postgres://127.0.0.1:1/items',
    };
    const app = await startApp(readConfiguration(environment));
    const { port } = app.getHttpServer().address() as AddressInfo;
    const { traceId, headers } = newTrace();
    const api = new Api(`http://127.0.0.1:${port}`, generateToken());
    expect((await api.call('GET', '/v1/items', { headers })).status).toBe(503);
    await app.close();
    expect(collector.tree(traceId)).toEqual(['server GET /v1/items', '  internal authenticate']);
    expect(collector.trace(traceId).map(({ isFailed, attributes }) => [isFailed, attributes['error.type']])).toEqual(
      expect.arrayContaining([
        [true, '503'],
        [true, 'service-unavailable'],
      ]),
    );
  });
});

describe('W3C Trace Context', () => {
  it('is continued: below the span of the caller, with its state', async () => {
    const { traceId, spanId, headers } = newTrace();
    const state = 'vendor=a1,other=b2';
    await service.api.send('GET', '/livez', { headers: { ...headers, tracestate: state } });
    await exported(traceId);
    const [server] = collector.trace(traceId);
    expect([server?.parentId, server?.traceState]).toEqual([spanId, state]);
  });

  it.each([
    ['too short', '00-1234-5678-01'],
    ['in capitals', `00-${'AB'.repeat(16)}-${'12'.repeat(8)}-01`],
    ['of zeros', `00-${'0'.repeat(32)}-${'12'.repeat(8)}-01`],
    ['without a span', `00-${'12'.repeat(16)}-${'0'.repeat(16)}-01`],
    ['of the version that is none', `ff-${'12'.repeat(16)}-${'12'.repeat(8)}-01`],
    ['with more than its version has', `00-${'12'.repeat(16)}-${'12'.repeat(8)}-01-x`],
    ['too long', `01-${'12'.repeat(16)}-${'12'.repeat(8)}-01-${'x'.repeat(500)}`],
    ['twice', `00-${'12'.repeat(16)}-${'12'.repeat(8)}-01, 00-${'34'.repeat(16)}-${'12'.repeat(8)}-01`],
    ['no trace', generateToken()],
  ])('is ignored if it is malformed, and a new trace begins: %s', async (_case, traceparent) => {
    const { headers } = await service.api.send('GET', '/livez', { headers: { traceparent, tracestate: 'vendor=a1' } });
    const [server] = await spansOfRequest(headers.get('x-request-id'));
    expect(server).toMatchObject({ parentId: '', traceState: '', name: 'GET /livez' });
    expect(traceparent).not.toContain(server?.traceId);
  });

  it.each([
    ['too long', `vendor=${'x'.repeat(510)}`],
    ['with a token', `vendor=${generateToken()}`],
    ['malformed', 'vendor'],
  ])('is continued without a state that must not go further: %s', async (_case, tracestate) => {
    const { traceId, spanId, headers } = newTrace();
    await service.api.send('GET', '/livez', { headers: { ...headers, tracestate } });
    await exported(traceId);
    const [server] = collector.trace(traceId);
    expect([server?.parentId, server?.traceState]).toEqual([spanId, '']);
  });

  it('exports nothing of a trace that its caller does not sample', async () => {
    const client = await service.newClient();
    const { traceId, headers } = newTrace('00');
    expect((await client.call('GET', '/v1/items', { headers })).status).toBe(200);
    const later = newTrace();
    await client.call('GET', '/v1/items', { headers: later.headers });
    await exported(later.traceId);
    expect(collector.trace(traceId)).toEqual([]);
  });

  it('goes on to the services that are called, by features and for the keys of the issuer, and to no client', async () => {
    errands.value = generateToken();
    const { tree, spans, attributesOf, answer } = await traceOf(await service.newClient(), 'GET /v1/errands', 204);
    expect(tree.slice(-2)).toEqual(['  internal errand', '    client GET']);
    const call = spans.find(({ name }) => name === 'GET');
    expect(arrived.at(-1)).toMatchObject({ traceparent: `00-${call?.traceId}-${call?.spanId}-01`, accept: 'text/plain' });
    expect(attributesOf('errand')).toEqual({ 'errand.status': 200, 'errand.note': '***' });
    expect(attributesOf('GET')).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'url.full': errands.destination.replace(/\?.*/, ''),
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(errands.destination).port),
    });
    expect([...answer.headers.keys()].filter((name) => name.startsWith('trace'))).toEqual([]);
  });

  it.each([
    ['/missing', '404'],
    ['refused', 'TypeError'],
  ])('shows a call that fails: %s', async (place, errorType) => {
    const { destination: usual } = errands;
    errands.destination = place === 'refused' ? 'http://user:canary@127.0.0.1:1/' : new URL(place, usual).href;
    const { spans, failed } = await traceOf(await service.newClient(), 'GET /v1/errands', place === 'refused' ? 500 : 204);
    errands.destination = usual;
    const call = failed.find(({ name }) => name === 'GET');
    expect(call?.attributes['error.type']).toBe(errorType);
    expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('canary');
  });

  it('goes on with what one request asks of the issuer, and not with what is asked later', async () => {
    const times = { deadline: 3000, pause: 1000, interval: 100 };
    const keys = new IssuerKeys(readConfiguration(provider.environment), new Metrics(), times);
    const { traceId, headers } = newTrace();
    const span = service.app.get(Tracing).beginRequest(headers);
    const find = () => keys.find({ alg: 'RS256', kid: 'new' }).catch(() => undefined);
    const asked = provider.traceparents.length;
    await (span && runIn(span, () => traced('authenticate', find)));
    span?.end();
    await eventually(() => provider.traceparents.length > asked + 1);
    keys.stop();
    await eventually(async () => {
      await service.app.get(Tracing).flush();
      return collector.trace(traceId).length >= 4;
    });
    expect(collector.tree(traceId)).toEqual(['server HTTP', '  internal authenticate', '    client GET', '    client GET']);
    const call = collector.trace(traceId).findLast(({ name }) => name === 'GET');
    const [first, ...others] = provider.traceparents.slice(asked);
    expect(first).toBe(`00-${traceId}-${call?.spanId}-01`);
    expect(new Set(others)).toEqual(new Set([undefined]));
  });
});

/** The spans of a request that came without a trace of its own. */
async function spansOfRequest(requestId: string | null) {
  const find = () => collector.spans.filter(({ attributes }) => attributes['items.request.id'] === requestId);
  await eventually(async () => {
    await service.app.get(Tracing).flush();
    return find().length > 0;
  });
  return find();
}

describe('requests', () => {
  it('that are served at once have each their own trace, whoever waits for the database', async () => {
    const client = await service.newClient();
    await client.list();
    const traces = Array.from({ length: 20 }, () => newTrace());
    await Promise.all(traces.map(({ headers }) => client.call('GET', '/v1/items?limit=1', { headers })));
    await Promise.all(traces.map(({ traceId }) => exported(traceId, 'SELECT items')));
    for (const { traceId, spanId } of traces) {
      const children = ['internal authenticate', 'internal rate limit', 'client SELECT items'];
      expect(collector.tree(traceId)).toEqual(['server GET /v1/items', ...children.map((child) => `  ${child}`)]);
      expect(collector.trace(traceId).some(({ parentId }) => parentId === spanId)).toBe(true);
    }
  });

  it('that follow each other on one connection have nothing of each other', async () => {
    const client = await service.newClient();
    const connection = new HttpClient(service.api.origin, client.token, true);
    const { traceId, headers } = newTrace();
    await connection.send('/v1/items', { headers });
    const { headers: answered } = await connection.send('/v1/items');
    connection.close();
    const [server] = await spansOfRequest(String(answered['x-request-id']));
    expect(server?.parentId).toBe('');
    expect(server?.traceId).not.toBe(traceId);
  });

  it('have no part in what goes on after their answer', async () => {
    const { traceId, headers } = newTrace();
    await (await service.newClient()).call('GET', '/v1/errands/late', { headers });
    await errands.rest;
    await exported(traceId);
    await delay(100);
    await service.app.get(Tracing).flush();
    expect(treeOf(traceId)).toEqual([
      'server GET /v1/errands/late',
      '  internal authenticate',
      '    client SELECT access_tokens',
      '  internal rate limit',
    ]);
  });

  it('are all that is traced: no migrations, no clean-up, no connections', () => {
    const servers = collector.spans.filter(({ kind }) => kind === 'server');
    const traceIds = new Set(servers.map(({ traceId }) => traceId));
    expect(collector.spans.filter(({ traceId }) => !traceIds.has(traceId))).toEqual([]);
    expect(currentTrace()).toBeUndefined();
  });
});

it('exports nothing that is secret, and nothing that clients sent', async () => {
  const client = await service.newClient();
  const canaries = new Canaries();
  const secrets = Object.fromEntries(
    ['name', 'description', 'filter', 'key', 'cookie', 'agent', 'query'].map((name) => [name, generateToken().slice(6)]),
  );
  for (const [name, value] of Object.entries(secrets)) canaries.add(name, value);
  for (const { token } of [client, new Api('', generateToken())]) {
    canaries.add('token', token.slice(6), token);
    const headers = {
      Authorization: `Bearer ${token}`,
      ...json,
      'Idempotency-Key': secrets['key'] ?? '',
      Cookie: `session=${secrets['cookie']}`,
      'User-Agent': secrets['agent'] ?? '',
      'X-Request-Id': token,
      tracestate: `vendor=${token}`,
      baggage: `token=${token}`,
    };
    const body = JSON.stringify({ name: secrets['name'], description: secrets['description'] });
    await client.send('POST', '/v1/items', { headers, body });
    const filter = encodeURIComponent(`name == "${secrets['filter']}" || name.contains("${secrets['filter']}")`);
    const { body: page } = await client.send<{ nextCursor?: string }>('GET', `/v1/items?limit=1&filter=${filter}`, { headers });
    await client.send('GET', `/v1/items?cursor=${page.nextCursor ?? secrets['query']}&access_token=${token}`, { headers });
    await client.send('GET', `/v1/items/${token}`, { headers });
    await client.send('GET', `/v1/items?${secrets['query']}=1`, { headers });
  }
  const { body } = await client.list({ limit: '1' });
  expect(body.nextCursor).toMatch(/.{40}/);
  canaries.add('cursor', body.nextCursor ?? '');
  await client.list({ limit: '1', cursor: body.nextCursor ?? '' });
  const { headers } = await client.send('GET', '/livez');
  await spansOfRequest(headers.get('x-request-id'));
  const bytes = Buffer.concat(collector.received.map((request) => request.body));
  expect(bytes.includes('/v1/items/***')).toBe(true);
  expect(canaries.findIn(bytes)).toEqual([]);
});

describe('the sampler', () => {
  const sampled = async (environment: NodeJS.ProcessEnv, flags: string) => {
    const app = await startApp(
      readConfiguration({
        ...serverDefaults,
        ...collector.environment,
        LOG_LEVEL: 'silent',
        DATABASE_URL: 'postgres://127.0.0.1:1/items',
        ...environment,
      }),
    );
    const { port } = app.getHttpServer().address() as AddressInfo;
    const { traceId, headers } = newTrace(flags);
    const answer = await fetch(`http://127.0.0.1:${port}/livez`, { headers: flags === '' ? {} : headers });
    await app.close();
    const id = answer.headers.get('x-request-id');
    return collector.spans.filter(
      (span) => span.traceId === traceId || (flags === '' && span.attributes['items.request.id'] === id),
    ).length;
  };

  it.each([
    ['parentbased_always_on', '', '', 1],
    ['parentbased_always_off', '', '', 0],
    ['parentbased_always_off', '', '01', 1],
    ['parentbased_traceidratio', '0', '', 0],
    ['parentbased_traceidratio', '0', '01', 1],
    ['parentbased_traceidratio', '1', '', 1],
    ['traceidratio', '0', '01', 0],
    ['always_on', '', '00', 1],
    ['always_off', '', '01', 0],
  ])('%s with %j and the flags %j of the caller', async (OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG, flags, count) => {
    expect(await sampled({ OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG }, flags)).toBe(count);
  });

  it('has nothing to decide with OTEL_SDK_DISABLED', async () => {
    expect(await sampled({ OTEL_SDK_DISABLED: 'true' }, '01')).toBe(0);
  });
});
