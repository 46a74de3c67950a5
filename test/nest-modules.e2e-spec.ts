import { AsyncLocalStorage } from 'node:async_hooks';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import {
  All,
  type ArgumentsHost,
  BadRequestException,
  Body,
  type CallHandler,
  type CanActivate,
  Catch,
  ClassSerializerInterceptor,
  Controller,
  createParamDecorator,
  DefaultValuePipe,
  type ExceptionFilter,
  type ExecutionContext,
  ForbiddenException,
  Get,
  HttpException,
  HttpStatus,
  Injectable,
  Logger,
  Module,
  type NestInterceptor,
  NotFoundException,
  Param,
  ParseArrayPipe,
  ParseIntPipe,
  ParseUUIDPipe,
  PayloadTooLargeException,
  type PipeTransform,
  Post,
  Query,
  Req,
  Res,
  Scope,
  UseFilters,
  UnauthorizedException,
  UseGuards,
  UseInterceptors,
  Version,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, Reflector } from '@nestjs/core';
import { ExternalContextCreator } from '@nestjs/core/helpers/external-context-creator.js';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import {
  ApiConflictResponse,
  ApiExcludeEndpoint,
  ApiForbiddenResponse,
  ApiNotFoundResponse,
  ApiParam,
  ApiOperation,
  ApiProperty,
  ApiQuery,
  ApiResponse,
} from '@nestjs/swagger';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import { Test } from '@nestjs/testing';
import { InjectDataSource, InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Transform, Type } from 'class-transformer';
import {
  Allow,
  IsArray,
  IsDate,
  IsEnum,
  IsIn,
  IsInt,
  IsNumber,
  IsOptional,
  IsString,
  Validate,
  ValidateNested,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from 'class-validator';
import type { Request, Response } from 'express';
import { map, type Observable, tap } from 'rxjs';
import {
  DataSource,
  type EntityManager,
  type EntitySubscriberInterface,
  EventSubscriber,
  type InsertEvent,
  Like,
  type QueryRunner,
  Repository,
} from 'typeorm';
import { ItemsController } from '../src/items/items.controller.js';
import { ItemsModule } from '../src/items/items.module.js';
import { ItemsService } from '../src/items/items.service.js';
import { mediaTypesOf, OpenApiDocument } from '../src/platform/openapi/openapi-document.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { createApp } from '../src/app.js';
import { Item } from '../src/items/item.entity.js';
import { Configuration } from '../src/platform/config/configuration.js';
import type { Send } from '../src/platform/database/database-client.js';
import { DatabaseMetrics } from '../src/platform/database/database-metrics.js';
import {
  conflict,
  CurrentPrincipal,
  Database,
  hasScope,
  Lists,
  newId,
  Operation,
  type Principal,
  ProblemFilter,
  Public,
  RequireScopes,
  SafeToRetry,
} from '../src/platform/index.js';
import type { ProblemBody } from './support/api.js';
import { Contract, examplesOf } from './support/contract.js';
import { eventually, startAwayFromDatabase, startService } from './support/service.js';
import { useService } from './support/use-service.js';

// What Nest engineers use in addition to controllers and repositories, from well-known packages.

@Injectable()
class EverywhereInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const response = context.switchToHttp().getResponse<Response>();
    return next.handle().pipe(tap(() => response.setHeader('X-Everywhere', 'yes')));
  }
}

class WrapInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => ({ data })));
  }
}

/** Expects a caller, as a guard for roles does. */
class CallerGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    return context.switchToHttp().getRequest<{ user: Principal }>().user.id !== '';
  }
}

class LockedGuard implements CanActivate {
  canActivate(): boolean {
    throw new UnauthorizedException('Log in again.');
  }
}

class ClosedGuard implements CanActivate {
  canActivate(): boolean {
    throw new ForbiddenException('Closed on Sundays.');
  }
}

/** One run at a time, however many replicas there are. */
@Injectable()
class Jobs {
  runs = 0;
  heard: string[] = [];

  constructor(
    @InjectRepository(Item) private readonly items: Repository<Item>,
    private readonly database: Database,
  ) {}

  @Interval(50)
  async run(): Promise<void> {
    await this.database.exclusively('test.count', async () => {
      this.runs += await this.items.countBy({ name: 'counted by a job' });
    });
  }

  @OnEvent('parcel.sent')
  hear(name: string): void {
    this.heard.push(name);
  }
}

/** Hears of rows, as the documentation of Nest registers it. */
@Injectable()
@EventSubscriber()
class ItemSubscriber implements EntitySubscriberInterface<Item> {
  readonly inserted: string[] = [];

  constructor(@InjectDataSource() dataSource: DataSource) {
    dataSource.subscribers.push(this);
  }

  listenTo(): typeof Item {
    return Item;
  }

  afterInsert({ entity }: InsertEvent<Item>): void {
    this.inserted.push(entity.name);
  }
}

/** As in docs.nestjs.com. */
@Catch(HttpException)
class CatchingFilter implements ExceptionFilter {
  catch(exception: HttpException, host: ArgumentsHost): void {
    host.switchToHttp().getResponse<Response>().status(exception.getStatus()).json({ caught: exception.getResponse() });
  }
}

/** As for a service that collects errors. */
@Catch()
class ReportingFilter extends ProblemFilter {
  readonly reported: unknown[] = [];

  override catch(error: unknown, host: ArgumentsHost) {
    this.reported.push(error);
    // oxlint-disable-next-line promise/valid-params -- the method of a filter, not of a promise
    return super.catch(error, host);
  }
}

class PaintDto {
  @IsNumber({}, { message: 'This shade is no number!' })
  declare shade: number;

  @IsInt({ each: true })
  declare n: number[];
}

class CircleDto {
  @IsNumber()
  declare radius: number;
}

class ShapesDto {
  @ValidateNested({ each: true })
  @Type(() => CircleDto)
  declare shapes: CircleDto[];

  // Fails for objects without the property.
  @IsOptional()
  @ValidateNested({ each: true })
  @Transform(({ value }: { value: { color: string }[] }) => value.map(({ color }) => color.trim()))
  declare colors?: string[];

  @IsOptional()
  @IsDate()
  @Type(() => Date)
  declare at?: Date;
}

enum Genre {
  Crime = 'crime',
  Poetry = 'poetry',
}

@ValidatorConstraint()
class IsFree implements ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return value !== 'taken';
  }

  defaultMessage(): string {
    return 'must be free';
  }
}

@ValidatorConstraint({ name: 'shelfMark' })
class ShelfMarkConstraint extends IsFree {}

@ValidatorConstraint({ async: true })
class IsKnown implements ValidatorConstraintInterface {
  validate(value: unknown): Promise<boolean> {
    return Promise.resolve(value === 'known');
  }

  defaultMessage(): string {
    return 'must be known';
  }
}

class PublisherDto {
  @IsString()
  declare city: string;

  @IsInt()
  declare founded: number;
}

class BookDto {
  @Validate(IsFree)
  declare title: string;

  @Validate(ShelfMarkConstraint, { each: true })
  declare marks: string[];

  @IsOptional()
  @Validate(IsKnown, { each: true })
  declare readers?: string[];

  @IsEnum(Genre)
  declare genre: Genre;

  @IsIn([1, 2])
  declare volume: number;

  @IsOptional()
  @ValidateNested()
  @Type(() => PublisherDto)
  declare publisher?: PublisherDto;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => PublisherDto)
  declare others?: PublisherDto[];

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => BookDto)
  declare volumes?: BookDto[];
}

class GenreQuery {
  @IsOptional()
  @IsEnum(Genre)
  declare genre?: Genre;
}

class GenresQuery {
  @IsOptional()
  @IsArray()
  @IsEnum(Genre, { each: true })
  declare genres?: Genre[];

  @IsOptional()
  @IsInt({ each: true })
  @Type(() => Number)
  declare years?: number[];

  @IsOptional()
  @IsString({ each: true })
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split('+') : value))
  declare words?: string[];

  @Allow()
  declare ids: unknown;

  @IsOptional()
  @IsString()
  declare joined?: string;
}

class LoanDto {
  @ApiProperty({ enum: Genre, enumName: 'Genre' })
  @IsEnum(Genre)
  declare genre: Genre;

  @ApiProperty({ example: 3 })
  @IsInt()
  declare days: number;

  @IsOptional()
  @IsString({ each: true })
  declare notes?: string[];
}

/** A Standard Schema, as zod, valibot and arktype have it: converts decimal digits to a number. */
const sizeSchema = {
  '~standard': {
    version: 1 as const,
    vendor: 'tests',
    validate: (text: unknown) =>
      typeof text === 'string' && /^\d+$/.test(text)
        ? { value: Number(text) }
        : { issues: [{ message: 'must be in decimal digits' }] },
  },
};

/** A Standard Schema of a list. */
const tagsSchema = {
  '~standard': {
    version: 1 as const,
    vendor: 'tests',
    jsonSchema: {
      input: () => ({ type: 'array', items: { type: 'string' } }),
      output: () => ({ type: 'array', items: {} }),
    },
    validate: (value: unknown) => (Array.isArray(value) ? { value } : { issues: [{ message: 'must be an array' }] }),
  },
};

/** A Standard Schema of a body, with issues below it. */
const boxSchema = {
  '~standard': {
    version: 1 as const,
    vendor: 'tests',
    validate: (value: unknown) => {
      const { sides = [] } = value as { sides?: unknown[] };
      const issues = sides.flatMap((side, index) =>
        typeof side === 'number' ? [] : [{ message: 'must be a number', path: ['sides', { key: index }] }],
      );
      return issues.length > 0 ? { issues } : { value: { sides } };
    },
  },
};

/** The same, with a JSON Schema that has further properties, and another schema. */
const labelledSchema = {
  '~standard': {
    ...boxSchema['~standard'],
    jsonSchema: {
      input: ({ target }: { target: string }) => ({
        $schema: `for ${target}`,
        $defs: { Side: { type: 'number', exclusiveMinimum: 0 } },
        type: 'object',
        properties: {
          sides: { type: 'array', items: { $ref: '#/$defs/Side' } },
          label: { type: target === 'draft-2020-12' ? ['string', 'null'] : 'string' },
        },
      }),
    },
  },
};

/** A Standard Schema of a query, which ignores what it does not have. @param additionalProperties - whether it takes others */
const rangeSchema = (additionalProperties?: object) => ({
  '~standard': {
    version: 1 as const,
    vendor: 'tests',
    jsonSchema: {
      input: () => ({ type: 'object', properties: { from: { type: 'string' } }, additionalProperties }),
      output: () => ({}),
    },
    validate: (value: unknown) => ({ value: value as object }),
  },
});

/** As libraries read pages. */
const Turned = createParamDecorator((_data, context) => context.switchToHttp().getRequest<Request>().query['page']);

/** Called by a library, as of RabbitMQ. */
@Injectable()
@Public()
class OpenJobs {
  heard: unknown[] = [];

  hear(message: unknown): void {
    this.heard.push(message);
  }
}

/** As in the documentation of Nest: the handler gets the row of an id. */
@Injectable()
class ItemByIdPipe implements PipeTransform<string, Promise<Item>> {
  constructor(@InjectRepository(Item) private readonly items: Repository<Item>) {}

  transform(id: string): Promise<Item> {
    return this.items.findOneByOrFail({ id });
  }
}

@Injectable()
class ItemOrNothingPipe extends ItemByIdPipe {
  override transform(id?: string): Promise<Item> {
    return id === undefined ? Promise.resolve(undefined as never) : super.transform(id);
  }
}

class FigureDto {
  @IsIn(['disc', 'bar'])
  declare kind: string;
}

class DiscDto extends FigureDto {
  @IsInt()
  declare radius: number;
}

class BarDto extends FigureDto {
  @IsInt()
  declare length: number;
}

const ChosenFigure = () =>
  Type(() => FigureDto, {
    keepDiscriminatorProperty: true,
    discriminator: {
      property: 'kind',
      subTypes: [
        { value: DiscDto, name: 'disc' },
        { value: BarDto, name: 'bar' },
      ],
    },
  });

class DrawingDto {
  @ValidateNested()
  @ChosenFigure()
  declare first: DiscDto | BarDto;

  @ValidateNested({ each: true })
  @ChosenFigure()
  declare others: (DiscDto | BarDto)[];
}

class ShelfDto {
  @ApiProperty()
  declare name: string;
}

@Controller('parts')
@RequireScopes('parts')
class PartsController {
  @Version(['1', '2'])
  @Get(['bins', 'crates'])
  listBins(): string[] {
    return ['bin'];
  }

  @Version(['1', '2'])
  @Get('shelves')
  @Operation({ summary: 'List the shelves', response: [ShelfDto] })
  @ApiOperation({ operationId: 'listAllShelves' })
  shelves(): ShelfDto[] {
    return [{ name: 'top' }];
  }

  @Get('wrapped')
  @UseInterceptors(WrapInterceptor)
  wrapped(
    @Query('size', new DefaultValuePipe(7), ParseIntPipe) size: number,
    @Res({ passthrough: true }) response: Response,
  ): number {
    response.setHeader('X-Part', 'wrapped');
    return size;
  }

  @Get('closed')
  @ApiForbiddenResponse({ description: 'Closed on Sundays.' })
  @ApiResponse({ status: 451, type: Date })
  @UseGuards(ClosedGuard)
  closed(): void {}

  @Get('unlimited')
  @SkipThrottle()
  unlimited(): void {}

  @Get('locked')
  @UseGuards(LockedGuard)
  locked(): void {}

  @Get('sold-out')
  @Operation({ summary: 'Sell', problems: [conflict] })
  @ApiConflictResponse({ description: 'Sold out.', type: Date })
  soldOut(): void {
    throw new HttpException({ code: 'OUT_OF_STOCK', details: { sku: 1 }, status: 200 }, HttpStatus.CONFLICT);
  }

  @Get('invalid')
  invalid(): void {
    throw new BadRequestException({ message: 'Not so.', errors: { name: 'taken' } });
  }

  @Get('faults')
  faults(): void {
    throw new BadRequestException([{ property: 'name', constraints: { isString: 'name must be a string' } }]);
  }

  @Get('fault-list')
  faultList(): void {
    throw new HttpException([{ property: 'name' }], HttpStatus.BAD_REQUEST);
  }

  @Get('turned')
  @ApiQuery({ name: 'page', required: false, type: Number })
  turned(@Turned() page: unknown): object {
    return { page };
  }

  @Get('chosen')
  @ApiQuery({ name: 'joined', required: false, isArray: true, explode: false })
  chosen(
    @Query('ids', new ParseArrayPipe({ items: Number })) ids: number[],
    @Query() { genres, years, words }: GenresQuery,
    @Query('joined') joined?: string,
  ): object {
    return { ids, genres, years, words, joined };
  }

  @Get('tagged')
  tagged(@Query('tags', { schema: tagsSchema }) tags: string[], @Query('others') others: string[]): object {
    return { tags, others };
  }

  @Get('forwarded')
  @ApiNotFoundResponse()
  forwarded(): void {
    throw new NotFoundException({ title: 'Gone', status: 410, detail: 'The supplier has no such part.', sku: 1 });
  }

  @Get('custom')
  custom(): void {
    throw new HttpException({ status: HttpStatus.FORBIDDEN, error: 'This is a custom message' }, HttpStatus.FORBIDDEN);
  }

  @Post('paint')
  @SafeToRetry()
  paint(@Body() _paint: PaintDto): void {}

  @Post('caught')
  @SafeToRetry()
  @UseFilters(CatchingFilter)
  caught(@Body() _paint: PaintDto): void {}

  @Get('rare')
  @Throttle({ default: { limit: 1, ttl: 60_000 } })
  rare(): void {}

  @Get('hourly')
  @Throttle({ default: { ttl: 3_600_000 } })
  hourly(): void {}

  @Post('shapes')
  shapes(@Body() { shapes }: ShapesDto): boolean[] {
    return shapes.map((shape) => shape instanceof CircleDto);
  }

  @Post('drawings')
  @SafeToRetry()
  draw(@Body() { first, others }: DrawingDto): boolean[] {
    return [first, ...others].map((figure) => figure instanceof DiscDto);
  }

  @Get('sized/:size')
  sized(@Param('size', { schema: sizeSchema }) size: number, @Query('depth', { schema: sizeSchema }) depth: number): number {
    return size * depth;
  }

  @Get('ranges')
  ranges(@Query({ schema: rangeSchema() }) query: object): object {
    return query;
  }

  @Get('open-ranges')
  openRanges(@Query({ schema: rangeSchema({}) }) query: object): object {
    return query;
  }

  @Post('boxes')
  boxes(@Body({ schema: boxSchema }) { sides }: { sides: number[] }): number {
    return sides.length;
  }

  @Post('labelled')
  @SafeToRetry()
  labelled(@Body({ schema: labelledSchema }) { sides }: { sides: number[] }): number {
    return sides.length;
  }

  @Post('books')
  @SafeToRetry()
  books(@Body() { volume }: BookDto, @Query() { genre }: GenreQuery): object {
    return { volume, genre };
  }

  @Post('loans')
  @SafeToRetry()
  loans(@Body() { days }: LoanDto): number {
    return days;
  }

  @Post('find')
  @SafeToRetry()
  find(@Body() { shapes }: ShapesDto): number {
    return shapes.length;
  }

  @All('anything')
  @ApiExcludeEndpoint()
  anything(@Req() { method }: Request): object {
    return { method };
  }

  @Get('admin')
  isAdmin(@CurrentPrincipal() principal: Principal): boolean {
    return hasScope(principal, 'parts:admin');
  }

  @Get('owned/:id')
  @ApiParam({ name: 'id', description: 'Of an item.' })
  itemOfPath(@Param('id', ItemByIdPipe) item: Item, @Query('other', ItemOrNothingPipe) other?: Item): object {
    return { name: item.name, other: other?.name };
  }

  @Post('owned')
  @SafeToRetry()
  itemOfBody(@Body('id', ItemByIdPipe) item: Item): object {
    return { name: item.name };
  }

  @Get('of/:id')
  one(@Param('id', ParseUUIDPipe) id: string): object {
    return { id };
  }
}

@Module({
  imports: [ScheduleModule.forRoot(), EventEmitterModule.forRoot(), TypeOrmModule.forFeature([Item])],
  controllers: [PartsController],
  providers: [
    Jobs,
    OpenJobs,
    ItemSubscriber,
    { provide: APP_INTERCEPTOR, useClass: EverywhereInterceptor },
    { provide: APP_GUARD, useClass: CallerGuard },
  ],
})
class PartsModule {}

@Module({ imports: [PlatformModule, ItemsModule, PartsModule] })
class WithParts {}

const service = useService(() => startService({ RATE_LIMIT: '1000' }, undefined, WithParts));

const call = <Body = ProblemBody>(method: string, path: string) => service.api.call<Body>(method, `/v1/parts/${path}`);

it('documents and serves a handler of several paths and versions', async () => {
  const paths = ['/v1/parts/bins', '/v1/parts/crates', '/v2/parts/bins', '/v2/parts/crates'];
  const answers = await Promise.all(paths.map((path) => service.api.call<string[]>('GET', path)));
  expect(answers.map(({ body }) => body)).toEqual(paths.map(() => ['bin']));
  const documented = service.app.get(OpenApiDocument).get().paths;
  const ids = paths.map((path) => documented[path]?.get?.operationId);
  expect(ids.toSorted()).toEqual(['', '_2', '_3', '_4'].map((number) => `PartsController_listBins${number}`));
  const [first, second] = ['/v1/parts/shelves', '/v2/parts/shelves'].map((path) => documented[path]?.get);
  expect(first).toMatchObject({ summary: 'List the shelves', operationId: 'listAllShelves' });
  expect(second).toMatchObject({ summary: 'List the shelves', operationId: 'listAllShelves_2' });
  for (const path of paths) {
    expect(documented[path]?.get).toMatchObject({
      'x-required-scopes': ['parts'],
      responses: { 401: {}, 403: {}, 429: {} },
    });
  }
});

it('validates and documents the classes that the discriminator of @Type() chooses', async () => {
  const send = (body: object) => service.api.callWith('POST', '/v1/parts/drawings', body);
  const [disc, bar] = [
    { kind: 'disc', radius: 1 },
    { kind: 'bar', length: 2 },
  ];
  expect(await send({ first: disc, others: [bar] })).toMatchObject({ status: 201, body: [true, false] });
  const { body } = await send({ first: { ...disc, length: 1 }, others: [{ ...bar, length: 'x' }] });
  expect(body.errors?.map((error) => 'pointer' in error && error.pointer)).toEqual(['/first/length', '/others/0/length']);
  const { schemas = {} } = service.app.get(OpenApiDocument).get().components ?? {};
  const mapping = { disc: '#/components/schemas/DiscDto', bar: '#/components/schemas/BarDto' };
  const figure = {
    oneOf: [{ $ref: mapping.disc }, { $ref: mapping.bar }],
    discriminator: { propertyName: 'kind', mapping },
  };
  expect(schemas['DrawingDto']).toMatchObject({ properties: { first: figure, others: { type: 'array', items: figure } } });
  const kind = { type: 'string', enum: ['disc', 'bar'] };
  expect(schemas['DiscDto']).toEqual({
    type: 'object',
    properties: { kind, radius: { type: 'integer' } },
    required: ['kind', 'radius'],
    additionalProperties: false,
  });
  expect(schemas['BarDto']).toMatchObject({ properties: { kind, length: { type: 'integer' } } });
});

it('supports interceptors, guards, headers and parameter pipes [http-exception-problem]', async () => {
  const { headers, body } = await call<object>('GET', 'wrapped');
  expect([headers.get('x-everywhere'), headers.get('x-part'), body]).toEqual(['yes', 'wrapped', { data: 7 }]);
  expect((await call<object>('GET', 'wrapped?size=8')).body).toEqual({ data: 8 });
  expect((await call('GET', 'of/x')).status).toBe(400);
  expect(await call('GET', 'closed')).toMatchObject({
    status: 403,
    body: { type: 'about:blank', detail: 'Closed on Sundays.' },
  });
  const locked = await call('GET', 'locked');
  expect(locked).toMatchObject({ status: 401, body: { detail: 'Log in again.' } });
  expect(locked.headers.get('www-authenticate')).toBe('Bearer realm="items"');
  expect((await service.api.list()).headers.get('x-everywhere')).toBe('yes');
});

it('lets a pipe of a parameter make an object of an id, in the path or in a body', async () => {
  const { id, name } = (await service.api.create({ name: 'Found by a pipe' })).body;
  expect(await call('GET', `owned/${id}`)).toMatchObject({ status: 200, body: { name } });
  expect(await call('GET', `owned/${id}?other=${id}`)).toMatchObject({ status: 200, body: { name, other: name } });
  const post = (body: object) => service.api.callWith('POST', '/v1/parts/owned', body);
  expect(await post({ id })).toMatchObject({ status: 201, body: { name } });
  expect((await call('GET', `owned/${newId()}`)).status).toBe(404);
  expect(await post({ id: { name } })).toMatchObject({
    status: 400,
    body: { errors: [{ pointer: '/id', code: 'type', detail: 'must not be an object' }] },
  });
  // The entity has the name of the response class of another feature.
  const { paths, components } = service.app.get(OpenApiDocument).get();
  expect(paths['/v1/parts/owned/{id}']?.get?.parameters).toEqual([
    expect.objectContaining({ name: 'id', in: 'path', description: 'Of an item.', schema: { type: 'string' } }),
    expect.objectContaining({ name: 'other', in: 'query', schema: { type: 'string' } }),
  ]);
  expect(Object.keys(components?.schemas?.['Item'] ?? {})).toContain('properties');
});

it.each(['/livez', '/readyz', '/openapi.json', '/docs', '/robots.txt'])(
  'keeps global interceptors and guards of features away from %s',
  async (path) => {
    const { status, headers } = await fetch(service.api.origin + path);
    expect([status, headers.get('x-everywhere')]).toEqual([200, null]);
  },
);

it('warns of what a module binds globally, and of creates that cannot be retried [start-warnings]', async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  await (await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }), WithParts)).close();
  const warnings = warn.mock.calls.map(([message]) => message as string);
  warn.mockRestore();
  const duplicate = (name: string) =>
    `${name} creates a duplicate when a client retries: add @Idempotent(), or @SafeToRetry() if a retry changes nothing.`;
  const global = (kind: string, name: string, remedy: string) =>
    `PartsModule binds ${name}, a global ${kind}, which runs on the routes of all features: bind it with ${remedy} to the controllers that need it.`;
  expect(warnings.toSorted()).toEqual([
    duplicate('PartsController.boxes'),
    duplicate('PartsController.shapes'),
    global('guard', 'CallerGuard', '@UseGuards()'),
    global('interceptor', 'EverywhereInterceptor', '@UseInterceptors()'),
  ]);
});

it('keeps what app.ts binds globally away from probes, and does not bind what cannot be [start-serializer]', async () => {
  const DATABASE_URL = 'postgres://postgres@127.0.0.1:1/items';
  @Public()
  @Controller('open')
  class OpenController {
    @Get()
    read(): string {
      return 'open';
    }
  }

  @Module({ imports: [PlatformModule], controllers: [OpenController] })
  class OpenModule {}

  const app = await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent', DATABASE_URL }), OpenModule);
  const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
  app.useGlobalGuards({ canActivate: () => false });
  app.useGlobalInterceptors(new EverywhereInterceptor());
  app.useGlobalPipes({ transform: String });
  app.useGlobalFilters(new CatchingFilter());
  const warnings = warn.mock.calls.map(([text]) => String(text));
  warn.mockRestore();
  expect(warnings.map((text) => text.replace(/, which .*: bind it with/, ':'))).toEqual([
    'app.useGlobalGuards() binds Object, a global guard: @UseGuards() to the controllers that need it.',
    'app.useGlobalInterceptors() binds EverywhereInterceptor, a global interceptor: @UseInterceptors() to the controllers that need it.',
    'app.useGlobalPipes() binds Object, a global pipe: @UsePipes() to the controllers that need it.',
    'app.useGlobalFilters() binds CatchingFilter, a global filter: @UseFilters() to the controllers that need it.',
  ]);
  expect(() => app.useGlobalInterceptors(new ClassSerializerInterceptor(app.get(Reflector)))).toThrow(
    'app.useGlobalInterceptors() binds ClassSerializerInterceptor, a global interceptor, which runs on results without',
  );
  await app.listen(0);
  const origin = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  const found = ['/livez', '/openapi.json', '/v1/open'].map(async (path) => {
    const { status, headers } = await fetch(origin + path);
    return [status, headers.get('x-everywhere')];
  });
  expect(await Promise.all(found)).toEqual([
    [200, null],
    [200, null],
    [403, null],
  ]);
  await app.close();
});

it('runs guards of the root module after those of the platform, and tries its filters before', async () => {
  const seen = jest.fn(() => true);
  @RequireScopes('guarded')
  @Controller('guarded')
  class GuardedController {
    @Get()
    read(): void {}
  }

  @Module({
    imports: [PlatformModule],
    controllers: [GuardedController],
    providers: [
      { provide: APP_GUARD, useValue: { canActivate: seen } },
      { provide: APP_FILTER, useClass: CatchingFilter },
    ],
  })
  class RootModule {}

  const { origin, stop } = await startAwayFromDatabase(RootModule);
  const refused = await fetch(`${origin}/v1/guarded`);
  expect([refused.status, await refused.json()]).toEqual([401, { caught: expect.objectContaining({ statusCode: 401 }) }]);
  expect(seen).not.toHaveBeenCalled();
  await stop();
});

it('throws what filters of the exceptions of Nest catch [http-exception-problem]', async () => {
  const kinds = [BadRequestException, UnauthorizedException, PayloadTooLargeException];

  @Catch(...kinds)
  class KindFilter implements ExceptionFilter {
    catch(exception: HttpException, host: ArgumentsHost): void {
      const caught = kinds.filter((kind) => exception instanceof kind).map(({ name }) => name);
      host.switchToHttp().getResponse<Response>().status(exception.getStatus()).json({ caught });
    }
  }

  @Controller('colors')
  class ColorsController {
    @Public()
    @Post()
    @SafeToRetry()
    mix(@Body() { shade }: PaintDto): number {
      return shade;
    }

    @Get()
    @RequireScopes('colors')
    list(): void {}
  }

  @Module({
    imports: [PlatformModule],
    controllers: [ColorsController],
    providers: [{ provide: APP_FILTER, useClass: KindFilter }],
  })
  class ColorsModule {}

  const { origin, stop } = await startAwayFromDatabase(ColorsModule);
  const post = (text: string) => ({ method: 'POST', headers: { 'Content-Type': 'application/json' }, body: text });
  const requests: [string, RequestInit, number, string][] = [
    ['/v1/colors', post('{"shade":"dark"}'), 400, 'BadRequestException'],
    ['/v1/colors', post('{'), 400, 'BadRequestException'],
    ['/v1/colors?a=1', {}, 401, 'UnauthorizedException'],
    ['/v1/colors', post(' '.repeat(70_000)), 413, 'PayloadTooLargeException'],
  ];
  for (const [path, init, status, name] of requests) {
    const response = await fetch(origin + path, init);
    expect([path, response.status, await response.json()]).toEqual([path, status, { caught: [name] }]);
  }
  await stop();
});

it('responds with problems to all errors that a global filter of a feature passes on', async () => {
  @Module({
    imports: [PlatformModule],
    providers: [ReportingFilter, { provide: APP_FILTER, useExisting: ReportingFilter }],
  })
  class ReportingModule {}

  const { app, origin, stop } = await startAwayFromDatabase(ReportingModule);
  const { status, headers } = await fetch(`${origin}/v1/parts`);
  expect([status, headers.get('content-type')]).toEqual([401, 'application/problem+json; charset=utf-8']);
  expect(headers.get('www-authenticate')).toBe('Bearer realm="items"');
  expect(app.get(ReportingFilter).reported).toEqual([expect.objectContaining({ name: 'Problem' })]);
  await stop();
});

it.each([Scope.REQUEST, Scope.TRANSIENT])(
  'does not start with a global interceptor of the scope %d [start-request-scope]',
  async (scope) => {
    @Injectable({ scope })
    class ScopedInterceptor extends EverywhereInterceptor {}

    @Module({
      imports: [PlatformModule, ItemsModule],
      providers: [{ provide: APP_INTERCEPTOR, useClass: ScopedInterceptor }],
    })
    class ScopedModule {}

    const starting = createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }), ScopedModule);
    await expect(starting).rejects.toThrow(
      'ScopedModule binds ScopedInterceptor, a global interceptor, which is not a singleton, also for probes: bind it with @UseInterceptors()',
    );
  },
);

it.each([
  [undefined, true],
  [['parts'], false],
  [['parts', 'parts:admin'], true],
])('a handler asks whether a token with the scopes %j has one', async (scopes, expected) => {
  const client = await service.newClient('asking', scopes && { scopes });
  expect((await client.call<boolean>('GET', '/v1/parts/admin')).body).toBe(expected);
});

it('supports @SkipThrottle and @Throttle [throttle-per-route]', async () => {
  expect((await call('GET', 'unlimited')).headers.get('ratelimit')).toBeNull();
  const client = await service.newClient();
  const answers = [
    await client.call('GET', '/v1/parts/rare'),
    await client.call('GET', '/v1/parts/rare'),
    await client.list(),
  ];
  expect(answers.map(({ status, headers }) => [status, headers.get('ratelimit')])).toEqual([
    [200, '"default";r=999;t=60'],
    [429, expect.stringMatching(/^"route";r=0;t=\d+$/)],
    [200, expect.stringMatching(/^"default";r=998;/)],
  ]);
});

it('sends the members of the object that an exception was made with [http-exception-problem]', async () => {
  expect(await call('GET', 'sold-out')).toMatchObject({
    status: 409,
    body: { type: 'about:blank', title: 'Conflict', status: 409, code: 'OUT_OF_STOCK', details: { sku: 1 } },
  });
  const invalid = { status: 400, body: { detail: 'Not so.', errors: { name: 'taken' } } };
  expect(await call('GET', 'invalid')).toMatchObject(invalid);
  expect(await call('GET', 'custom')).toMatchObject({
    status: 403,
    body: { title: 'Forbidden', status: 403, detail: 'This is a custom message' },
  });
  expect(await call('GET', 'forwarded')).toMatchObject({
    status: 404,
    body: { title: 'Not found', status: 404, detail: 'The supplier has no such part.', sku: 1 },
  });
  const message = [{ property: 'name', constraints: { isString: 'name must be a string' } }];
  expect(await call('GET', 'faults')).toMatchObject({ status: 400, body: { detail: 'Bad Request Exception', message } });
  expect(await call('GET', 'fault-list')).toMatchObject({ status: 400, body: { message: [{ property: 'name' }] } });
});

it('lets decorators of parameters read the query parameters that @ApiQuery() documents, and no others [query-documented]', async () => {
  expect(await call('GET', 'turned?page=2')).toMatchObject({ status: 200, body: { page: '2' } });
  expect(await call('GET', 'turned?pages=2')).toMatchObject({ status: 400, body: { errors: [{ parameter: 'pages' }] } });
});

it('rejects a query parameter that a Standard Schema does not have, unless it takes others [unknown-parameter]', async () => {
  expect(await call('GET', 'ranges?from=a')).toMatchObject({ status: 200, body: { from: 'a' } });
  const unknown = [{ parameter: 'form', code: 'unknown' }];
  expect(await call('GET', 'ranges?form=a')).toMatchObject({ status: 400, body: { errors: unknown } });
  expect(await call('GET', 'open-ranges?form=a')).toMatchObject({ status: 200, body: { form: 'a' } });
});

it('lets clients repeat query parameters that are documented as arrays, and no others [repeated-parameter]', async () => {
  const ids = [1, 2];
  const genres = ['crime', 'poetry'];
  expect(await call('GET', 'chosen?ids=1&genres=crime&ids=2&genres=poetry&joined=a,b')).toMatchObject({
    status: 200,
    body: { ids, genres, joined: 'a,b' },
  });
  expect(await call('GET', 'chosen?ids=1,2')).toMatchObject({ status: 200, body: { ids } });
  expect(await call('GET', 'chosen?ids=1&genres=crime&genres=noir&joined=a&joined=b')).toMatchObject({
    status: 400,
    body: {
      errors: [
        { parameter: 'joined', code: 'repeated' },
        { parameter: 'genres.1', code: 'is_enum' },
      ],
    },
  });
});

it('takes a single query parameter that is documented as an array as an array of one [repeated-parameter]', async () => {
  expect(await call('GET', 'chosen?ids=1&genres=crime&years=1999&words=a')).toMatchObject({
    status: 200,
    body: { ids: [1], genres: ['crime'], years: [1999], words: ['a'] },
  });
  expect((await call('GET', 'chosen?ids=1&words=a%2Bb')).body).toMatchObject({ words: ['a', 'b'] });
  expect((await call('GET', 'tagged?tags=a&others=b')).body).toEqual({ tags: ['a'], others: ['b'] });
  expect((await call('GET', 'chosen?ids=1&genres=noir&joined=a&joined=b')).body.errors).toMatchObject([
    { parameter: 'joined', code: 'repeated' },
    { parameter: 'genres.0', code: 'is_enum' },
  ]);
});

it('lets a unit test of a controller, as in the documentation of Nest, provide its services alone', async () => {
  const row = { id: newId(), name: 'x', description: null };
  const providers = [{ provide: ItemsService, useValue: { create: () => Promise.resolve(row) } }];
  const module = await Test.createTestingModule({ controllers: [ItemsController], providers }).compile();
  expect(await module.get(ItemsController).createItem({ name: 'x' })).toMatchObject({ id: row.id, name: 'x' });
});

it('denies a handler of a library that no HTTP request reaches, and says what to do [other-messages]', async () => {
  const contexts = service.app.get(ExternalContextCreator, { strict: false });
  const hear = (handlers: Jobs | OpenJobs, message: object) => {
    const [method, none] = [handlers.hear as () => void, undefined];
    return contexts.create(
      handlers,
      method,
      'hear',
      none,
      none,
      none,
      none,
      none,
      'rmq',
    )(message, { setHeader: () => undefined }) as Promise<void>;
  };
  const jobs = service.app.get(Jobs);
  const message = { user: { id: '1' } };
  const reason = 'Jobs.hear is not an HTTP route, so that nothing checks a token';
  const cause: unknown = expect.objectContaining({ message: expect.stringContaining(reason) });
  await expect(hear(jobs, message)).rejects.toMatchObject({ cause });
  expect(jobs.heard).not.toContain(message);
  const open = service.app.get(OpenJobs);
  await hear(open, message);
  expect(open.heard).toEqual([message]);
});

it('leaves messages of rules as they are, and lets filters of features catch problems as exceptions of Nest', async () => {
  const post = (path: string) => service.api.callWith<object>('POST', `/v1/parts/${path}`, { shade: 'x', n: ['a'] });
  const errors = [
    { pointer: '/n/0', code: 'is_int', detail: 'must be an integer number' },
    { pointer: '/shade', code: 'is_number', detail: 'This shade is no number!' },
  ];
  const message = '/shade This shade is no number! /n/0 must be an integer number.';
  const painted = await post('paint');
  expect(painted).toMatchObject({ status: 400, body: { errors: expect.arrayContaining(errors) as unknown } });
  const caught = await post('caught');
  expect(caught).toMatchObject({
    status: 400,
    body: {
      caught: { statusCode: 400, error: 'Invalid body', message, errors: expect.arrayContaining(errors) as unknown },
    },
  });
});

it('limits a route with @Throttle also to the limit of the service, for a token with a larger one [throttle-per-route]', async () => {
  const other = await startService({ RATE_LIMIT: '1' }, undefined, WithParts);
  const client = await other.newClient('busy', { rateLimit: 10 });
  const statuses = [1, 2].map(async () => (await client.call('GET', '/v1/parts/rare')).status);
  expect((await Promise.all(statuses)).toSorted()).toEqual([200, 429]);
  expect((await client.list()).status).toBe(200);
  // Without a limit of its own, a route has that of the service, for its time.
  expect((await client.call('GET', '/v1/parts/hourly')).status).toBe(200);
  expect((await client.call('GET', '/v1/parts/hourly')).headers.get('ratelimit')).toBe('"route";r=0;t=3600');
  await other.stop();
});

it('supports arrays of objects, and rejects values that cannot be converted', async () => {
  const post = (body: object) => service.api.callWith('POST', '/v1/parts/shapes', body);
  expect(await post({ shapes: [{ radius: 1 }] })).toMatchObject({ status: 201, body: [true] });
  for (const body of [
    { shapes: [[]] },
    { shapes: [], at: { toString: 1, valueOf: 1 } },
    { shapes: [null] },
    { shapes: {} },
  ]) {
    expect([body, (await post(body)).status]).toEqual([body, 400]);
  }
  expect((await post({ shapes: [{ radius: 1, toString: null }] })).body.errors).toEqual([
    { pointer: '/shapes/0/toString', code: 'unknown', detail: 'is unknown: check the spelling or remove it' },
  ]);
  expect((await post({ shapes: [{ radius: 1 }, null, { radius: 'x' }] })).body.errors).toEqual([
    { pointer: '/shapes/1', code: 'type', detail: 'must be an object' },
    expect.objectContaining({ pointer: '/shapes/2/radius', code: 'is_number' }),
  ]);
  expect((await post({ shapes: {} })).body.errors).toContainEqual({
    pointer: '/shapes',
    code: 'type',
    detail: 'must be an array',
  });
  expect((await Contract.read(service.api.origin)).errorCodes).toContain('is_number');
});

describe('a class with rules and without documentation', () => {
  let contract: Contract;
  const mediaOf = (path: string) =>
    Object.values(contract.operation('post', `/v1/parts/${path}`).requestBody?.content ?? {})[0];

  beforeAll(async () => {
    contract = await Contract.read(service.api.origin);
  });

  it('is documented with the classes that it nests, and with the values of enums', () => {
    const $ref = '#/components/schemas/PublisherDto';
    expect(contract.bodyOf(contract.operation('post', '/v1/parts/books'))).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['title', 'marks', 'genre', 'volume'],
      properties: {
        title: { type: 'string' },
        marks: { type: 'array', items: {} },
        readers: { type: 'array', items: {} },
        genre: { type: 'string', enum: ['crime', 'poetry'] },
        volume: { type: 'number', enum: [1, 2] },
        publisher: { $ref },
        others: { type: 'array', items: { $ref } },
        volumes: { type: 'array', items: { $ref: '#/components/schemas/BookDto' } },
      },
    });
    expect(contract.document.components.schemas['PublisherDto']).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['city', 'founded'],
      properties: { city: { type: 'string' }, founded: { type: 'integer' } },
    });
    expect(contract.operation('post', '/v1/parts/books').parameters).toContainEqual({
      name: 'genre',
      in: 'query',
      required: false,
      schema: { type: 'string', enum: ['crime', 'poetry'] },
    });
  });

  it('keeps the descriptions of its errors, whose bodies are problems whatever it declares', () => {
    const problems = (path: string, status: string) => contract.operation('get', `/v1/parts/${path}`).responses[status];
    const content = {
      'application/problem+json': expect.objectContaining({ schema: { $ref: '#/components/schemas/Problem' } }),
    };
    const title = 'Conflict (`/docs/problems#conflict`)';
    expect(problems('sold-out', '409')).toMatchObject({ description: `Sold out.\n\n${title}`, content });
    const scopes = problems('closed', '403')?.description;
    expect(scopes).toMatch(/^Closed on Sundays\.\n\n.*#insufficient-scope`\)$/);
    expect(problems('closed', '451')).toMatchObject({ content });
  });

  it('has an example only if each required property has a value', () => {
    expect(mediaOf('loans')?.example).toEqual({ genre: 'crime', days: 3 });
    for (const path of ['books', 'shapes', 'find']) expect(mediaOf(path)).not.toHaveProperty('example');
    for (const { operation } of contract.operations) {
      for (const { content = {} } of [operation.requestBody ?? {}, ...Object.values(operation.responses)]) {
        const faults = Object.values(content).flatMap((media) =>
          examplesOf(media).flatMap((example) => contract.faultsOf(media, example)),
        );
        expect(faults).toEqual([]);
      }
    }
  });

  it('has the codes of its constraint classes in the document', async () => {
    const book = { title: 'taken', marks: ['a', 'taken'], readers: ['known', 'x'], genre: 'crime', volume: 1 };
    const { body } = await service.api.callWith('POST', '/v1/parts/books', { ...book, publisher: { a: 1 } });
    expect(body.errors?.map(({ pointer, code }) => `${pointer} ${code}`).toSorted()).toEqual([
      '/marks/1 shelf_mark',
      '/publisher/a unknown',
      '/publisher/city required',
      '/publisher/founded required',
      '/readers is_known',
      '/title is_free',
    ]);
    expect(contract.errorCodes).toEqual(expect.arrayContaining(['is_free', 'is_known', 'shelf_mark']));
    expect(contract.errorCodes).not.toContain('');
  });
});

it('enforces Standard Schemas, of named parameters and of a body', async () => {
  expect((await call<number>('GET', 'sized/2?depth=21')).body).toBe(42);
  const { status, body } = await call('GET', 'sized/x?depth=2');
  const fault = { code: 'type', detail: 'must be in decimal digits' };
  expect([status, body.type, body.errors]).toEqual([
    400,
    '/docs/problems#invalid-parameters',
    [{ parameter: 'size', ...fault }],
  ]);
  expect((await call('GET', 'sized/2')).body.errors).toEqual([{ parameter: 'depth', ...fault }]);
  const post = (given: object) => service.api.callWith('POST', '/v1/parts/boxes', given);
  expect(await post({ sides: [1, 2], other: 1 })).toMatchObject({ status: 201, body: 2 });
  expect((await post({ sides: [1, 'x'] })).body.errors).toEqual([
    { pointer: '/sides/1', code: 'type', detail: 'must be a number' },
  ]);
});

it('documents bodies with Standard Schemas as these have them, and any body if they do not say what they take', () => {
  const { paths, components } = service.app.get(OpenApiDocument).get();
  const schemaOf = (path: string) =>
    mediaTypesOf(paths[`/v1/parts/${path}`]?.post?.requestBody as Parameters<typeof mediaTypesOf>[0])[0]?.schema;
  expect(schemaOf('labelled')).toEqual({
    type: 'object',
    properties: {
      sides: { type: 'array', items: { $ref: '#/components/schemas/Side' } },
      label: { type: ['string', 'null'] },
    },
  });
  expect(components?.schemas?.['Side']).toEqual({ type: 'number', exclusiveMinimum: 0 });
  expect(schemaOf('boxes')).toEqual({ $ref: '#/components/schemas/Object' });
  expect(components?.schemas?.['Object']).toEqual({ type: 'object', properties: {} });
});

it('tells clients what a date looks like', async () => {
  const { body } = await service.api.callWith('POST', '/v1/parts/find', { shapes: [], at: 'yesterday' });
  expect(body.errors).toEqual([
    { pointer: '/at', code: 'is_date', detail: 'must be a date and time, like 2026-01-31T12:00:00Z' },
  ]);
});

it('supports @All() for a handler that the document does not show', async () => {
  const methods = ['GET', 'PUT'];
  const bodies = await Promise.all(methods.map(async (method) => (await call<object>(method, 'anything')).body));
  expect(bodies).toEqual(methods.map((method) => ({ method })));
});

it('supports subscribers, events and jobs', async () => {
  const jobs = service.app.get(Jobs);
  service.app.get(EventEmitter2).emit('parcel.sent', 'bell');
  expect(jobs.heard).toEqual(['bell']);
  await service.api.create({ name: 'counted by a job' });
  await eventually(() => jobs.runs > 1);
  expect(service.app.get(ItemSubscriber).inserted).toContain('counted by a job');
});

describe('a transaction', () => {
  const named = (name: string) => ({ id: newId(), name, description: null });
  const undone = () => Promise.reject(new Error('undone'));
  let database: Database;
  let dataSource: DataSource;
  let items: Repository<Item>;

  beforeAll(() => {
    [database, dataSource] = [service.app.get(Database), service.app.get(DataSource)];
    items = dataSource.getRepository(Item);
  });

  it('includes statements of every way of writing [transaction-repositories] [data-source-transaction]', async () => {
    const outer = database.transaction(async () => {
      await items.insert(named('outer'));
      await dataSource.transaction((manager) => manager.insert(Item, named('inner')));
      await new Repository(Item, dataSource.createEntityManager()).insert(named('inner'));
      await dataSource.query(`INSERT INTO items (id, name) VALUES ($1, 'inner')`, [newId()]);
      await dataSource.createQueryBuilder().insert().into(Item).values(named('inner')).execute();
      return undone();
    });
    await expect(outer).rejects.toThrow('undone');
    expect(await items.countBy([{ name: 'outer' }, { name: 'inner' }])).toBe(0);
  });

  it('runs those of TypeORM within it in turn: what one loses, another keeps [data-source-transaction]', async () => {
    const [lost, kept, last] = [newId(), newId(), newId()];
    const results = await database.transaction(() => {
      const of = (name: string, before: number, pause: number, fails = false) =>
        delay(before).then(() =>
          dataSource.transaction(async (manager) => {
            await manager.insert(Item, named(name));
            await dataSource.transaction((inner) => inner.query('SELECT 1'));
            await delay(pause);
            return fails ? undone() : name;
          }),
        );
      return Promise.allSettled([of(lost, 0, 30, true), of(kept, 10, 50), of(last, 10, 0)]);
    });
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect([await items.countBy({ name: lost }), await items.countBy([{ name: kept }, { name: last }])]).toEqual([0, 2]);
  });

  it('includes one of a library that passes no isolation level [data-source-transaction]', async () => {
    type Work = (manager: EntityManager) => Promise<void>;
    const transaction = dataSource.transaction.bind(dataSource) as unknown as (
      level: undefined,
      work: Work,
    ) => Promise<void>;
    const add = () => transaction(undefined, async (manager) => void (await manager.insert(Item, named('no level'))));
    await add();
    await expect(database.transaction(() => add().then(undone))).rejects.toThrow('undone');
    expect(await items.countBy({ name: 'no level' })).toBe(1);
  });

  it('has no statements of another application in the same process', async () => {
    const other = await startService();
    const theirs = other.app.get(DataSource).getRepository(Item);
    await expect(database.transaction(() => theirs.insert(named('theirs')).then(undone))).rejects.toThrow('undone');
    expect([await items.countBy({ name: 'theirs' }), await theirs.countBy({ name: 'theirs' })]).toEqual([0, 1]);
    await other.stop();
  });

  it('belongs to a data source that libraries know by the name of its class', () => {
    expect(dataSource.constructor.name).toBe('DataSource');
  });

  it('is not ended by a query runner of `await using`, which commits what it has begun itself [data-source-transaction]', async () => {
    const names = ['before', 'by runner', 'after', 'kept'].map((name) => `${name} ${newId()}`);
    const [before = '', byRunner = '', after = '', kept = ''] = names;
    const insert = async (runner: QueryRunner, name: string) => {
      await runner.query('INSERT INTO items (id, name) VALUES ($1, $2)', [newId(), name]);
    };
    const work = async () => {
      await items.insert(named(before));
      {
        await using runner = dataSource.createQueryRunner();
        await runner.startTransaction();
        await insert(runner, byRunner);
      }
      await items.insert(named(after));
      return undone();
    };
    await expect(database.transaction(work)).rejects.toThrow('undone');
    // In a nested one, which leaves what was before it.
    await database.transaction(async () => {
      await items.insert(named(kept));
      await expect(database.transaction(work)).rejects.toThrow('undone');
    });
    expect(await items.findBy(names.map((name) => ({ name })))).toEqual([expect.objectContaining({ name: kept })]);
  });

  it('waits for what a query runner does that another one is released twice beside [transaction-late-statements]', async () => {
    const name = newId();
    let late: Promise<unknown> = Promise.resolve();
    await database.transaction(async () => {
      const runner = dataSource.createQueryRunner();
      await runner.query('SELECT 1');
      await runner.release();
      await runner.release();
      late = items.save(named(name));
    });
    await late;
    expect(await items.countBy({ name })).toBe(1);
  });

  it('refuses an isolation level within it, which a savepoint does not have', async () => {
    const level = () => dataSource.transaction('SERIALIZABLE', (manager) => manager.query('SHOW transaction_isolation'));
    expect(await level()).toEqual([{ transaction_isolation: 'serializable' }]);
    const byRunner = () => dataSource.createQueryRunner().startTransaction('SERIALIZABLE');
    for (const within of [level, byRunner]) {
      await expect(database.transaction(within)).rejects.toThrow('of the isolation level SERIALIZABLE is within another');
    }
  });

  it('includes or rejects statements that are not awaited [transaction-late-statements]', async () => {
    const late: Promise<unknown>[] = [];
    const outer = database.transaction(async () => {
      await items.insert(named('late'));
      late.push(
        items.query(`INSERT INTO items (id, name) VALUES ($1, 'late')`, [newId()]),
        items.insert(named('late')),
        dataSource.transaction((manager) => manager.insert(Item, named('late'))),
      );
      return undone();
    });
    await expect(outer).rejects.toThrow('undone');
    await Promise.allSettled(late);
    expect(await items.countBy({ name: 'late' })).toBe(0);
  });

  it.each([
    ['committed', 1, () => Promise.resolve()],
    ['rolled back', 0, undone],
  ])(
    'includes a save() of several statements that is not awaited: %s [transaction-late-statements]',
    async (_, count, last) => {
      const name = newId();
      let late: Promise<unknown> = Promise.resolve();
      const outer = database.transaction(async () => {
        await items.insert(named(`before ${name}`));
        late = items.save(named(name));
        return last();
      });
      await (count > 0 ? outer : expect(outer).rejects.toThrow('undone'));
      await late;
      await eventually(async () => (await items.countBy({ name })) === count);
    },
  );

  it('does not take in work that goes on after the transaction of a key, as without a key [key-detached]', async () => {
    const [name, called] = [newId(), jest.fn()];
    const ended = Promise.withResolvers<void>();
    let late: Promise<unknown> = Promise.resolve();
    const goOn = async () => {
      await ended.promise;
      await items.save(named(name));
      await dataSource.transaction('SERIALIZABLE', (manager) => manager.insert(Item, named(name)));
      await database.transaction(async () => {
        await items.insert(named(name));
        database.afterCommit(called);
      });
      await expect(database.transaction(() => items.insert(named(name)).then(undone))).rejects.toThrow('undone');
    };
    const work = async () => {
      await items.insert(named(`before ${name}`));
      late = goOn();
    };
    // As `@Idempotent()` stores the response.
    await database.transaction(work, { end: (send) => send({ text: 'SELECT 1', values: [] }) });
    ended.resolve();
    await late;
    expect([await items.countBy({ name }), called.mock.calls]).toEqual([3, [[]]]);
  });

  it.each([
    ['of a key', { end: (send: Send) => send({ text: 'SELECT 1', values: [] }) }],
    ['of a feature', {}],
  ])('%s writes nothing if one within it is not over at its end [transaction-late-statements]', async (_, ends) => {
    const name = newId();
    const ended = Promise.withResolvers<void>();
    let late: Promise<unknown> = Promise.resolve();
    const writeTwice = async () => {
      await items.insert(named(name));
      await ended.promise;
      await items.insert(named(name));
    };
    const work = async () => {
      late = database.transaction(writeTwice).catch((error: unknown) => error);
      await delay(50);
      await items.insert(named(name));
    };
    await expect(database.transaction(work, ends)).rejects.toThrow('A nested transaction was not over');
    ended.resolve();
    expect(await late).toMatchObject({ message: expect.stringContaining('Query runner already released') });
    expect(await items.countBy({ name })).toBe(0);
  });

  it('sends no statement after its commit [transaction-late-statements]', async () => {
    // Jobs send statements at the same time.
    const sent = new AsyncLocalStorage<string[]>();
    const observed = jest.spyOn(service.app.get(DatabaseMetrics), 'observe').mockImplementation((text) => {
      sent.getStore()?.push(text);
      return () => undefined;
    });
    const lists = service.app.get(Lists);
    const inserts = [() => items.insert(named('late')), () => lists.insert(items, { name: 'late', description: null })];
    const after = async (microtasks: number, insert: () => Promise<unknown>) => {
      for (let count = 0; count < microtasks; count += 1) await Promise.resolve();
      await insert();
    };
    for (const [microtasks, insert] of inserts.flatMap((each) => Array.from({ length: 20 }, (_, n) => [n, each] as const))) {
      let late: Promise<unknown> = Promise.resolve();
      const statements: string[] = [];
      const work = () => Promise.resolve(void (late = after(microtasks, insert).catch(() => undefined)));
      await sent.run(statements, () => database.transaction(work));
      await late;
      expect(statements.slice(0, -1)).not.toContain('COMMIT');
    }
    observed.mockRestore();
  });

  it('may contain savepoints, of which one is rolled back, and calls back after its commit [transaction-savepoint] [after-commit]', async () => {
    const called: string[] = [];
    const write = async (name: string) => {
      await items.insert(named(name));
      database.afterCommit(() => called.push(name));
    };
    await database.transaction(async () => {
      await write('part 1');
      await expect(database.transaction(() => write('undone').then(undone))).rejects.toThrow('undone');
      await database.transaction(() => write('part 2'));
      await dataSource.transaction((manager) => manager.insert(Item, named('part 3')));
      expect(called).toEqual([]);
    });
    await expect(database.transaction(() => write('undone too').then(undone))).rejects.toThrow('undone');
    database.afterCommit(() => called.push('outside'));
    expect(called).toEqual(['part 1', 'part 2', 'outside']);
    const kept = await items.find({ where: [{ name: Like('part%') }, { name: 'undone' }], order: { name: 'ASC' } });
    expect(kept.map(({ name }) => name)).toEqual(['part 1', 'part 2', 'part 3']);
  });

  it('calls back after its commit for work that was not awaited, also of a savepoint [after-commit]', async () => {
    const called: string[] = [];
    let late: Promise<unknown> = Promise.resolve();
    const begin = (name: string, pause: number) => {
      late = Promise.all([late, delay(pause).then(() => database.afterCommit(() => called.push(name)))]);
      return Promise.resolve();
    };
    await database.transaction(async () => {
      await database.transaction(() => begin('after the savepoint', 20));
      await begin('after the commit', 100);
      await delay(50);
      expect(called).toEqual([]);
    });
    await late;
    expect(called).toEqual(['after the savepoint', 'after the commit']);
    const failed = database.transaction(() => begin('never', 0).then(undone));
    await expect(failed).rejects.toThrow('undone');
    await late;
    expect(called).toHaveLength(2);
  });

  it('may contain savepoints that begin at the same time: one that fails undoes nothing of the others [transaction-savepoint]', async () => {
    const names = ['sibling 1', 'sibling 2', 'sibling 3', 'sibling 4'];
    const outcomes = await database.transaction(() =>
      Promise.allSettled(
        names.map((name, index) =>
          database.transaction(async () => {
            await items.insert(named(name));
            await items.update({ name }, { description: 'written twice' });
            await (index % 2 && undone());
          }),
        ),
      ),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    const kept = await items.find({ where: { name: Like('sibling%') }, order: { name: 'ASC' } });
    expect(kept).toMatchObject(['sibling 1', 'sibling 3'].map((name) => ({ name, description: 'written twice' })));
  });

  it('cannot continue after a failed statement', async () => {
    const ignoring = database.transaction(async () => {
      await items.query('SELECT nothing').catch(() => undefined);
      await dataSource.transaction(() => Promise.resolve()).catch(() => undefined);
      await expect(items.insert(named('after a failure'))).rejects.toThrow(/aborted.*`database.transaction`.* a savepoint/);
    });
    await expect(ignoring).rejects.toThrow('Nothing was written');
    expect(await items.countBy({ name: 'after a failure' })).toBe(0);
  });

  it('continues after a statement that failed in a savepoint', async () => {
    await database.transaction(async () => {
      await database.transaction(() => items.query('SELECT nothing')).catch(() => undefined);
      await items.insert(named('after a savepoint'));
    });
    expect(await items.countBy({ name: 'after a savepoint' })).toBe(1);
  });

  it('of TypeORM fails, too, when its commit was a rollback', async () => {
    const ignoring = dataSource.transaction((manager) => manager.query('SELECT nothing').catch(() => undefined));
    await expect(ignoring).rejects.toThrow('Nothing was written');
  });
});
