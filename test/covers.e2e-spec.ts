import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Module } from '@nestjs/common';
import { AppModule } from '../src/app.module.js';
import { Covers, CoversModule } from './fixtures/covers/covers.module.js';
import { startMeasured } from './support/scrape.js';
import { startService } from './support/service.js';

// A module that calls another service, and its tests with one that is mocked.

@Module({ imports: [AppModule, CoversModule] })
class WithCovers {}

it('calls the other service, for no longer than it may take, and counts how that ends', async () => {
  const upstream = createServer(({ url }, response) => {
    if (url === '/covers/a%20%26%20b') response.end('https://covers.example/1.png');
    if (url === '/covers/broken') response.writeHead(500).end();
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const service = await startMeasured({ COVERS_URL: origin, COVERS_TIMEOUT: '0.2' }, WithCovers);
  const find = (title: string) => service.api.call<object>('GET', `/v1/covers?title=${encodeURIComponent(title)}`);
  expect(await find('a & b')).toMatchObject({ status: 200, body: { url: 'https://covers.example/1.png' } });
  for (const title of ['broken', 'silent']) {
    const { status, headers, body } = await find(title);
    expect([status, headers.get('Retry-After'), body]).toEqual([
      503,
      '5',
      expect.objectContaining({ title: 'Covers unavailable' }),
    ]);
  }
  const scrape = await service.scrape();
  const calls = ['responded', 'failed'].map((outcome) => scrape.sum('items_covers_calls_total', { outcome }));
  expect(calls).toEqual([1, 2]);
  await service.stop();
  upstream.closeAllConnections();
  upstream.close();
});

it('responds with what a mocked dependency has', async () => {
  const service = await startService({}, undefined, WithCovers, [[Covers, { find: () => 'https://covers.example/mock.png' }]]);
  const { body } = await service.api.call<object>('GET', '/v1/covers?title=x');
  expect(body).toEqual({ url: 'https://covers.example/mock.png' });
  await service.stop();
});
