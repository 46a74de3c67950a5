import { Logger, Module } from '@nestjs/common';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { createApp } from '../src/app.js';
import { Configuration } from '../src/platform/config/configuration.js';
import { CatsModule } from './fixtures/cats/cats.module.js';
import { CatsService } from './fixtures/cats/cats.service.js';
import type { ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

// The cats of docs.nestjs.com, written as by a Nest engineer who has not read this project's documents.

@Module({ imports: [PlatformModule, ItemsModule, CatsModule] })
class WithCats {}

interface Cat {
  id: number;
  name: string;
  age: number;
  breed: string | null;
  nicknames: string[];
}

describe('an ordinary module', () => {
  const service = useService(() => startService({}, undefined, WithCats));
  let count = 0;

  const call = <Body = ProblemBody>(method: string, path: string, body?: unknown) =>
    service.api.callWith<Body>(method, `/v1/cats${path}`, body);
  const create = async (rest: object = {}) =>
    (await call<Cat>('POST', '', { name: `Cat ${(count += 1)}`, age: 3, ...rest })).body;

  it('creates, lists, reads, changes and deletes [module-for-free]', async () => {
    const cat = await create({ breed: 'Maine Coon', nicknames: ['Momo', 'M'] });
    expect(cat).toEqual({ id: expect.any(Number), name: 'Cat 1', age: 3, breed: 'Maine Coon', nicknames: ['Momo', 'M'] });
    const other = await create();
    expect((await call('GET', '?breed=Maine%20Coon')).body).toEqual([cat]);
    expect((await call('GET', '')).body).toEqual([cat, { ...other, breed: null, nicknames: [] }]);
    const changed = { ...cat, age: 4 };
    expect(await call('PATCH', `/${cat.id}`, { age: 4 })).toMatchObject({ status: 200, body: changed });
    expect((await call('GET', `/${cat.id}`)).body).toEqual(changed);
    expect([(await call('DELETE', `/${cat.id}`)).status, (await call('DELETE', `/${cat.id}`)).status]).toEqual([204, 404]);
    expect((await call('GET', `/${cat.id}`)).body).toMatchObject({
      type: '/docs/problems#not-found',
      detail: `Cat #${cat.id} not found`,
    });
  });

  it.each<[string, string, unknown, string[]]>([
    ['POST', '', {}, ['/age required', '/name required']],
    ['POST', '', { name: 5, age: 3 }, ['/name is_length', '/name is_string', '/name not_contains']],
    ['POST', '', { name: 'hotdog', age: 1 }, ['/name not_contains']],
    ['POST', '', { name: 'x', age: 3, size: 1 }, ['/size unknown']],
    ['POST', '', { name: 'x', age: 3, nicknames: ['a', 5, 'b', {}] }, ['/nicknames/1 is_string', '/nicknames/3 is_string']],
    ['POST', '', { name: 'x\0', age: 3, nicknames: ['\ud800'] }, ['/name character', '/nicknames/0 character']],
    ['POST', '/clothed', { name: 'x', age: 3 }, ['/collar required']],
    ['POST', '/clothed', { name: 'x', age: 3, collar: [] }, ['/collar type']],
    [
      'POST',
      '/clothed',
      { name: 'x', age: 3, collar: { color: 7, a: 1 } },
      ['/collar/a unknown', '/collar/color is_lowercase', '/collar/color is_string'],
    ],
    ['PATCH', '/1', { age: 'old' }, ['/age is_int', '/age min']],
    ['GET', '?color=red&color=blue', undefined, ['color repeated']],
    [
      'GET',
      '?color=red&color=blue&breed=%FF&x=1&x=2&y=1',
      undefined,
      ['breed encoding', 'color repeated', 'x repeated', 'y unknown'],
    ],
  ])('reports every error of %s %s %j [all-errors] [pipe-whitelist]', async (method, path, body, faults) => {
    const { status, body: problem } = await call(method, path, body);
    const found = problem.errors?.map(({ pointer, parameter, code }) => `${pointer ?? parameter} ${code}`);
    expect([status, found?.toSorted()]).toEqual([400, faults]);
    for (const { detail } of problem.errors ?? []) expect(detail).toMatch(/^(must|should|is|has)/);
    const { errorCodes } = await Contract.read(service.api.origin);
    expect(errorCodes).toEqual(expect.arrayContaining(problem.errors?.map(({ code }) => code) ?? []));
  });

  it.each<[string, string, unknown, number]>([
    ['GET', '/x', undefined, 400],
    ['GET', '/2147483648', undefined, 400],
    ['GET', '/1e400', undefined, 400],
    ['PATCH', '/1', [], 400],
    ['POST', '', { name: 'x', age: 2_147_483_648 }, 400],
    ['GET', '?breed=%00', undefined, 400],
    ['GET', '?color=red', undefined, 400],
  ])('responds without a failure to %s %s %j', async (method, path, body, status) => {
    expect((await call(method, path, body)).status).toBe(status);
  });

  it('applies the optional properties of its class to a PATCH without values and with null', async () => {
    const { id } = await create();
    expect((await call('PATCH', `/${id}`, {})).body.type).toBe('/docs/problems#invalid-value');
    expect((await call('PATCH', `/${id}`, { name: null })).body.type).toBe('/docs/problems#invalid-value');
    expect((await call('PATCH', `/${id}`, { breed: null })).status).toBe(200);
  });

  it('accepts valid objects and arrays', async () => {
    const { status, body } = await call<Cat>('POST', '/clothed', { name: 'Puss', age: 3, collar: { color: 'red' } });
    expect([status, body.name]).toEqual([201, 'Puss in red']);
  });

  it('responds 409 to a name that exists [database-conflict] [database-errors-mapped]', async () => {
    const { name } = await create();
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    expect((await call('POST', '', { name, age: 1 })).body).toMatchObject({ status: 409, type: '/docs/problems#conflict' });
    const reason = expect.stringContaining('duplicate key value') as string;
    expect(warn).toHaveBeenCalledWith({ msg: 'The request conflicts with stored data.', reason });
    warn.mockRestore();
  });

  it('warns at the start that a retried create creates a duplicate', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    await (await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }), WithCats)).close();
    const warnings = warn.mock.calls.map(([message]) => message as string);
    warn.mockRestore();
    const warning = (name: string) =>
      `${name} creates a duplicate when a client retries: add @Idempotent(), or @SafeToRetry() if a retry changes nothing.`;
    expect(warnings).toEqual([warning('CatsController.create'), warning('CatsController.createClothed')]);
  });

  it('is limited, guarded and documented like every module [module-for-free]', async () => {
    expect((await service.api.send('GET', '/v1/cats')).status).toBe(401);
    const stranger = await service.newClient('stranger', { scopes: ['items:read'] });
    expect((await stranger.call('GET', '/v1/cats')).status).toBe(403);
    expect((await stranger.call('GET', '/v1/items')).headers.get('ratelimit')).toMatch(/r=\d+/);
    const contract = await Contract.read(service.api.origin);
    expect(await contract.validate()).toEqual({ valid: true });
    const operation = contract.operation('post', '/v1/cats');
    expect(operation.operationId).toBe('CatsController_create');
    expect(contract.bodyOf(operation)).toMatchObject({
      required: ['name', 'age'],
      properties: {
        name: { type: 'string' },
        age: { type: 'integer' },
        nicknames: { type: 'array', items: { type: 'string' } },
      },
    });
  });
});

it('serves requests of a testing module with an overridden provider, as main.ts does', async () => {
  const cats = [{ id: 7, name: 'Mock' }];
  const service = await startService({}, undefined, WithCats, [[CatsService, { findAll: () => cats }]]);
  expect((await service.api.call('GET', '/v1/cats')).body).toEqual(cats);
  expect((await service.api.create({ name: 'x' })).status).toBe(201);
  expect((await service.api.call('DELETE', '/v1/items')).headers.get('allow')).toBe('GET, HEAD, POST');
  await service.stop();
});
