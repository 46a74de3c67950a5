import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { WebSocket } from 'ws';
import { Api } from './support/api.js';
import { eventually } from './support/eventually.js';
import { request, sendRaw } from './support/raw-http.js';
import { ServiceProcess, serverDefaults } from './support/process.js';
import { createTestDatabase, testDirectory } from './support/test-database.js';
import { declareToken } from './support/tokens.js';

// The chapters of Nest's documentation as features, built as a team builds them, and run as they are shipped.

const { TEST_REDIS_URL } = process.env;

/** Features by folder, each with its module. */
const FEATURES: Record<string, [file: string, name: string]> = {
  cats: ['cats.module', 'CatsModule'],
  users: ['users.module', 'UsersModule'],
  upload: ['pictures.module', 'PicturesModule'],
  webhook: ['payments.module', 'PaymentsModule'],
  export: ['export.module', 'ExportModule'],
  ticks: ['ticks.module', 'TicksModule'],
  chat: ['chat.module', 'ChatModule'],
  cache: ['quotes.module', 'CacheExampleModule'],
  site: ['site.module', 'SiteModule'],
  greetings: ['greetings.module', 'GreetingsModule'],
  ...(TEST_REDIS_URL && { queue: ['letters.module', 'QueueModule'] }),
};

const directory = mkdtempSync(join(testDirectory(), 'features-'));
const partner = createServer((_request, response) => response.end('good day'));
let service: ServiceProcess;
let token: string;

beforeAll(async () => {
  for (const name of ['src', 'package.json', 'nest-cli.json', 'tsconfig.json', 'tsconfig.build.json']) {
    cpSync(name, join(directory, name), { recursive: true });
  }
  symlinkSync(resolve('node_modules'), join(directory, 'node_modules'));
  for (const path of Object.keys(FEATURES).flatMap((name) => globSync(`${name}/**/*.*`, { cwd: 'test/fixtures' }))) {
    const target = join(directory, 'src', path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, readFileSync(join('test/fixtures', path), 'utf8').replaceAll('../../src/platform', 'platform'));
  }
  const appModule = join(directory, 'src/app.module.ts');
  const imports = Object.entries(FEATURES).map(
    ([folder, [file, name]]) => `import { ${name} } from './${folder}/${file}.js';\n`,
  );
  const names = Object.values(FEATURES).map(([, name]) => name);
  const text = readFileSync(appModule, 'utf8').replace('PlatformModule,', `PlatformModule, ${names.join(', ')},`);
  writeFileSync(appModule, imports.join('') + text);
  // As in the guide.
  const app = join(directory, 'src/app.ts');
  const adapter = 'app.useWebSocketAdapter(new WsAdapter(app));\n  return app;';
  const source = readFileSync(app, 'utf8').replace('return app;', adapter);
  writeFileSync(app, `import { WsAdapter } from '@nestjs/platform-ws';\n${source}`);
  await promisify(execFile)(process.execPath, ['node_modules/@nestjs/cli/bin/nest.js', 'build'], { cwd: directory });

  const database = await createTestDatabase();
  const declared = await declareToken();
  ({ token } = declared);
  await new Promise<void>((listening) => partner.listen(0, '127.0.0.1', listening));
  service = new ServiceProcess(join(directory, 'dist/main.js'), [], {
    ...serverDefaults,
    ...database.environment,
    ...declared.variables,
    ...(TEST_REDIS_URL && { REDIS_URL: TEST_REDIS_URL, REDIS_KEY_PREFIX: `items-test-${Date.now()}:` }),
    PARTNER_URL: `http://127.0.0.1:${(partner.address() as AddressInfo).port}`,
    PAYMENTS_SECRET: 'a secret of sixteen characters',
  });
  await service.becomes(() => service.has('Listening on '));
  await service.becomesReady();
});

afterAll(() => partner.close());

const call = async (method: string, path: string, body?: unknown) => {
  const { status, body: answer } = await new Api(service.origin, token).callWith<unknown>(method, `/v1/${path}`, body);
  return [status, answer];
};

const get = (path: string) => fetch(`${service.origin}/v1/${path}`, { headers: { Authorization: `Bearer ${token}` } });

it('runs guards, pipes, filters and repositories', async () => {
  const ada = { id: 1, firstName: 'Ada', isActive: true };
  expect(await call('POST', 'users', { firstName: ' Ada ' })).toEqual([201, ada]);
  expect(await call('GET', 'users')).toEqual([200, [ada]]);
  expect(await call('GET', 'users/2')).toEqual([404, expect.objectContaining({ type: '/docs/problems#not-found' })]);
  expect(await call('GET', 'users/x')).toEqual([418, { message: expect.stringContaining('numeric string') }]);
  expect((await call('DELETE', 'users/1'))[0]).toBe(200);
  expect((await call('POST', 'cats', { name: 'Momo', age: 3 }))[0]).toBe(201);
});

it('takes uploads and webhooks, and exports rows as a stream', async () => {
  const form = new FormData();
  form.set('caption', 'A logo');
  form.set('picture', new Blob(['four'], { type: 'image/png' }), 'logo.png');
  const headers = { Authorization: `Bearer ${token}` };
  const uploaded = await fetch(`${service.origin}/v1/pictures`, { method: 'POST', headers, body: form });
  expect([uploaded.status, await uploaded.json()]).toEqual([200, expect.objectContaining({ size: 4 })]);
  const body = '{"type": "paid", "amount": 3}';
  const signature = createHmac('sha256', 'a secret of sixteen characters').update(body).digest('hex');
  const paid = (given: string) =>
    fetch(`${service.origin}/v1/webhooks/payments`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Signature': given },
      body,
    });
  expect([(await paid(signature)).status, (await paid(signature.replace(/./, '_'))).status]).toEqual([204, 401]);
  expect(await (await get('readings/export')).text()).toBe('sensor,value\r\n');
});

it('sends events', async () => {
  const { body } = await get('ticks');
  const parts = (body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream()).getReader();
  await eventually(async () => (await parts.read()).value?.includes('data: {"tick":') ?? false);
});

it('answers messages of a client whose handshake had a token', async () => {
  const url = `${service.origin.replace('http', 'ws')}/chat`;
  const refused = new WebSocket(url);
  const [{ message }] = (await once(refused, 'error')) as [Error];
  expect(message).toBe('Unexpected server response: 401');
  const client = new WebSocket(url, { headers: { Authorization: `Bearer ${token}` } });
  await once(client, 'open');
  client.send(JSON.stringify({ event: 'say', data: { text: 'hello' } }));
  const [answer] = (await once(client, 'message')) as [Buffer];
  expect(JSON.parse(answer.toString())).toMatchObject({ event: 'said', data: { text: 'hello' } });
});

it('survives a client that resets its connection during an upgrade, and ignores offers of HTTP/2', async () => {
  const port = Number(new URL(service.origin).port);
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  // The adapter cannot parse this target.
  socket.write('GET // HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await once(socket, 'data');
  socket.resetAndDestroy();
  const offer = request('GET /livez', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']);
  expect((await sendRaw(port, offer)).status).toBe(200);
  expect(service.child.exitCode).toBeNull();
});

it('serves static files that a module declares as public', async () => {
  const page = await fetch(`${service.origin}/site/index.html`);
  expect([page.status, await page.text()]).toEqual([200, '<h1>Welcome</h1>\n']);
});

it('caches responses and values', async () => {
  expect([await call('GET', 'quotes'), await call('GET', 'quotes')]).toEqual([1, 1].map((asked) => [200, { asked }]));
  expect([await call('GET', 'quotes/visits'), await call('GET', 'quotes/visits')]).toEqual(
    [1, 2].map((visits) => [200, { visits }]),
  );
});

it('calls others with axios, reads a file beside its code, and is ready with an indicator of Terminus', async () => {
  expect(await (await get('greetings/Ada')).text()).toBe('<p>Hello, Ada! Our partner says good day good day.</p>\n');
  expect(await service.metric('items_health_indicator_ok{indicator="typeorm"}')).toBe(1);
});

if (TEST_REDIS_URL !== undefined) {
  it('works through a queue', async () => {
    expect((await call('POST', 'letters/ada'))[0]).toBe(202);
    await eventually(async () => JSON.stringify(await call('GET', 'letters')) === '[200,["ada"]]');
  });
}

it('ends without waiting for the open stream and the open connection', async () => {
  expect(await service.end('SIGTERM')).toBe(0);
  expect(service.has('Requests were still in flight')).toBe(false);
});
