import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingMessage, type OutgoingHttpHeaders, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { Controller, Get, Module, Param, Post } from '@nestjs/common';
import { ApiBearerAuth, ApiExcludeController, ApiNotFoundResponse, ApiOkResponse, ApiSecurity } from '@nestjs/swagger';
import { apiDescription } from '../src/api-description.js';
import { createApp } from '../src/app.js';
import { ItemsModule } from '../src/items/items.module.js';
import { readConfiguration } from '../src/platform/config/read-configuration.js';
import { notFound, Operation, Public, RequireScopes, Text, Uuid, VersionedResponseOf } from '../src/platform/index.js';
import { type ApiDescription, buildDocument } from '../src/platform/openapi/build-document.js';
import { OpenApiDocument } from '../src/platform/openapi/openapi-document.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { routesOf } from '../src/platform/routes/route.js';
import type { ProblemBody } from './support/api.js';
import { Contract, type Document, examplesOf } from './support/contract.js';
import { runCli } from './support/process.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

const service = useService(() => startService());
let contract: Contract;
let document: Document;

beforeAll(async () => {
  contract = await Contract.read(service.api.origin);
  ({ document } = contract);
});

describe('openapi.json', () => {
  it('is up to date with the code: otherwise run `npm run openapi`', async () => {
    const committed = readFileSync('openapi.json', 'utf8');
    expect(JSON.parse(committed)).toEqual(document);
    // As a connection to a queue that a feature opens: the command ends nevertheless.
    const NODE_OPTIONS = '--import=data:text/javascript,setInterval(String,1e6)';
    expect(await runCli(['openapi'], { NODE_OPTIONS })).toMatchObject({ code: 0, stdout: committed });
  });

  it('names the kind of tokens, the scopes of each operation, the license and a contact, and nothing that is empty or untrue', () => {
    const { contact, license } = document.info;
    expect(contact).toEqual({ name: 'The operator of this service' });
    expect(license).toEqual({ name: 'Proprietary', identifier: 'LicenseRef-Proprietary' });
    // Tokens are opaque, or JWTs: a `bearerFormat` would be wrong for one of both.
    const { description = '', ...scheme } = document.components.securitySchemes['token'] ?? {};
    expect(scheme).toEqual({ type: 'http', scheme: 'bearer' });
    expect(description).toMatch(/^An access token of this service, `items_…`: .* Or a JWT/);
    expect(description).toMatch(/\n- `items:read`: `GET \/v1\/items`\n- `items:write`: `POST \/v1\/items`(?:\n|$)/);
    const names = ['Item', 'ItemPage', 'NewItem', 'Problem', 'FieldError'];
    expect(Object.keys(document.components.schemas)).toEqual(expect.arrayContaining(names));
    const relativeLinks = /\]\((?!https?:)[^)]*\)/g;
    expect(JSON.stringify(document).match(relativeLinks)).toBeNull();
  });

  it('names the responses of each operation with their headers, and the bounds of a limit', () => {
    const statuses = contract.operations.map(({ name, operation }) => [name, Object.keys(operation.responses).join(' ')]);
    expect(statuses).toEqual(
      expect.arrayContaining([
        ['get /v1/items', '200 400 401 403 429 431 503'],
        ['post /v1/items', '201 400 401 403 408 413 422 429 503'],
      ]),
    );
    const others = ['RateLimit', 'RateLimit-Policy', 'X-Request-Id'];
    const headers: Record<string, string[]> = {
      201: ['Idempotent-Replayed', ...others],
      401: ['WWW-Authenticate', 'X-Request-Id'],
      403: [...others, 'WWW-Authenticate'],
      429: [...others, 'Retry-After'],
      431: ['X-Request-Id'],
      503: [...others, 'Retry-After'],
    };
    for (const { operation } of contract.operations.filter(({ name }) => name.endsWith(' /v1/items'))) {
      for (const [status, response] of Object.entries(operation.responses)) {
        expect([status, Object.keys(response.headers).toSorted()]).toEqual([status, (headers[status] ?? others).toSorted()]);
      }
    }
    const limit = contract.operation('get', '/v1/items').parameters?.find(({ name }) => name === 'limit');
    expect(limit?.schema).toEqual({ type: 'integer', minimum: 1, maximum: 100, default: 20 });
  });

  it('keeps the headers that decorators of @nestjs/swagger document', async () => {
    class CreateDto {
      @Text({ description: 'Its name.', example: 'T', maximumLength: 9 }) declare readonly name: string;
    }
    class TaggedDto extends VersionedResponseOf(CreateDto) {}
    const headers = { 'X-Visits': { description: 'Number of visits.', schema: { type: 'integer' as const } } };
    @RequireScopes('visits:read')
    @Controller('visits')
    class VisitsController {
      @Get()
      @Operation({ summary: 'Get the visits', response: TaggedDto })
      @ApiOkResponse({ headers })
      @ApiNotFoundResponse({ headers })
      visits(): void {}
    }
    @Module({ imports: [PlatformModule, ItemsModule], controllers: [VisitsController] })
    class VisitsModule {}
    const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }), VisitsModule);
    const { responses } = app.get(OpenApiDocument).get().paths['/v1/visits']?.get ?? { responses: {} };
    const named = [200, 404].map((status) => {
      const { headers: documented = {} } = Object(responses[status]) as { headers?: object };
      return Object.keys(documented).toSorted();
    });
    const common = ['RateLimit', 'RateLimit-Policy', 'X-Request-Id', 'X-Visits'];
    expect(named).toEqual([['ETag', ...common], common]);
    await app.close();
  });

  it('names the scheme of the service beside that of @ApiBearerAuth(), and a problem once that the platform names, too', async () => {
    class VisitPath {
      @Uuid({ description: 'Its id.', example: '0190163d-8694-739b-aea5-966c26f8ad91' }) declare readonly at: string;
    }
    @RequireScopes('visits:read')
    @Controller('visits')
    class VisitsController {
      @Get(':at')
      @ApiBearerAuth()
      @Operation({ summary: 'Get a visit', problems: [notFound] })
      visit(@Param() _path: VisitPath): void {}
    }
    @Module({ imports: [PlatformModule, ItemsModule], controllers: [VisitsController] })
    class VisitsModule {}
    const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }), VisitsModule);
    const { security, responses } = app.get(OpenApiDocument).get().paths['/v1/visits/{at}']?.get ?? { responses: {} };
    expect(security).toBeUndefined();
    expect(responses['404']).toMatchObject({ description: 'Not found (`/docs/problems#not-found`)' });
    await app.close();
  });

  it('names the schemes of a public route with a guard of its own, unless the description does not declare them [own-security-schemes]', async () => {
    @Public()
    @Controller('hooks')
    class HooksController {
      @Post('payments')
      @ApiSecurity('signature')
      @ApiBearerAuth()
      @Operation({ summary: 'Take a payment' })
      takePayment(): void {}
    }
    @Module({ imports: [PlatformModule, ItemsModule], controllers: [HooksController] })
    class HooksModule {}
    const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }), HooksModule);
    const signature = { type: 'apiKey', in: 'header', name: 'X-Signature' } as const;
    const documentOf = (description: ApiDescription) => {
      buildDocument(app, description, routesOf(app));
      return app.get(OpenApiDocument).get();
    };
    const declared = documentOf({ ...apiDescription, securitySchemes: { signature } });
    expect(declared.components?.securitySchemes).toMatchObject({ signature, token: expect.anything() });
    expect(declared.info).not.toHaveProperty('securitySchemes');
    expect(declared.paths['/v1/hooks/payments']?.post?.security).toEqual([{ signature: [] }]);
    expect(documentOf(apiDescription).paths['/v1/hooks/payments']?.post?.security).toEqual([]);
    await app.close();
  });

  it('names the scopes of a controller, also if one that is left out inherits its handler', async () => {
    class BaseController {
      @Get()
      @Operation({ summary: 'Count the visits' })
      countVisits(): void {}
    }
    @RequireScopes('visits:read')
    @Controller('visits')
    class VisitsController extends BaseController {}
    @Public()
    @ApiExcludeController()
    @Controller('counter')
    class CounterController extends BaseController {}
    @Module({ imports: [PlatformModule, ItemsModule], controllers: [VisitsController, CounterController] })
    class VisitsModule {}
    const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }), VisitsModule);
    const { get } = app.get(OpenApiDocument).get().paths['/v1/visits'] ?? {};
    expect(get).toMatchObject({ 'x-required-scopes': ['visits:read'], responses: { 401: expect.anything() } });
    expect(get?.security).toBeUndefined();
    await app.close();
  });

  it('is what a function makes of the document of @nestjs/swagger, as nestjs-zod needs it', async () => {
    const app = await createApp(readConfiguration({ LOG_LEVEL: 'silent' }));
    const routes = routesOf(app);
    buildDocument(app, apiDescription, routes, ({ paths, components, ...rest }) => {
      expect(paths['/v1/items']?.post?.responses).not.toHaveProperty('401');
      const { NewItem, ...schemas } = components?.schemas ?? {};
      return {
        ...rest,
        paths,
        components: { ...components, schemas: { ...schemas, NewItem: { ...NewItem, title: 'New' } } },
      };
    });
    const { paths, components } = app.get(OpenApiDocument).get();
    expect(paths['/v1/items']?.post?.responses).toHaveProperty('401');
    expect(components?.schemas?.['NewItem']).toEqual({ ...document.components.schemas['NewItem'], title: 'New' });
    await app.close();
  });

  it('links every problem to its documentation', async () => {
    const { api } = service;
    const page = await (await fetch(`${api.origin}/docs/problems`)).text();
    // An example of the document, also of two for one status.
    expect(page).toContain('"pointer": "/name"');
    for (const [status, { description, content = {} }] of contract.operations.flatMap(({ operation }) =>
      Object.entries(operation.responses).filter(([code]) => Number(code) >= 400),
    )) {
      const links = [...description.matchAll(/(?:, or )?([^(]+) \(`\/docs\/problems#([^`]+)`\)/g)].map(
        ([, title, name]) => ({
          title,
          name,
        }),
      );
      const examples = Object.values(content).flatMap(examplesOf) as { title: string; type: string }[];
      expect(links).toEqual(examples.map(({ title, type }) => ({ title, name: type.replace('/docs/problems#', '') })));
      for (const { title, name } of links) expect(page).toContain(`<section id="${name}">\n<h2>${title}</h2>`);
      expect([status, links.length]).not.toEqual([status, 0]);
    }
  });

  it('lists the codes of errors, as its page of problems does [error-codes-listed]', async () => {
    const page = await (await fetch(`${service.api.origin}/docs/problems`)).text();
    const listed = [...page.matchAll(/<dt><code>(\w+)<\/code><\/dt><dd>(.+)\.<\/dd>/g)].map(([, code]) => code);
    expect(listed).toEqual(contract.errorCodes);
    expect(listed).not.toContain('is_optional');
    const { errors } = (await service.api.create({ name: 5, color: 'red' })).body as unknown as ProblemBody;
    expect(errors?.map(({ code }) => code).toSorted()).toEqual(['type', 'unknown']);
    for (const { code } of errors ?? []) expect(listed).toContain(code);
  });
});

describe('Swagger UI', () => {
  it('consists of files of this origin, with a policy that allows nothing else [pages-of-own-origin] [pages-without-hosts]', async () => {
    const page = await fetch(`${service.api.origin}/docs`);
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    // Plain HTTP must stay plain HTTP, and nothing inline may run.
    expect(policy).not.toMatch(/unsafe|upgrade-insecure-requests|https?:/);
    const html = await page.text();
    expect(html).not.toMatch(/<style|style=|<script>|https?:/);
    expect(html).toMatch(/<a href="\.\/docs"\s+aria-current="page"/);
    const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, file = '']) => file);
    expect(files.length).toBeGreaterThanOrEqual(4);
    for (const file of files) {
      const response = await fetch(new URL(file, page.url));
      expect([file, response.status]).toEqual([file, 200]);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('content-type')).toMatch(/javascript|css|svg|html|json/);
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  });

  it('is compressed where clients accept that, and revalidated with an ETag for each form', async () => {
    const file = readFileSync('node_modules/swagger-ui-dist/swagger-ui-bundle.js');
    const get = async (headers: OutgoingHttpHeaders, method = 'GET') => {
      const sent = request(`${service.api.origin}/docs/assets/swagger-ui-bundle.js`, { method, headers }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      return { status: response.statusCode, headers: response.headers, body: await buffer(response) };
    };
    const forms = [
      { encoding: undefined, accepted: { 'Accept-Encoding': 'br, gzip;q=0' }, decode: (body: Buffer) => body },
      { encoding: 'gzip', accepted: { 'Accept-Encoding': 'gzip, deflate, br' }, decode: gunzipSync },
    ];
    for (const { encoding, accepted, decode } of forms) {
      const { status, headers, body } = await get(accepted);
      expect([status, headers['content-encoding'], decode(body).equals(file)]).toEqual([200, encoding, true]);
      const fields = {
        'cache-control': 'public, max-age=3600',
        vary: 'Accept-Encoding',
        etag: expect.stringMatching(/^"[\w-]+"$/),
      };
      expect(headers).toMatchObject({ ...fields, 'content-length': String(body.length) });
      const head = await get(accepted, 'HEAD');
      expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, String(body.length), 0]);
      const known = { 'If-None-Match': headers.etag };
      const statuses = forms.map(async (form) => (await get({ ...form.accepted, ...known })).status);
      expect(await Promise.all(statuses)).toEqual(forms.map((form) => (form.encoding === encoding ? 304 : 200)));
    }
    expect((await get({})).headers['content-encoding']).toBeUndefined();
  });

  it('has no other files, and only reads', async () => {
    for (const name of ['landing.html', 'swagger-ui.js', 'nothing', '__proto__']) {
      const { status, body } = await service.api.call('GET', `/docs/assets/${name}`);
      expect([status, body.type]).toEqual([404, '/docs/problems#not-found']);
    }
    const { status, headers } = await service.api.call('POST', '/docs/assets/console.js');
    expect([status, headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });
});
