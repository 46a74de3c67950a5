import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Module } from '@nestjs/common';
import { AppModule } from '../src/app.module.js';
import { WebModule } from './fixtures/web/web.module.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// Pages of another origin, with the libraries that Nest's documentation names.

@Module({ imports: [AppModule, WebModule] })
class OtherTeamsModule {}

const service = useService(() => startService({ RATE_LIMIT: '20' }, undefined, OtherTeamsModule));

const ORIGIN = 'https://shop.example';

/** Sends headers that `fetch` sets itself, and does not decompress. */
async function send(method: string, path: string, headers: Record<string, string> = {}) {
  const sent = request({ port: service.port, method, path, headers: { Origin: ORIGIN, ...headers }, agent: false }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
}

it.each(['/v1/theme', '/v1/items', '/v1/nothing'])('allows browsers to send a request to %s, without a token', async (path) => {
  const names = 'authorization,content-type,idempotency-key';
  const asked = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': names };
  const { status, headers } = await send('OPTIONS', path, asked);
  expect([status, headers['access-control-allow-headers']]).toEqual([204, names]);
  expect(headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, 'access-control-max-age': '600' });
  expect(headers['access-control-allow-methods']).toContain('POST');
  const other = await send('OPTIONS', path, { ...asked, Origin: 'https://other.example' });
  expect(other.headers).not.toHaveProperty('access-control-allow-origin');
});

it('shows errors to browsers of that origin, and to no others [cors-errors]', async () => {
  const client = (await service.newClient()).authorization;
  const requests = [
    ['GET', '/v1/items', {}, 401],
    ['GET', '/v1/nothing', client, 404],
    ['PUT', '/v1/theme', client, 405],
    ['GET', '/v1/items?limit=x', client, 400],
    ...Array.from({ length: 17 }, () => ['GET', '/v1/theme', client, 200] as const),
    ['GET', '/v1/theme', client, 429],
  ] as const;
  for (const [method, path, given, expected] of requests) {
    const { status, headers } = await send(method, path, given);
    expect([path, status, headers['access-control-allow-origin'], headers.vary]).toEqual([
      path,
      expected,
      ORIGIN,
      'Origin, Accept-Encoding',
    ]);
    expect(headers['access-control-expose-headers']).toContain('Retry-After');
  }
  const { headers } = await send('GET', '/v1/items', { Origin: 'https://other.example' });
  expect(headers).not.toHaveProperty('access-control-allow-origin');
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
  const read = (encoding: string, method = 'GET') => send(method, '/v1/items', { ...authorization, 'Accept-Encoding': encoding });
  const [plain, gzip, head] = [await read('identity'), await read('gzip, deflate'), await read('gzip', 'HEAD')];
  expect([plain.headers['content-encoding'], gzip.headers['content-encoding']]).toEqual([undefined, 'gzip']);
  expect(JSON.parse(gunzipSync(gzip.body).toString())).toEqual({ items: [created.body] });
  expect(gunzipSync(gzip.body)).toEqual(plain.body);
  expect(gzip.body.length).toBeLessThan(plain.body.length / 10);
  expect([head.status, head.body.length]).toEqual([200, 0]);
});
