import { jest } from '@jest/globals';
import type { Express } from 'express';
import { generateToken } from '../src/platform/auth/token-format.js';
import { HealthIndicators } from '../src/platform/index.js';
import { SERVICE_VERSION } from '../src/platform/service/service.js';
import { Api } from './support/api.js';
import { request, sendRaw } from './support/raw-http.js';
import { startAwayFromDatabase, startService } from './support/service.js';
import { useService } from './support/use-service.js';

const service = useService(() => startService());

describe('the page at /', () => {
  it('describes the service and links to the guides, with curl commands', async () => {
    const answer = await fetch(service.api.origin);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const page = await answer.text();
    for (const part of ['<h1>Items Service</h1>', 'Manages a collection of items', `Version ${SERVICE_VERSION}`])
      expect(page).toContain(part);
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(links).toEqual(expect.arrayContaining(['./docs', './docs/problems', './openapi.json']));
    for (const link of links.filter((href) => !href.startsWith('#'))) {
      // Relative, so that they hold below the path of a proxy.
      expect(link).not.toMatch(/^\/|:/);
      expect([link, (await fetch(new URL(link, answer.url))).status]).toEqual([link, 200]);
    }
    // A script leads it to this service.
    const json = '{"name":"Blue bicycle","description":"Seven gears, one bell."}';
    expect(page).toContain(
      `<code>curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${json}' /v1/items</code>`,
    );
    expect(page).toContain('<code>curl -H "Authorization: Bearer $TOKEN" /v1/items</code>');
  });

  it('responds to HEAD without a body, to other methods with 401 or 405, and does not count for the rate limit', async () => {
    const head = await fetch(service.api.origin, { method: 'HEAD' });
    expect([head.status, await head.text(), head.headers.get('ratelimit')]).toEqual([200, '', null]);
    expect((await service.api.send('POST', '/')).status).toBe(401);
    const { status, headers } = await service.api.call('POST', '/');
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});

it.each(['/index.html', '/docs/x', '/docs//', '/docs/assets/', '/docs/assets/../../package.json', '/v1', '//'])(
  '%s is no public route: without a token it does not say whether it exists',
  async (path) => {
    expect((await sendRaw(service.port, request(`GET ${path}`, []))).status).toBe(401);
    expect(
      (await sendRaw(service.port, request(`GET ${path}`, [`Authorization: Bearer ${service.api.token}`]))).status,
    ).toBe(404);
  },
);

describe('without a token,', () => {
  it.each([
    ['/docs/', '/docs'],
    ['/docs/problems/', '/docs/problems'],
    ['/openapi.json/', '/openapi.json'],
  ])('%s redirects to %s, by a relative address', async (path, target) => {
    const { status, headers } = await fetch(`${service.api.origin}${path}`, { redirect: 'manual' });
    const location = headers.get('location') ?? '';
    expect([status, location]).toEqual([308, expect.stringMatching(/^\.\.\//)]);
    expect(new URL(location, `${service.api.origin}${path}`).href).toBe(`${service.api.origin}${target}`);
  });

  it.each([
    ['gzip', 'gzip'],
    ['br;q=1.0, GZIP;q=0.8, *;q=0.1', 'gzip'],
    ['deflate, gzip ; q=0.001', 'gzip'],
    ['gzip;q=0', null],
    ['gzip; q=0.000, identity', null],
    ['identity', null],
    ['', null],
  ])('a file is sent to a client with the Accept-Encoding "%s" with the encoding %s', async (accepted, encoding) => {
    const { headers } = await fetch(`${service.api.origin}/docs/assets/pages.css`, {
      headers: { 'Accept-Encoding': accepted },
    });
    expect([headers.get('content-encoding'), headers.get('vary')]).toEqual([encoding, 'Accept-Encoding']);
  });

  it('no response is negotiated by the methods of Express, which take milliseconds for a header of 16 KiB', async () => {
    const { request: methods }: Express = service.app.getHttpAdapter().getInstance();
    const spies = (['accepts', 'acceptsEncodings'] as const).map((name) => jest.spyOn(methods, name));
    const headers = { Accept: '*/*;a=b,'.repeat(1800), 'Accept-Encoding': 'a,' };
    for (const path of ['/', '/docs', '/docs/', '/docs/problems/', '/openapi.json', '/docs/assets/pages.css', '/livez']) {
      expect((await fetch(`${service.api.origin}${path}`, { headers, redirect: 'manual' })).status).toBeLessThan(400);
    }
    expect(spies.flatMap(({ mock }) => mock.calls)).toEqual([]);
    spies.forEach((spy) => spy.mockRestore());
  });

  it.each([
    ['/favicon.ico', 'image/svg+xml', '<svg '],
    ['/robots.txt', 'text/plain', 'User-agent: *\nDisallow: /\n'],
  ])('%s is served as %s', async (path, type, start) => {
    const response = await fetch(`${service.api.origin}${path}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, expect.stringContaining(type)]);
    expect(await response.text()).toMatch(new RegExp(`^${start.replaceAll('*', String.raw`\*`)}`));
  });
});

describe('the probes', () => {
  it.each<[string, () => Promise<void>]>([
    ['fails', () => Promise.reject(new Error('secret cause'))],
    [
      'throws',
      () => {
        throw new Error('before there is a promise');
      },
    ],
    ['never ends', () => new Promise<void>(() => undefined)],
  ])(
    'need no token, and report that the service is not ready, with the cause, while an indicator of a feature %s [operational-paths-open]',
    async (what, check) => {
      let isWell = true;
      const name = `warehouse that ${what}`;
      service.app.get(HealthIndicators).add(name, () => (isWell ? Promise.resolve() : check()));
      const well = { status: 200, body: { status: 'ok' } };
      expect(await service.api.send('GET', '/readyz')).toMatchObject(well);
      isWell = false;
      const { status, body, headers } = await service.api.send('GET', '/readyz');
      expect([status, body.detail, headers.get('retry-after')]).toEqual([503, `Not ready: ${name}.`, '1']);
      expect(await service.api.send('GET', '/livez')).toMatchObject(well);
      isWell = true;
    },
  );
});

describe('without a database at the start, the service', () => {
  it('stays up, is live but not ready, and responds 503 to well-formed tokens [unavailable-retry-after]', async () => {
    const away = await startAwayFromDatabase();
    const api = new Api(away.origin, generateToken());
    try {
      expect((await api.send('GET', '/livez')).status).toBe(200);
      expect((await api.send('GET', '/readyz')).status).toBe(503);
      for (const answer of [await api.list(), await api.create({ name: 'x' })]) {
        expect(answer.status).toBe(503);
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect((await new Api(away.origin, 'items_mistyped').list()).status).toBe(401);
    } finally {
      await away.stop();
    }
  });
});
