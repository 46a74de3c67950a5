import { type EventEmitter, once } from 'node:events';
import { mkdtempSync, readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import { Controller, Module, Post, Req, UploadedFiles, UseInterceptors } from '@nestjs/common';
import { AnyFilesInterceptor } from '@nestjs/platform-express';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { createApp } from '../src/app.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { Idempotent, RequireScopes, UseBodyParser } from '../src/platform/index.js';
import { PicturesModule } from './fixtures/upload/pictures.module.js';
import type { ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { answerTo } from './support/http-client.js';
import { request, sendRaw } from './support/raw-http.js';
import { eventually, startService } from './support/service.js';
import { testDirectory } from './support/test-database.js';
import { useService } from './support/use-service.js';

const MEBIBYTE = 1024 * 1024;

const DIRECTORY = mkdtempSync(join(testDirectory(), 'uploads-'));

@Controller('stock')
@RequireScopes('stock')
class StockController {
  @Post()
  @UseInterceptors(AnyFilesInterceptor())
  upload(@UploadedFiles() files: { size: number }[]): number[] {
    return files.map(({ size }) => size);
  }

  @Post('disk')
  @UseInterceptors(AnyFilesInterceptor({ dest: DIRECTORY }))
  uploadToDisk(@UploadedFiles() files: { path: string }[]): number {
    return files.length;
  }

  /** Reads the request itself. */
  @Post('iterated')
  @UseBodyParser('multipart')
  async uploadIterated(@Req() bytes: AsyncIterable<Buffer>): Promise<number> {
    let size = 0;
    for await (const { length } of bytes) size += length;
    return size;
  }

  /** Without the decorator of the files, so that the start cannot know. */
  @Post('keyed')
  @Idempotent()
  @UseInterceptors(AnyFilesInterceptor())
  uploadKeyed(): void {}
}

@Module({ imports: [PlatformModule, ItemsModule, PicturesModule], controllers: [StockController] })
class UploadsModule {}

const service = useService(() => startService({ RATE_LIMIT: '1000' }, undefined, UploadsModule));

function form(files: Record<string, number>, fields: Record<string, string> = {}): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  for (const [name, size] of Object.entries(files))
    data.append(name.replace(/ .*/, ''), new Blob([Buffer.alloc(size)]), `${name}.png`);
  return data;
}

const upload = <Answer = ProblemBody>(path: string, body: RequestInit['body'], headers: object = {}) =>
  service.api.call<Answer>('POST', path, { body: body ?? null, headers });

it('takes files and fields, up to the limit of the route', async () => {
  expect(await upload('/v1/pictures', form({ picture: 3 * MEBIBYTE }, { caption: 'A cat.' }))).toMatchObject({
    status: 200,
    body: { name: 'picture.png', size: 3 * MEBIBYTE, caption: 'A cat.' },
  });
  expect(await upload('/v1/stock', form({ a: 1000, b: 1_000_000 }))).toMatchObject({ status: 201, body: [1000, 1_000_000] });
});

it.each<[string, number]>([
  ['/v1/pictures', 5 * MEBIBYTE],
  ['/v1/stock', MEBIBYTE],
])('responds 413 to a larger request: %s [upload-size]', async (path, limit) => {
  const { status, body } = await upload(path, form({ picture: limit }, { caption: 'A cat.' }));
  expect([status, body.type, body.detail]).toEqual([
    413,
    '/docs/problems#content-too-large',
    `The body may have at most ${limit} bytes.`,
  ]);
});

it.each<[string, string, FormData | string, number, string]>([
  [
    'a file that is too large for the interceptor',
    '/v1/pictures/thumbnails',
    form({ thumbnails: 20_000 }),
    413,
    'File too large',
  ],
  [
    'too many files',
    '/v1/pictures/thumbnails',
    form({ 'thumbnails 1': 1, 'thumbnails 2': 1, 'thumbnails 3': 1 }),
    400,
    'thumbnails',
  ],
  ['an unknown field', '/v1/pictures', form({ other: 1 }, { caption: 'x' }), 400, 'Unexpected file field - other'],
  ['no file', '/v1/pictures', form({}, { caption: 'x' }), 400, 'File is required'],
  [
    'a property that is unknown',
    '/v1/pictures',
    form({ picture: 1 }, { caption: 'x', color: 'y' }),
    400,
    '/color is unknown',
  ],
  ['another media type', '/v1/pictures', '{}', 400, 'must be sent with Content-Type: multipart/form-data'],
])('responds to %s with a problem', async (_case, path, body, expected, detail) => {
  const answer = await upload(path, body);
  expect([answer.status, answer.body.detail]).toEqual([expected, expect.stringContaining(detail)]);
});

it('responds with a problem to a form without its end', async () => {
  const headers = [`Authorization: Bearer ${service.api.token}`, 'Content-Type: multipart/form-data; boundary=x'];
  const { status, headers: received } = await sendRaw(service.port, request('POST /v1/stock', headers, '--x\r\nContent'));
  expect([status, received]).toEqual([400, expect.stringContaining('content-type: application/problem+json')]);
});

describe('an upload that never ends', () => {
  /** Sends parts of a file until the server stops reading. @returns the response, and the bytes that were sent */
  async function uploadWithoutEnd(path: string, start: string): Promise<[string, number]> {
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
    const closed = once(socket, 'close');
    let received = '';
    socket.on('data', (chunk) => (received += chunk.toString()));
    const fields = [
      `POST ${path} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${service.api.token}`,
      'Content-Type: multipart/form-data; boundary=x',
      'Transfer-Encoding: chunked',
    ];
    const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
    socket.write(`${fields.join('\r\n')}\r\n\r\n${chunk(start)}`);
    const part = chunk('x'.repeat(65_536));
    let sent = 0;
    while (!socket.closed) {
      sent += part.length;
      if (!socket.write(part)) {
        await Promise.race([once(socket, 'drain'), closed]).catch(() => undefined);
      }
      await new Promise(setImmediate);
    }
    return [received, sent];
  }

  const file = '--x\r\nContent-Disposition: form-data; name="thumbnails"; filename="a.png"\r\n\r\n';

  it.each([
    ['a file', '/v1/stock', file],
    ['a field', '/v1/stock', '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n'],
    ['a preamble', '/v1/stock', 'x'],
    ['a file that the handler itself reads', '/v1/stock/iterated', file],
    ['a file beyond the limit of its interceptor', '/v1/pictures/thumbnails', file],
  ])('gets 413 while it is sent, and is read no further: %s [upload-size]', async (_case, path, start) => {
    const [received, sent] = await uploadWithoutEnd(path, start);
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toMatch(/\r\nconnection: close\r\n/i);
    // The rest is in buffers of the operating system.
    expect(sent).toBeLessThan(32 * MEBIBYTE);
  });

  it('leaves no file behind', async () => {
    expect((await upload('/v1/stock/disk', form({ a: 1000 }))).status).toBe(201);
    expect(readdirSync(DIRECTORY)).toHaveLength(1);
    const [received] = await uploadWithoutEnd('/v1/stock/disk', file);
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    await eventually(() => readdirSync(DIRECTORY).length === 1);
  });

  it('does not end the process if nobody reads it', async () => {
    const [received] = await uploadWithoutEnd('/v1/items', file);
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    expect((await service.api.list()).status).toBe(200);
  });
});

it('sends 100 Continue before it reads a file, but not if that is too large', async () => {
  const statuses = async (length: number) => {
    const sending = httpRequest(`${service.api.origin}/v1/stock`, {
      method: 'POST',
      headers: {
        ...service.api.authorization,
        Expect: '100-continue',
        'Content-Type': 'multipart/form-data; boundary=x',
        'Content-Length': length,
      },
    });
    let isContinued = false;
    sending.on('continue', () => {
      isContinued = true;
      sending.end('--x--'.padEnd(length));
    });
    sending.flushHeaders();
    const { response } = await answerTo(sending);
    sending.destroy();
    return [isContinued, response.statusCode];
  };
  expect([await statuses(100), await statuses(2 * MEBIBYTE)]).toEqual([
    [true, 201],
    [false, 413],
  ]);
});

it.each([
  ['of 64 KiB', '/v1/items', 'application/json', MEBIBYTE / 16],
  ['that the route declares', '/v1/pictures', 'multipart/form-data; boundary=x', 5 * MEBIBYTE],
])('has the time that its limit needs: a body %s [body-time]', async (_body, path, type, limit) => {
  const server = service.app.getHttpServer();
  using timeouts = jest.spyOn(globalThis, 'setTimeout');
  await using socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
  const [accepted] = (await once(server, 'connection')) as [unknown];
  const headers = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${service.api.token}`,
    `Content-Type: ${type}`,
    'Content-Length: 100',
  ];
  const whenRead = once(server, 'request');
  socket.write(`${headers.join('\r\n')}\r\n\r\n--x`);
  const [incoming] = (await whenRead) as [EventEmitter];
  await eventually(() => incoming.listenerCount('data') > 0);
  const expire = timeouts.mock.calls.find(([, time]) => time === 60_000 + limit / 32)?.[0];
  expect(expire).toBeDefined();
  if (limit > MEBIBYTE) {
    // Node's own limit, which is the same for all bodies.
    server.emit('clientError', Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), accepted);
    expect(socket.readyState).toBe('open');
  }
  const answered = once(socket, 'data');
  expire?.();
  const answer = String(await answered);
  expect(answer).toMatch(/^HTTP\/1\.1 408 .*^RateLimit: "default";r=\d+;t=\d+\r$.*^Connection: close\r$/ms);
  await once(socket, 'end');
});

describe('@Idempotent()', () => {
  it('refuses a key for files, which it does not cover [no-key-for-files]', async () => {
    const { status, body } = await upload('/v1/stock/keyed', form({ a: 1 }), { 'Idempotency-Key': 'key' });
    expect([status, body.errors]).toEqual([400, [expect.objectContaining({ parameter: 'Idempotency-Key', code: 'key' })]]);
  });

  it('on a route that takes files stops the start [no-key-for-files] [start-policies]', async () => {
    @Controller('wrong')
    @RequireScopes('wrong')
    class WrongController {
      @Post()
      @Idempotent()
      upload(@UploadedFiles() _files: unknown[]): void {}

      @Post('declared')
      @Idempotent()
      @UseBodyParser('multipart')
      uploadDeclared(): void {}
    }

    @Module({ imports: [PlatformModule, ItemsModule], controllers: [WrongController] })
    class WrongModule {}

    const configuration = readConfiguration({ LOG_LEVEL: 'silent', DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items' });
    const message = await createApp(configuration, WrongModule).then(String, String);
    for (const name of ['upload', 'uploadDeclared']) {
      expect(message).toContain(`WrongController.${name} is @Idempotent() and takes files, which its keys do not cover`);
    }
  });
});

it('is documented with its limit', async () => {
  const contract = await Contract.read(service.api.origin);
  expect(await contract.validate()).toEqual({ valid: true });
  const documented = ['/v1/pictures', '/v1/pictures/thumbnails', '/v1/stock'].map((path) => {
    const { requestBody, responses } = contract.document.paths[path]?.['post'] ?? {};
    const tooLarge = /at most (\d+) bytes/.exec(JSON.stringify(responses?.['413']))?.[1];
    return [Object.keys(requestBody?.content ?? {}), (requestBody as { description?: string }).description, tooLarge];
  });
  const bodyOf = (limit: number) => [['multipart/form-data'], `At most ${limit} bytes.`, String(limit)];
  expect(documented).toEqual([bodyOf(5 * MEBIBYTE), bodyOf(MEBIBYTE), bodyOf(MEBIBYTE)]);
});
