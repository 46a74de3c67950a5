import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LEAKS, type ProblemBody } from './support/api.js';
import { open } from './support/flood.js';
import { sendRaw } from './support/raw-http.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

const service = useService(() => startService());

interface Row {
  method?: string;
  target?: string;
  headers?: readonly string[];
  version?: string;
  body?: string | Buffer;
}

const JSON_TYPE = 'Content-Type: application/json';
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
    'an unknown expectation': withHeaders('Expect: miracles'),
    ...targets('http://evil.example/v1/items http://[::1 http://x:abc/v1/items http://host?x=1'),
  },
  201: {
    'an expectation of HTTP/1.0': { version: '1.0', ...post('{"name":"x"}', [JSON_TYPE, 'Expect: 100-continue']) },
    'a byte order mark': post('\ufeff{"name":"x"}'),
    '5,001 equal names, of which the last counts': post(`{${'"name":"x",'.repeat(5000)}"name":"x"}`),
  },
  400: {
    'no request at all': '\r\n\r\nGARBAGE\r\n\r\n',
    'TLS on a plain port': Buffer.from('16030100a5010000a10303', 'hex'),
    'an unknown HTTP version': 'GET /v1/items HTTP/9.9\r\nHost: x\r\n\r\n',
    'an unknown method': { method: 'BREW' },
    'a method in lower case': { method: 'get' },
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'no Host': 'GET /v1/items HTTP/1.1\r\n\r\n',
    'a lone line feed': 'GET /livez HTTP/1.1\nHost: x\n\n',
    'a space before the colon': withHeaders('X-Space : y'),
    'a folded header': withHeaders('X-Folded: a\r\n b'),
    'a negative Content-Length': framed('Content-Length: -1'),
    'a Content-Length that is no number': framed('Content-Length: ten'),
    'an unknown transfer coding': framed('Transfer-Encoding: identity'),
    'a chunk size that is no number': framed(JSON_TYPE, 'Transfer-Encoding: chunked', '', 'zz'),
    ...targets('/v1/items?=1 /v1/items?limit[$gt]=1 /v1/items?__proto__[limit]=1 /v1/items?limit=%zz /v1/items?cursor=%ed%a0%80'),
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
    'a body that is compressed in transfer': framed(JSON_TYPE, 'Transfer-Encoding: gzip, chunked', '', '0', ''),
    'a JWT behind an escaped character': post('{"\\neyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln":1}'),
    'a JWT behind a backslash': post('{"\\\\eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln":1}'),
  },
  401: { 'HTTP/0.9': 'GET /v1/items\r\n\r\n' },
  404: {
    'an asterisk': { method: 'OPTIONS', target: '*' },
    ...targets('/v1/%69tems /v1/%zz /v1/%c0%af /v1/items%00 /v1/../v1/items /v1/items;x=1'),
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
  it.each(cases)('gets %d without a leak: %s', async (expected, _name, row) => {
    const { status, headers, body } = await sendRaw(service.port, bytesOf(row), 'whole');
    expect(status).toBe(expected);
    expect(body).not.toMatch(LEAKS);
    if (status >= 400) {
      expect(headers).toContain('content-type: application/problem+json');
      expect(JSON.parse(body)).toMatchObject({ status });
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
    // The response to the first, or none at all.
    expect([0, 201]).toContain((await sendRaw(service.port, Buffer.concat([first, Buffer.from('GARBAGE\r\n\r\n')]))).status);
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

  it('may have at most 50 query parameters', async () => {
    const query = Array.from({ length: 51 }, (_, index) => `a${index}`).join('&');
    const { errors } = (await service.api.call('GET', `/v1/items?${query}`)).body;
    expect(errors).toEqual([{ parameter: '', code: 'too_many', detail: 'must have at most 50 parameters' }]);
  });

  it('is not amplified: thousands of errors give a short response', async () => {
    const names = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`a${index}`, 1]));
    const { body } = await service.api.create<ProblemBody>(names);
    expect([body.errors?.length, body.detail]).toEqual([100, 'The request has 901 errors: see "errors".']);
  });
});
