import { jest } from '@jest/globals';
import { Body, Controller, Get, Header, HttpCode, Logger, Module, Param, Post, Res, type Type } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { AppModule } from '../src/app.module.js';
import { AccessToken } from '../src/platform/auth/access-token.entity.js';
import { digestOf, generateToken } from '../src/platform/auth/token-format.js';
import {
  Database,
  Deprecated,
  type DeprecationOptions,
  defineProblemType,
  Idempotent,
  newId,
  Problem,
  Operation,
  Public,
  RequireScopes,
  Section,
  Text,
} from '../src/platform/index.js';
import { Api } from './support/api.js';
import { freePort } from './support/free-port.js';
import { type Service, startService } from './support/service.js';

const unlucky = defineProblemType({ name: 'unlucky', status: 409, title: 'Unlucky', remedy: 'Try another one.' });

class RingDto {
  @Text({ description: 'Its sound.', example: 'Ding', maximumLength: 10 })
  declare readonly sound: string;
}

class BellParameters {
  @Text({ description: 'Its name.', example: 'Tom', maximumLength: 10 })
  declare readonly name: string;
}

/** All of it goes, and one part sooner than the rest. */
@Deprecated({ since: '2026-01-01', sunset: '2999-12-31', link: '/docs#/Gongs' })
@RequireScopes('bells')
@Section({ title: 'Bells', description: 'What the tests call.' })
@Controller('bells')
class BellsController {
  @Get()
  @Operation({ summary: 'Ring' })
  listBells(): string[] {
    return ['Tom'];
  }

  @Deprecated({ since: '2020-02-29', sunset: '2021-02-28', link: 'https://example.com/gongs?from=bells' })
  @Get('old')
  @Operation({ summary: 'Ring' })
  readOldBell(): object {
    return { name: 'Tom' };
  }

  @Post()
  @Operation({ summary: 'Ring', problems: [unlucky] })
  @Idempotent()
  ringBell(@Body() { sound }: RingDto): object {
    if (sound === 'crack') {
      throw new Problem(unlucky, 'It broke.', { headers: { Link: '</v1/bells/smith>; rel="help"' } });
    }
    if (sound === 'bang') {
      throw new Error('The rope is torn.');
    }
    return { sound };
  }

  @Get('with-link')
  @Operation({ summary: 'Ring' })
  @Header('Link', '</v1/bells?page=2>; rel="next"')
  readBellWithLink(): object {
    return {};
  }

  @Get('linked')
  @Operation({ summary: 'Ring' })
  linkBell(@Res({ passthrough: true }) response: Response): object {
    response.links({ next: '/v1/bells?page=2', last: '/v1/bells?page=9' });
    return {};
  }

  @Public()
  @Get('public')
  @Operation({ summary: 'Ring' })
  readPublicBell(): object {
    return {};
  }

  @Get('of/:name')
  @Operation({ summary: 'Ring' })
  @HttpCode(202)
  readBell(@Param() { name }: BellParameters): object {
    return { name };
  }
}

@RequireScopes('gongs')
@Section({ title: 'Gongs', description: 'What the tests call.' })
@Controller('gongs')
class GongsController {
  @Get()
  @Operation({ summary: 'Ring' })
  listGongs(): string[] {
    return [];
  }

  /** Says of itself whatever it says in the document. */
  @Deprecated({ since: '2027-06-01', sunset: '2028-06-01', link: '/docs' })
  @ApiResponse({ status: 404, description: 'No gong.' })
  @Get('one')
  @Operation({ summary: 'Ring' })
  readGong(): object {
    return {};
  }
}

@Module({ imports: [AppModule], controllers: [BellsController, GongsController] })
class BellsModule {}

const ANNOUNCED = {
  deprecation: '@1767225600',
  sunset: 'Tue, 31 Dec 2999 00:00:00 GMT',
  link: '</docs#/Gongs>; rel="deprecation"; type="text/html"',
};

const NOTHING = { deprecation: null, sunset: null, link: null };

let service: Service;
let api: Api;
let metricsPort: number;
let warnings: unknown[];

beforeAll(async () => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
  metricsPort = await freePort();
  service = await startService({ METRICS_PORT: String(metricsPort) }, undefined, BellsModule);
  api = service.api;
  const said = warn.mock.calls.map(([message]) => message as { msg: string });
  // While the database is not ready yet, there are others.
  warnings = said.filter(({ msg }) => msg === 'sunset has passed');
  warn.mockRestore();
});

afterAll(() => service.stop());

const announcementOf = ({ headers }: { headers: Headers }) => ({
  deprecation: headers.get('deprecation'),
  sunset: headers.get('sunset'),
  link: headers.get('link'),
});

const ring = (body: string, headers: Record<string, string> = {}) =>
  api.call('POST', '/v1/bells', { body, headers: { 'Content-Type': 'application/json', ...headers } });

/** Calls counted, by the labels of the series. */
async function callsCounted(port = metricsPort): Promise<Map<string, number>> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const series = text.matchAll(/^items_deprecated_calls_total\{operation="(\w+)",principal_id="([\w-]+)"\} (\d+)$/gm);
  return new Map([...series].map(([, operation, caller, count]) => [`${operation} ${caller}`, Number(count)]));
}

describe('answers of a deprecated operation', () => {
  it('say so when all is well', async () => {
    const answer = await api.call('GET', '/v1/bells');
    expect([answer.status, announcementOf(answer)]).toEqual([200, ANNOUNCED]);
  });

  it.each([
    ['an invalid body', 400, () => ring('{')],
    ['an invalid property', 400, () => ring('{"sound":1}')],
    ['an unknown parameter', 400, () => api.call('GET', '/v1/bells?colour=red')],
    ['an invalid path parameter', 400, () => api.call('GET', `/v1/bells/of/${'x'.repeat(11)}`)],
    ['a body that is too large', 413, () => ring('x'.repeat(70_000))],
    ['a failure', 500, () => ring('{"sound":"bang"}')],
  ])('say so after %s', async (_case, status, call) => {
    const answer = await call();
    expect([answer.status, announcementOf(answer)]).toEqual([status, ANNOUNCED]);
  });

  it('say so when they are repeated', async () => {
    const key = { 'Idempotency-Key': 'bell' };
    await ring('{"sound":"dong"}', key);
    const answer = await ring('{"sound":"dong"}', key);
    expect(answer.headers.get('idempotent-replayed')).toBe('true');
    expect(announcementOf(answer)).toEqual(ANNOUNCED);
    const reused = await ring('{"sound":"ding"}', key);
    expect([reused.status, announcementOf(reused)]).toEqual([422, ANNOUNCED]);
  });

  it('say so to those who need no token', async () => {
    expect(announcementOf(await api.send('GET', '/v1/bells/public'))).toEqual(ANNOUNCED);
  });

  it('keep the links of the handler, whatever way it sets them', async () => {
    const links = [
      await api.call('GET', '/v1/bells/with-link'),
      await api.call('GET', '/v1/bells/linked'),
      await ring('{"sound":"crack"}'),
    ].map((answer) => [answer.status, announcementOf(answer)]);
    expect(links).toEqual([
      [200, { ...ANNOUNCED, link: `</v1/bells?page=2>; rel="next", ${ANNOUNCED.link}` }],
      [200, { ...ANNOUNCED, link: `</v1/bells?page=2>; rel="next", </v1/bells?page=9>; rel="last", ${ANNOUNCED.link}` }],
      [409, { ...ANNOUNCED, link: `</v1/bells/smith>; rel="help", ${ANNOUNCED.link}` }],
    ]);
  });

  it('say what the handler says rather than its controller', async () => {
    expect(announcementOf(await api.call('GET', '/v1/bells/old'))).toEqual({
      deprecation: '@1582934400',
      sunset: 'Sun, 28 Feb 2021 00:00:00 GMT',
      link: '<https://example.com/gongs?from=bells>; rel="deprecation"; type="text/html"',
    });
  });
});

it.each([
  ['an operation that is not deprecated', 200, () => api.call('GET', '/v1/gongs')],
  ['one of another feature', 200, () => api.call('GET', '/v1/items')],
  ['a path that does not exist', 404, () => api.call('GET', '/v1/bells/of')],
  ['a call without a token', 401, () => api.send('GET', '/v1/bells')],
])('%s says nothing', async (_case, status, call) => {
  const answer = await call();
  expect([answer.status, announcementOf(answer)]).toEqual([status, NOTHING]);
});

describe('the OpenAPI document', () => {
  interface Operation {
    deprecated?: boolean;
    description?: string;
    'x-sunset'?: string;
    responses: Record<string, { headers: Record<string, { example?: string }> }>;
  }

  let paths: Record<string, Record<string, Operation>>;

  beforeAll(async () => {
    ({ paths } = (await api.send<{ paths: typeof paths }>('GET', '/openapi.json')).body);
  });

  const facts = (path: string, method = 'get') => {
    const { deprecated, description, 'x-sunset': sunset } = paths[path]?.[method] ?? {};
    return { deprecated, description, sunset };
  };

  it('tells which operations are deprecated, until when, and what to use instead', () => {
    expect(facts('/v1/bells')).toEqual({
      deprecated: true,
      description:
        '**Deprecated** since 2026-01-01, and to be removed on 2999-12-31 or later: see [what to use instead](/docs#/Gongs).\n\n' +
        'Needs the scope `bells`, if the token is restricted to scopes.',
      sunset: '2999-12-31',
    });
    expect(facts('/v1/bells/old')).toMatchObject({ deprecated: true, sunset: '2021-02-28' });
    expect(facts('/v1/gongs/one')).toMatchObject({ deprecated: true, sunset: '2028-06-01' });
    expect(facts('/v1/gongs')).toEqual({ description: expect.not.stringContaining('Deprecated') });
    expect(JSON.stringify(paths)).not.toContain('x-deprecation');
  });

  it('documents the headers on those answers that carry them, with their values', () => {
    const examples = Object.entries(paths['/v1/gongs/one']?.['get']?.responses ?? {}).map(([status, { headers }]) => [
      status,
      ['Deprecation', 'Sunset', 'Link'].map((name) => headers[name]?.example),
    ]);
    const values = ['@1811808000', 'Thu, 01 Jun 2028 00:00:00 GMT', '</docs>; rel="deprecation"; type="text/html"'];
    const none = [undefined, undefined, undefined];
    expect(Object.fromEntries(examples)).toEqual({
      200: values,
      400: values,
      401: none,
      403: none,
      404: values,
      429: none,
      503: values,
    });
    const headersOf = (path: string) => Object.keys(paths[path]?.['get']?.responses['200']?.headers ?? {}).toSorted();
    const always = ['RateLimit', 'RateLimit-Policy', 'X-Request-Id'];
    expect(headersOf('/v1/bells')).toEqual(['Deprecation', 'Link', ...always, 'Sunset'].toSorted());
    expect(headersOf('/v1/gongs')).toEqual(always);
  });
});

it('reminds at the start of what may be removed, and of nothing else', () => {
  expect(warnings).toEqual([
    {
      msg: 'sunset has passed',
      operation: 'readOldBell',
      sunset: new Date('2021-02-28T00:00:00Z'),
      remedy: 'remove the operation',
    },
  ]);
});

describe('items_deprecated_calls_total', () => {
  it('counts by operation and token, whatever the answer, but not those refused', async () => {
    const port = await freePort();
    const limited = await startService({ METRICS_PORT: String(port), RATE_LIMIT: '4' }, undefined, BellsModule);
    try {
      const [one, two] = [limited.api, await limited.newClient()];
      const statuses = [
        await one.call('GET', '/v1/bells'),
        await one.call('GET', '/v1/bells?colour=red'),
        await one.call('GET', '/v1/bells/old'),
        await one.call('GET', '/v1/gongs'),
        await one.call('GET', '/v1/bells'),
        await two.call('GET', '/v1/bells'),
        await one.send('GET', '/v1/bells'),
        await one.send('GET', '/v1/bells', { headers: { Authorization: `Bearer ${generateToken()}` } }),
        await one.send('GET', '/v1/bells/public'),
        await one.call('GET', '/v1/bells/public'),
      ].map(({ status }) => status);
      expect(statuses).toEqual([200, 400, 200, 200, 429, 200, 401, 401, 200, 200]);
      const tokens = await limited.app.get(Database).repository(AccessToken).find();
      const idOf = ({ token }: Api) => tokens.find(({ digest }) => digest.equals(digestOf(token)))?.id;
      expect(await callsCounted(port)).toEqual(
        new Map([
          [`listBells ${idOf(one)}`, 2],
          [`readOldBell ${idOf(one)}`, 1],
          [`listBells ${idOf(two)}`, 1],
          ['readPublicBell none', 2],
        ]),
      );
    } finally {
      await limited.stop();
    }
  });

  it('tells at most 1,000 pairs of operation and token apart, however many call', async () => {
    const tokens = Array.from({ length: 1100 }, generateToken);
    const rows = tokens.map((token) => ({ id: newId(), name: 'x', digest: digestOf(token), createdAt: new Date() }));
    await service.app.get(Database).repository(AccessToken).insert(rows);
    const before = await callsCounted();
    for (let sent = 0; sent < tokens.length; sent += 100) {
      const calls = tokens.slice(sent, sent + 100).map((token) => new Api(api.origin, token).call('GET', '/v1/bells'));
      expect((await Promise.all(calls)).filter(({ status }) => status !== 200)).toEqual([]);
    }
    const after = await callsCounted();
    const unlisted = 1100 - (1000 - before.size);
    expect(after.size).toBe(1001);
    expect(after.get('listBells other')).toBe(unlisted);
    // Those known before are still told apart, and those that were not are not.
    const first = rows[0]?.id;
    await new Api(api.origin, tokens[0] ?? '').call('GET', '/v1/bells');
    await new Api(api.origin, tokens.at(-1) ?? '').call('GET', '/v1/bells');
    const last = await callsCounted();
    expect([last.size, last.get(`listBells ${first}`), last.get('listBells other')]).toEqual([1001, 2, unlisted + 1]);
  });
});

describe('a deprecation that cannot be', () => {
  const fine = { since: '2026-01-31', sunset: '2027-01-31', link: '/docs' };

  it.each([
    ['a day that does not exist', { since: '2026-02-30' }, 'since is "2026-02-30": write a day, such as 2026-01-31.'],
    ['a month that does not exist', { sunset: '2027-13-01' }, 'sunset is "2027-13-01": write a day, such as 2026-01-31.'],
    ['a time', { since: '2026-01-31T00:00:00Z' }, 'since is "2026-01-31T00:00:00Z": write a day, such as 2026-01-31.'],
    ['a short date', { since: '2026-1-31' }, 'since is "2026-1-31": write a day, such as 2026-01-31.'],
    ['an end before its beginning', { sunset: '2025-01-31' }, '12 months ahead: write 2027-01-31 or later.'],
    ['too short a notice', { sunset: '2027-01-30' }, '12 months ahead: write 2027-01-31 or later.'],
    ['a link to nowhere', { link: 'docs' }, 'link is "docs": write an absolute URL'],
    ['an empty link', { link: '' }, 'link is "": write an absolute URL'],
    ['a link without a scheme', { link: '//example.com' }, 'link is "//example.com": write an absolute URL'],
    ['a link that runs', { link: 'javascript:alert(1)' }, 'link is "javascript:alert(1)": write an absolute URL'],
    ['a link that ends the header', { link: '/docs>; rel="next"' }, 'write an absolute URL'],
    ['a link with a line break', { link: '/docs\r\nX: y' }, 'write an absolute URL'],
  ])('is refused when the class is defined: %s', (_case, wrong, message) => {
    const define = (): Type => {
      @Controller('wrong')
      class WrongController {
        @Get()
        @Deprecated({ ...fine, ...wrong })
        listWrong(): string[] {
          return [];
        }
      }
      return WrongController;
    };
    expect(define).toThrow(message);
    expect(define).toThrow('@Deprecated() of WrongController.listWrong: ');
  });

  const controllerWith = (options: DeprecationOptions): Type => {
    @Deprecated(options)
    class DeprecatedController {}
    return DeprecatedController;
  };

  it('is refused of a whole controller, too', () => {
    expect(() => controllerWith({ ...fine, sunset: 'soon' })).toThrow(
      '@Deprecated() of DeprecatedController: sunset is "soon": write a day, such as 2026-01-31.',
    );
  });

  it.each([
    ['with exactly 12 months of notice', {}],
    ['with a leap day in them', { since: '2024-02-29', sunset: '2025-02-28' }],
    ['with a URL', { link: 'http://example.com/a%20b?c=d#e' }],
  ])('is not one %s', (_case, options) => {
    expect(() => controllerWith({ ...fine, ...options })).not.toThrow();
  });
});
