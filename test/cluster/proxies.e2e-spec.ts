import type { OutgoingHttpHeaders } from 'node:http';
import { createConnection } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { ItemsModule } from '../../src/items/items.module.js';
import { PlatformModule } from '../../src/platform/platform.module.js';
import { PicturesModule } from '../fixtures/upload/pictures.module.js';
import { startHaproxy } from '../support/cluster.js';
import { exchange, type Received, type Sent } from '../support/exchange.js';
import { HttpClient, type Reply } from '../support/http-client.js';
import { Load, outcomesOf } from '../support/load.js';
import { startNginx } from '../support/nginx.js';
import { ServiceProcess } from '../support/process.js';
import { query } from '../support/query.js';
import { eventually, startService } from '../support/service.js';
import { createTestDatabase, databaseUrlOf, type TestDatabase } from '../support/test-database.js';
import { declareToken } from '../support/tokens.js';
import { useService } from '../support/use-service.js';

@Module({ imports: [PlatformModule, ItemsModule, PicturesModule] })
class UploadsModule {}

const KIBIBYTE = 1024;
/** More than all buffers on the way hold. */
const LARGE = 8 * KIBIBYTE * KIBIBYTE;
/** An address of clients that is no trusted proxy. */
const CLIENT = '127.0.0.5';

const PROXIES = ['haproxy', 'nginx', 'nginx that streams'] as const;
type Origins = Record<(typeof PROXIES)[number], string>;

const uploads = useService(() => startService({}, undefined, UploadsModule));
let database: TestDatabase;
let environment: NodeJS.ProcessEnv;
let token: string;
let service: ServiceProcess;
let haproxy: Awaited<ReturnType<typeof startHaproxy>>;
let origins: { service: Origins; limited: Origins; uploads: Origins };

beforeAll(async () => {
  database = await createTestDatabase();
  const declared = await declareToken();
  ({ token } = declared);
  environment = { ...database.environment, ...declared.variables, TRUSTED_PROXIES: '127.0.0.1' };
  service = await ServiceProcess.startReady(environment);
  const limited = await ServiceProcess.startReady({ ...environment, RATE_LIMIT: '1', RATE_LIMIT_WINDOW: '3600' });
  await limited.client(token).list();
  haproxy = await startHaproxy([portOf(service.origin)]);
  origins = {
    service: await originsOf(portOf(service.origin), haproxy.origin),
    limited: await originsOf(portOf(limited.origin)),
    uploads: await originsOf(uploads.port),
  };
});

const portOf = (origin: string) => Number(new URL(origin).port);

async function originsOf(port: number, haproxyOrigin?: string): Promise<Origins> {
  const { origin } = await startNginx([port]);
  return {
    haproxy: haproxyOrigin ?? (await startHaproxy([port])).origin,
    nginx: origin,
    'nginx that streams': `${origin}/streamed`,
  };
}

const ITEM = '{"name":"x"}';
const LETTERS = Array.from(ITEM);
const filled = (length: number) => ITEM.padEnd(length);
const large = () => Array.from({ length: LARGE / (64 * KIBIBYTE) }, () => Buffer.alloc(64 * KIBIBYTE, ' '));

function post(origin: string, { headers = {}, ...sent }: Sent): Promise<Received> {
  const json = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return exchange(`${origin}/v1/items`, { method: 'POST', ...sent, headers: { ...json, ...(headers as object) } });
}

describe.each(PROXIES)('behind %s', (name) => {
  it.each<[string, number, Sent]>([
    ['in one part', 201, { parts: [ITEM] }],
    ['of 64 KiB', 201, { parts: [filled(64 * KIBIBYTE)], headers: { 'Content-Length': 64 * KIBIBYTE } }],
    ['of 64 KiB in chunks', 201, { parts: [...LETTERS, ' '.repeat(64 * KIBIBYTE - ITEM.length)] }],
    ['of 64 KiB and a byte', 413, { parts: [filled(64 * KIBIBYTE + 1)] }],
    ['of 65 KiB in chunks', 413, { parts: [...LETTERS, ' '.repeat(65 * KIBIBYTE)] }],
    ['that comes slowly', 201, { parts: LETTERS, pause: 30 }],
    ['that comes slowly, with its length', 201, { parts: LETTERS, pause: 30, headers: { 'Content-Length': ITEM.length } }],
    ['that is expected', 201, { parts: [ITEM], headers: { Expect: '100-continue', 'Content-Length': ITEM.length } }],
  ])('a body arrives %s: %d', async (_case, status, sent) => {
    expect(await post(origins.service[name], sent)).toMatchObject({ status });
  });

  it.each<[number, string, 'service' | 'limited', object, object]>([
    [
      401,
      'unauthorized',
      'service',
      { Authorization: 'Bearer wrong' },
      { 'www-authenticate': expect.stringMatching(/invalid_token/) },
    ],
    [413, 'content-too-large', 'service', {}, {}],
    [429, 'rate-limited', 'limited', {}, { 'retry-after': expect.stringMatching(/^\d+$/) }],
  ])('clients that still send get a %d, never a 502: %s', async (status, type, kind, headers, received) => {
    for (const framing of [{}, { 'Content-Length': LARGE }, { 'Content-Length': LARGE, Expect: '100-continue' }]) {
      const sent = { parts: large(), headers: { ...headers, ...framing } };
      const answers = await Promise.all(Array.from({ length: 10 }, () => post(origins[kind][name], sent)));
      for (const answer of answers) {
        expect(answer).toMatchObject({ status, headers: received });
        expect(JSON.parse(answer.body)).toMatchObject({ type: `/docs/problems#${type}` });
      }
    }
  });

  it('uploads arrive, and one that is too large gets a 413', async () => {
    const upload = async (size: number) => {
      const form = new FormData();
      form.append('caption', 'A cat.');
      form.append('picture', new Blob([Buffer.alloc(size)]), 'cat.png');
      const init = { method: 'POST', body: form, headers: uploads.api.authorization };
      const response = await fetch(`${origins.uploads[name]}/v1/pictures`, init);
      return [response.status, await response.json()];
    };
    const size = 5 * KIBIBYTE * KIBIBYTE - KIBIBYTE;
    expect(await upload(size)).toEqual([200, { name: 'cat.png', size, caption: 'A cat.' }]);
    expect(await upload(size + KIBIBYTE)).toEqual([413, expect.objectContaining({ status: 413 })]);
  });

  it('each response belongs to its request, on connections that serve many kinds of them', async () => {
    const clients = Array.from({ length: 4 }, () => new HttpClient(origins.service[name], token, true));
    const json = { 'Content-Type': 'application/json' };
    const kinds: [status: number, send: (client: HttpClient, headers: OutgoingHttpHeaders) => Promise<Reply>][] = [
      [200, (client, headers) => client.send('/v1/items?limit=100', { headers })],
      [200, (client, headers) => client.send('/v1/items', { method: 'HEAD', headers })],
      [201, (client, headers) => client.create('x'.repeat(255), headers)],
      [400, (client, headers) => client.create('', headers)],
      [401, (client, headers) => client.create('x', { ...headers, Authorization: 'Bearer wrong' })],
      [
        401,
        (client, headers) =>
          client.send('/v1/items', { method: 'POST', body: filled(40_000), headers: { ...headers, Authorization: 'x' } }),
      ],
      [404, (client, headers) => client.send('/v1/none', { method: 'POST', body: filled(5000), headers })],
      [405, (client, headers) => client.send('/v1/items', { method: 'DELETE', headers })],
      [201, (client, headers) => client.send('/v1/items', { method: 'POST', body: ITEM, headers: { ...headers, ...json } })],
    ];
    await Promise.all(
      clients.map(async (client, number) => {
        for (let count = 0; count < 90; count += 1) {
          const [status, send] = kinds[(count * 7 + number) % kinds.length] as (typeof kinds)[number];
          const id = `${number}-${count}`;
          const reply = await send(client, { 'X-Request-Id': id });
          expect([reply.status, reply.headers['x-request-id']]).toEqual([status, id]);
          if (reply.body !== '') expect(JSON.parse(reply.body)).toBeInstanceOf(Object);
        }
      }),
    );
  });

  it('requests that a client pipelines are served in their order', async () => {
    const { port, pathname } = new URL(origins.service[name]);
    const path = pathname === '/' ? '' : pathname;
    const ids = Array.from({ length: 12 }, (_, index) => `pipelined-${index}`);
    const requests = ids.map((id, index) => {
      const fields = ['Host: x', `Authorization: Bearer ${token}`, `X-Request-Id: ${id}`];
      const last = index === ids.length - 1 ? ['Connection: close'] : [];
      return `${index % 2 ? 'HEAD' : 'GET'} ${path}/v1/items?limit=1 HTTP/1.1\r\n${[...fields, ...last].join('\r\n')}\r\n\r\n`;
    });
    const socket = createConnection(Number(port), '127.0.0.1');
    socket.write(requests.join(''));
    const answers = await text(socket);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(ids.map(() => 'HTTP/1.1 200'));
    expect(answers.match(/(?<=x-request-id: )\S+/gi)).toEqual(ids);
  });

  it('a failed authentication counts for the address that the proxy has seen, whatever the client says', async () => {
    const headers = {
      Authorization: 'Bearer wrong',
      'X-Forwarded-For': '203.0.113.9',
      'X-Request-Id': `address ${name}`.replaceAll(/\W/g, '-'),
    };
    expect(await post(origins.service[name], { parts: [ITEM], headers, localAddress: CLIENT })).toMatchObject({
      status: 401,
    });
    const line = () => service.linesOf('request').find(({ requestId }) => requestId === headers['X-Request-Id']);
    await eventually(() => line() !== undefined);
    expect(line()).toMatchObject({ refusal: { address: CLIENT } });
  });
});

it('HAProxy sends almost all requests on connections that it has', async () => {
  const counts = async () => [await haproxy.statistics('connect'), await haproxy.statistics('reuse')].flat();
  const client = new HttpClient(haproxy.origin, token, true);
  const [, before = 0] = await counts();
  for (let count = 0; count < 200; count += 1) await client.list();
  const [, after = 0] = await counts();
  expect(after - before).toBeGreaterThanOrEqual(199);
});

describe.each(['haproxy', 'nginx'] as const)('below a path of %s', (name) => {
  it('the pages, their files and redirects stay below it', async () => {
    const base = `${origins.service[name]}/catalog`;
    expect((await fetch(base)).url).toBe(`${base}/`);
    for (const path of ['/', '/docs', '/docs/problems']) {
      const html = await (await fetch(base + path)).text();
      const links = Array.from(html.matchAll(/(?:href|src|action)="(?!https?:|#)([^"]*)"/g), ([, link = '']) => link);
      expect(links).not.toEqual([]);
      for (const link of links) {
        const { href } = new URL(link, base + path);
        expect(href.startsWith(`${base}/`)).toBe(true);
        expect([href, (await fetch(href)).status]).toEqual([href, 200]);
      }
    }
    expect(await fetch(`${base}/docs/`)).toMatchObject({ url: `${base}/docs`, status: 200 });
  });
});

describe('nginx with old and new servers', () => {
  it('fails no request while the old ones end under load', async () => {
    const start = () => ServiceProcess.startReady({ ...environment, SHUTDOWN_DELAY: '1' });
    const old = await Promise.all([start(), start()]);
    const replacements = await Promise.all([start(), start()]);
    // It knows all from the start: at a reload, nginx closes connections on which clients may be sending.
    const nginx = await startNginx([...old, ...replacements].map(({ origin }) => portOf(origin)));
    const clients = [true, true, true, true, false, false].map(
      (keepAlive) => new HttpClient(nginx.origin, token, keepAlive),
    );
    let count = 0;
    const load = new Load(clients, (client) => ((count += 1) % 2 ? client.create('drained') : client.list()), 5);
    const codes: unknown[] = [];
    for (const server of old) {
      await delay(200);
      // nginx has no health checks, and knows its end by connections that are refused.
      codes.push(await server.end('SIGTERM'));
    }
    await delay(200);
    const calls = await load.stop();
    expect(codes).toEqual([0, 0]);
    expect(Object.keys(outcomesOf(calls)).toSorted()).toEqual(['200', '201']);
    const created = calls.filter(({ status }) => status === 201).length;
    const rows = await query(databaseUrlOf(database), "SELECT count(*)::int FROM items WHERE name = 'drained'");
    expect(rows).toEqual([{ count: created }]);
  });
});
