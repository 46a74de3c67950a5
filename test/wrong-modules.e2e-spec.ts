import { Controller, createParamDecorator, type DynamicModule, Get, Module, type Type } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AppModule } from '../src/app.module.js';
import { createApp } from '../src/app.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { defineFilter, defineProblemType, MigrationsModule, Operation, Public, RequireScopes } from '../src/platform/index.js';
import {
  AllMethodsController,
  inSection,
  InheritingController,
  KeysOfNobodyController,
  NoScopeController,
  OpenController,
  PlacedThings,
  RepeatedPathController,
  RightController,
  Thing,
  TwoPathsController,
  TwoVersionsController,
  WrappedController,
  WrongController,
} from './fixtures/wrong-modules.js';
import { Api } from './support/api.js';
import { Contract } from './support/contract.js';
import { startService } from './support/service.js';

@Module({ imports: [TypeOrmModule.forFeature([Thing]), MigrationsModule.forFeature([PlacedThings])] })
class ThingsModule {}

async function boot(controllers: Type[], imports: (Type | DynamicModule)[] = []): Promise<void> {
  @Module({ imports: [AppModule, ...imports], controllers })
  class FeatureModule {}

  const app = await createApp(
    readConfiguration({ LOG_LEVEL: 'silent', DATABASE_URL: 'postgres://postgres@127.0.0.1:1/items' }),
    FeatureModule,
  );
  await app.init();
  await app.close();
}

it('starts with modules that keep the rules', async () => {
  await boot([RightController]);
});

describe('does not start with', () => {
  it.each<[string, Type, string]>([
    [
      'a route that does not say who may call it',
      OpenController,
      "OpenController.listThings does not say who may call it: add @RequireScopes('things:read') to it or to its controller, or @Public() if it is for everybody.",
    ],
    ['a body without rules', WrongController, 'WrongController.createUnchecked takes an input without validation rules'],
    ['a query without rules', WrongController, 'WrongController.listUnchecked takes an input without validation rules'],
    [
      'a part of an input that nobody checks',
      WrongController,
      'Outer.inner takes Inner without checking it: add @ValidateNested() and @Type(() => Inner).',
    ],
    ['a property that is documented and has no rule', WrongController, 'Outer.colour is documented and has no rule: use'],
    [
      'a policy that a decorator above it hides',
      WrappedController,
      'WrappedController.listThings is replaced by a decorator, which hides its policy: write @RequireScopes() or @Public() above that.',
    ],
    [
      'a handler that answers by itself',
      WrongController,
      'WrongController.answerItself responds by itself: return the body, and set headers with @Res({ passthrough: true }).',
    ],
    [
      'a route that asks for no scope',
      NoScopeController,
      'NoScopeController.listThings asks for no scope, so that a token for anything else may call it: name one in @RequireScopes().',
    ],
    [
      'a handler of several paths',
      TwoPathsController,
      'shares its handler: give each path, method and version a handler of its own.',
    ],
    ['a handler of all methods', AllMethodsController, 'shares its handler'],
    ['a handler of several versions', TwoVersionsController, 'shares its handler'],
    ['a body whose class is imported with "type"', WrongController, 'WrongController.createErased takes an input without'],
    [
      'a path parameter that its class does not have',
      WrongController,
      'WrongController.changeThing does not take the path parameter thing: declare it in the class of @Param().',
    ],
    [
      'the id of another operation',
      WrongController,
      "Two routes are named listItems, ItemsController.listItems and WrongController.listItems: give one handler another name, it is the operation's id.",
    ],
    ['the path of another route', RepeatedPathController, 'Several routes are GET /v1/items: give one of them another path.'],
    [
      'a path that is equal but for the name of a parameter',
      RepeatedPathController,
      'Several routes are GET /v1/items/of/:id and GET /v1/items/of/:name: give one of them another path.',
    ],
    [
      'a response whose class documents nothing',
      WrongController,
      'WrongController.readEmpty responds with Empty, which documents no property: add @ApiProperty().',
    ],
    [
      'a response with a column that is not documented',
      WrongController,
      'Thing.name is part of a response and not documented: add @ApiProperty(), or respond with a DTO.',
    ],
    [
      'idempotency keys that belong to nobody',
      KeysOfNobodyController,
      'KeysOfNobodyController.createThing is both @Idempotent() and @Public(): keys belong to tokens, so ask for one with @RequireScopes().',
    ],
  ])('%s', async (_case, controller, message) => {
    await expect(boot([controller])).rejects.toThrow(message);
  });

  it.each<[string, Type | DynamicModule, string]>([
    [
      'a filter whose index no migration builds',
      ThingsModule,
      "Thing.name names the index things_name_idx, which no registered migration builds: register an IndexMigration with index = 'things_name_idx'",
    ],
  ])('%s', async (_case, module, message) => {
    await expect(boot([], [module])).rejects.toThrow(message);
  });

  it('several faults, all of which it names', async () => {
    const message = /OpenController.listThings does not say[^]*\n- WrongController[^]*\n- Two routes are named listItems/;
    await expect(boot([OpenController, WrongController])).rejects.toThrow(message);
  });
});

it('does not pass the policy of a controller on to those that extend it', async () => {
  await expect(boot([InheritingController])).rejects.toThrow('InheritingController.createThing does not say');
});

it('starts with decorators of parameters, whatever keys Nest gives them', async () => {
  class ManyParametersController {
    list(): string {
      return '';
    }
  }
  for (let index = 0; index < 100; index += 1) {
    createParamDecorator(() => index)()(ManyParametersController.prototype, 'list', index);
  }
  Get()(
    ManyParametersController.prototype,
    'list',
    Object.getOwnPropertyDescriptor(ManyParametersController.prototype, 'list') ?? {},
  );
  RequireScopes('things')(ManyParametersController);
  Controller('things')(ManyParametersController);
  await boot([ManyParametersController]);
});

describe('cannot even be written:', () => {
  it('two token policies on one route', () => {
    const define = () => {
      @Public()
      @RequireScopes('things')
      class TwiceController {}
      return TwiceController;
    };
    expect(define).toThrow('TwiceController has two token policies: keep one of @Public() and @RequireScopes().');
  });

  it('a scope that no token can have', () => {
    expect(() => RequireScopes('read things')).toThrow(
      '"read things" is no scope: write visible ASCII characters without spaces',
    );
  });

  it('a problem type that is no error, or is there already', () => {
    const definition = { name: 'fine', status: 200, title: 'Fine', remedy: 'Nothing.' };
    expect(() => defineProblemType(definition)).toThrow('has the status 200: problems have one from 400 to 599.');
    expect(() => defineProblemType({ ...definition, name: 'not-found', status: 404 })).toThrow('is defined twice');
  });

  it('a field that can be filtered by, with neither an index nor a reason', () => {
    // @ts-expect-error one of indexes and unindexed is needed
    const define = () => defineFilter(Thing, { name: { type: 'string' } }, {});
    expect(define).toThrow(
      "Thing.name can be filtered by and names no index: add indexes: ['things_name_idx'] with a migration that builds it, or unindexed: 'why reading every row is acceptable'.",
    );
  });
});

it('takes the policy of a route before that of its controller, and asks for every scope, whatever others are named', async () => {
  @inSection
  @Controller('things')
  @Public()
  class MixedController {
    @Get('open')
    @Operation({ summary: 'Read an open thing' })
    readOpen(): object {
      return {};
    }

    /** Has the name of a probe, which needs no token. */
    @Get('closed')
    @RequireScopes('things:read', 'things:admin')
    @Operation({ summary: 'Read a closed thing' })
    live(): object {
      return {};
    }
  }

  @Module({ imports: [AppModule], controllers: [MixedController] })
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
  expect(document.paths['/v1/things/closed']?.['get']?.security).toEqual([{ token: ['things:read', 'things:admin'] }]);
  expect(document.paths['/v1/things/open']?.['get']?.security).toEqual([]);
  await service.stop();
});
