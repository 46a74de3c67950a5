import { readFileSync } from 'node:fs';
import { Module } from '@nestjs/common';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { PartsModule } from './fixtures/parts/parts.module.js';
import type { ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { Gateway } from './support/gateway.js';
import { request, sendRaw } from './support/raw-http.js';
import { type Service, startService } from './support/service.js';
import { useService } from './support/use-service.js';

// Below the path of a proxy, which strips it.

const PUBLIC_URL = 'https://api.example.com/catalog';

@Module({ imports: [PlatformModule, ItemsModule] })
class ItemsAlone {}

const service = useService(() => startService({ PUBLIC_URL }, undefined, ItemsAlone));
const plain = useService(() => startService());

interface Served {
  openapi: string;
  servers: { url: string }[];
  paths: object;
}
const documentOf = async ({ api }: Service) => (await api.send<Served>('GET', '/openapi.json')).body;

it('the document names the server, and examples and types of problems have its path [public-url-document]', async () => {
  const document = await documentOf(service);
  expect(document.servers).toEqual([{ url: PUBLIC_URL }]);
  expect(Object.keys(document.paths)).toEqual(['/v1/items']);
  const text = JSON.stringify(document.paths);
  expect(text).toContain('(`/catalog/docs/problems#unauthorized`)');
  expect(text).toContain('"type":"/catalog/docs/problems#unauthorized"');
  expect(text).toContain('"instance":"/catalog/v1/items"');
  expect(text).not.toMatch(/[`"]\/docs\/problems|"instance":"\/v1/);
  const contract = await Contract.read(service.api.origin);
  expect(contract.operations.length).toBe(2);
  const page = await (await fetch(`${service.api.origin}/docs/problems`)).text();
  const examples = [...page.matchAll(/"type": "([^#"]*)#[\w-]+"/g)].map(([, path]) => path);
  expect([examples.length > 10, new Set(examples)]).toEqual([true, new Set(['/catalog/docs/problems'])]);
});

it('without PUBLIC_URL, the document is the one of the repository', async () => {
  expect(await documentOf(plain)).toEqual(JSON.parse(readFileSync('openapi.json', 'utf8')));
  expect((await plain.api.list<ProblemBody>('limit=0')).body).toMatchObject({
    type: '/docs/problems#invalid-parameters',
    instance: '/v1/items',
  });
});

it('the type of a problem leads to its explanation, and its instance to the request [public-url-problems]', async () => {
  const proxy = await Gateway.start(service.port, '/catalog');
  const requests: [path: string, headers: Record<string, string>, name: string][] = [
    ['/catalog/v1/items', {}, 'unauthorized'],
    ['/catalog/v1/items?limit=0', service.api.authorization, 'invalid-parameters'],
    ['/catalog/v1/nothing', service.api.authorization, 'not-found'],
    ['/catalog/docs/assets/nothing', {}, 'not-found'],
  ];
  for (const [path, headers, name] of requests) {
    const response = await fetch(proxy.origin + path, { headers });
    const { type, instance } = (await response.json()) as ProblemBody;
    expect(new URL(instance, response.url).href).toBe(response.url.replace(/\?.*/, ''));
    const explanation = await fetch(new URL(type, response.url));
    expect([type, explanation.status]).toEqual([`/catalog/docs/problems#${name}`, 200]);
    expect(await explanation.text()).toContain(`<section id="${name}">`);
  }
  await proxy.stop();
  // Node's parser rejects this before any middleware.
  const unreadable = await sendRaw(service.port, 'GET / HTTP/1.1\r\nHost: x\r\nX-Bad\r\n\r\n');
  expect(JSON.parse(unreadable.body)).toMatchObject({
    type: '/catalog/docs/problems#bad-request',
    instance: '/catalog/',
  });
});

@Module({ imports: [PlatformModule, ItemsModule, PartsModule] })
class WithPartsModule {}

it('the link to what replaces a deprecated operation has the path, in responses and in the document [public-url-problems]', async () => {
  const parts = await startService({ PUBLIC_URL }, undefined, WithPartsModule);
  const { headers } = await parts.api.send('GET', '/v1/parts/a');
  expect(headers.get('Link')).toBe('</catalog/v1/widgets/a>; rel="successor-version"');
  expect(JSON.stringify((await documentOf(parts)).paths)).toMatch(/"example":"<\/catalog\/v1\/widgets\//);
  await parts.stop();
});

it.each([
  'X-Forwarded-Prefix: /evil',
  'X-Forwarded-Host: evil.example',
  'X-Forwarded-Uri: /evil/x',
  'Forwarded: host=evil.example',
])('no header of a client changes an address: %s [public-url-only]', async (header) => {
  for (const { port } of [service, plain]) {
    for (const path of ['/', '/docs', '/docs/', '/docs/problems', '/openapi.json', '/v1/items', '/evil/v1/items']) {
      const { headers, body } = await sendRaw(port, request(`GET ${path}`, [header]));
      expect([path, (headers + body).replaceAll(path, '')]).toEqual([path, expect.not.stringContaining('evil')]);
    }
  }
});
