import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { All, Controller, Get, Headers, Module, Put, ServiceUnavailableException, Sse } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiHeader, ApiResponse } from '@nestjs/swagger';
import { NEVER } from 'rxjs';
import { ItemsModule } from '../src/items/items.module.js';
import { RequireScopes } from '../src/platform/index.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { WebModule } from './fixtures/web/web.module.js';
import { eventually } from './support/eventually.js';
import { ServiceProcess } from './support/process.js';
import { startMeasured } from './support/scrape.js';
import { startService } from './support/service.js';
import { createTestDatabase } from './support/test-database.js';
import { useService } from './support/use-service.js';

// Pages of another origin, and the libraries for browsers that Nest's documentation names.

@Controller('visits')
@RequireScopes('visits')
class VisitsController {
  @Put()
  @ApiHeader({ name: 'X-Campaign' })
  @ApiResponse({ status: 200, headers: { 'X-Visits': { description: 'Their number.', schema: { type: 'integer' } } } })
  countVisit(@Headers('X-Campaign') campaign: string): string {
    return campaign;
  }

  @Get('fault')
  failVisit(): never {
    throw new ServiceUnavailableException();
  }

  @Sse('stream')
  streamVisits() {
    return NEVER;
  }
}

@Module({ imports: [PlatformModule, ItemsModule, WebModule], controllers: [VisitsController] })
class OtherTeamsModule {}

@Controller('parcels')
@RequireScopes('parcels')
class ParcelsController {
  @All()
  @ApiExcludeEndpoint()
  passParcel(): void {}
}

@Module({ imports: [PlatformModule, ItemsModule], controllers: [ParcelsController] })
class AnyMethodModule {}

const ORIGIN = 'https://shop.example';
const OTHERS = [
  'https://other.example',
  'http://shop.example',
  'https://shop.example:8443',
  'https://a.shop.example',
  'null',
];

const service = useService(() =>
  startMeasured({ RATE_LIMIT: '20', CORS_ORIGINS: `${ORIGIN},http://[::1]:5173` }, OtherTeamsModule),
);

/** Sends headers that `fetch` sets itself, and does not decompress. */
async function send(method: string, path: string, headers: Record<string, string> = {}, body = '', port = service.port) {
  const length = body === '' ? {} : { 'Content-Length': Buffer.byteLength(body) };
  const sent = request({ port, method, path, headers: { Origin: ORIGIN, ...length, ...headers }, agent: false }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const isStream = response.headers['content-type'] === 'text/event-stream';
  const received = isStream ? Buffer.alloc(0) : await buffer(response);
  if (isStream) sent.destroy();
  return { status: response.statusCode, headers: response.headers, body: received };
}

type Received = Awaited<ReturnType<typeof send>>;

/** What lets a page read a response. */
const corsOf = ({ headers }: Received) => Object.entries(headers).filter(([name]) => name.startsWith('access-control-'));
const listOf = ({ headers }: Received, name: 'methods' | 'headers') => headers[`access-control-allow-${name}`]?.split(',');

const ASKED = { 'Access-Control-Request-Method': 'PUT', 'Access-Control-Request-Headers': 'authorization,content-type' };

describe('a preflight request', () => {
  it.each([ORIGIN, 'http://[::1]:5173'])(
    'of %s is told what the routes have, without a token [cors-preflight]',
    async (Origin) => {
      for (const path of ['/v1/visits', '/v1/items', '/v1/nothing', '/docs']) {
        const response = await send('OPTIONS', path, { ...ASKED, Origin });
        expect([path, response.status, response.body.length]).toEqual([path, 204, 0]);
        expect(response.headers).toMatchObject({
          'access-control-allow-origin': Origin,
          'access-control-max-age': '7200',
          vary: 'Origin',
          'x-content-type-options': 'nosniff',
          'content-security-policy': expect.stringContaining("default-src 'none'"),
          'x-request-id': expect.any(String),
        });
        expect(response.headers).not.toHaveProperty('access-control-allow-credentials');
        expect(response.headers).not.toHaveProperty('content-length');
        expect(listOf(response, 'methods')).toEqual(['GET', 'HEAD', 'POST', 'PUT']);
        const names =
          'Authorization Content-Type Idempotency-Key If-Match If-None-Match X-Request-Id traceparent tracestate X-Campaign';
        expect(listOf(response, 'headers')).toEqual(expect.arrayContaining(names.split(' ')));
        expect(listOf(response, 'headers')).not.toContain('*');
        expect(new Set(listOf(response, 'headers')).size).toBe(listOf(response, 'headers')?.length);
      }
    },
  );

  it('is told all methods if a route serves all [cors-preflight]', async () => {
    const other = await startService({ CORS_ORIGINS: ORIGIN }, undefined, AnyMethodModule);
    const response = await send('OPTIONS', '/v1/parcels', ASKED, '', other.port);
    expect(listOf(response, 'methods')).toEqual(['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT']);
    await other.stop();
  });

  it.each(OTHERS)('of %s is allowed nothing [cors-origins]', async (Origin) => {
    const response = await send('OPTIONS', '/v1/items', { ...ASKED, Origin });
    expect([response.status, corsOf(response), response.headers.vary]).toEqual([204, [], 'Origin']);
  });

  it('neither counts for a limit nor as a failed authentication, and is in the log [cors-preflight-free]', async () => {
    const client = await service.newClient();
    const left = async () => (await client.call('GET', '/v1/theme')).headers.get('ratelimit');
    expect(await left()).toMatch('r=19;');
    const before = await service.scrape();
    for (const Origin of [ORIGIN, ...OTHERS])
      await send('OPTIONS', '/v1/theme', { ...ASKED, ...client.authorization, Origin });
    for (let count = 0; count < 30; count += 1) await send('OPTIONS', '/v1/theme', ASKED);
    expect(await left()).toMatch('r=18;');
    const refusals = 'items_authentication_refusals_total';
    const answered = { method: 'OPTIONS', status: '204' };
    const after = await service.scrape();
    expect(after.sum(refusals)).toBe(before.sum(refusals));
    const count = 'items_http_request_duration_seconds_count';
    expect(after.sum(count, answered) - before.sum(count, answered)).toBe(31 + OTHERS.length);

    const { environment } = await createTestDatabase();
    const logging = await ServiceProcess.startReady({ ...environment, CORS_ORIGINS: ORIGIN });
    const { headers } = await send('OPTIONS', '/v1/items', ASKED, '', Number(new URL(logging.origin).port));
    await eventually(() => logging.linesOf('request').some(({ method }) => method === 'OPTIONS'));
    const line = logging.linesOf('request').find(({ method }) => method === 'OPTIONS');
    expect(line).toMatchObject({ path: '/v1/items', status: 204, requestId: headers['x-request-id'] });
    expect(await logging.end('SIGTERM')).toBe(0);
  });

  it.each<[string, Record<string, string>, string]>([
    ['does not ask for a method', {}, ''],
    ['has a body', ASKED, '{}'],
  ])('is none if it %s: it passes the guards', async (_case, headers, body) => {
    expect((await send('OPTIONS', '/v1/items', headers, body)).status).toBe(401);
    const client = await service.newClient();
    expect((await send('OPTIONS', '/v1/items', { ...headers, ...client.authorization }, body)).status).toBe(405);
  });

  it('is none with another method: it passes the guards', async () => {
    expect((await send('PUT', '/v1/theme', ASKED)).status).toBe(401);
  });
});

describe('a response', () => {
  it('is shown to pages of that origin with its headers, also an error, and to no others [cors-errors] [cors-origins]', async () => {
    const client = (await service.newClient()).authorization;
    const json = { ...client, 'Content-Type': 'application/json' };
    const requests = [
      ['GET', '/v1/items', {}, 401],
      ['GET', '/v1/items', { Authorization: 'Bearer wrong' }, 401],
      ['GET', '/v1/nothing', client, 404],
      ['PUT', '/v1/theme', client, 405],
      ['GET', '/v1/items?limit=x', client, 400],
      ['POST', '/v1/items', json, 413, ' '.repeat(65_537)],
      ['POST', '/v1/items', { ...json, 'Idempotency-Key': 'k' }, 201, '{"name":"x"}'],
      ['GET', '/v1/visits/fault', client, 503],
      ['GET', '/v1/visits/stream', { ...client, Accept: 'text/event-stream' }, 200],
      ['GET', '/readyz', {}, 200],
      ['GET', '/docs/assets/console.js', {}, 200],
      ...Array.from({ length: 13 }, () => ['GET', '/v1/theme', client, 200] as const),
      ['GET', '/v1/theme', client, 429],
    ] as const;
    const names =
      'Allow Content-Disposition Location RateLimit RateLimit-Policy Retry-After X-Request-Id ETag Idempotent-Replayed ' +
      'WWW-Authenticate Link Deprecation Sunset X-Visits';
    for (const [method, path, given, expected, body] of requests) {
      const response = await send(method, path, given, body);
      const { status, headers } = response;
      expect([path, status, headers['access-control-allow-origin']]).toEqual([path, expected, ORIGIN]);
      expect(headers.vary?.split(', ')).toContain('Origin');
      const shown = headers['access-control-expose-headers']?.split(',') ?? [];
      expect(shown).toEqual(expect.arrayContaining(names.split(' ')));
      expect(new Set(shown).size).toBe(shown.length);
      expect(headers).not.toHaveProperty('access-control-allow-credentials');
    }
    for (const Origin of OTHERS) {
      const other = (await service.newClient()).authorization;
      const responses = [await send('GET', '/v1/theme', { ...other, Origin }), await send('GET', '/v1/theme', { Origin })];
      expect(responses.map((response) => [response.status, corsOf(response)])).toEqual([
        [200, []],
        [401, []],
      ]);
      for (const { headers } of responses) expect(headers.vary?.split(', ')).toContain('Origin');
    }
  });

  it('has nothing of this without CORS_ORIGINS: a preflight request needs a token like others', async () => {
    const plain = await startService();
    for (const [method, status] of [
      ['GET', 401],
      ['OPTIONS', 401],
    ] as const) {
      const response = await send(method, '/v1/items', ASKED, '', plain.port);
      expect([response.status, corsOf(response), response.headers.vary]).toEqual([status, [], undefined]);
    }
    await plain.stop();
  });
});

it('reads cookies, which are no token [cookies-no-token]', async () => {
  const { api } = service;
  for (const [Cookie, theme] of [
    ['theme=dark', 'dark'],
    ['a=b; theme=%64ark', 'dark'],
    ['theme=j:["dark"]', 'light'],
    ['theme=%', 'light'],
    ['__proto__=dark', 'light'],
  ] as const) {
    const { status, body } = await send('GET', '/v1/theme', { ...api.authorization, Cookie });
    expect([Cookie, status, JSON.parse(body.toString())]).toEqual([Cookie, 200, { theme }]);
  }
  expect(
    (await send('GET', '/v1/theme', { Cookie: `Authorization=Bearer ${api.token}; access_token=${api.token}` })).status,
  ).toBe(401);
});

it('compresses long responses for clients that accept it', async () => {
  const { authorization } = await service.newClient();
  const created = await service.api.create({ name: 'Bell', description: 'ring '.repeat(800) });
  const read = (encoding: string, method = 'GET') =>
    send(method, '/v1/items', { ...authorization, 'Accept-Encoding': encoding });
  const [plain, gzip, head] = [await read('identity'), await read('gzip, deflate'), await read('gzip', 'HEAD')];
  expect([plain.headers['content-encoding'], gzip.headers['content-encoding']]).toEqual([undefined, 'gzip']);
  const { items } = JSON.parse(gunzipSync(gzip.body).toString()) as { items: unknown[] };
  expect(items[0]).toEqual(created.body);
  expect(gunzipSync(gzip.body)).toEqual(plain.body);
  expect(gzip.body.length).toBeLessThan(plain.body.length / 10);
  expect([head.status, head.body.length]).toEqual([200, 0]);
});
