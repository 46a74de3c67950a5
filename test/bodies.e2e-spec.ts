import { createHmac } from 'node:crypto';
import {
  Body,
  Controller,
  Delete,
  Get,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  Post,
  Put,
  type RawBodyRequest,
  Req,
  ValidationPipe,
} from '@nestjs/common';
import { IsEmpty, IsString, IsUUID } from 'class-validator';
import { json, raw, type Request } from 'express';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { RequireScopes, UseBodyParser } from '../src/platform/index.js';
import { ImportsModule } from './fixtures/imports/imports.module.js';
import { PaymentsController, PaymentsModule } from './fixtures/webhook/payments.module.js';
import type { ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { request, sendRaw } from './support/raw-http.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

@Controller('quiet')
@RequireScopes('quiet')
class QuietController {
  @Get()
  read(): object {
    return {};
  }

  @Get('text')
  readText(): string {
    return 'quiet';
  }

  @Delete()
  remove(): void {}

  @Get('searched')
  search(@Body('word') word: string): object {
    return { word };
  }
}

/** As in docs.nestjs.com. */
class GroupedDto {
  @IsEmpty({ groups: ['create'] })
  @IsUUID(undefined, { groups: ['update'] })
  declare readonly id?: string;

  @IsString({ groups: ['create', 'update'] })
  declare readonly name: string;
}

@Controller('grouped')
@RequireScopes('grouped')
class GroupedController {
  @Put('create')
  @UseBodyParser('json', { validate: false })
  create(@Body(new ValidationPipe({ groups: ['create'] })) body: GroupedDto): object {
    return body;
  }

  @Put('update')
  @UseBodyParser('json', { validate: false })
  update(@Body(new ValidationPipe({ groups: ['update'] })) body: GroupedDto): object {
    return body;
  }
}

class ParsedDto {
  @IsString()
  declare readonly name: string;
}

@Controller('parsed')
@RequireScopes('parsed')
class ParsedController {
  @Post()
  create(@Body() body: ParsedDto): object {
    return { isClass: body instanceof ParsedDto };
  }

  @Post('bytes')
  createBytes(@Req() { body }: { body: unknown }): object {
    return { isBuffer: Buffer.isBuffer(body) };
  }
}

@Module({
  imports: [PlatformModule, ItemsModule, ImportsModule, PaymentsModule],
  controllers: [QuietController, GroupedController, ParsedController],
})
class BodiesModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(raw({ type: '*/*' })).forRoutes('parsed/bytes');
    consumer.apply(json()).exclude('parsed/bytes').forRoutes('parsed');
  }
}

const SECRET = 'a secret of the test';
const service = useService(() => startService({ RATE_LIMIT: '1000', PAYMENTS_SECRET: SECRET }, undefined, BodiesModule));

const send = <Answer = ProblemBody>(path: string, type: string, body: RequestInit['body'], headers: object = {}) =>
  service.api.call<Answer>('POST', `/v1/imports/${path}`, {
    body: body ?? null,
    headers: { 'Content-Type': type, ...headers },
  });

const JSON_TYPE = 'application/json';
const row = { name: 'a', count: 1 };

describe('a declared body', () => {
  it.each<[string, string, RequestInit['body'], unknown]>([
    ['rows', JSON_TYPE, JSON.stringify([row, row]), 2],
    ['rows', JSON_TYPE, '[]', 0],
    ['rows', JSON_TYPE, `[${Array(2000).fill(JSON.stringify(row)).join()}]`, 2000],
    ['parsed', JSON_TYPE, JSON.stringify([row]), 1],
    ['any', JSON_TYPE, '{"a":1,"b":[{}]}', ['a', 'b']],
    ['form', 'application/x-www-form-urlencoded', 'name=a+b%C3%A9&count=2', { name: 'a bé', count: 2 }],
    ['form', 'application/x-www-form-urlencoded; charset=utf-8', 'count=2&name=', { name: '', count: 2 }],
    ['csv', 'text/csv; charset=utf-8', 'name\né', 2],
    ['csv', 'text/csv', 'x'.repeat(1024 * 1024), 1],
  ])('is taken: %s %s', async (path, type, body, expected) => {
    expect(await send(path, type, body)).toMatchObject({ status: 201, body: expected });
  });

  it('is taken as bytes', async () => {
    const init = { method: 'POST', body: Buffer.from([0, 255, 10]), headers: service.api.authorization };
    const headers = { ...init.headers, 'Content-Type': 'image/png' };
    const response = await fetch(`${service.api.origin}/v1/imports/bytes`, { ...init, headers });
    expect([response.status, await response.text()]).toEqual([201, '00ff0a']);
  });

  it.each<[string, string, RequestInit['body'], object]>([
    ['rows', JSON_TYPE, '{}', { pointer: '', code: 'type', detail: 'must be a JSON array' }],
    [
      'rows',
      'text/plain',
      '[]',
      { pointer: '', code: 'media_type', detail: 'must be sent with Content-Type: application/json' },
    ],
    ['rows', JSON_TYPE, null, { pointer: '', code: 'required', detail: 'is missing: send application/json' }],
    ['rows', JSON_TYPE, '[', { pointer: '', code: 'syntax', detail: expect.stringContaining('must be valid JSON') }],
    ['rows', JSON_TYPE, `[${Array(6401).fill('1').join()}]`, { pointer: '', code: 'too_many', detail: expect.any(String) }],
    ['any', JSON_TYPE, '[]', { pointer: '', code: 'not_object', detail: 'must be a JSON object' }],
    ['any', JSON_TYPE, '{"a":"\\u0000"}', { pointer: '/a', code: 'character', detail: expect.any(String) }],
    ['form', 'application/x-www-form-urlencoded', 'name=%zz', { pointer: '', code: 'encoding', detail: expect.any(String) }],
    [
      'form',
      'application/x-www-form-urlencoded',
      'a&'.repeat(400),
      { pointer: '', code: 'too_many', detail: expect.any(String) },
    ],
    ['csv', 'text/plain', 'x', { pointer: '', code: 'media_type', detail: 'must be sent with Content-Type: text/csv' }],
    ['csv', 'text/csv', Buffer.from([255]), { pointer: '', code: 'charset', detail: 'must be encoded in UTF-8' }],
    [
      'bytes',
      'text/csv',
      'x',
      { pointer: '', code: 'media_type', detail: expect.stringContaining('application/pdf or image/*') },
    ],
  ])('is refused precisely: %s %s [declared-body-documented] [array-body-pointers]', async (path, type, body, fault) => {
    expect(await send(path, type, body)).toMatchObject({
      status: 400,
      body: { type: '/docs/problems#invalid-body', errors: [fault] },
    });
  });

  it('is refused with the errors of all elements and properties', async () => {
    const { body } = await send('rows', JSON_TYPE, JSON.stringify([row, 5, { name: 'a', other: 1 }]));
    expect(body.errors).toEqual([
      { pointer: '/1', code: 'type', detail: 'must be an object' },
      { pointer: '/2/other', code: 'unknown', detail: expect.any(String) },
      { pointer: '/2/count', code: 'required', detail: 'is required' },
    ]);
    expect((await send('form', 'application/x-www-form-urlencoded', 'name=a&name=b&__proto__=c')).body.errors).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ pointer: '/name' }),
        expect.objectContaining({ pointer: '/count' }),
      ]),
    );
    expect((await send('parsed', JSON_TYPE, '[{}]')).status).toBe(400);
  });

  it.each<[string, string, number]>([
    ['rows', JSON_TYPE, 1024 * 1024],
    ['any', JSON_TYPE, 64 * 1024],
    ['csv', 'text/csv', 1024 * 1024],
    ['bytes', 'image/png', 64 * 1024],
  ])('has the limit of its route: %s [declared-body-size]', async (path, type, limit) => {
    const { status, body } = await send(path, type, 'x'.repeat(limit + 1));
    expect([status, body.detail]).toEqual([413, `The body may have at most ${limit} bytes.`]);
  });

  it.each<[string, string, RequestInit['body'], RequestInit['body']]>([
    ['rows', JSON_TYPE, '[]', '[{"name":"a","count":1}]'],
    ['csv', 'text/csv', 'a', 'b'],
    ['bytes', 'image/png', Buffer.from([255]), Buffer.from([254])],
  ])('belongs to its Idempotency-Key: %s', async (path, type, first, second) => {
    const keyed = (body: RequestInit['body']) =>
      fetch(`${service.api.origin}/v1/imports/${path}`, {
        method: 'POST',
        body: body ?? null,
        headers: {
          ...service.api.authorization,
          'Content-Type': type,
          'Idempotency-Key': `key of ${path}`.replaceAll(' ', '-'),
        },
      });
    const statuses = [(await keyed(first)).status, (await keyed(first)).status, (await keyed(second)).status];
    expect(statuses).toEqual([201, 201, 422]);
  });

  it('is documented with its media types and limit [declared-body-documented]', async () => {
    const contract = await Contract.read(service.api.origin);
    expect(await contract.validate()).toEqual({ valid: true });
    const operations = Object.entries(contract.document.paths).filter(([path]) => /imports|webhooks/.test(path));
    const bodies = operations.map(([path, { post }]) => {
      const { content = {}, ...rest } = post?.requestBody ?? {};
      const tooLarge = JSON.stringify(post?.responses['413']);
      return [path.split('/').at(-1), rest, content, /at most (\d+) bytes/.exec(tooLarge)?.[1]];
    });
    const rows = { type: 'array', items: { $ref: '#/components/schemas/RowDto' } };
    const bodyOf = (name: string, type: string, schema: unknown, limit = 65_536) => [
      name,
      { required: true, description: `At most ${limit} bytes.` },
      Object.fromEntries(type.split(' ').map((one) => [one, expect.objectContaining({ schema })])),
      String(limit),
    ];
    expect(bodies).toEqual([
      bodyOf('rows', JSON_TYPE, rows, 1_048_576),
      bodyOf('parsed', JSON_TYPE, rows),
      bodyOf('any', JSON_TYPE, {}),
      bodyOf('form', 'application/x-www-form-urlencoded', { $ref: '#/components/schemas/RowDto' }),
      bodyOf('csv', 'text/csv', { type: 'string' }, 1_048_576),
      bodyOf('bytes', 'application/pdf image/*', {}),
      bodyOf('payments', JSON_TYPE, {}, 262_144),
    ]);
    expect(contract.document.components.schemas['RowDto']).toMatchObject({
      properties: { name: { type: 'string' }, count: { type: 'integer' } },
      additionalProperties: false,
    });
  });
});

it.each([
  ['create', { name: 'x' }, 200],
  ['create', { name: 'x', id: 'y' }, 400],
  ['update', { name: 'x' }, 400],
  ['create', { name: 'a\u0000b' }, 400],
  ['update', { name: 'x', id: '019df400-8a00-7000-8000-000000000001' }, 200],
])(
  'with `validate: false` is checked by the pipes of the handler alone: %s %j [unchecked-body]',
  async (path, body, status) => {
    const response = await service.api.call('PUT', `/v1/grouped/${path}`, {
      body: JSON.stringify(body),
      headers: { 'Content-Type': JSON_TYPE },
    });
    expect(response.status).toBe(status);
  },
);

describe('a webhook', () => {
  const deliver = (body: string, signed = body) =>
    service.api.send('POST', '/v1/webhooks/payments', {
      body,
      headers: { 'Content-Type': JSON_TYPE, 'X-Signature': createHmac('sha256', SECRET).update(signed).digest('hex') },
    });

  it('sees the bytes that were signed and the parsed body [raw-body]', async () => {
    expect((await deliver('{ "id" : "first" }')).status).toBe(204);
    expect((await deliver('{"id":"forged"}', '{"id":"other"}')).status).toBe(401);
    expect((await deliver('{"id":"not whole')).status).toBe(400);
    expect(service.app.get(PaymentsController).events).toEqual(['first']);
  });

  it('is refused while there is no secret, also if it is signed with nothing', () => {
    const controller = new PaymentsController({});
    const signature = createHmac('sha256', '').digest('hex');
    for (const given of [signature, '']) {
      expect(() => controller.receiveEvent({} as RawBodyRequest<Request>, given)).toThrow('X-Signature is not the HMAC');
    }
  });
});

it('is not awaited by a handler that does not take it [get-without-body]', async () => {
  const headers = [`Authorization: Bearer ${service.api.token}`, `Content-Type: ${JSON_TYPE}`, 'Content-Length: 100'];
  for (const method of ['GET', 'HEAD', 'DELETE']) {
    expect([method, (await sendRaw(service.port, request(`${method} /v1/quiet`, headers))).status]).toEqual([method, 200]);
  }
  const searched = request('GET /v1/quiet/searched', headers.slice(0, 2), '{"word":"x"}');
  expect((await sendRaw(service.port, searched)).body).toBe('{"word":"x"}');
});

it.each(
  ['GET /v1/quiet', 'GET /v1/quiet/text', 'DELETE /v1/quiet', 'GET /'].flatMap((line) => [
    [line, JSON_TYPE, 'X-Plain: 1'],
    [line, JSON_TYPE, 'Expect: 100-continue'],
    [line, 'multipart/form-data; boundary=x', 'Expect: 100-continue'],
  ]),
)('of %s, %s with %s, is not read to its end, and may have any size', async (line, type, header) => {
  const fields = ['Host: x', `Authorization: Bearer ${service.api.token}`, `Content-Type: ${type}`, header];
  const head = [`${line} HTTP/1.1`, ...fields, 'Content-Length: 2000000'].join('\r\n');
  const { status, headers } = await sendRaw(service.port, `${head}\r\n\r\n{`);
  expect([status, headers]).toEqual([200, expect.stringContaining('connection: close')]);
});

it('takes a body that middleware has read, and validates it [middleware-works]', async () => {
  const post = (path: string, body: object) => service.api.callWith<object>('POST', `/v1/${path}`, body);
  expect(await post('parsed', { name: 'x' })).toMatchObject({ status: 201, body: { isClass: true } });
  expect(await post('parsed', { name: 1 })).toMatchObject({ status: 400, body: { errors: [{ pointer: '/name' }] } });
  expect(await post('parsed/bytes', { name: 'x' })).toMatchObject({ status: 201, body: { isBuffer: true } });
});
