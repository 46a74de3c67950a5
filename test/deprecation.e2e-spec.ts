import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type MiddlewareConsumer, Module, type NestModule } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { generateToken } from '../src/platform/auth/token-format.js';
import { Accident, PartsModule } from './fixtures/parts/parts.module.js';
import { Api } from './support/api.js';
import { Contract } from './support/contract.js';
import { IdentityProvider } from './support/identity-provider.js';
import { request, sendRaw } from './support/raw-http.js';
import { startMeasured } from './support/scrape.js';
import { eventually, startAwayFromDatabase } from './support/service.js';
import { testDirectory } from './support/test-database.js';
import { useService } from './support/use-service.js';

const OTHER_LINK = '</docs>; rel="help"';

@Module({ imports: [PlatformModule, ItemsModule, PartsModule] })
class WithPartsModule implements NestModule {
  configure(consumer: MiddlewareConsumer): void {
    const link = (_request: Request, response: Response, next: NextFunction) => {
      response.setHeader('Link', OTHER_LINK);
      next();
    };
    consumer.apply(link).forRoutes('parts/linked');
  }
}

const GET = ['@1788220800', 'Wed, 01 Sep 2027 00:00:00 GMT', '</v1/widgets/a>; rel="successor-version"'];
const CREATE = ['@1788220800', 'Thu, 31 Jan 2030 00:00:00 GMT', null];
const NONE = [null, null, null];

const declared = generateToken();
const provider = await IdentityProvider.start();

const service = useService(async () => {
  const AUTH_TOKENS_FILE = join(await mkdtemp(join(testDirectory(), 'tokens-')), 'tokens');
  await writeFile(AUTH_TOKENS_FILE, `declared:${declared}\n`);
  return startMeasured({ RATE_LIMIT: '20', AUTH_TOKENS_FILE, ...provider.environment }, WithPartsModule);
});

const deprecationOf = ({ headers }: { headers: Headers }) =>
  ['Deprecation', 'Sunset', 'Link'].map((name) => headers.get(name));
const client = (token: string) => new Api(service.api.origin, token);

/** A client with requests left. */
const anew = (scopes?: string[]) => service.newClient('new', scopes && { scopes });

describe('a deprecated operation announces that in its response', () => {
  const create = (api: Api, body: object, headers: object = {}) => api.callWith('POST', '/v1/parts', body, headers);
  it.each<[string, number, readonly unknown[], () => Promise<{ status: number; headers: Headers }>]>([
    ['of success', 200, GET, async () => (await anew()).call('GET', '/v1/parts/a')],
    ['to HEAD', 200, GET, async () => (await anew()).call('HEAD', '/v1/parts/a')],
    ['of a create', 201, CREATE, async () => create(await anew(), { name: 'Cog' })],
    ['to an invalid query', 400, GET, async () => (await anew()).call('GET', '/v1/parts/a?color=red')],
    ['to an invalid body', 400, CREATE, async () => create(await anew(), { name: 5 })],
    ['to a body that is too large', 413, CREATE, async () => create(await anew(), { name: 'x'.repeat(70_000) })],
    ['without a token', 401, GET, () => client('').send('GET', '/v1/parts/a')],
    ['to an unknown token', 401, GET, () => client(generateToken()).call('GET', '/v1/parts/a')],
    ['without the scope', 403, GET, async () => (await anew(['items:read'])).call('GET', '/v1/parts/a')],
  ])('%s, with %i [deprecation-announced]', async (_case, status, expected, send) => {
    const answer = await send();
    expect([answer.status, ...deprecationOf(answer)]).toEqual([status, ...expected]);
  });

  it('of a handler that does not find it or fails, with 404 and 500 [deprecation-announced]', async () => {
    const api = await anew();
    const none = await api.call('GET', '/v1/parts/none');
    expect([none.status, ...deprecationOf(none)]).toEqual([404, ...GET.slice(0, 2), GET[2]?.replace('/a>', '/none>')]);
    const accident = service.app.get(Accident);
    accident.happen = () => {
      throw new Error('no');
    };
    const broken = await api.call('GET', '/v1/parts/a');
    expect([broken.status, ...deprecationOf(broken)]).toEqual([500, ...GET]);
    accident.happen = () => undefined;
  });

  it('beyond the rate limit, with 429 [deprecation-announced]', async () => {
    const api = await anew();
    const answers = [];
    for (let call = 0; call < 21; call += 1) answers.push(await api.call('GET', '/v1/parts/a'));
    expect(answers.at(-1)?.status).toBe(429);
    for (const answer of answers) expect(deprecationOf(answer)).toEqual(GET);
  });

  it('while the database is unavailable, with 503 [deprecation-announced]', async () => {
    const away = await startAwayFromDatabase(WithPartsModule);
    const answer = await new Api(away.origin, generateToken()).call('GET', '/v1/parts/a');
    expect([answer.status, ...deprecationOf(answer)]).toEqual([503, ...GET]);
    await away.stop();
  });

  it('that is replayed for its Idempotency-Key [deprecation-announced]', async () => {
    const api = await anew();
    const answers = [];
    for (let call = 0; call < 2; call += 1) answers.push(await create(api, { name: 'Cog' }, { 'Idempotency-Key': 'one' }));
    expect(answers.map(({ headers }) => headers.get('Idempotent-Replayed'))).toEqual([null, 'true']);
    for (const answer of answers) expect(deprecationOf(answer)).toEqual(CREATE);
  });
});

it.each<[string, number, string, string]>([
  ['another route of the path', 200, 'GET', '/v1/parts/count'],
  ['a route of another module', 200, 'GET', '/v1/items'],
  ['another method', 405, 'DELETE', '/v1/parts/a'],
  ['an unknown path', 404, 'GET', '/v1/parts/a/b/c'],
  ['an operational path', 200, 'GET', '/livez'],
])('the response of %s (%i) announces nothing [deprecation-announced]', async (_case, status, method, path) => {
  const answer = await (await anew()).call(method, path);
  expect([answer.status, ...deprecationOf(answer)]).toEqual([status, ...NONE]);
});

it('keeps the links of others', async () => {
  const answer = await (await anew()).call('GET', '/v1/parts/linked');
  expect(deprecationOf(answer)[2]).toBe(`${OTHER_LINK}, ${GET[2]?.replace('/a>', '/linked>')}`);
});

it.each([
  ['braces', '%7Bx%7D', '%7Bx%7D'],
  ['what could be another header', 'a%2F..%2Fb%3E%0D%0AX-Evil%3A%201', 'a%2F..%2Fb%3E%0D%0AX-Evil%3A%201'],
  ['what could be another parameter', '%C3%A9%22%3B%20rel', '%C3%A9%22%3B%20rel'],
  ['a credential', declared, '***'],
])('links to the successor of an id with %s', async (_case, sent, shown) => {
  const { headers, status } = await sendRaw(
    service.port,
    request(`GET /v1/parts/${sent}`, [`Authorization: Bearer ${declared}`]),
  );
  expect(status).toBe(200);
  expect(headers).toContain(`link: </v1/widgets/${shown.toLowerCase()}>; rel="successor-version"\n`);
  expect(headers).not.toMatch(/^x-evil/m);
});

it('is in the document, with the days, what to use instead, the sunset for tools, and the headers', async () => {
  const contract = await Contract.read(service.api.origin);
  expect(await contract.validate()).toEqual({ valid: true });
  const found = contract.operations.filter(({ operation }) => operation.deprecated);
  expect(found.map(({ name, operation }) => [name, operation['x-sunset'], operation.description])).toEqual([
    [
      'get /v1/parts/{id}',
      '2027-09-01',
      expect.stringMatching(
        /^Deprecated since 2026-09-01, and may be removed from 2027-09-01 on\. Use `\/v1\/widgets\/\{id\}` instead\.\n\nA token/,
      ),
    ],
    [
      'post /v1/parts',
      '2030-01-31',
      expect.stringMatching(/^Deprecated .* Use an order of widgets instead\.\n\nIt has no price\.\n\nA token/),
    ],
    [
      'get /v1/parts/{id}/color',
      '2027-09-01',
      'Deprecated since 2026-09-01, and may be removed from 2027-09-01 on. Use `/v1/widgets` instead.',
    ],
  ]);
  for (const { name, operation } of contract.operations) {
    const hasLink = name.startsWith('get /v1/parts/{id}');
    const expected = operation.deprecated ? ['Deprecation', 'Sunset', ...(hasLink ? ['Link'] : [])] : [];
    for (const { headers } of Object.values(operation.responses)) {
      const announced = Object.keys(headers).filter((header) => ['Deprecation', 'Sunset', 'Link'].includes(header));
      expect([name, announced]).toEqual([name, expected]);
    }
  }
});

const METRIC = 'items_deprecated_requests_total';

it('counts its requests by caller, whatever the response is, from zero [deprecated-counted]', async () => {
  const before = await service.scrape();
  const routes = ['/v1/parts/:id', '/v1/parts', '/v1/parts/:id/color'];
  expect(new Set(before.of(METRIC).map(({ labels }) => labels['route']))).toEqual(new Set(routes));
  expect(before.of(METRIC)).toHaveLength(routes.length * 4);
  const issued = await anew();
  await issued.call('GET', '/v1/parts/a');
  await issued.call('HEAD', '/v1/parts/none');
  await issued.call('GET', '/v1/parts/a?color=red');
  await (await anew(['items:read'])).call('GET', '/v1/parts/a');
  await client(declared).call('GET', '/v1/parts/a');
  const jwt = await provider.sign({ scope: 'parts' });
  for (let call = 0; call < 2; call += 1) expect((await client(jwt).call('GET', '/v1/parts/a')).status).toBe(200);
  await client(generateToken()).call('GET', '/v1/parts/a');
  await client('').send('GET', '/v1/parts/a/color');
  // None of the route.
  await issued.call('DELETE', '/v1/parts/a');
  await issued.call('GET', '/v1/parts/count');
  // A request counts when its response has ended.
  await eventually(async () => (await service.scrape()).sum(METRIC) === before.sum(METRIC) + 9);
  const after = await service.scrape();
  const grown = after.of(METRIC).map(({ labels, value }) => [labels, value - before.sum(METRIC, labels)] as const);
  const of = (caller: string, route = '/v1/parts/:id') => ({ method: 'GET', route, caller });
  expect(grown.filter(([, growth]) => growth !== 0)).toEqual([
    [of('token'), 4],
    [of('declared'), 1],
    [of('jwt'), 2],
    [of('none'), 1],
    [of('none', '/v1/parts/:id/color'), 1],
  ]);
});
