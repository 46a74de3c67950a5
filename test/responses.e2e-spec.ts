import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import {
  type ArgumentsHost,
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  Header,
  HttpStatus,
  Logger,
  Module,
  type NestInterceptor,
  Param,
  Post,
  Query,
  Redirect,
  Res,
  ServiceUnavailableException,
  Sse,
  StreamableFile,
  UseFilters,
  UseInterceptors,
} from '@nestjs/common';
import { APP_INTERCEPTOR, HttpAdapterHost } from '@nestjs/core';
import {
  ApiExcludeController,
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiOkResponse,
  ApiProperty,
  getSchemaPath,
} from '@nestjs/swagger';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { jest } from '@jest/globals';
import type { Response } from 'express';
import { map, type Observable, of } from 'rxjs';
import { DataSource, Repository } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { Item } from '../src/items/item.entity.js';
import {
  ApiTag,
  Idempotent,
  Lists,
  newId,
  Operation,
  PageOf,
  PageQuery,
  RequireScopes,
  ResponseOf,
  Text,
} from '../src/platform/index.js';
import { undocumentedResponses } from '../src/platform/responses/response-check.js';
import { type Service, startService } from './support/service.js';

function* failAfterFirst(): Generator<string> {
  yield 'first';
  throw new Error('secret');
}

// A module that gives rows of another table away as they are.

class ThingDto {
  @ApiProperty({ type: String, format: 'uuid' }) declare id: string;
  @ApiProperty() declare name: string;
}

class ShelfDto {
  @ApiProperty({ type: ThingDto, nullable: true }) declare first: ThingDto | null;
  @ApiProperty({ type: [ThingDto] }) declare things: ThingDto[];
  @ApiProperty({ type: String, format: 'date-time' }) declare seenAt: Date;
  @ApiProperty({ required: false }) declare note?: string;
}

class NoteDto {
  @ApiProperty() declare note: string;
}

/** A decorator that copies what it finds, as careful ones do. */
function Wrapped(): MethodDecorator {
  return (_target, _name, descriptor) => {
    const original = descriptor.value as unknown as (...given: unknown[]) => unknown;
    const wrapper = function (this: unknown, ...given: unknown[]): unknown {
      return original.apply(this, given);
    };
    for (const key of Reflect.getMetadataKeys(original)) {
      Reflect.defineMetadata(key, Reflect.getMetadata(key, original), wrapper);
    }
    descriptor.value = wrapper as never;
  };
}

class EnvelopeDto {
  @ApiProperty({ type: ThingDto }) declare data: ThingDto;
}

class CreateNamedDto {
  @Text({ description: 'The name.', example: 'T', maximumLength: 9 }) declare readonly name: string;
}

class NamedDto extends ResponseOf(CreateNamedDto) {}

class NamedPage extends PageOf(NamedDto) {}

/** As in docs.nestjs.com. */
class EnvelopeInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

/** A global one. */
class TimeInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<object>): Observable<unknown> {
    const isOwn = context.getHandler().name === 'showTimed';
    return isOwn ? next.handle().pipe(map((data) => ({ ...data, time: 'shown' }))) : next.handle();
  }
}

/** As in docs.nestjs.com. */
@Catch(RangeError)
class RangeFilter implements ExceptionFilter {
  constructor(private readonly adapterHost: HttpAdapterHost) {}

  catch(_error: RangeError, host: ArgumentsHost): void {
    const { httpAdapter } = this.adapterHost;
    httpAdapter.reply(host.switchToHttp().getResponse(), { explanation: 'out of range' }, HttpStatus.I_AM_A_TEAPOT);
  }
}

@ApiTag({ name: 'Things', description: 'What the tests call.' })
@Controller('things')
@RequireScopes('things')
class ThingsController {
  constructor(
    @InjectRepository(Item) private readonly things: Repository<Item>,
    private readonly lists: Lists,
  ) {}

  @Get('rows')
  @Operation({ summary: 'List rows that were not converted', response: NamedPage })
  async listRows(@Query() query: PageQuery<Item>): Promise<object> {
    return this.lists.findPage(this.things, query);
  }

  @Post('rows')
  @Idempotent()
  @Operation({ summary: 'Create a row that is not converted', response: NamedDto, status: HttpStatus.CREATED })
  async createRow(): Promise<object> {
    return this.lists.insert(this.things, { name: 'T', description: 'hidden' });
  }

  @Get('observed')
  @Operation({ summary: 'Show what is observed', response: NamedDto })
  showObserved(): Observable<object> {
    return of({ id: newId(), name: 'T', secret: 'hidden' });
  }

  @Get('promised')
  @Operation({ summary: 'Show what is promised', response: NamedDto })
  async showPromised(): Promise<Observable<object>> {
    return Promise.resolve(this.showObserved());
  }

  @Get('timed')
  @Operation({ summary: 'Show what a global interceptor changes', response: ThingDto })
  showTimed(): object {
    return { id: newId(), name: 'T' };
  }

  @Get('range')
  @ApiExcludeEndpoint()
  @UseFilters(RangeFilter)
  @Operation({ summary: 'Fail in a filter of its own' })
  showRange(): object {
    throw new RangeError('T');
  }

  @Get()
  @Operation({ summary: 'List things', response: [ThingDto] })
  listThings(): Promise<Item[]> {
    return this.things.find();
  }

  @Get('shelf')
  @Operation({ summary: 'Show the shelf', response: ShelfDto })
  async showShelf(): Promise<object> {
    return { first: null, things: await this.things.find(), seenAt: new Date(0), secret: 'hidden' };
  }

  @Get('incomplete')
  @Operation({ summary: 'Show what is incomplete', response: ThingDto })
  showIncomplete(): object {
    return { name: 5 };
  }

  @Get('undocumented')
  @Operation({ summary: 'Show what is not documented' })
  showUndocumented(): object {
    return { secret: 'hidden' };
  }

  @Get('removed')
  @Operation({ summary: 'Show nothing any more', status: HttpStatus.NO_CONTENT })
  showRemoved(): object {
    return { affected: 1 };
  }

  @Get('accepted')
  @Operation({ summary: 'Show it later', response: ThingDto })
  showLater(@Res({ passthrough: true }) response: Response): object {
    response.status(HttpStatus.ACCEPTED);
    return { id: newId(), name: 'T' };
  }

  @Get('file')
  @Operation({ summary: 'Show a file', response: ThingDto })
  showFile(): StreamableFile {
    return new StreamableFile(Buffer.from('{"secret":"file"}'));
  }

  @Get('files/:name')
  @Header('Cache-Control', 'max-age=60')
  @ApiExcludeEndpoint()
  showFileOf(@Param('name') name: string): StreamableFile {
    const content = name === 'later' ? Readable.from(failAfterFirst()) : createReadStream('/not/found');
    const file = new StreamableFile(content, { type: 'text/csv', disposition: 'attachment' });
    return name === 'own' ? file.setErrorHandler((_error, response) => response.send('own')) : file;
  }

  @Get('archive')
  @Header('Cache-Control', 'public, max-age=3600')
  @Header('Content-Disposition', 'attachment')
  @Header('Content-Encoding', 'gzip')
  @ApiExcludeEndpoint()
  showArchive(@Res({ passthrough: true }) response: Response): never {
    response.setHeader('ETag', '"1"').setHeader('Last-Modified', new Date(0).toUTCString());
    throw new ServiceUnavailableException();
  }

  @Post()
  @Idempotent()
  @Operation({ summary: 'Create a thing', response: ThingDto, status: HttpStatus.CREATED })
  createThing(): Promise<Item> {
    return this.things.save(this.things.create({ id: newId(), name: 'T', description: 'hidden' }));
  }

  @Get('envelope')
  @Operation({ summary: 'Show a thing in an envelope', response: EnvelopeDto })
  @UseInterceptors(EnvelopeInterceptor)
  showInEnvelope(): object {
    return { id: newId(), name: 'T', secret: 'hidden' };
  }

  @Post('envelope')
  @Idempotent()
  @Operation({ summary: 'Create a thing in an envelope', response: EnvelopeDto, status: HttpStatus.CREATED })
  @UseInterceptors(EnvelopeInterceptor)
  createInEnvelope(): Promise<Item> {
    return this.createThing();
  }

  @Get('plain')
  showPlain(): object {
    return { secret: 'hidden' };
  }

  @Get('below')
  @Operation({ summary: 'Show what a decorator above documents' })
  @ApiOkResponse({ type: ThingDto })
  showBelow(): object {
    return { id: newId(), name: 'T', secret: 'hidden' };
  }

  @Get('above')
  @ApiOkResponse({ type: ThingDto })
  @Operation({ summary: 'Show what a decorator below documents' })
  showAbove(): object {
    return { id: newId(), name: 'T', secret: 'hidden' };
  }

  @Get('wrapped')
  @Wrapped()
  @Operation({ summary: 'Show what another decorator wraps', response: ThingDto })
  showWrapped(): object {
    return { id: newId(), name: 'T', secret: 'hidden' };
  }

  @Get('text')
  @Operation({ summary: 'Show a text in place of a thing', response: ThingDto })
  showText(): string {
    return '{"secret":"hidden"}';
  }

  @Get('composed')
  @ApiExtraModels(NoteDto)
  @Operation({ summary: 'Show a thing composed of two classes' })
  @ApiOkResponse({ schema: { allOf: [{ $ref: getSchemaPath(ThingDto) }, { $ref: getSchemaPath(NoteDto) }] } })
  showComposed(@Query('more') more?: string): object {
    return { id: newId(), name: 'T', note: 'N', ...(more && { secret: 'hidden' }) };
  }

  @Get('either')
  @Operation({ summary: 'Show one of two, which has all properties of the other' })
  @ApiOkResponse({ schema: { oneOf: [{ $ref: getSchemaPath(ThingDto) }, { $ref: getSchemaPath(NamedDto) }] } })
  showEither(): object {
    return { id: newId(), name: 'T', createdAt: '1970-01-01T00:00:00.000Z' };
  }

  @Get('redirected')
  @Redirect('/', HttpStatus.FOUND)
  @Operation({ summary: 'Redirect', status: HttpStatus.FOUND })
  redirect(): object {
    return { url: '/elsewhere', statusCode: HttpStatus.FOUND };
  }

  @Sse('ticks')
  @Operation({ summary: 'Send events' })
  tick(): Observable<object> {
    return of({ data: { secret: 'sent' } });
  }

  @Post('file')
  @Idempotent()
  @Operation({ summary: 'Create a file', response: ThingDto, status: HttpStatus.CREATED })
  createFile(): StreamableFile {
    return new StreamableFile(Buffer.from('{}'));
  }

  @Post('bytes')
  @Idempotent()
  @Operation({ summary: 'Create bytes', response: ThingDto, status: HttpStatus.CREATED })
  createBytes(): Buffer {
    return Buffer.from('{}');
  }
}

@ApiTag({ name: 'Envelopes', description: 'What the tests call.' })
@Controller('envelopes')
@RequireScopes('things')
@UseInterceptors(EnvelopeInterceptor)
class EnvelopesController {
  @Get()
  @Operation({ summary: 'Show an envelope', response: EnvelopeDto })
  showEnvelope(): object {
    return { id: newId(), name: 'T', secret: 'hidden' };
  }

  @Post()
  @Idempotent()
  @Operation({ summary: 'Create an envelope', response: EnvelopeDto, status: HttpStatus.CREATED })
  createEnvelope(): object {
    return { id: newId(), name: 'T', secret: 'hidden' };
  }

  @Get('fine')
  @Operation({ summary: 'Show a fine envelope', response: EnvelopeDto })
  showFineEnvelope(): object {
    return { id: newId(), name: 'T' };
  }

  @Get('plain')
  showPlainEnvelope(): object {
    return { secret: 'hidden' };
  }
}

/** Makes responses of rows, which have other properties. */
class TitleInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler<{ title: string }>): Observable<unknown> {
    return next.handle().pipe(map(({ title, ...rest }) => ({ ...rest, name: title })));
  }
}

@ApiTag({ name: 'Titles', description: 'What the tests call.' })
@Controller('titles')
@RequireScopes('things')
@UseInterceptors(TitleInterceptor)
class TitlesController {
  @Get()
  @Operation({ summary: 'Show a title', response: NamedDto })
  showTitle(): object {
    return { id: newId(), title: 'T', secret: 'hidden' };
  }
}

class ShowingController {
  @Get()
  @Operation({ summary: 'Show what is named', response: NamedDto })
  showNamed(): object {
    return { id: newId(), title: 'T', name: 'T', secret: 'hidden' };
  }
}

@ApiTag({ name: 'Inheriting', description: 'What the tests call.' })
@Controller('inheriting')
@RequireScopes('things')
@UseInterceptors(TitleInterceptor)
class InheritingController extends ShowingController {}

@ApiExcludeController()
@Controller('left-out')
@RequireScopes('things')
class LeftOutController extends ShowingController {}

@Module({
  imports: [PlatformModule, ItemsModule, TypeOrmModule.forFeature([Item])],
  controllers: [ThingsController, EnvelopesController, TitlesController, InheritingController, LeftOutController],
  providers: [{ provide: APP_INTERCEPTOR, useClass: TimeInterceptor }],
})
class ThingsModule {}

const shown = { id: expect.any(String) as string, name: 'T' };

let service: Service;

const get = (path: string) => service.api.call('GET', `/v1/things${path}`);

async function start(environment: NodeJS.ProcessEnv): Promise<void> {
  service = await startService(environment, undefined, ThingsModule);
  expect((await service.api.create({ name: 'T', description: 'secret' })).status).toBe(201);
}

describe('in production', () => {
  beforeAll(() => start({ CHECK_RESPONSES: 'false' }));

  afterAll(() => service.stop());

  it('contain the documented properties and no other column, on any level [response-whitelist]', async () => {
    expect((await get('')).body).toEqual([shown]);
    expect((await get('/shelf')).body).toEqual({ first: null, things: [shown], seenAt: '1970-01-01T00:00:00.000Z' });
  });

  it('contain what interceptors make of the result, and of that the documented properties [response-whitelist]', async () => {
    expect((await get('/envelope')).body).toEqual({ data: shown });
    expect((await service.api.call('GET', '/v1/envelopes')).body).toEqual({ data: shown });
    expect((await service.api.call('GET', '/v1/envelopes/plain')).body).toEqual({ data: { secret: 'hidden' } });
  });

  it('contain no other column if rows are returned in place of responses [response-whitelist]', async () => {
    for (const headers of [{}, { 'Idempotency-Key': 'row' }, { 'Idempotency-Key': 'row' }]) {
      expect((await service.api.call('POST', '/v1/things/rows', { headers })).body).toEqual(shown);
    }
    expect([(await get('/observed')).body, (await get('/promised')).body]).toEqual([shown, shown]);
    expect((await get('/rows?limit=1')).body).toEqual({ items: [shown], nextCursor: expect.any(String) as string });
  });

  it('contain what global interceptors make of it', async () => {
    expect((await get('/timed')).body).toEqual({ ...shown, time: 'shown' });
  });

  it('contain what interceptors of the controller make of it, also with a key [response-whitelist]', async () => {
    for (const headers of [{}, { 'Idempotency-Key': 'envelope' }, { 'Idempotency-Key': 'envelope' }]) {
      expect((await service.api.call('POST', '/v1/envelopes', { headers })).body).toEqual({ data: shown });
    }
    expect((await service.api.call('GET', '/v1/titles')).body).toEqual(shown);
  });

  it('are not changed if a filter of exceptions replies', async () => {
    const { status, body } = await get('/range');
    expect([status, body]).toEqual([418, { explanation: 'out of range' }]);
  });

  it('contain what decorators of @nestjs/swagger document, above or below @Operation() [response-whitelist]', async () => {
    expect([(await get('/above')).body, (await get('/below')).body]).toEqual([shown, shown]);
    expect((await get('/composed?more=1')).body).toEqual({ ...shown, note: 'N' });
  });

  it('contain nothing else if another decorator wraps the handler, with its metadata [response-whitelist]', async () => {
    expect((await get('/wrapped')).body).toEqual(shown);
  });

  it('contain nothing if the operation documents none [response-whitelist]', async () => {
    const { status, body } = await get('/undocumented');
    expect([status, body]).toEqual([200, undefined]);
  });

  it('contain the same of a handler that two controllers inherit, one of which the document leaves out [response-whitelist]', async () => {
    const call = (path: string) => service.api.call('GET', path);
    expect([(await call('/v1/inheriting')).body, (await call('/v1/left-out')).body]).toEqual([shown, shown]);
  });

  it.each([
    ['/v1/things', shown],
    ['/v1/things/envelope', { data: shown }],
  ])('are stored and repeated as the client got them: %s [stored-as-sent]', async (path, expected) => {
    const create = () => service.api.call<object>('POST', path, { headers: { 'Idempotency-Key': path } });
    const [first, replay] = [await create(), await create()];
    expect([first.status, first.body, replay.body]).toEqual([201, expected, first.body]);
    expect(replay.headers.get('idempotent-replayed')).toBe('true');
    const query = 'SELECT body FROM idempotency_keys WHERE key = $1';
    const stored = await service.app.get(DataSource).query<{ body: string }[]>(query, [path]);
    expect(stored.map(({ body }) => JSON.parse(body) as unknown)).toEqual([first.body]);
  });

  it('have no body if they are to HEAD', async () => {
    const { status, body } = await service.api.call<undefined>('HEAD', '/v1/things');
    expect([status, body]).toEqual([200, undefined]);
  });

  it.each(['true', 'false'])('are redirections and events if Nest makes these of results: %s', async (CHECK_RESPONSES) => {
    const own = await startService({ CHECK_RESPONSES }, undefined, ThingsModule);
    const call = (path: string) =>
      fetch(`${own.api.origin}/v1/things/${path}`, { headers: own.api.authorization, redirect: 'manual' });
    const { status, headers } = await call('redirected');
    expect([status, headers.get('location')]).toEqual([302, '/elsewhere']);
    expect(await (await call('ticks')).text()).toContain('data: {"secret":"sent"}');
    await own.stop();
  });

  it.each(['file', 'bytes'])('are 500, and nothing is stored, if they are the %s of requests with a key', async (kind) => {
    const create = (headers: Record<string, string>) => service.api.call('POST', `/v1/things/${kind}`, { headers });
    const log = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    expect([(await create({})).status, (await create({ 'Idempotency-Key': kind })).status]).toEqual([201, 500]);
    const message = 'A file cannot be stored with an Idempotency-Key: respond with JSON, or remove @Idempotent().';
    expect(log).toHaveBeenCalledWith({ msg: 'request failed', err: expect.objectContaining({ message }) as Error });
    log.mockRestore();
  });

  it.each(['GET', 'HEAD'])('are problems to %s if they are files that cannot be read', async (method) => {
    const log = jest.spyOn(Logger.prototype, 'error').mockReturnValue();
    const { status, headers, body } = await service.api.call(method, '/v1/things/files/failing');
    expect(log).toHaveBeenCalledWith({ msg: 'request failed', err: expect.objectContaining({ code: 'ENOENT' }) as Error });
    log.mockRestore();
    expect([status, headers.get('content-type')]).toEqual([500, 'application/problem+json; charset=utf-8']);
    expect([headers.get('content-disposition'), headers.get('cache-control')]).toEqual([null, 'no-store']);
    expect(JSON.stringify(body ?? '')).not.toContain('/not/found');
  });

  it.each(['GET', 'HEAD'])('have no header of a result to %s if they are problems', async (method) => {
    const log = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    const { status, headers } = await service.api.call(method, '/v1/things/archive');
    log.mockRestore();
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      503,
      'application/problem+json; charset=utf-8',
      'no-store',
    ]);
    const names = ['content-disposition', 'content-encoding', 'etag', 'last-modified'];
    expect(names.filter((name) => headers.has(name))).toEqual([]);
  });

  it('end early if they are files that fail after their first byte', async () => {
    const url = `${service.api.origin}/v1/things/files/later`;
    const response = await fetch(url, { headers: service.api.authorization });
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  });

  it('are what a feature makes of the error of a file', async () => {
    const url = `${service.api.origin}/v1/things/files/own`;
    expect(await (await fetch(url, { headers: service.api.authorization })).text()).toBe('own');
  });

  it('are not changed if they are files or not documented', async () => {
    expect((await get('/file')).body).toEqual({ secret: 'file' });
    expect((await get('/plain')).body).toEqual({ secret: 'hidden' });
  });
});

describe('with CHECK_RESPONSES', () => {
  beforeAll(() => start({}));

  afterAll(() => service.stop());

  const undocumented = 'is not documented. Document it with @ApiProperty(), or leave it out.';
  const mismatch = 'Respond with that, or change what is documented.';

  it.each<[string, string, string[]]>([
    ['listThings', '', [`/*/description ${undocumented}`]],
    ['showInEnvelope', '/envelope', [`/data/secret ${undocumented}`]],
    ['showShelf', '/shelf', [`/things/*/description ${undocumented}`, `/secret ${undocumented}`]],
    [
      'showIncomplete',
      '/incomplete',
      [`The body must have required property 'id'. ${mismatch}`, `/name must be string. ${mismatch}`],
    ],
    ['showUndocumented', '/undocumented', [`The body must be null. ${mismatch}`, `/secret ${undocumented}`]],
    ['showText', '/text', [`The body must be object. ${mismatch}`]],
    ['showComposed', '/composed?more=1', [`/secret ${undocumented}`]],
    ['showLater', '/accepted', ['Its status is not documented: set `status` in @Operation().']],
  ])(
    'are 500 if they do not match the documentation, and the log names the property: %s [responses-checked]',
    async (name, path, faults) => {
      const log = jest.spyOn(Logger.prototype, 'error');
      const { status, body } = await get(path);
      expect([status, JSON.stringify(body).includes('secret')]).toEqual([500, false]);
      const title = `ThingsController.${name} responds ${name === 'showLater' ? 202 : 200}, not as documented:`;
      const message = [title, ...faults].join('\n- ');
      expect(log).toHaveBeenCalledWith({ msg: 'request failed', err: expect.objectContaining({ message }) as Error });
      log.mockRestore();
      expect(undocumentedResponses.delete(message)).toBe(true);
      expect([...undocumentedResponses]).toEqual([]);
    },
  );

  it('fail a test that does not check them', async () => {
    await get('/shelf');
    expect([...undocumentedResponses].join()).toContain('/secret is not documented');
    undocumentedResponses.clear();
  });

  it('are sent if they match the documentation, or have none', async () => {
    expect((await get('/removed')).status).toBe(204);
    expect((await get('/composed')).body).toEqual({ ...shown, note: 'N' });
    expect((await get('/either')).body).toEqual({ ...shown, createdAt: '1970-01-01T00:00:00.000Z' });
    expect((await service.api.call('GET', '/v1/envelopes/fine')).body).toEqual({ data: shown });
    expect((await get('/file')).body).toEqual({ secret: 'file' });
    expect((await get('/plain')).body).toEqual({ secret: 'hidden' });
  });
});
