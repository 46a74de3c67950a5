import {
  BadRequestException,
  ConflictException,
  ForbiddenException,
  HttpException,
  InternalServerErrorException,
  MethodNotAllowedException,
  NotFoundException,
  PayloadTooLargeException,
  PreconditionFailedException,
  RequestTimeoutException,
  ServiceUnavailableException,
  UnauthorizedException,
  UnprocessableEntityException,
} from '@nestjs/common';
import { ThrottlerException } from '@nestjs/throttler';
import {
  FAULT_CODES,
  invalidRequest,
  jsonPointer,
  Problem,
  PROBLEM_MEDIA_TYPE,
  problemBody,
  problemJson,
  type FieldError,
  UNKNOWN_NAME,
} from './problem.js';
import {
  badRequest,
  defineProblemType,
  internalError,
  invalidBody,
  invalidParameters,
  notFound,
  problemTypes,
  problemTypeUri,
  typeOfStatus,
} from './problem-types.js';

const token = `items_${'a1'.repeat(18)}`;
const stack = (problem: Problem) => problem.stack?.split('\n').length;

describe('a JSON Pointer', () => {
  it.each<[(string | number)[], string]>([
    [[], ''],
    [['items', 0, 'name'], '/items/0/name'],
    [['a/b', '~c', '~1'], '/a~1b/~0c/~01'],
    [[''], '/'],
  ])('of %j is %s', (path, pointer) => {
    expect(jsonPointer(path)).toBe(pointer);
  });

  it('has at most 128 characters, then an ellipsis in place of the word that would be cut', () => {
    expect(jsonPointer(['x'.repeat(127)])).toBe(`/${'x'.repeat(127)}`);
    expect(jsonPointer(['x'.repeat(128)])).toBe('/…');
    expect(jsonPointer(['x'.repeat(90), 'y'.repeat(100)])).toBe(`/${'x'.repeat(90)}/…`);
    expect(jsonPointer(['x'.repeat(90), 'a b', 'y'.repeat(100)])).toBe(`/${'x'.repeat(90)}/a b/…`);
  });

  it.each(['x', '.', '%', '-', '~', '_'])('is cut before what could be the start of a credential: %s', (character) => {
    expect(jsonPointer(['x'.repeat(90), character.repeat(100)])).toBe(`/${'x'.repeat(90)}/…`);
  });

  it('is well-formed where it is cut, and quick for names of any length', () => {
    expect(jsonPointer([`${' '.repeat(126)}😀`])).toBe(`/${' '.repeat(126)}\uFFFD…`);
    expect(jsonPointer(['/'.repeat(10_000_000)]).length).toBeLessThanOrEqual(129);
  });
});

const parameter = (name: string, detail = 'is missing'): FieldError => ({ parameter: name, code: 'required', detail });

describe('a Problem', () => {
  const cause = new Error('The disk is full.');

  it('has headers and the cause, of which only the headers are sent', () => {
    const problem = new Problem(notFound, 'Gone.', { headers: { 'Retry-After': '1' }, cause });
    expect(problem).toMatchObject({ name: 'Problem', message: 'Gone.', headers: { 'Retry-After': '1' }, cause });
    expect(new Problem(notFound, 'Gone.').headers).toEqual({});
    expect(problemJson(problem)).not.toContain('disk');
  });

  it('has the members of the exceptions of Nest, its own, and its errors', () => {
    const error = { statusCode: 404, error: notFound.title, message: 'Gone.' };
    expect(new Problem(notFound, 'Gone.').getResponse()).toStrictEqual(error);
    const more = { members: { sku: 1 }, errors: [parameter('limit')] };
    expect(new Problem(notFound, 'Gone.', more).getResponse()).toStrictEqual({ ...error, sku: 1, errors: more.errors });
  });

  it.each([
    [400, BadRequestException],
    [401, UnauthorizedException],
    [403, ForbiddenException],
    [404, NotFoundException],
    [405, MethodNotAllowedException],
    [408, RequestTimeoutException],
    [409, ConflictException],
    [412, PreconditionFailedException],
    [413, PayloadTooLargeException],
    [422, UnprocessableEntityException],
    [429, ThrottlerException],
    [431, HttpException],
    [500, InternalServerErrorException],
    [503, ServiceUnavailableException],
  ])('of status %d is the exception that Nest throws for it', (status, exception) => {
    const problem = new Problem({ ...notFound, status }, 'So.', { cause });
    expect(problem).toBeInstanceOf(exception);
    expect(problem).toBeInstanceOf(Problem);
    expect(problem.getResponse()).toMatchObject({ statusCode: status, message: 'So.' });
    expect(new exception(cause.message, status)).not.toBeInstanceOf(Problem);
  });

  it('can be extended', () => {
    class Missing extends Problem {}
    const missing = new Missing(notFound, 'Gone.');
    expect(missing).toBeInstanceOf(Missing);
    expect(missing).toBeInstanceOf(Problem);
    expect(new Problem(notFound, 'Gone.')).not.toBeInstanceOf(Missing);
    expect([undefined, null, 'x', {}, cause].filter((value) => value instanceof Problem)).toEqual([]);
  });

  it('has a stack for the log if the service has failed, and is cheap otherwise', () => {
    const { stackTraceLimit } = Error;
    expect(stack(new Problem(notFound, 'Gone.'))).toBe(1);
    expect(stack(new Problem(internalError, 'Failed.'))).toBeGreaterThan(1);
    expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  });
});

describe('the problem of an invalid request', () => {
  it('is one of the body if any fault is in it', () => {
    const inBody = { pointer: '/name', code: 'required', detail: 'is missing' };
    expect(invalidRequest([parameter('limit'), inBody]).type).toBe(invalidBody);
    expect(invalidRequest([parameter('limit')])).toMatchObject({
      type: { name: 'invalid-parameters' },
      errors: [parameter('limit')],
    });
  });

  it.each<[FieldError[], string]>([
    [[parameter('limit')], 'limit is missing.'],
    [[parameter('', 'has too many parameters')], 'The query has too many parameters.'],
    [[{ pointer: '', code: 'syntax', detail: 'is not JSON' }], 'The body is not JSON.'],
    [
      [{ pointer: '/name', code: 'type', detail: 'must be text' }, parameter('limit')],
      '/name must be text. limit is missing.',
    ],
    [[parameter('filter', 'is wrong; did you mean name?')], 'filter is wrong; did you mean name?'],
    [[parameter('filter', 'is wrong. See item.name')], 'filter is wrong. See item.name.'],
  ])('says each fault in a sentence: %j', (faults, detail) => {
    expect(invalidRequest(faults).message).toBe(detail);
  });

  it('says only how many there are when there are more than ten, and lists a hundred', () => {
    const faults = Array.from({ length: 101 }, (_, index) => parameter(String(index)));
    expect(invalidRequest(faults.slice(0, 10)).message).toMatch(/^0 is missing\. .* 9 is missing\.$/);
    expect(invalidRequest(faults.slice(0, 11)).message).toBe('The request has 11 errors: see "errors".');
    expect(invalidRequest(faults.slice(0, 1), 5000).message).toBe('The request has 5000 errors: see "errors".');
    expect(invalidRequest(faults).errors).toEqual(faults.slice(0, 100));
  });
});

it('is sent as the media type of RFC 9457, and says how to fix an unknown name', () => {
  expect(PROBLEM_MEDIA_TYPE).toBe('application/problem+json');
  expect(invalidRequest([parameter('limti', UNKNOWN_NAME)]).message).toBe(
    'limti is unknown: check the spelling or remove it.',
  );
});

describe('the body of a problem', () => {
  it('has the members of RFC 9457, the request id and the faults', () => {
    const problem = new Problem(invalidBody, 'No.', { errors: [parameter('limit')] });
    const { title, status } = invalidBody;
    const type = '/docs/problems#invalid-body';
    const common = { type, title, status, detail: 'No.', errors: [parameter('limit')] };
    expect(problemBody(problem, '/v1/items', 'id')).toEqual({ ...common, instance: '/v1/items', requestId: 'id' });
    expect(problemBody(problem)).toEqual(common);
    const below = { type: '/catalog/docs/problems#invalid-body', instance: '/catalog/v1/items' };
    expect(problemBody(problem, '/v1/items', 'id', '/catalog')).toEqual({ ...common, ...below, requestId: 'id' });
    expect(JSON.parse(problemJson(problem, '/v1/items', 'id', '/catalog'))).toMatchObject(below);
  });

  it.each([
    ["/-._~!$&'()*+,;=:@/aZ09", "/-._~!$&'()*+,;=:@/aZ09"],
    ['/%2F%c3%A9', '/%2F%c3%A9'],
    ['/100%/%zz/%f', '/100%25/%25zz/%25f'],
    ['/é/😀/"<>?#[]', '/%C3%A9/%F0%9F%98%80/%22%3C%3E%3F%23%5B%5D'],
    [`/${token}`, '/***'],
    ['//host/path', '/.//host/path'],
    ['/a//b', '/a//b'],
    [`/${'a'.repeat(300)}`, `/${'a'.repeat(255)}`],
  ])('has the path %s as the URI %s', (path, instance) => {
    expect(problemBody(new Problem(notFound, 'Gone.'), path).instance).toBe(instance);
  });

  it('has no credentials as text, wherever the client sent them', () => {
    const errors = [{ pointer: `/${token}`, code: 'unknown', detail: `is unknown: ${token}`, start: 5 }];
    const json = problemJson(new Problem(invalidBody, `There is no ${token}.`, { errors }), `/${token}`, token);
    expect(JSON.parse(json)).toMatchObject({
      detail: 'There is no ***.',
      instance: '/***',
      requestId: '***',
      errors: [{ pointer: '/***', code: 'unknown', detail: 'is unknown: ***', start: 5 }],
    });
  });
});

describe('problem types', () => {
  const [second, first, third] = ['second', 'first', 'third'].map((name) =>
    defineProblemType({ name: `the-${name}`, status: 499, title: 'Test', remedy: 'None.' }),
  );

  it.each(problemTypes())(
    'document $name: a stable name, a title and the fix in sentences',
    ({ name, status, title, remedy, example }) => {
      expect(name).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(title).toMatch(/^[A-Z]/);
      expect(remedy).toMatch(/^[A-Z].*\.$/);
      expect(example ?? 'A default.').toMatch(/^[A-Z].*\.$/);
    },
  );

  it.each([
    [invalidBody, ['errors', 'pointer', 'code', 'detail']],
    [invalidParameters, ['errors', 'parameter', 'code', 'detail', 'start', 'end']],
  ])('$name names the members of its errors', ({ remedy }, members) => {
    const named = [...remedy.matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(named).toEqual(members);
  });

  it('are sorted by status, then by name', () => {
    const types = problemTypes();
    expect(types.map(({ status }) => status)).toEqual(types.map(({ status }) => status).toSorted((a, b) => a - b));
    expect(types.filter(({ status }) => status === 499)).toEqual([first, second, third]);
    expect(types.indexOf(badRequest)).toBeLessThan(types.indexOf(notFound));
  });

  it('have a name of their own', () => {
    const again = () => defineProblemType({ ...notFound, title: 'Another' });
    expect(again).toThrow('The problem type "not-found" is defined twice: give one of them another name.');
    expect(problemTypes()).toContain(notFound);
  });

  it.each([
    [400, 'bad-request', '/docs/problems#bad-request'],
    [404, 'not-found', '/docs/problems#not-found'],
    [405, 'method-not-allowed', '/docs/problems#method-not-allowed'],
    [413, 'content-too-large', '/docs/problems#content-too-large'],
    [500, 'internal-error', '/docs/problems#internal-error'],
    [503, 'service-unavailable', '/docs/problems#service-unavailable'],
    [418, 'about:blank', 'about:blank'],
    [599, 'about:blank', 'about:blank'],
  ])('stand for the status %i: %s', (status, name, uri) => {
    const type = typeOfStatus(status);
    expect([type.name, type.status, problemTypeUri(type)]).toEqual([name, status, uri]);
    expect(problemTypeUri(type, '/a')).toBe(uri.startsWith('/') ? `/a${uri}` : uri);
  });

  it("have the title of HTTP where only the status is known, and 'Error' for one of nobody", () => {
    expect([typeOfStatus(418), typeOfStatus(599)].map(({ title, remedy }) => [title, remedy])).toEqual([
      ["I'm a Teapot", ''],
      ['Error', ''],
    ]);
  });
});

it.each(Object.entries(FAULT_CODES))('the code %s has a meaning in a sentence', (code, meaning) => {
  expect(code).toMatch(/^[a-z_]+$/);
  expect(meaning).toMatch(/^(?:It|The) .+\.$/);
});
