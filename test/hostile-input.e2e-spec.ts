import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { ProblemBody } from './support/api.js';
import { sendRaw } from './support/raw-http.js';
import { type Service, startService } from './support/service.js';

/** Status codes that the documentation names; 100 precedes another. */
const DOCUMENTED = [100, 200, 201, 400, 401, 404, 405, 408, 413, 429, 431];

/** What an answer must never contain: stacks, SQL, source paths, names of our libraries. */
const LEAKS = /\\n +at |node_modules|\.[jt]s:\d|SELECT |INSERT |QueryFailed|typeorm|pglite|postgres|sqlstate/i;

let service: Service;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

interface Row {
  method?: string;
  target?: string;
  headers?: string[];
  body?: string | Buffer;
  /** Instead of all these: the bytes as they are. */
  bytes?: string | Buffer;
  status: number;
}

const json = 'Content-Type: application/json';
const post = (body: string | Buffer, status: number, headers: string[] = [json]): Row => ({
  method: 'POST',
  body,
  status,
  headers,
});
const get = (target: string, status: number): Row => ({ target, status });
const nul = Buffer.from([0]);

const rows: Record<string, Row> = {
  // The request line and the headers
  'no request at all': { bytes: '\r\n\r\nGARBAGE\r\n\r\n', status: 400 },
  'TLS on a plain port': { bytes: Buffer.from('16030100a5010000a10303', 'hex'), status: 400 },
  'the preface of HTTP/2': { bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 400 },
  'HTTP/0.9': { bytes: 'GET /v1/items\r\n\r\n', status: 401 },
  'an unknown HTTP version': { bytes: 'GET /v1/items HTTP/9.9\r\nHost: x\r\n\r\n', status: 400 },
  'an unknown method': { method: 'BREW', status: 400 },
  'a method in lower case': { method: 'get', status: 400 },
  TRACE: { method: 'TRACE', status: 405 },
  'no Host': { bytes: 'GET /v1/items HTTP/1.1\r\n\r\n', status: 400 },
  'an empty Host': { bytes: 'GET /livez HTTP/1.1\r\nHost:\r\n\r\n', status: 200 },
  'a space before the colon': { headers: ['X-Space : y'], status: 400 },
  'a header without a colon': { headers: ['Nonsense'], status: 400 },
  'a folded header': { headers: ['X-Folded: a\r\n b'], status: 400 },
  'U+0000 in a header': { headers: ['X-Nul: a\0b'], status: 400 },
  'a lone line feed': { bytes: 'GET /livez HTTP/1.1\nHost: x\n\n', status: 400 },
  'a header of 20 kB': { headers: [`X-Long: ${'x'.repeat(20_000)}`], status: 431 },
  '1,500 headers': { headers: Array.from({ length: 1500 }, (_, index) => `X-${index}: y`), status: 431 },
  'a URL of 20 kB': get(`/v1/items?limit=${'1'.repeat(20_000)}`, 431),
  'an Upgrade': { headers: ['Connection: Upgrade', 'Upgrade: websocket'], status: 200 },
  'an unknown expectation': { headers: ['Expect: miracles'], status: 200 },
  'a forged X-Forwarded-For': { headers: ['X-Forwarded-For: 127.0.0.1'], status: 200 },
  'a method override': { headers: ['X-HTTP-Method-Override: DELETE'], status: 200 },
  'an Accept that we cannot serve': { headers: ['Accept: image/png'], status: 200 },
  'a Range': { headers: ['Range: bytes=0-1'], status: 200 },
  // The framing of the body
  'two Content-Lengths': post('{}', 400, [json, 'Content-Length: 3']),
  'a negative Content-Length': { method: 'POST', headers: ['Content-Length: -1'], status: 400 },
  'a Content-Length that is no number': { method: 'POST', headers: ['Content-Length: ten'], status: 400 },
  'both Content-Length and chunks': { method: 'POST', headers: ['Content-Length: 5', 'Transfer-Encoding: chunked'], status: 400 },
  'a body that is compressed in transfer': {
    method: 'POST',
    headers: [json, 'Transfer-Encoding: gzip, chunked', '', '0', ''],
    status: 400,
  },
  'an unknown transfer coding': { method: 'POST', headers: ['Transfer-Encoding: identity'], status: 400 },
  'a chunk size that is no number': { method: 'POST', headers: [json, 'Transfer-Encoding: chunked', '', 'zz'], status: 400 },
  'a Content-Length of terabytes': { method: 'POST', headers: [json, 'Content-Length: 9999999999999'], status: 413 },
  'a body on GET': { body: '{"name":"x"}', headers: [json], status: 200 },
  // The path
  'an encoded path': get('/v1/%69tems', 404),
  'a malformed escape in the path': get('/v1/%zz', 404),
  'an overlong escape in the path': get('/v1/%c0%af', 404),
  'U+0000 in the path': get('/v1/items%00', 404),
  'dots in the path': get('/v1/../v1/items', 404),
  'encoded dots to the file system': get('/docs/assets/%2e%2e/%2e%2e/package.json', 404),
  'dots to the file system': get('/docs/assets/../../package.json', 404),
  'U+0000 in an asset': get('/docs/assets/%00', 404),
  'an absolute URL': get('http://evil.example/v1/items', 200),
  'an absolute URL that is none': get('http://[::1', 200),
  'an absolute URL with a wrong port': get('http://x:abc/v1/items', 200),
  'an absolute URL without a path': get('http://host?x=1', 200),
  'a query without a path': get('?x', 400),
  'an asterisk': { method: 'OPTIONS', target: '*', status: 404 },
  'a semicolon': get('/v1/items;x=1', 404),
  // The query
  'SQL in limit': get('/v1/items?limit=1;DROP%20TABLE%20items', 400),
  'SQL in cursor': get("/v1/items?cursor='%20OR%201=1--", 400),
  'a nested parameter': get('/v1/items?limit[$gt]=1', 400),
  'a prototype parameter': get('/v1/items?__proto__[limit]=1', 400),
  'a malformed escape in the query': get('/v1/items?limit=%zz', 400),
  'invalid UTF-8 in the query': get('/v1/items?cursor=%ff%fe', 400),
  'U+0000 in the query': get('/v1/items?cursor=%00', 400),
  'a lone surrogate in the query': get('/v1/items?cursor=%ed%a0%80', 400),
  'a parameter without a value': get('/v1/items?limit', 400),
  'a parameter without a name': get('/v1/items?=1', 400),
  '51 parameters': get(`/v1/items?${'limit=1&'.repeat(51)}`, 400),
  '2,000 parameters': get(`/v1/items?${'a&'.repeat(2000)}`, 400),
  'Infinity as limit': get('/v1/items?limit=Infinity', 400),
  'a limit beyond 64 bits': get('/v1/items?limit=99999999999999999999', 400),
  'a filter full of parentheses': get(`/v1/items?filter=${'('.repeat(5000)}`, 400),
  'a cursor of another kind': get(`/v1/items?cursor=${Buffer.alloc(33, 1).toString('base64url')}`, 400),
  // The body
  'U+0000 before the JSON': post(Buffer.concat([nul, Buffer.from('{"name":"x"}')]), 400),
  'a byte order mark': post('\ufeff{"name":"x"}', 201),
  'UTF-16': post(Buffer.from('{"name":"x"}', 'utf16le'), 400),
  'overlong UTF-8': post(Buffer.from('7b226e616d65223a22c080227d', 'hex'), 400),
  'an encoded surrogate': post(Buffer.from('7b226e616d65223a22eda080227d', 'hex'), 400),
  'a number beyond a double': post('{"name":1e999}', 400),
  'deep objects': post('{"a":'.repeat(10_000), 400),
  'deep arrays, closed': post('['.repeat(30_000) + ']'.repeat(30_000), 400),
  '6,000 unknown fields': post(`{${Array.from({ length: 6000 }, (_, index) => `"a${index}":1`).join()}}`, 400),
  '5,001 equal names, of which the last counts': post(`{${'"name":"x",'.repeat(5000)}"name":"x"}`, 201),
  'a JWT behind an escaped character': post('{"\\neyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln":1}', 400),
  'a JWT behind a backslash': post('{"\\\\eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln":1}', 400),
  'a toJSON and a then': post('{"name":{"toJSON":1,"then":1}}', 400),
  'an object where a string should be': post('{"name":{"length":5,"includes":null}}', 400),
  'a regular expression bomb': post(JSON.stringify({ name: `${' '.repeat(60_000)}!` }), 400),
  'JSON in a form': post('name=%7B%7D', 400, ['Content-Type: application/x-www-form-urlencoded']),
  'a multipart form': post('--x\r\n\r\n--x--', 400, ['Content-Type: multipart/form-data; boundary=x']),
  'an empty Content-Type': post('{"name":"x"}', 400, ['Content-Type:']),
  'a gzip bomb': post(Buffer.alloc(1000, 0x1f), 400, [json, 'Content-Encoding: gzip']),
  '65 kB of spaces': post(' '.repeat(65_537), 413),
};

function bytesOf({ method = 'GET', target = '/v1/items', headers = [], body = '', bytes }: Row): Buffer {
  if (bytes !== undefined) {
    return Buffer.from(bytes);
  }
  const length = body.length > 0 ? [`Content-Length: ${Buffer.byteLength(body)}`] : [];
  const lines = [`${method} ${target} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${service.api.token}`, ...length, ...headers];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), Buffer.from(body)]);
}

describe('hostile input', () => {
  it('is tried in many ways, and expected to be answered only as documented', () => {
    expect(Object.keys(rows).length).toBeGreaterThanOrEqual(60);
    for (const { status } of Object.values(rows)) expect(DOCUMENTED).toContain(status);
  });

  it.each(Object.entries(rows))('is answered as documented, without a leak: %s', async (_name, row) => {
    const { status, headers, body } = await sendRaw(service.port, bytesOf(row), 'whole');
    expect(status).toBe(row.status);
    expect(body).not.toMatch(LEAKS);
    if (status >= 400) {
      expect(headers).toContain('content-type: application/problem+json');
      expect(JSON.parse(body)).toMatchObject({ status });
    }
  });

  it('cannot end the process by closing a connection that was refused, in whatever way', async () => {
    const hangUp = async (bytes: string) => {
      const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(bytes);
      await delay(20);
      socket.resetAndDestroy();
    };
    const connectRequest = 'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n';
    const bodyOfHundred = `POST /v1/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.api.token}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`;
    for (const bytes of [connectRequest, 'garbage\r\n\r\n', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n', bodyOfHundred]) {
      await Promise.all(Array.from({ length: 20 }, () => hangUp(bytes)));
    }
    expect((await service.api.list()).status).toBe(200);
  });

  it('is never answered in the place of an earlier request on the connection', async () => {
    const first = bytesOf({ method: 'POST', headers: [json], body: '{"name":"first"}', status: 201 });
    // The response to the first, or none at all.
    expect([0, 201]).toContain((await sendRaw(service.port, Buffer.concat([first, Buffer.from('GARBAGE\r\n\r\n')]))).status);
    const early = 'POST /v1/items HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n';
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
    let answers = '';
    socket.on('data', (chunk) => (answers += chunk.toString()));
    const closed = once(socket, 'close');
    socket.write(early);
    await delay(100);
    socket.write('not a chunk size\r\n');
    await closed;
    expect(answers.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 401']);
  });

  it('is not amplified: thousands of faults make a short answer', async () => {
    const names = Object.fromEntries(Array.from({ length: 900 }, (_, index) => [`a${index}`, 1]));
    const { body } = await service.api.create<ProblemBody>(names);
    expect(body.errors).toHaveLength(100);
    expect(body.detail).toBe('The request has 901 faults; see errors.');
  });

  it('leaves the service well', async () => {
    expect((await service.api.create({ name: 'still here' })).status).toBe(201);
    expect((await service.api.list()).status).toBe(200);
  });
});
