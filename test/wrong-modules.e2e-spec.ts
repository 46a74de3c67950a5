import {
  All,
  applyDecorators,
  Body,
  Catch,
  ClassSerializerInterceptor,
  Controller,
  createParamDecorator,
  forwardRef,
  Get,
  Logger,
  Module,
  type ModuleMetadata,
  Next,
  Param,
  Patch,
  Post,
  Put,
  Query,
  Res,
  Sse,
  type Type,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import { APP_FILTER, APP_INTERCEPTOR, BaseExceptionFilter, RouterModule } from '@nestjs/core';
import {
  ApiBody,
  ApiExcludeController,
  ApiExcludeEndpoint,
  ApiExtraModels,
  ApiOkResponse,
  ApiProperty,
  ApiQuery,
  ApiSchema,
  getSchemaPath,
} from '@nestjs/swagger';
import { Throttle, ThrottlerGuard } from '@nestjs/throttler';
import { TypeOrmModule, type TypeOrmModuleOptions } from '@nestjs/typeorm';
import type { NextFunction, Response } from 'express';
import { IsString } from 'class-validator';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { createApp } from '../src/app.js';
import type { CreateItemDto as ErasedDto } from '../src/items/items.dto.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import {
  CurrentPrincipal,
  defineFilter,
  defineOrder,
  defineProblemType,
  Etag,
  Idempotent,
  MigrationsModule,
  Operation,
  PageOf,
  type Principal,
  Public,
  RequireScopes,
  SqlMigration,
  Text,
  UseBodyParser,
} from '../src/platform/index.js';
import { orders } from '../src/platform/lists/list-options.js';
import type { OperationOptions } from '../src/platform/routes/operation.js';
import { Api } from './support/api.js';
import { Contract } from './support/contract.js';
import { startService } from './support/service.js';
import { createEmbedded } from './support/test-database.js';

// Typical mistakes of other teams.

class Inner {
  @Text({ description: 'Anything.', example: 'x', maximumLength: 9 })
  declare readonly note: string;
}

@Entity('things')
class Thing {
  @PrimaryColumn('uuid')
  declare id: string;

  @Column('text')
  declare name: string;
}

class TaggedDto {
  @Etag() declare readonly etag: string;
}

class LooseDto {
  @IsString()
  name!: string;

  note?: string;
}

class LoosePartDto {
  @IsString()
  name!: string;

  size?: number;
}

/** With a fault in each handler. */
@Controller('things')
@RequireScopes('things')
class WrongController {
  @Post()
  createUnchecked(@Body() _body: object): void {}

  /** With "type" in the import, nothing of the class is left when the program runs, and with it go all of its rules. */
  @Post('erased')
  createErased(@Body() _body: ErasedDto): void {}

  @Post('large')
  @UseBodyParser('json', { limit: 1_000_000 })
  createLarge(@Body() _body: ErasedDto): void {}

  @Post('many')
  @UseBodyParser('json')
  createMany(@Body() _bodies: Inner[]): void {}

  @Post('items')
  @UseBodyParser('json', { items: Thing })
  createItems(@Body() _bodies: Thing[]): void {}

  @Post('part')
  createPart(@Body('thing') _thing: Thing): void {}

  @Post('loose-part')
  createLoosePart(@Body('loose') _part: LoosePartDto): void {}

  @Get('part/:thing')
  readPart(@Param('thing') _thing: Thing): void {}

  @Post('loose')
  createLoose(@Body() _body: LooseDto): void {}

  @Put('loose')
  changeLoose(@Body() _body: LooseDto): void {}

  @Get('unchecked')
  listUnchecked(@Query() _query: object): void {}

  @Put(':thing/:note')
  changeThing(@Param() _path: Inner): void {}

  @Put('tagged')
  @Operation({ summary: 'Change a thing', response: TaggedDto })
  changeTagged(): void {}

  @Get('itself')
  answerItself(@Res() response: Response): void {
    response.json({});
  }

  @Get('next')
  passOn(@Next() next: NextFunction): void {
    next();
  }
}

@Controller('things/open')
class OpenController {
  @Get()
  listThings(): void {}
}

@Controller('things/unscoped')
@RequireScopes()
class NoScopeController {
  @Get()
  listThings(): void {}
}

/** Wraps a handler, as decorators for logging, metrics or caching do. */
function wrapped(_target: object, _name: string, descriptor: PropertyDescriptor): void {
  const original = descriptor.value as (...inputs: unknown[]) => unknown;
  descriptor.value = function wrapper(this: unknown, ...inputs: unknown[]) {
    return original.apply(this, inputs);
  };
}

@Controller('things/public')
@Public()
class PublicController {
  @Get()
  @wrapped
  @RequireScopes('things')
  listThings(): void {}

  @Post()
  @Idempotent()
  createThing(): void {}
}

@Controller('things/inherited')
class InheritingController extends PublicController {}

class CreateThings1795219200001 extends SqlMigration {
  readonly statements = ['CREATE TABLE things (id uuid PRIMARY KEY, name text NOT NULL)'];
}

defineFilter(Thing, { name: { type: 'string', indexes: ['things_name_idx'] } }, {});

@Module({
  imports: [TypeOrmModule.forFeature([Thing]), MigrationsModule.forFeature([CreateThings1795219200001])],
  controllers: [WrongController, OpenController, NoScopeController, PublicController, InheritingController],
})
class ThingsModule {}

const reading = (path: string | string[]) =>
  applyDecorators(Get(path), RequireScopes('things'), Operation({ summary: 'Read a thing' }));

@Controller('things')
class SameNameController {
  @reading('named')
  listItems(): void {}
}

@Controller('things')
@RequireScopes('things')
class AllMethodsController {
  @All('anything')
  takeAnything(): void {}
}

const thingDto = (properties: readonly string[]): Type<object> => {
  class ThingDto {
    readonly id = '';
  }
  properties.forEach((name) => ApiProperty({ type: String })(ThingDto.prototype, name));
  return ThingDto;
};

class ThingsDto {
  @ApiProperty({ type: [thingDto(['name'])] })
  declare readonly things: object[];
}

@Controller('things')
@RequireScopes('things')
class SameDtoController {
  @Get('one')
  @Operation({ summary: 'Read a thing', response: thingDto(['name', 'size']) })
  readThing(): object {
    return {};
  }

  @Get('several')
  @ApiOkResponse({ type: ThingsDto })
  readThings(): object {
    return {};
  }
}

@Controller('things')
class SamePathController {
  @reading('of/:id')
  readThing(@Param('id') _id: string): void {}

  @reading('of/:name')
  readNamedThing(@Param('name') _name: string): void {}

  @reading('all/*path')
  readAllThings(@Param('path') _path: string): void {}

  @reading('all/*rest')
  readOtherThings(@Param('rest') _rest: string): void {}
}

@Controller('things')
class EqualPathController {
  @reading('one')
  readThing(): void {}

  @reading('one')
  readOtherThing(): void {}
}

/** @param deprecated - of any type, as without a compiler */
function deprecatedController(deprecated: unknown): Type {
  const options = { summary: 'Read a thing', deprecated } as OperationOptions;
  @Controller('things')
  @RequireScopes('things')
  class DeprecatedController {
    @Get(':thing')
    @Operation(options)
    readThing(@Param('thing') _thing: string): void {}
  }
  return DeprecatedController;
}

@ApiSchema({ name: 'Cover' })
class LidDto {
  @ApiProperty() declare size: number;
}

/** As an entity, which has no documented properties. */
class Cover {
  declare readonly weight: number;
}

@ApiExtraModels(Cover)
class Crate {
  @ApiProperty() declare size: number;
}

class OrderDto {
  @ApiProperty({ enum: ['open', 'paid'], enumName: 'Status' }) declare status: string;
}

class ShipmentDto {
  @ApiProperty({ enum: ['packed', 'sent'], enumName: 'Status', isArray: true }) declare statuses: string[];
}

@RequireScopes('things:read')
@Controller('things')
class SameEnumController {
  @Get('order')
  @Operation({ summary: 'Get an order', response: OrderDto })
  order(): void {}

  @Get('shipment')
  @Operation({ summary: 'Get a shipment', response: ShipmentDto })
  shipment(): void {}
}

@ApiSchema({ name: 'Problem' })
class ProblemDto {
  @ApiProperty() declare question: string;
}

@RequireScopes('things:read')
@Controller('things')
class ProblemController {
  @Get('problem')
  @Operation({ summary: 'Get a problem', response: ProblemDto })
  problem(): void {}
}

/** Why the application does not start. */
async function refusal(module: Pick<ModuleMetadata, 'imports' | 'controllers'>): Promise<string> {
  @Module({ ...module, imports: [PlatformModule, ItemsModule, ...(module.imports ?? [])] })
  class FeatureModule {}

  const environment = { LOG_LEVEL: 'silent', DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items' };
  const init = async () => (await createApp(readConfiguration(environment), FeatureModule)).init();
  return init().then(
    // It would go on connecting to its database.
    (app) => app.close().then(() => 'it starts'),
    (error: Error) => error.message,
  );
}

it.each<[string, string[]]>([
  [
    'policies [policy-required] [start-policies] [route-policy]',
    [
      "OpenController.listThings has no token policy: add @RequireScopes('things:read') to it or to its controller, or @Public() if it needs no token.",
      'InheritingController.createThing has no token policy',
      'PublicController.listThings has a decorator that replaces the handler and hides @RequireScopes(): write @RequireScopes() above that decorator.',
      'NoScopeController.listThings requires no scope, so that any token may call it: name a scope in @RequireScopes().',
      'PublicController.createThing is both @Idempotent() and @Public(): keys belong to tokens, so require one with @RequireScopes().',
    ],
  ],
  [
    'inputs [start-inputs]',
    [
      'WrongController.createUnchecked has an input without validation rules',
      'WrongController.createErased has an input without validation rules',
      'WrongController.createLarge has an input without validation rules',
      'WrongController.createMany has an input without validation rules: use a class with decorated properties for the whole input, and import it without "type", or a Standard Schema in `{ schema }`. For an array, text, bytes or any JSON, see the options of @UseBodyParser().',
      'WrongController.createItems has an input without validation rules',
      'WrongController.createPart has an input without validation rules',
      'WrongController.readPart has an input without validation rules',
      'LoosePartDto.size has no validation rule, so that no input is valid',
      'WrongController.listUnchecked has an input without validation rules',
      'WrongController.changeThing ignores the path parameter thing: declare it in the class of @Param().',
      'LooseDto.note has no validation rule, so that no input is valid: add one, such as @IsOptional(), or declare the field with `declare`.',
    ],
  ],
  [
    'responses [start-conditions]',
    [
      'WrongController.answerItself sends its own response: return the body, and set headers with @Res({ passthrough: true }).',
      'WrongController.passOn passes the request on with @Next(), so that it may get no response: return the body.',
      'WrongController.changeTagged sends an ETag and ignores If-Match: take it with @IfMatch(), and pass it to lists.update().',
    ],
  ],
])('does not start, and names every error: %s', async (_part, faults) => {
  const message = await refusal({ imports: [ThingsModule] });
  for (const fault of faults) {
    expect(message).toContain(`\n- ${fault}`);
    // Once, however many routes have it.
    expect(message.split(`\n- ${fault}`)).toHaveLength(2);
  }
});

it('does not start with a filter whose index does not exist [start-indexes] [filter-indexes]', async () => {
  @Module({
    imports: [
      PlatformModule,
      ItemsModule,
      TypeOrmModule.forFeature([Thing]),
      MigrationsModule.forFeature([CreateThings1795219200001]),
    ],
  })
  class FeatureModule {}

  await expect(startService({}, await createEmbedded(), FeatureModule)).rejects.toThrow(
    "Thing.name names the index things_name_idx, which does not exist: register an IndexMigration with index = 'things_name_idx'",
  );
});

it('does not start with two handlers of one path', async () => {
  expect(await refusal({ controllers: [EqualPathController] })).toContain(
    'GET /v1/things/one is registered by both EqualPathController#readThing and EqualPathController#readOtherThing',
  );
});

it('warns of a migration that was changed after it had been applied, beside the index that it was to make', async () => {
  const database = await createEmbedded();
  const start = async (...indexes: string[]) => {
    const migration = class extends CreateThings1795219200001 {
      override readonly statements = ['CREATE TABLE things (id uuid PRIMARY KEY, name text NOT NULL)', ...indexes];
    };
    Object.defineProperty(migration, 'name', { value: 'CreateThings1795219200001' });
    @Module({
      imports: [PlatformModule, ItemsModule, TypeOrmModule.forFeature([Thing]), MigrationsModule.forFeature([migration])],
    })
    class FeatureModule {}

    return startService({}, database, FeatureModule);
  };
  await expect(start()).rejects.toThrow('register an IndexMigration');
  const byName = defineOrder(Thing, 'name');
  PageOf(NamedThingDto, byName);
  const starting = start('CREATE INDEX things_name_idx ON things (name COLLATE "C", id)');
  const warned = jest.spyOn(Logger.prototype, 'warn');
  await expect(starting).rejects.toThrow('names the index things_name_idx, which does not exist: ');
  await expect(starting).rejects.toThrow('sorted by name, which no index supports: ');
  const changed = 'CreateThings1795219200001 was changed after it had been applied, without effect: ';
  expect(warned.mock.calls).toContainEqual([expect.stringContaining(changed)]);
  warned.mockRestore();
  orders.pop();
});

class NamedThingDto {
  @Text({ description: 'Its name.', example: 'x', maximumLength: 9 })
  declare readonly name: string;
}

it.each<[string, readonly Type<object>[], boolean]>([
  ['no page', [], true],
  ['a page whose items do not document it', [Inner], true],
  ['a page whose items do not document it beside one', [NamedThingDto, Inner], true],
  ['a page whose items document it', [NamedThingDto], false],
])(
  'starts with an order, whose column cursors contain, only if pages document it: %s [start-orders]',
  async (_case, items, isRefused) => {
    const byName = defineOrder(Thing, 'name');
    for (const item of items) PageOf(item, byName);
    expect(
      (await refusal({})).includes('nextCursor of Thing sorted by name would disclose name: pass it to PageOf, with'),
    ).toBe(isRefused);
    orders.pop();
  },
);

it('does not become ready with an order whose values have no text that means the same in every session', async () => {
  @Entity('things')
  class TimedThing {
    @PrimaryColumn('uuid')
    declare id: string;

    @Column('interval')
    declare name: string;
  }

  @Module({
    imports: [
      PlatformModule,
      ItemsModule,
      TypeOrmModule.forFeature([TimedThing]),
      MigrationsModule.forFeature([CreateThings1795219200001]),
    ],
  })
  class FeatureModule {}

  PageOf(NamedThingDto, defineOrder(TimedThing, 'name'));
  await expect(startService({}, await createEmbedded(), FeatureModule)).rejects.toThrow(
    'TimedThing cannot be sorted by name, of the type interval: sort by a number, text or time.',
  );
  orders.pop();
});

it('does not start with two paths that differ only in the name of a parameter [start-paths]', async () => {
  const faults = await refusal({ controllers: [SamePathController] });
  for (const [one, other] of [
    ['of/{id}', 'of/{name}'],
    ['all/{path}', 'all/{rest}'],
  ]) {
    expect(faults).toContain(`Several routes match GET /v1/things/${one} and GET /v1/things/${other}: change the path`);
  }
});

it('does not start with a response whose class the document lacks [start-schemas]', async () => {
  class RareDto {
    @ApiProperty() declare name: string;
  }
  class OfferDto {
    @ApiProperty({ oneOf: [{ $ref: getSchemaPath(RareDto) }], description: 'Rare.' }) declare rare: RareDto | null;
  }
  @RequireScopes('things:read')
  @Controller('offers')
  class OffersController {
    @Get()
    @Operation({ summary: 'Get an offer', response: OfferDto })
    offer() {
      return {};
    }
  }
  const faults = await refusal({ controllers: [OffersController] });
  expect(faults).toContain('The OpenAPI document refers to RareDto, but lacks it: add @ApiExtraModels(RareDto).');
});

it.each<[string, () => object, string]>([
  [
    'has no JSON Schema',
    () => {
      throw new Error('Date cannot be represented');
    },
    'that cannot be documented (Date cannot be represented): take the JSON type and convert it, in zod with ' +
      'z.iso.datetime().pipe(z.coerce.date()) for a date.',
  ],
  [
    'refers to itself',
    () => ({ type: 'object', properties: { children: { type: 'array', items: { $ref: '#' } } } }),
    "that refers to itself: name the part, in zod with .meta({ id: 'Tree' }).",
  ],
  [
    'refers to a part that has no name',
    () => ({ $ref: '#/$defs/__schema0', $defs: { __schema0: { type: 'object' } } }),
    "that refers to itself: name the part, in zod with .meta({ id: 'Tree' }).",
  ],
])('does not start with a Standard Schema that %s', async (_kind, input, fault) => {
  const validate = (value: unknown) => ({ value });
  const schema = { '~standard': { version: 1 as const, vendor: 'tests', validate, jsonSchema: { input } } };

  @RequireScopes('cats:write')
  @Controller('cats')
  class CatsController {
    @Post()
    create(@Body({ schema }) _body: unknown): void {}
  }
  expect(await refusal({ controllers: [CatsController] })).toBe(`CatsController.create has a Standard Schema ${fault}`);
});

it('does not start with Standard Schemas whose parts have one id and differ, or the name of a class [start-names]', async () => {
  const validate = (value: unknown) => ({ value });
  const boxOf = (type: string, id = 'Side') => {
    const input = () => ({ type: 'object', $ref: `#/$defs/${id}`, $defs: { [id]: { type } } });
    return { '~standard': { version: 1 as const, vendor: 'tests', validate, jsonSchema: { input } } };
  };
  class Lid {
    @ApiProperty() declare size: number;
  }
  const refusalOf = (schema: ReturnType<typeof boxOf>) => {
    @RequireScopes('boxes')
    @Controller('boxes')
    class BoxesController {
      @Post()
      @ApiOkResponse({ type: Lid })
      create(@Body({ schema: boxOf('number') }) _body: unknown): void {}

      @Put()
      replace(@Body({ schema: boxOf('number') }) _body: unknown): void {}

      @Patch()
      change(@Body({ schema }) _body: unknown): void {}
    }
    return refusal({ controllers: [BoxesController] });
  };
  const fault = (id: string) =>
    `BoxesController.change has a Standard Schema that names a part ${id}, as another schema or class is named: rename it.`;
  expect(await refusalOf(boxOf('string'))).toBe(fault('Side'));
  expect(await refusalOf(boxOf('string', 'Lid'))).toBe(fault('Lid'));
});

it('does not start with responses that leave open what is sent [start-open-responses]', async () => {
  interface Owner {
    readonly name: string;
  }
  class ToyDto {
    @ApiProperty({ type: [Object] }) declare parts: object[];
    @ApiProperty({ type: () => ToyDto }) declare within: ToyDto;
  }
  class CatDto {
    @ApiProperty() declare name: string;
    @ApiProperty() declare owner: Owner;
    @ApiProperty({ nullable: true }) declare favorite: ToyDto | null;
    @ApiProperty({ type: 'object', additionalProperties: true }) declare settings: Record<string, unknown>;
    @ApiProperty({ type: 'object', additionalProperties: { type: 'object' } }) declare byDay: Record<string, Owner>;
    @ApiProperty({ type: [ToyDto] }) declare toys: ToyDto[];
    @ApiProperty({ enum: ['small', 'large'] }) declare size: string;
    @ApiProperty() declare bornAt: Date;
    @ApiProperty({ anyOf: [{ type: 'string' }, { type: 'object' }] }) declare note: Owner | string;
  }
  @RequireScopes('cats:read')
  @Controller('cats')
  class CatsController {
    @Get()
    @Operation({ summary: 'List cats', response: [CatDto] })
    list() {
      return [];
    }

    @Get('any')
    @Operation({ summary: 'Get anything', response: Object })
    anything() {
      return {};
    }

    @Get('plain')
    @ApiOkResponse({ type: Object })
    plain() {
      return {};
    }
  }
  const open = [
    'CatDto.owner',
    'CatDto.favorite',
    'CatDto.byDay.*',
    'ToyDto.parts[]',
    'CatDto.note',
    'The response of CatsController.anything',
  ];
  const remedy =
    'name its class, as in @ApiProperty({ type: Owner, nullable: true }), or allow all with `additionalProperties: true`.';
  const faults = open.map((name) => `- ${name} documents no properties, so that all would be sent: ${remedy}`);
  expect((await refusal({ controllers: [CatsController] })).split('\n').slice(1)).toEqual(faults);
});

/** Replaces a handler, as decorators for logs and caches do. */
function Replaced(): MethodDecorator {
  return (_target, _name, descriptor) => {
    const original = descriptor.value as unknown as (...given: unknown[]) => unknown;
    descriptor.value = function (this: unknown, ...given: unknown[]): unknown {
      return original.apply(this, given);
    } as never;
  };
}

it('does not start if a decorator replaces a handler, and so hides what the platform knows of it [start-replaced]', async () => {
  @RequireScopes('cats:write')
  @Controller('cats')
  class CatsController {
    @Post()
    @Replaced()
    @Idempotent()
    @UseBodyParser('text')
    @Operation({ summary: 'Create a cat', response: Inner })
    create(@Body() _text: string) {
      return {};
    }
  }
  const faults = await refusal({ controllers: [CatsController] });
  for (const hidden of ['@Idempotent()', '@UseBodyParser()', '@Operation()']) {
    expect(faults).toContain(
      `CatsController.create has a decorator that replaces the handler and hides ${hidden}: write ${hidden} above that decorator.`,
    );
  }
});

it('starts with handlers that a decorator has replaced below those of the platform', async () => {
  @RequireScopes('cats:read')
  @Controller('cats')
  class CatsController {
    @Get('one')
    @Replaced()
    one() {
      return {};
    }

    @Get('two')
    @Operation({ summary: 'Get another cat', response: Inner })
    @Replaced()
    two() {
      return {};
    }
  }
  expect(await refusal({ controllers: [CatsController] })).toBe('it starts');
});

it('does not start with a response of events, redirections or pages, which are no bodies [start-results]', async () => {
  @RequireScopes('cats:read')
  @Controller('cats')
  class CatsController {
    @Sse()
    @Operation({ summary: 'Watch cats', response: Inner })
    watch() {
      return {};
    }
  }
  expect(await refusal({ controllers: [CatsController] })).toContain(
    'CatsController.watch is an @Sse(), @Redirect() or @Render() route: its result is not the response, so leave `response` out of @Operation().',
  );
});

const MISSING =
  'is not in the OpenAPI document, by which these take effect: leave `response` and `deprecated` out of @Operation(), or ' +
  'remove @ApiExcludeEndpoint() or @ApiExcludeController().';

it('does not start with a response that the document, which would limit it, does not have [start-hidden-responses]', async () => {
  @RequireScopes('cats:read')
  @Controller('cats')
  class CatsController {
    @Get('hidden')
    @ApiExcludeEndpoint()
    @Operation({ summary: 'Get a cat', response: Inner })
    hidden() {
      return {};
    }

    @Get('silent')
    @ApiExcludeEndpoint()
    @Operation({ summary: 'Wake a cat' })
    silent() {
      return {};
    }
  }
  expect((await refusal({ controllers: [CatsController] })).split('\n').slice(1)).toEqual([
    `- CatsController.hidden ${MISSING}`,
  ]);
});

it('does not start with a @Throttle() that would count nothing [start-throttle]', async () => {
  class OwnGuard extends ThrottlerGuard {}
  @Public()
  @Controller('logins')
  class LoginsController {
    @Get()
    @Throttle({ default: { limit: 1, ttl: 1000 } })
    login(): void {}

    @Get('counted')
    @UseGuards(ThrottlerGuard)
    @Throttle({ default: { limit: 1, ttl: 1000 } })
    counted(): void {}

    @Get('own')
    @UseGuards(OwnGuard)
    @Throttle({ default: { limit: 1, ttl: 1000, blockDuration: 60_000 } })
    own(): void {}
  }
  @RequireScopes('cats:read')
  @Throttle({ short: { limit: 1, ttl: 1000 } })
  @Controller('cats')
  class CatsController {
    @Get()
    @Throttle({ default: { limit: 1, ttl: 1000 } })
    list(): void {}

    @Get('blocked')
    @Throttle({ default: { limit: 1, ttl: 1000, blockDuration: 60_000, getTracker: () => '', generateKey: () => '' } })
    blocked(): void {}
  }
  expect((await refusal({ controllers: [LoginsController, CatsController] })).split('\n').slice(1)).toEqual([
    '- LoginsController.login has @Throttle(), which counts tokens, and is public: add @UseGuards(ThrottlerGuard), which counts addresses.',
    '- CatsController.list has @Throttle() for short, which is no throttler: name it default.',
    '- CatsController.blocked has @Throttle() for short, which is no throttler: name it default.',
    ...['blockDuration', 'getTracker', 'generateKey'].map(
      (option) => `- CatsController.blocked has @Throttle() with ${option}, which has no effect: remove it.`,
    ),
  ]);
});

it('does not start with another default data source, before it connects [start-data-sources]', async () => {
  const options: TypeOrmModuleOptions = { type: 'postgres', url: 'postgres://127.0.0.1:1/other', retryAttempts: 0 };
  @Module({ imports: [TypeOrmModule.forRoot(options), forwardRef(() => PicturesModule)] })
  class PhotosModule {}
  @Module({ imports: [TypeOrmModule.forRootAsync({ useFactory: () => options })] })
  class PicturesModule {}
  const named = { ...options, name: 'other', manualInitialization: true };
  @Module({ imports: [TypeOrmModule.forRoot(named)] })
  class NamedModule {}
  const fault = (name: string) =>
    `${name} imports TypeOrmModule.forRoot(): remove it, because the platform has the data source, or give another database a \`name\`.`;
  expect(await refusal({ imports: [PhotosModule] })).toBe(fault('PhotosModule'));
  expect(await refusal({ imports: [forwardRef(() => PicturesModule)] })).toBe(fault('PicturesModule'));
  expect(await refusal({ imports: [NamedModule] })).toBe('it starts');
});

it('does not start with a path parameter of the module that no class declares [start-inputs]', async () => {
  class IdParam {
    @Text({ description: 'Its id.', example: 'x', maximumLength: 9 }) declare readonly id: string;
  }
  @RequireScopes('rooms:read')
  @Controller('rooms')
  class RoomsController {
    @Get(':id')
    room(@Param() _param: IdParam) {
      return {};
    }
  }
  @Module({ controllers: [RoomsController] })
  class RoomsModule {}
  @Module({ imports: [RoomsModule, RouterModule.register([{ path: 'hotels/:hotelId', module: RoomsModule }])] })
  class HotelsModule {}
  expect(await refusal({ imports: [HotelsModule] })).toContain(
    'RoomsController.room ignores the path parameter hotelId: declare it in the class of @Param().',
  );
});

it('does not start with a global serializer, which would not see the classes of results [start-serializer]', async () => {
  @Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: ClassSerializerInterceptor }] })
  class SerializerModule {}
  expect(await refusal({ imports: [SerializerModule] })).toBe(
    'SerializerModule binds ClassSerializerInterceptor, a global interceptor, which runs on results without the decorators of their class: bind it with @UseInterceptors() to the controllers that need it.',
  );
});

it('does not start with a filter that extends the one of Nest, whose responses are no problems [start-filters]', async () => {
  @Catch()
  class AllErrorsFilter extends BaseExceptionFilter {}

  @Module({ providers: [{ provide: APP_FILTER, useClass: AllErrorsFilter }] })
  class EverywhereModule {}

  @UseFilters(AllErrorsFilter)
  @RequireScopes('cats')
  @Controller('cats')
  class CatsController {
    @Get()
    listCats(): void {}
  }

  const remedy = 'AllErrorsFilter, a BaseExceptionFilter of Nest, whose responses are no problems: extend ProblemFilter.';
  expect(await refusal({ imports: [EverywhereModule] })).toBe(`EverywhereModule has ${remedy}`);
  expect(await refusal({ controllers: [CatsController] })).toBe(`FeatureModule has ${remedy}`);
  const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }));
  expect(() => app.useGlobalFilters(new AllErrorsFilter())).toThrow(`app.useGlobalFilters() binds ${remedy}`);
  await app.close();
});

it.each<[string, () => unknown, string]>([
  [
    'two token policies on one route',
    () => {
      @Public()
      @RequireScopes('things')
      class TwiceController {}
      return TwiceController;
    },
    'TwiceController has two token policies: keep either @Public() or one @RequireScopes().',
  ],
  ['an invalid scope', () => RequireScopes('read things'), '"read things" is not a valid scope: use visible ASCII'],
  [
    'a problem type that there is already [start-duplicates]',
    () => defineProblemType({ name: 'not-found', status: 404, title: 'Not found', remedy: 'None.' }),
    'is defined twice',
  ],
])('a module that declares %s throws when it is loaded', (_case, write, message) => {
  expect(write).toThrow(message);
});

const deprecation = { since: '2026-01-31', sunset: '2027-01-31', use: '/v1/items' };
const DAY = 'write a day as YYYY-MM-DD, such as 2026-01-31.';
const USE = 'write what to use instead, as a path such as /v1/widgets/{id}, or in words.';
it.each<[string, unknown, string[]]>([
  ['nothing but true', true, [`since is undefined: ${DAY}`, `sunset is undefined: ${DAY}`, `use is undefined: ${USE}`]],
  ['null', null, [`since is undefined: ${DAY}`, `sunset is undefined: ${DAY}`, `use is undefined: ${USE}`]],
  ['a day that does not exist', { ...deprecation, since: '2026-02-30' }, [`since is '2026-02-30': ${DAY}`]],
  ['a month that does not exist', { ...deprecation, sunset: '2027-13-01' }, [`sunset is '2027-13-01': ${DAY}`]],
  ['another form of a day', { ...deprecation, since: '31.1.2026' }, [`since is '31.1.2026': ${DAY}`]],
  ['a time', { ...deprecation, since: '2026-01-31T00:00:00Z' }, [`since is '2026-01-31T00:00:00Z': ${DAY}`]],
  ['a number', { ...deprecation, sunset: 1_801_353_600 }, [`sunset is 1801353600: ${DAY}`]],
  [
    'a sunset before its begin',
    { ...deprecation, sunset: '2025-12-31' },
    ['sunset is 2025-12-31: write 2027-01-31, 12 months after deprecated.since, or later.'],
  ],
  [
    'a day less than 12 months',
    { ...deprecation, sunset: '2027-01-30' },
    ['sunset is 2027-01-30: write 2027-01-31, 12 months after deprecated.since, or later.'],
  ],
  [
    'a day less than 12 months from a leap day',
    { ...deprecation, since: '2028-02-29', sunset: '2029-02-28' },
    ['sunset is 2029-02-28: write 2029-03-01, 12 months after deprecated.since, or later.'],
  ],
  ['no successor', { ...deprecation, use: undefined }, [`use is undefined: ${USE}`]],
  ['a blank successor', { ...deprecation, use: ' ' }, [`use is ' ': ${USE}`]],
  ['a path on another host', { ...deprecation, use: '//evil.example/items' }, [`use is '//evil.example/items': ${USE}`]],
  [
    'a path that is another header',
    { ...deprecation, use: '/v1/items>\r\nX: y' },
    [`use is '/v1/items>\\r\\nX: y': ${USE}`],
  ],
  [
    'a path with parameters that the route does not have',
    { ...deprecation, use: '/v1/{thing}/{id}' },
    ['use has {id}, but the route has no path parameter of this name.'],
  ],
])(
  'does not start with a deprecation of %s, and names the operation [start-deprecations]',
  async (_case, deprecated, faults) => {
    const message = await refusal({ controllers: [deprecatedController(deprecated)] });
    const found = message.split('\n').filter((line) => line.includes('DeprecatedController'));
    expect(found).toEqual(faults.map((fault) => `- DeprecatedController.readThing: deprecated.${fault}`));
  },
);

it('does not start with a deprecated operation that is not documented [start-deprecations]', async () => {
  const controller = deprecatedController(deprecation);
  ApiExcludeController()(controller);
  expect((await refusal({ controllers: [controller] })).split('\n').slice(1)).toEqual([
    `- DeprecatedController.readThing ${MISSING}`,
  ]);
});

it.each([
  ['of exactly 12 months', deprecation],
  ['in words', { ...deprecation, use: 'nothing' }],
  ['with a path parameter', { ...deprecation, use: '/v2/things/{thing}' }],
])('starts with a deprecation %s', async (_case, deprecated) => {
  expect(await refusal({ controllers: [deprecatedController(deprecated)] })).toBe('it starts');
});

it.each<[string, Type, string]>([
  ['the id of another operation', SameNameController, 'GET /v1/items cannot have the operation id listItems: give each'],
  [
    'a documented handler of all methods',
    AllMethodsController,
    'GET /v1/things/anything cannot have the operation id AllMethodsController_takeAnything_get: give each method a handler with its own name or `operationId`, rename a class of the same name, or exclude it with @ApiExcludeEndpoint() of @nestjs/swagger.',
  ],
  [
    'two classes of one name in the document',
    SameDtoController,
    'Several classes with the name ThingDto are in the document: rename one, or name its schema with @ApiSchema({ name }) of @nestjs/swagger.',
  ],
  [
    'two enums of one name in the document',
    SameEnumController,
    'Several enums or classes with the name Status are in the document: rename one, or give an enum another `enumName`.',
  ],
  [
    "a class with the name of one of the platform's schemas",
    ProblemController,
    "The platform's schema Problem has the name of a class: rename the class, or its schema with @ApiSchema({ name }).",
  ],
])('does not start with %s [start-names]', async (_case, controller, message) => {
  expect(await refusal({ controllers: [controller] })).toContain(message);
});

it.each<[string, MethodDecorator]>([
  ['a further model', ApiExtraModels(Cover)],
  ['a further model of a class', ApiOkResponse({ type: Crate })],
  ['a documented body', ApiBody({ type: Cover })],
  ['a documented parameter', ApiQuery({ name: 'lid', type: () => Cover })],
])('does not start with %s that has the name of another class [start-names]', async (_case, decorate) => {
  @RequireScopes('boxes')
  @Controller('boxes')
  class BoxesController {
    @Get('lid')
    @Operation({ summary: 'Get a lid', response: LidDto })
    lid(): object {
      return { size: 1 };
    }

    @Post()
    @decorate
    create(@Body() _body: Inner): void {}
  }
  expect(await refusal({ controllers: [BoxesController] })).toContain(
    'Several classes with the name Cover are in the document',
  );
});

it('starts with decorators of parameters, for any keys that Nest gives them', async () => {
  @Controller('things')
  class ManyController {
    readMany(..._values: unknown[]): void {}
  }
  for (let index = 0; index < 100; index += 1)
    createParamDecorator(() => index)()(ManyController.prototype, 'readMany', index);
  const handler = Object.getOwnPropertyDescriptor(ManyController.prototype, 'readMany');
  if (handler) reading('many')(ManyController.prototype, 'readMany', handler);
  expect(await refusal({ controllers: [ManyController] })).toBe('it starts');
});

it('fails with 500 when a route without a token asks for the caller', async () => {
  @Controller('strangers')
  @Public()
  class StrangersController {
    @Get()
    readCaller(@CurrentPrincipal() caller: Principal): Principal {
      return caller;
    }
  }

  @Module({ imports: [PlatformModule, ItemsModule], controllers: [StrangersController] })
  class StrangersModule {}

  const service = await startService({}, undefined, StrangersModule);
  expect((await service.api.send('GET', '/v1/strangers')).status).toBe(500);
  await service.stop();
});

it('prefers the policy of a route to that of its controller, and requires every scope [route-policy]', async () => {
  @Controller('things')
  @Public()
  class MixedController {
    @Get('open')
    readOpen(): void {}

    /** Has the name of a probe, which needs no token. */
    @Get('closed')
    @RequireScopes('things:read', 'things:admin')
    live(): void {}
  }

  @Module({ imports: [PlatformModule, ItemsModule], controllers: [MixedController] })
  class MixedModule {}

  const service = await startService({}, undefined, MixedModule);
  const statusOf = async (path: string, scopes?: string[]) => {
    const client = scopes ? await service.newClient('restricted', { scopes }) : new Api(service.api.origin, 'nobody');
    return (await client.call('GET', `/v1/things/${path}`)).status;
  };
  expect([await statusOf('open'), await statusOf('closed')]).toEqual([200, 401]);
  expect([await statusOf('closed', []), await statusOf('closed', ['things:read'])]).toEqual([403, 403]);
  expect(await statusOf('closed', ['things:admin', 'things:read'])).toBe(200);
  const { document } = await Contract.read(service.api.origin);
  const [closed, open] = ['closed', 'open'].map((path) => document.paths[`/v1/things/${path}`]?.['get']);
  expect([document.security, closed?.security]).toEqual([[{ token: [] }], undefined]);
  expect([closed?.['x-required-scopes'], open?.['x-required-scopes']]).toEqual([['things:read', 'things:admin'], undefined]);
  expect(open?.security).toEqual([]);
  await service.stop();
});
