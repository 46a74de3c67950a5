import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Controller,
  ForbiddenException,
  Get,
  Injectable,
  type MiddlewareConsumer,
  Module,
  type NestModule,
  type OnModuleInit,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ServeStaticModule } from '@nestjs/serve-static';
import type { NextFunction, Request, Response } from 'express';
import { createApp } from '../src/app.js';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { Configuration } from '../src/platform/config/configuration.js';
import { publicPath, RequireScopes } from '../src/platform/index.js';
import { request, sendRaw } from './support/raw-http.js';
import { startService } from './support/service.js';
import { testDirectory } from './support/test-database.js';
import { useService } from './support/use-service.js';

// What libraries and middleware map beside controllers, as Nest's chapters on middleware, static files and GraphQL do.

const rootPath = mkdtempSync(join(testDirectory(), 'static-'));
writeFileSync(join(rootPath, 'logo.txt'), 'a logo');
mkdirSync(join(rootPath, 'public'));
writeFileSync(join(rootPath, 'public/terms.txt'), 'the terms');

@Injectable()
class SeenMiddleware {
  use(_request: Request, response: Response, next: NextFunction): void {
    response.setHeader('X-Seen', 'yes');
    next();
  }
}

function refuse(): never {
  throw new ForbiddenException();
}

/** As an envelope, or a log of responses. */
function wrap(_request: Request, response: Response, next: NextFunction): void {
  const json = response.json.bind(response);
  response.json = (body: unknown) => json({ data: body });
  next();
}

/** As of a session store that fails. */
function breakEnd(_request: Request, response: Response, next: NextFunction): void {
  response.end = () => {
    throw new Error('The session is not saved.');
  };
  next();
}

@RequireScopes('shelves:read')
@Controller('shelves')
class ShelvesController {
  @Get()
  listShelves(): string[] {
    return ['north'];
  }

  @Get(':id')
  getShelf(): string {
    return 'by id';
  }

  @Get('wrapped')
  wrapShelves(): string[] {
    return this.listShelves();
  }

  @Get('broken')
  breakShelves(): string[] {
    return this.listShelves();
  }

  // Declared after the route with a parameter, which would take its requests.
  @Get('count')
  countShelves(): string {
    return 'count';
  }
}

/** Maps a path when Nest has mapped the controllers, as the drivers of @nestjs/graphql do. */
@Injectable()
class LateLibrary implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const answer = ({ user }: Request, response: Response) => response.json({ caller: typeof user?.id });
    this.host.httpAdapter.post('/graphql', answer);
    this.host.httpAdapter.get('/open', answer);
    this.host.httpAdapter.get('/open/more', answer);
    this.host.httpAdapter.get('/opened', answer);
  }
}

@Module({
  imports: [
    PlatformModule,
    ItemsModule,
    ServeStaticModule.forRoot({ rootPath, serveRoot: '/static', renderPath: '/static/app' }),
  ],
  controllers: [ShelvesController],
  providers: [LateLibrary],
})
class LateModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    consumer.apply(SeenMiddleware).forRoutes(ShelvesController);
    consumer.apply(SeenMiddleware).forRoutes('open');
    consumer.apply(refuse).forRoutes('closed', 'inner{/*path}');
    consumer.apply(wrap).forRoutes('shelves/wrapped');
    consumer.apply(breakEnd).forRoutes('shelves/broken');
    consumer.apply(publicPath).forRoutes('open', 'v1/shelves', 'static/public');
  }
}

const service = useService(() => startService({}, undefined, LateModule));

const send = async (method: string, path: string, withToken = true) => {
  const headers: Record<string, string> = withToken ? { Authorization: `Bearer ${service.api.token}` } : {};
  const response = await fetch(`${service.api.origin}${path}`, { method, headers });
  const { status } = response;
  return { status, text: await response.text(), headers: response.headers };
};

it('applies middleware to the routes of a controller [middleware-works]', async () => {
  for (const path of ['/v1/shelves', '/v1/shelves/7']) {
    const { status, headers } = await send('GET', path);
    expect([status, headers.get('x-seen')]).toEqual([200, 'yes']);
  }
  expect((await send('GET', '/v1/items')).headers.get('x-seen')).toBeNull();
});

it('names the whole path in a problem of middleware [middleware-works]', async () => {
  for (const path of ['/closed', '/closed/part', '/inner/part%20two']) {
    const { status, text } = await send('GET', `${path}?secret=1`);
    expect([status, JSON.parse(text)]).toEqual([403, expect.objectContaining({ instance: path })]);
  }
});

it('leaves the response to a method that middleware has replaced [middleware-works]', async () => {
  expect(await send('GET', '/v1/shelves/wrapped')).toMatchObject({ status: 200, text: '{"data":["north"]}' });
  const problem = await send('GET', '/v1/shelves/wrapped?other=1');
  expect(problem).toMatchObject({ status: 400, text: expect.stringMatching(/^\{"data":\{"type":".*invalid-parameters"/) });
  expect(problem.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
});

it('cuts the response if a method that middleware has replaced fails, and no other', async () => {
  const all = ['/v1/shelves', '/v1/shelves/broken', '/v1/items'].map((path) => send('GET', path));
  const statuses = (await Promise.allSettled(all)).map((each) => (each.status === 'fulfilled' ? each.value.status : 0));
  expect(statuses).toEqual([200, 0, 200]);
});

it('prefers the more specific route, in whatever order a controller declares them [specific-routes-first]', async () => {
  expect([(await send('GET', '/v1/shelves/count')).text, (await send('GET', '/v1/shelves/7')).text]).toEqual([
    'count',
    'by id',
  ]);
});

it('serves what a library maps after the controllers, with a token only [library-routes-guarded]', async () => {
  expect((await send('POST', '/graphql', false)).status).toBe(401);
  expect((await send('GET', '/static/logo.txt', false)).status).toBe(401);
  const { status, text, headers } = await send('POST', '/graphql');
  expect([status, text]).toEqual([200, '{"caller":"string"}']);
  expect(headers.get('ratelimit')).toMatch(/^"default";r=\d+/);
  expect(await send('GET', '/static/logo.txt')).toMatchObject({ status: 200, text: 'a logo' });
});

it('opens to all what a module declares as a public path, and no controller [public-path]', async () => {
  expect(await send('GET', '/open', false)).toMatchObject({ status: 200, text: '{"caller":"undefined"}' });
  expect((await send('GET', '/v1/shelves', false)).status).toBe(401);
  // What is below it, and nothing beside it.
  expect((await send('GET', '/open/more', false)).status).toBe(200);
  expect((await send('GET', '/opened', false)).status).toBe(401);
});

it('opens no file beside a public path [public-path]', async () => {
  expect(await send('GET', '/static/public/terms.txt', false)).toMatchObject({ status: 200, text: 'the terms' });
  for (const path of ['../logo.txt', '%2e%2e/logo.txt', 'x%2f..%2f..%2flogo.txt', '..%5clogo.txt', '../../openapi.json']) {
    // Other clients would normalize the path.
    const { status } = await sendRaw(service.port, request(`GET /static/public/${path}`, []));
    expect([path, status]).toEqual([path, 401]);
  }
});

it('does not start with a path that a module maps before the guards', async () => {
  @Injectable()
  class EarlyLibrary {
    constructor({ httpAdapter }: HttpAdapterHost) {
      httpAdapter.get('/early', () => undefined);
    }
  }
  @Module({ imports: [PlatformModule, ItemsModule], providers: [EarlyLibrary] })
  class EarlyModule {}

  const starting = createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent' }), EarlyModule);
  await expect(starting).rejects.toThrow('maps a path in a constructor, before all guards: map it in onModuleInit().');
});

it('does not start with a global prefix, beside which nothing would need a token [start-global-prefix]', async () => {
  const DATABASE_URL = 'postgres://postgres@127.0.0.1:1/items';
  const app = await createApp(Object.assign(new Configuration(), { LOG_LEVEL: 'silent', DATABASE_URL }), LateModule);
  app.setGlobalPrefix('api');
  await expect(app.init()).rejects.toThrow(
    'app.setGlobalPrefix() would open what libraries map outside of it: write the prefix into @Controller()',
  );
  await app.close();
});

it.each([
  ['GET', '/nothing', 404, null],
  // Middleware with all methods is no route.
  ['DELETE', '/open', 405, 'GET, HEAD'],
  ['PUT', '/graphql', 405, 'POST'],
  ['DELETE', '/v1/shelves', 405, 'GET, HEAD'],
  ['GET', '/static/nothing.txt', 404, null],
])('responds to %s %s, which nothing handles, with %d', async (method, path, status, allow) => {
  const response = await send(method, path);
  expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
  expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
});
