import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { ValidationPipe } from '@nestjs/common';
import { ClassTransformer } from 'class-transformer';
import * as fc from 'fast-check';
import { DatabaseMetrics } from '../src/platform/database/database-metrics.js';
import { LEAKS, type ProblemBody } from './support/api.js';
import { open } from './support/flood.js';
import { hostileBodies } from './support/hostile-body.js';
import { sendRaw } from './support/raw-http.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

const service = useService(() => startService());

/** Sends bytes. @returns all that comes until the server closes the connection */
async function allOf(...parts: (string | Row)[]): Promise<string> {
  const socket = connect({ port: service.port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined);
  let text = '';
  socket.on('data', (chunk) => (text += chunk.toString()));
  socket.write(Buffer.concat(parts.map(bytesOf)));
  await Promise.race([once(socket, 'end'), once(socket, 'close')]);
  socket.destroy();
  return text;
}

interface Row {
  method?: string;
  target?: string;
  headers?: readonly string[];
  version?: string;
  body?: string | Buffer;
}

const JSON_TYPE = 'Content-Type: application/json';
const CLOSE = 'Connection: close';
const post = (body: string | Buffer, headers = [JSON_TYPE]): Row => ({ method: 'POST', body, headers });
const framed = (...headers: string[]): Row => ({ method: 'POST', headers });
const withHeaders = (...headers: string[]): Row => ({ headers });
const items = (query: string): Row => ({ target: `/v1/items?${query}` });
const targets = (list: string) => Object.fromEntries(list.split(' ').map((target): [string, Row] => [target, { target }]));

/** Raw bytes, or a function that makes a request with a token, by the status of the response. */
const rows: Record<number, Record<string, string | Buffer | Row>> = {
  200: {
    'an empty Host': 'GET /livez HTTP/1.1\r\nHost:\r\n\r\n',
    'an Upgrade': withHeaders('Connection: Upgrade', 'Upgrade: websocket'),
    'a body on GET': { body: '{"name":"x"}', headers: [JSON_TYPE] },
    'a GET whose body does not arrive': withHeaders(JSON_TYPE, 'Content-Length: 12'),
    'an unknown expectation': withHeaders('Expect: miracles'),
    'a Host with an IPv6 address': 'GET /livez HTTP/1.1\r\nHost: [::ffff:7F00:1]:3000\r\n\r\n',
    ...targets('HTTPS://x/v1/items http://evil.example/v1/items http://[::1 http://x:abc/v1/items http://host?x=1'),
  },
  201: {
    'an expectation of HTTP/1.0': { version: '1.0', ...post('{"name":"x"}', [JSON_TYPE, 'Expect: 100-continue']) },
    'a byte order mark': post('\ufeff{"name":"x"}'),
    '100 equal names, of which the last counts': post(`{${'"name":"x",'.repeat(99)}"name":"x"}`),
  },
  400: {
    'no request at all': '\r\n\r\nGARBAGE\r\n\r\n',
    'TLS on a plain port': Buffer.from('16030100a5010000a10303', 'hex'),
    'an unknown HTTP version': 'GET /v1/items HTTP/9.9\r\nHost: x\r\n\r\n',
    'an unknown method': { method: 'BREW' },
    'a method in lower case': { method: 'get' },
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'no Host': 'GET /v1/items HTTP/1.1\r\n\r\n',
    'two Hosts': withHeaders('Host: x'),
    ...Object.fromEntries(
      ['a b', 'x@y', 'x/y', '[::1', 'x:port'].map((host) => [
        `the Host ${host}`,
        `GET /livez HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
      ]),
    ),
    CONNECT: 'CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n',
    'a lone line feed': 'GET /livez HTTP/1.1\nHost: x\n\n',
    'a space before the colon': withHeaders('X-Space : y'),
    'a folded header': withHeaders('X-Folded: a\r\n b'),
    'a negative Content-Length': framed('Content-Length: -1'),
    'a Content-Length that is no number': framed('Content-Length: ten'),
    'an unknown transfer coding': framed('Transfer-Encoding: identity'),
    'a chunk size that is no number': framed(JSON_TYPE, 'Transfer-Encoding: chunked', '', 'zz'),
    ...targets(
      '/v1/items?=1 /v1/items?limit[$gt]=1 /v1/items?__proto__[limit]=1 /v1/items?limit=%zz /v1/items?cursor=%ed%a0%80',
    ),
    'a cursor of another kind': items(`cursor=${Buffer.alloc(33, 1).toString('base64url')}`),
    'a filter full of parentheses': items(`filter=${'('.repeat(5000)}`),
    'U+0000 before the JSON': post('\0{"name":"x"}'),
    'UTF-16': post(Buffer.from('{"name":"x"}', 'utf16le')),
    'overlong UTF-8': post(Buffer.from('7b226e616d65223a22c080227d', 'hex')),
    'an encoded surrogate': post(Buffer.from('7b226e616d65223a22eda080227d', 'hex')),
    'deep objects': post('{"a":'.repeat(10_000)),
    'a toJSON and a then': post('{"name":{"toJSON":1,"then":1}}'),
    'an object where a string should be': post('{"name":{"length":5,"includes":null}}'),
    'a regular expression bomb': post(JSON.stringify({ name: `${' '.repeat(60_000)}!` })),
    'a gzip bomb': post(Buffer.alloc(1000, 0x1f), [JSON_TYPE, 'Content-Encoding: gzip']),
    'U+0000 in a header': withHeaders('X-Nul: a\0b'),
    'two Content-Lengths': post('{}', [JSON_TYPE, 'Content-Length: 3']),
    'both Content-Length and chunks': framed('Content-Length: 5', 'Transfer-Encoding: chunked'),
    'a body that is compressed in transfer': framed(
      JSON_TYPE,
      'Transfer-Encoding: gzip, chunked',
      '',
      'c',
      '{"name":"x"}',
      '0',
      '',
    ),
    'a JWT behind an escaped character': post('{"\\neyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln":1}'),
    'a JWT behind a backslash': post('{"\\\\eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln":1}'),
  },
  401: { 'HTTP/0.9': 'GET /v1/items\r\n\r\n' },
  404: {
    'an asterisk': { method: 'OPTIONS', target: '*' },
    ...targets('/v1/%69tems /v1/%zz /v1/%c0%af /v1/items%00 /v1/../v1/items /v1/items;x=1'),
    ...targets('/v1/items# /v1/items#?limit=1 /#/v1/items'),
    ...targets('/v1/items /v1/items#x http://x/v1/items#'.replaceAll('v1/', 'v1\\')),
    ...targets('/docs/assets/%2e%2e/%2e%2e/package.json /docs/assets/../../package.json /docs/assets/%00'),
  },
  405: { TRACE: { method: 'TRACE' } },
  413: {
    'a Content-Length of terabytes': framed(JSON_TYPE, 'Content-Length: 9999999999999'),
  },
  431: {
    'a header of 20 kB': withHeaders(`X-Long: ${'x'.repeat(20_000)}`),
    'a URL of 20 kB': items(`limit=${'1'.repeat(20_000)}`),
    '1,500 headers': withHeaders(...Array.from({ length: 1500 }, (_, index) => `X-${index}: y`)),
  },
};
const cases = Object.entries(rows).flatMap(([status, named]) =>
  Object.entries(named).map(([name, row]) => [Number(status), name, row] as const),
);

function bytesOf(row: string | Buffer | Row): Buffer {
  if (typeof row === 'string' || Buffer.isBuffer(row)) {
    return Buffer.from(row);
  }
  const { method = 'GET', target = '/v1/items', version = '1.1', headers = [], body = '' } = row;
  const length = body.length > 0 ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  const lines = [
    `${method} ${target} HTTP/${version}`,
    'Host: x',
    `Authorization: Bearer ${service.api.token}`,
    ...length,
    ...headers,
  ];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

describe('hostile input', () => {
  it.each(cases)('gets %d without a leak: %s [body-codes]', async (expected, _name, row) => {
    const { status, headers, body } = await sendRaw(service.port, bytesOf(row), 'whole');
    expect(status).toBe(expected);
    expect(body).not.toMatch(LEAKS);
    if (status >= 400) {
      expect(headers).toContain('content-type: application/problem+json');
      expect(headers).toMatch(/^date: \w{3}, \d{2} /m);
      expect(JSON.parse(body)).toMatchObject({ status });
    }
  });

  it('may have a head of 16 KiB [header-size]', async () => {
    const filled = (length: number) => bytesOf(withHeaders(`X-Long: ${'x'.repeat(length)}`));
    const statusOf = async (size: number) => (await sendRaw(service.port, filled(size - filled(0).length), 'whole')).status;
    expect([await statusOf(16_000), await statusOf(16_800)]).toEqual([200, 431]);
  });

  it('is in no text of a statement, wherever it stands in a request [input-never-sql]', async () => {
    const observed = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
    const value = `canary'); DROP TABLE items; --`;
    const created = await service.api.callWith(
      'POST',
      '/v1/items',
      { name: value, description: value },
      { 'Idempotency-Key': 'canary' },
    );
    expect(created.status).toBe(201);
    const quoted = JSON.stringify(value);
    const comparisons = [
      'name == V',
      'name != V',
      'name >= V',
      'name.startsWith(V)',
      'name.contains(V)',
      'name in [V, "x"]',
    ];
    for (const comparison of comparisons.flatMap((each) => [each, each.replace('name', 'description')])) {
      const filter = `${comparison.replace('V', quoted)} || name == "second"`;
      const first = await service.api.list({ filter, limit: '1' });
      expect([comparison, first.status]).toEqual([comparison, 200]);
      if (first.body.nextCursor !== undefined) {
        expect((await service.api.list({ filter, limit: '1', cursor: first.body.nextCursor })).status).toBe(200);
      }
    }
    const texts = observed.mock.calls.map(([text]) => text);
    observed.mockRestore();
    expect(texts.filter((text) => /canary/i.test(text))).toEqual([]);
    for (const statement of [/^INSERT INTO "items"/, /^SELECT .*"items".* WHERE /s]) {
      expect(texts).toContainEqual(expect.stringMatching(statement));
    }
  });

  it('cannot end the process by closing a refused connection in any way', async () => {
    const hangUp = async (bytes: string) => {
      const socket = await open(service.port);
      socket.write(bytes);
      await delay(20);
      socket.resetAndDestroy();
    };
    const connectRequest = 'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n';
    const bodyOfHundred = `${bytesOf(framed(JSON_TYPE, 'Content-Length: 100')).toString()}{`;
    for (const bytes of [connectRequest, 'garbage\r\n\r\n', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n', bodyOfHundred]) {
      await Promise.all(Array.from({ length: 20 }, () => hangUp(bytes)));
    }
    expect((await service.api.list()).status).toBe(200);
  });

  it('never gets a response in the position of an earlier request on the connection', async () => {
    const first = bytesOf(post('{"name":"first"}'));
    for (const next of ['GARBAGE\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n']) {
      // The response to the first, or none at all.
      expect([0, 201]).toContain((await sendRaw(service.port, Buffer.concat([first, Buffer.from(next)]))).status);
    }
    for (const [line, status] of [
      ['POST /v1/items', 401],
      ['GET /livez', 200],
    ] as const) {
      const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
      let answers = '';
      socket.on('data', (chunk) => (answers += chunk.toString()));
      const closed = once(socket, 'close');
      socket.write(`${line} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`);
      await once(socket, 'data');
      socket.write('not a chunk size\r\n');
      await closed;
      expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`]);
    }
  });

  it.each<[string, (string | Row)[], number[]]>([
    ['a byte after a request that closes', [post('{"name":"x"}', [JSON_TYPE, CLOSE]), 'zz'], [201]],
    ['another request after one that closes', [withHeaders(CLOSE), post('{"name":"lost"}')], [200]],
    [
      'another request after chunks of HTTP/1.0',
      [
        {
          version: '1.0',
          ...framed(JSON_TYPE, 'Connection: keep-alive', 'Transfer-Encoding: chunked', '', 'c', '{"name":"x"}', '0'),
        },
        withHeaders(CLOSE),
      ],
      [201],
    ],
    ['an unreadable request', [post('{"name":"x"}'), 'GET /v1/items HTTP/1.1\r\nHost: x\r\nBad Header\r\n\r\n'], [201]],
    ['TLS after three requests', [{}, {}, {}, '\u0016\u0003\u0001'], [200, 200, 200]],
    [
      'a request without its end',
      [post('{"name":"x"}'), framed(JSON_TYPE, 'Transfer-Encoding: chunked', '', '1', '{', 'not a size')],
      [201],
    ],
    ['a request with an unknown coding', [{}, framed(JSON_TYPE, 'Transfer-Encoding: gzip', '', 'zz')], [200]],
    ['CONNECT', [{}, 'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n'], [200]],
  ])(
    'leaves the responses of complete requests before it: %s [unreadable-after-complete]',
    async (_name, parts, statuses) => {
      const text = await allOf(...parts);
      expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))).toEqual(statuses);
      expect(text.match(/Connection: close/g)).toHaveLength(1);
    },
  );

  it.each<[string, string[]]>([
    ['names', Array.from({ length: 51 }, (_, index) => `a${index}`)],
    ['times the same name', Array.from({ length: 51 }, () => 'limit=1')],
    ['names that cannot be decoded', Array.from({ length: 51 }, () => 'a=%')],
  ])('may have at most 50 query parameters: %s [query-parameters-limit]', async (_name, pairs) => {
    const { errors } = (await service.api.call('GET', `/v1/items?${pairs.join('&')}`)).body;
    expect(errors).toEqual([{ parameter: '', code: 'too_many', detail: 'must have at most 50 parameters' }]);
    const within = (await service.api.call('GET', `/v1/items?${pairs.slice(1).join('&')}`)).body.errors;
    expect(within?.map(({ code }) => code)).not.toContain('too_many');
  });

  it('is not amplified: hundreds of errors give a short response [errors-limit]', async () => {
    const names = Object.fromEntries(Array.from({ length: 90 }, (_, index) => [`a${index}`, '\0']));
    const { body } = await service.api.create<ProblemBody>(names);
    expect([body.errors?.length, body.detail]).toEqual([100, 'The request has 181 errors: see "errors".']);
  });
});

describe('a body', () => {
  const names = (count: number) => Array.from({ length: count }, (_, index) => `"a${index}":1`).join();
  const elements = (count: number) => Array.from({ length: count }, () => '1').join();

  it.each<[string, (count: number) => string]>([
    ['unknown names', (count) => `{"name":"x",${names(count - 1)}}`],
    ['elements', (count) => `{"name":[${elements(count - 1)}]}`],
    ['names and elements on two levels', (count) => `{"name":"x","b":[${elements(50)}],"c":{${names(count - 53)}}}`],
    ['names in __proto__', (count) => `{"__proto__":{${names(count - 1)}}}`],
  ])('may have at most 100 names and elements: %s [body-size]', async (_name, bodyOf) => {
    const within = await service.api.post(bodyOf(100));
    expect(within.body.errors?.map(({ code }) => code)).not.toContain('too_many');
    // Neither is parsed: the second is no JSON.
    for (const body of [bodyOf(101), bodyOf(101).replace(/.$/, '!')]) {
      const beyond = await service.api.post(body);
      expect([beyond.status, beyond.body.type]).toEqual([400, '/docs/problems#invalid-body']);
      expect(beyond.body.errors).toEqual([
        { pointer: '', code: 'too_many', detail: expect.stringMatching(/at most 100 .*: send/) },
      ]);
    }
  });

  it('is not validated if it has too many names and elements', async () => {
    const transform = jest.spyOn(ValidationPipe.prototype, 'transform');
    await service.api.post(`{"name":"x",${names(100)}}`);
    expect(transform).not.toHaveBeenCalled();
    await service.api.post(`{"name":"x",${names(99)}}`);
    expect(transform).toHaveBeenCalled();
    transform.mockRestore();
  });

  it('is converted once, also if it is refused', async () => {
    const conversions = jest.spyOn(ClassTransformer.prototype, 'plainToInstance');
    await service.api.post('{"name":{"a":1}}');
    expect(conversions).toHaveBeenCalledTimes(1);
    conversions.mockRestore();
  });

  it.each(['constructor', 'prototype', '__proto__'])(
    'may have the name %s within a value, which is invalid as any other',
    async (name) => {
      const { body } = await service.api.post(`{"name":"x","description":{"${name}":{"${name}":1}}}`);
      expect(body.errors).toEqual([{ pointer: '/description', code: 'type', detail: 'must be a string' }]);
    },
  );

  it.each([
    ['a name', (text: string) => `{"${text.slice(0, 60_000)}":1}`],
    ['a path of many names', (text: string) => `{"${text.slice(0, 2000)}":`.repeat(30) + '"\\u0000"' + '}'.repeat(30)],
    [
      'a path below a long name',
      (text: string) => `{"${text.slice(0, 30_000)}":[${elements(99).replaceAll('1', '"\\u0000"')}]}`,
    ],
  ])('is not repeated at length: %s [errors-limit]', async (_name, bodyOf) => {
    const { token } = service.api;
    for (const text of [
      'x'.repeat(60_000),
      '~/'.repeat(30_000),
      `a/${token}.${token}/${'b'.repeat(240)}/${token}`.repeat(400),
    ]) {
      const { status, body } = await service.api.post(bodyOf(text));
      expect(status).toBe(400);
      const pointers = body.errors?.map(({ pointer = '' }) => pointer).filter((pointer) => pointer !== '/name') ?? [];
      expect(pointers).not.toEqual([]);
      for (const pointer of pointers) {
        expect(pointer.length).toBeLessThanOrEqual(129);
        expect(pointer).toMatch(/^\/.*…$/);
      }
      expect(JSON.stringify(body)).not.toContain(token.slice(6, 20));
    }
  });

  it('has its name whole in a pointer of up to 128 characters [errors-limit]', async () => {
    const name = '😀'.repeat(63);
    const pointers = await Promise.all(
      [`${name}x`, `${name}xx`].map(
        async (text) => (await service.api.create<ProblemBody>({ name: 'x', [text]: 1 })).body.errors,
      ),
    );
    expect(pointers.map((errors) => errors?.[0]?.pointer)).toEqual([`/${name}x`, `/${name}…`]);
  });

  it('gets a short response to the most laborious ones', async () => {
    await fc.assert(
      fc.asyncProperty(hostileBodies, async (json) => {
        const { status, body } = await service.api.post(json);
        expect([201, 400]).toContain(status);
        expect(body.errors?.length ?? 0).toBeLessThanOrEqual(100);
        expect(JSON.stringify(body).length).toBeLessThan(160 * 1024);
      }),
      { numRuns: 500, seed: Number(process.env['FUZZ_SEED'] ?? 20_260_101) },
    );
  });
});
