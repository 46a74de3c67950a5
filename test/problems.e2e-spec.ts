import {
  BadGatewayException,
  ConflictException,
  Controller,
  ForbiddenException,
  Get,
  HttpException,
  Module,
  Param,
} from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { ItemsModule } from '../src/items/items.module.js';
import { PlatformModule } from '../src/platform/platform.module.js';
import { problemTypes } from '../src/platform/problems/problem-types.js';
import { preconditionFailedProblem } from '../src/platform/preconditions/precondition.js';
import { conflict, defineProblemType, newId, Operation, Problem, RequireScopes, ApiTag } from '../src/platform/index.js';
import { Api, type ProblemBody } from './support/api.js';
import { Contract } from './support/contract.js';
import { type RawAnswer, sendRaw } from './support/raw-http.js';
import { type Service, startAwayFromDatabase, startService } from './support/service.js';

const teapot = defineProblemType({
  name: 'teapot',
  status: 418,
  title: 'I am a teapot',
  remedy: 'Send `tea`, not <coffee>.',
});

const twice = [newId(), newId()].fill(newId());

/** The members of a problem, as they are sent. */
const MEMBERS = ['type', 'title', 'status', 'detail', 'instance', 'requestId'];

/** An error as some libraries make it: with the prototype only, and all properties enumerable. */
const ofPrototype = Object.assign(Object.create(Error.prototype) as Error, { message: 'secret', config: 'secret' });

/** Failures by the last part of the path. */
const failures: Readonly<Record<string, (database: DataSource) => unknown>> = {
  value: (database) => database.query('SELECT $1::int', ['2147483648']),
  conflict: (database) =>
    database.query("INSERT INTO items (id, name) SELECT id, 'x' FROM unnest($1::uuid[]) AS id", [twice]),
  secret: () => Promise.reject(new Error('SELECT secret FROM vault')),
  forbidden: () => Promise.reject(new ForbiddenException('Not yours.')),
  gateway: () => Promise.reject(new BadGatewayException('secret upstream')),
  given: () => Promise.reject(new ConflictException(Object.assign(new Error('secret upstream'), { config: 'secret' }))),
  prototype: () => Promise.reject(new HttpException(ofPrototype, 409)),
  'no-status': () => Promise.reject(new HttpException('secret', Number.NaN)),
  'system-code': () => Promise.reject(new HttpException('secret', 'ECONNREFUSED' as never)),
  'low-status': () => Promise.reject(new HttpException('secret', 99)),
  'high-status': () => Promise.reject(new HttpException('secret', 1000)),
  coded: () => Promise.reject(new HttpException('Not yours.', 403, { errorCode: 'NOT_OWNER' })),
  upstream: () => Promise.reject(Object.assign(new Error('secret upstream'), { status: 404 })),
  refused: () => Promise.reject(Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:6379'), { code: 'ECONNREFUSED' })),
  precondition: () => Promise.reject(preconditionFailedProblem()),
  teapot: () => Promise.reject(new Problem(teapot, 'Short and stout.', { headers: { 'X-Handle': 'here' } })),
};

@ApiTag({ name: 'Failing', description: 'What the tests call.' })
@Controller('failing')
@RequireScopes('failing')
class FailingController {
  constructor(@InjectDataSource() private readonly database: DataSource) {}

  @Get(':kind')
  @Operation({ summary: 'Fail', problems: [conflict, teapot] })
  async fail(@Param('kind') kind: string): Promise<void> {
    await failures[kind]?.(this.database);
  }
}

@Module({ imports: [PlatformModule, ItemsModule], controllers: [FailingController] })
class FailingModule {}

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await startService({}, undefined, FailingModule);
  api = service.api;
});

// An operation whose status no document names fails the tests: but this one, which is about that.
afterAll(() => expect(service.stop()).rejects.toThrow('GET /v1/failing/{kind} responded 502'));

/** One way to every problem type that a client can meet, as raw bytes after the request line and Host. */
const ways: Record<string, () => Promise<{ status: number; body: ProblemBody; headers: Headers | string }>> = {
  'bad-request': () => raw('GET /v1/items HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n'),
  'invalid-body': () => api.post('{'),
  'invalid-parameters': () => api.list('limit=0'),
  unauthorized: () => api.send('GET', '/v1/items'),
  'invalid-value': () => api.call('GET', '/v1/failing/value'),
  conflict: () => api.call('GET', '/v1/failing/conflict'),
  'not-found': () => api.call('GET', '/v1/nothing'),
  'method-not-allowed': () => api.call('PATCH', '/v1/items'),
  'content-too-large': () => api.post('x'.repeat(70_000)),
  'header-fields-too-large': () => raw(`GET /v1/items HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`),
  'insufficient-scope': async () => (await service.newClient('restricted', { scopes: [] })).list<ProblemBody>(),
  'idempotency-key-reused': async () => {
    await api.post('{"name":"x"}', { 'Idempotency-Key': 'key' });
    return api.post('{"name":"y"}', { 'Idempotency-Key': 'key' });
  },
  'rate-limited': async () => {
    const limited = await startService({ RATE_LIMIT: '1' });
    await limited.api.list();
    return limited.api.list<ProblemBody>().finally(() => limited.stop());
  },
  'precondition-failed': () => api.call('GET', '/v1/failing/precondition'),
  'internal-error': () => api.call('GET', '/v1/failing/secret'),
  teapot: () => api.call('GET', '/v1/failing/teapot'),
  'service-unavailable': async () => {
    const away = await startAwayFromDatabase();
    return new Api(away.origin, api.token).list<ProblemBody>().finally(() => away.stop());
  },
  'request-timeout': () => {
    const server = service.app.getHttpServer();
    // Node checks for this timeout only every 30 seconds: the error is emitted instead.
    const timeout = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    server.once('connection', (socket) => setTimeout(() => server.emit('clientError', timeout, socket), 100));
    return raw('GET /v1/items HTTP/1.1\r\nHost: x\r\nX-Slow: ');
  },
};

async function raw(bytes: string): Promise<RawAnswer & { body: ProblemBody & string }> {
  const answer = await sendRaw(service.port, bytes);
  return { ...answer, body: JSON.parse(answer.body) as ProblemBody & string };
}

describe('a problem', () => {
  it.each(Object.entries(ways))(
    'of type %s has the shape of RFC 9457 and a documented type [problem-shape] [database-value] [request-id-sent]',
    async (name, meet) => {
      const type = problemTypes().find((candidate) => candidate.name === name);
      const { status, body, headers } = await meet();
      expect(status).toBe(type?.status);
      const header = typeof headers === 'string' ? headers : [...headers].map((pair) => pair.join(': ')).join('\n');
      expect(header).toContain('content-type: application/problem+json');
      expect(header).toContain(`x-request-id: ${body.requestId}`);
      const { detail, instance, requestId, errors, ...rest } = body;
      expect(rest).toEqual({ type: `/docs/problems#${name}`, title: type?.title, status });
      expect([typeof detail, typeof requestId, instance.startsWith('/')]).toEqual(['string', 'string', true]);
      expect(errors !== undefined).toBe(['invalid-body', 'invalid-parameters'].includes(name));
    },
  );

  it('can be triggered for every type', () => {
    const names = problemTypes().map(({ name }) => name);
    expect(Object.keys(ways).toSorted()).toEqual(names.toSorted());
  });

  it.each(problemTypes())(
    'of type $name is documented with an example [problem-documented]',
    async ({ name, status, title }) => {
      const page = await (await fetch(`${service.api.origin}/docs/problems`)).text();
      const kind = `<p class="kind">Status ${status}, type <a href="#${name}"><code>${name}</code></a></p>`;
      expect(page).toContain(`<section id="${name}">\n<h2>${title}</h2>\n${kind}`);
      expect(page).toContain('Send <code>tea</code>, not &lt;coffee&gt;.');
      const [, text = ''] =
        new RegExp(`<section id="${name}">[^]*?<pre tabindex="0"><code>([^]*?)</code></pre>`).exec(page) ?? [];
      const example = JSON.parse(text) as ProblemBody;
      expect(example).toMatchObject({ type: `/docs/problems#${name}`, title, status });
      const contract = await Contract.read(service.api.origin);
      expect(contract.faultsOf({ schema: { $ref: '#/components/schemas/Problem' } }, example)).toEqual([]);
    },
  );
});

it.each([
  ['secret', 500, '/docs/problems#internal-error', 'The service failed.'],
  ['upstream', 500, '/docs/problems#internal-error', 'The service failed.'],
  // The failure of another service is none of the database.
  ['refused', 500, '/docs/problems#internal-error', 'The service failed.'],
  ['forbidden', 403, 'about:blank', 'Not yours.'],
  ['gateway', 502, 'about:blank', 'The service failed.'],
  ['given', 409, 'about:blank', 'Conflict'],
  ['prototype', 409, 'about:blank', 'Conflict'],
  ['no-status', 500, '/docs/problems#internal-error', 'The service failed.'],
  ['system-code', 500, '/docs/problems#internal-error', 'The service failed.'],
  ['low-status', 500, '/docs/problems#internal-error', 'The service failed.'],
  ['high-status', 500, '/docs/problems#internal-error', 'The service failed.'],
  ['coded', 403, 'about:blank', 'Not yours.'],
  ['teapot', 418, '/docs/problems#teapot', 'Short and stout.'],
])(
  'an error keeps its status and does not reveal its cause: %s [cause-hidden] [http-exception-problem]',
  async (path, status, type, detail) => {
    const { headers, body } = await api.call('GET', `/v1/failing/${path}`);
    expect([body.status, body.type, body.detail]).toEqual([status, type, detail]);
    expect(Object.keys(body)).toEqual([...(path === 'coded' ? ['errorCode'] : []), ...MEMBERS]);
    expect(headers.get('x-handle')).toBe(path === 'teapot' ? 'here' : null);
  },
);

it.each(['/v1/nothing?x=1', '/v1/items/', '/v1/items/1', '/V1/items', '//v1/items', '/v2/items', '/docs/x', '/favicon.png'])(
  'responds 404 to %s [unknown-path] [paths-strict]',
  async (path) => {
    expect((await api.call('GET', path)).status).toBe(404);
  },
);

it.each([
  ['PUT', '/v1/items', 'GET, HEAD, POST'],
  ['OPTIONS', '/v1/items', 'GET, HEAD, POST'],
  ['QUERY', '/v1/items', 'GET, HEAD, POST'],
  ['DELETE', '/v1/items?x=1', 'GET, HEAD, POST'],
  ['POST', '/livez', 'GET, HEAD'],
])('responds to %s %s with 405 and Allow: %s [method-not-allowed]', async (method, path, allow) => {
  const { status, headers } = await api.call(method, path);
  expect([status, headers.get('allow')]).toEqual([405, allow]);
});

it.each([
  ['abc-123', true],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', true],
  ['x'.repeat(128), true],
  ['x'.repeat(129), false],
  ['', false],
  ['a b', false],
  ['{"a":1}', false],
  ['é', false],
])('the X-Request-Id %s is kept if it is safe: %j [request-id-kept]', async (id, isKept) => {
  const { headers, body } = await api.send('GET', '/v1/items', { headers: { 'X-Request-Id': id } });
  expect(headers.get('x-request-id')).toMatch(isKept ? id : /^[0-9a-f-]{36}$/);
  expect(body.requestId).toBe(headers.get('x-request-id'));
});
