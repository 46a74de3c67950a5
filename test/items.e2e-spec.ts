import { jest } from '@jest/globals';
import { DataSource, In } from 'typeorm';
import { Item } from '../src/items/item.entity.js';
import { DatabaseMetrics } from '../src/platform/database/database-metrics.js';
import { Lists, newId } from '../src/platform/index.js';
import type { Api, ItemBody, ProblemBody } from './support/api.js';
import { startService } from './support/service.js';
import { useService } from './support/use-service.js';

const service = useService(() => startService());
let api: Api;

beforeAll(() => {
  api = service.api;
});

it('returns an empty list without a cursor [absent-left-out]', async () => {
  expect((await api.list()).body).toEqual({ items: [] });
});

describe('paging, without other items', () => {
  const created: string[] = [];

  beforeAll(async () => {
    for (let index = 0; index < 21; index += 1) {
      created.unshift((await api.create({ name: `item ${index}` })).body.id);
    }
  });

  it('returns 20 items by default, newest first, and a cursor only if more follow [newest-first] [cursor-only-if-more] [cursor-form]', async () => {
    const full = (await api.list({ limit: '21' })).body;
    expect(full).toEqual({ items: expect.any(Array) });
    expect(full.items.map(({ id }) => id)).toEqual(created);

    const first = (await api.list()).body;
    expect(first.items.map(({ id }) => id)).toEqual(created.slice(0, 20));
    expect(first.nextCursor).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
    const second = (await api.list({ cursor: first.nextCursor ?? '' })).body;
    expect(second.items.map(({ id }) => id)).toEqual(created.slice(20));
    expect(second.nextCursor).toBeUndefined();
  });

  it.each([1, 2, 7, 20, 21, 100])('returns each item once with a limit of %d [walk-exactly-once]', async (limit) => {
    expect((await api.walk({ limit: String(limit) })).map(({ id }) => id)).toEqual(created);
  });

  it('accepts another limit between pages, and a cursor again [limit-may-change] [cursor-never-expires]', async () => {
    const { nextCursor = '' } = (await api.list({ limit: '3' })).body;
    const next = (await api.list({ limit: '5', cursor: nextCursor })).body;
    expect(next.items.map(({ id }) => id)).toEqual(created.slice(3, 8));
    expect((await api.list({ limit: '5', cursor: nextCursor })).body).toEqual(next);
  });

  it('accepts a cursor from any time, with every token and with no other credential [cursor-never-expires] [cursor-grants-nothing]', async () => {
    // Of 2024, made in 2026.
    const cursor = 'AQGQFj2GlHObrqWWbCb4rZGYhQbbe1xIENrt7xCB_Jm4';
    expect(await api.list({ cursor })).toMatchObject({ status: 200, body: { items: [] } });
    const { nextCursor = '' } = (await api.list({ limit: '3' })).body;
    const [writer, reader] = await Promise.all(
      [['items:write'], ['items:read']].map((scopes) => service.newClient('other', { scopes })),
    );
    expect([
      (await writer?.list({ cursor: nextCursor }))?.status,
      (await api.send('GET', `/v1/items?cursor=${nextCursor}`)).status,
    ]).toEqual([403, 401]);
    expect((await reader?.list({ cursor: nextCursor, limit: '3' }))?.body.items.map(({ id }) => id)).toEqual(
      created.slice(3, 6),
    );
  });

  it('rejects a cursor with any one character changed, removed or added [cursor-unchanged]', async () => {
    const { nextCursor = '' } = (await api.list({ limit: '3' })).body;
    const changed = Array.from(nextCursor).map(
      (character, index) => nextCursor.slice(0, index) + (character === 'A' ? 'B' : 'A') + nextCursor.slice(index + 1),
    );
    const cut = [nextCursor.slice(1), nextCursor.slice(0, -1)];
    for (const cursor of [...changed, ...cut, `${nextCursor}A`, `${nextCursor}=`, ` ${nextCursor}`]) {
      const { status, body } = await api.list<ProblemBody>({ cursor });
      expect({ cursor, status, code: body.errors?.[0]?.code }).toEqual({ cursor, status: 400, code: 'cursor' });
    }
  });
});

describe('POST /v1/items', () => {
  it('responds 201 with the created item [item-representation] [request-id-sent]', async () => {
    const { status, body, headers } = await api.create({ name: 'Bicycle', description: 'Blue' });
    expect(status).toBe(201);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    expect(body).toEqual({ id: expect.any(String), name: 'Bicycle', description: 'Blue', createdAt: expect.any(String) });
    expect((await api.list({ limit: '1' })).body.items).toEqual([body]);
  });

  it('assigns a lower-case UUIDv7 whose milliseconds are createdAt [id-uuid-v7] [created-at-in-id]', async () => {
    const { id, createdAt } = (await api.create({ name: 'x' })).body;
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(createdAt)).toBe(Number.parseInt(id.replace('-', '').slice(0, 12), 16));
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
  });

  it('stores the longest texts, and any characters, exactly as they were sent [text-lengths] [text-unchanged]', async () => {
    for (const item of [
      { name: '😀'.repeat(255), description: 'x'.repeat(4096) },
      { name: 'x', description: '' },
      { name: ' \u00a0e\u0301 \u00e9\ufeff\u0001\u007f\uffff\r\n\t ', description: '\u2028{"a":"\\\\"} %00 \u202e' },
    ]) {
      const { status, body } = await api.create(item);
      expect([status, body]).toEqual([201, expect.objectContaining(item)]);
      expect((await api.list({ limit: '1' })).body.items).toEqual([body]);
    }
  });

  it('accepts a name that exists [names-not-unique]', async () => {
    const created = [await api.create({ name: 'Twin' }), await api.create({ name: 'Twin' })];
    expect(created.map(({ status }) => status)).toEqual([201, 201]);
    expect(new Set((await api.list({ filter: 'name == "Twin"' })).body.items.map(({ id }) => id)).size).toBe(2);
  });

  it.each([
    ['left out', { name: 'x' }],
    ['null', { name: 'x', description: null }],
  ])('omits the description from responses when it is %s [absent-left-out] [null-is-absent]', async (_case, item) => {
    const { status, body } = await api.create(item);
    expect(status).toBe(201);
    expect(Object.keys(body)).toEqual(['id', 'name', 'createdAt']);
    expect(Object.keys((await api.list()).body.items[0] ?? {})).toEqual(['id', 'name', 'createdAt']);
  });

  it.each<[pointer: string, code: string, items: object[]]>([
    ['/name', 'required', [{}]],
    ['/name', 'type', [{ name: null }, { name: 1 }, { name: ['x'] }]],
    ['/name', 'blank', [{ name: '' }, { name: ' \t\u00a0\u2003\ufeff' }]],
    ['/name', 'too_long', [{ name: 'x'.repeat(256) }, { name: '😀'.repeat(256) }]],
    ['/name', 'character', [{ name: 'a\0b' }, { name: 'a\ud800b' }]],
    ['/description', 'type', [{ name: 'x', description: {} }]],
    ['/description', 'too_long', [{ name: 'x', description: 'x'.repeat(4097) }]],
    ['/description', 'character', [{ name: 'x', description: '\0' }]],
    ['/color', 'unknown', [{ name: 'x', color: 'red' }]],
    ['/id', 'unknown', [{ name: 'x', id: 'y' }]],
    ['/a~1b~0c', 'unknown', [{ name: 'x', 'a/b~c': 1 }]],
  ])('responds 400 for %s: %s [unknown-property] [text-lengths] [text-characters]', async (pointer, code, items) => {
    for (const item of items) {
      const { status, body } = await api.create<ProblemBody>(item);
      expect([status, body.type]).toEqual([400, '/docs/problems#invalid-body']);
      expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
    }
  });

  it('inserts concurrent items with few statements, except the one that the database rejects', async () => {
    const items = service.app.get(DataSource).getRepository(Item);
    const { calls } = jest.spyOn(service.app.get(DatabaseMetrics), 'observe').mock;
    const names = Array.from({ length: 40 }, (_, index) => `at once ${index}`);
    const addAll = () =>
      Promise.allSettled(names.map((name) => service.app.get(Lists).insert(items, { name, description: null })));
    expect((await addAll()).map(({ status }) => status)).toEqual(names.map(() => 'fulfilled'));
    expect(calls.filter(([text]) => text.startsWith('INSERT INTO "items"'))).toHaveLength(3);
    await items.query(`ALTER TABLE items ADD CONSTRAINT not_five CHECK (name <> 'at once 5') NOT VALID`);
    const outcomes = await addAll();
    await items.query('ALTER TABLE items DROP CONSTRAINT not_five');
    expect(outcomes.map(({ status }) => status)).toEqual(
      names.map((name) => (name === 'at once 5' ? 'rejected' : 'fulfilled')),
    );
    expect(await items.countBy({ name: In(names) })).toBe(2 * names.length - 1);
  });

  it('rejects a query [unknown-parameter]', async () => {
    const { status, body } = await api.call('POST', '/v1/items?dry=1', { body: '{}' });
    expect([status, body.errors]).toEqual([400, [{ parameter: 'dry', code: 'unknown', detail: expect.any(String) }]]);
  });
});

describe('the body of POST /v1/items', () => {
  const valid = '{"name":"x"}';

  const notUtf8 = new Uint8Array([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
  const nested = (depth: number) => `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`;

  it.each<[code: string, headers: Record<string, string>, bodies: RequestInit['body'][]]>([
    ['media_type', { 'Content-Type': 'text/plain' }, [valid]],
    ['media_type', { 'Content-Type': 'application/merge-patch+json' }, [valid]],
    ['media_type', { 'Content-Type': 'application/json\u00a0' }, [valid]],
    ['media_type', { 'Content-Type': 'application/x-www-form-urlencoded' }, ['name=x']],
    ['charset', { 'Content-Type': 'application/json; charset=utf-16' }, [valid]],
    ['charset', { 'Content-Type': 'application/json; charset=utf-8-x' }, [valid]],
    ['charset', {}, [notUtf8]],
    ['content_encoding', { 'Content-Encoding': 'gzip' }, [valid]],
    ['content_encoding', { 'Content-Encoding': 'identity, gzip' }, [valid]],
    ['required', {}, [null]],
    ['syntax', {}, ['  ', '{"name":', '{"name":"x"}{"name":"y"}', '{"name":"x"/**/}', '{"name":NaN}']],
    ['not_object', {}, ['[{"name":"x"}]', '"x"', 'null']],
    ['unknown', {}, ['{"name":"x","__proto__":{"name":"y"}}', '{"name":"x","constructor":{}}']],
    ['too_deep', {}, [nested(20_000), nested(32)]],
    // As deep as it may be.
    ['type', {}, [nested(31)]],
  ])('gets 400 with the code %s, %j [body-codes]', async (code, headers, bodies) => {
    for (const body of bodies) {
      const answer = await api.post(body, headers);
      expect([answer.status, answer.body.type]).toEqual([400, '/docs/problems#invalid-body']);
      expect(answer.body.errors?.map((fault) => fault.code)).toEqual([code]);
    }
  });

  it('uses the last value of a repeated name, as JSON.parse does [last-name-counts]', async () => {
    const { status, body } = await api.post<ItemBody>('{"name":"x","n\\u0061me":"y"}');
    expect([status, body.name]).toEqual([201, 'y']);
  });

  it.each<[type: string, encoding: string]>([
    ['application/json', 'Identity'],
    ['application/json; charset=UTF-8', ' '],
    ['Application/JSON;charset="utf-8"', 'identity'],
    ['application/json; profile="x;charset=latin1"', ''],
  ])('is accepted as %s, in the encoding %j', async (type, encoding) => {
    const { status } = await api.post(valid, { 'Content-Type': type, 'Content-Encoding': encoding });
    expect(status).toBe(201);
  });

  it('may have up to 64 KiB [body-size] [body-too-large]', async () => {
    const bodyOf = (bytes: number) => valid + ' '.repeat(bytes - valid.length);
    expect((await api.post(bodyOf(65_536))).status).toBe(201);
    const { status, body } = await api.post(bodyOf(65_537));
    expect(status).toBe(413);
    expect(body.type).toBe('/docs/problems#content-too-large');
  });

  it('may not exceed that without a Content-Length [body-too-large]', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.alloc(16_384, 0x20)) });
    const headers = { 'Content-Type': 'application/json' };
    const response = await api.call('POST', '/v1/items', { headers, body, duplex: 'half' });
    expect([response.status, response.body.requestId]).toEqual([413, response.headers.get('x-request-id')]);
  });
});

describe('GET /v1/items', () => {
  const limits = '0 101 -1 1.0 0x10 1e1 05 %2B5 %205 %D9%A5 ten'.split(' ').map((limit) => `limit=${limit}`);

  it.each<[parameter: string, code: string, queries: string[]]>([
    ['limit', 'range', [...limits, 'limit=']],
    ['limit', 'repeated', ['limit=5&limit=5']],
    ['cursor', 'cursor', ['cursor=', 'cursor=abc', `cursor=${'A'.repeat(513)}`]],
    ['page', 'unknown', ['page=2', `${'&'.repeat(1000)}page=2`]],
    ['filter', 'encoding', ['filter=name.contains(%22100%%22)', 'filter=name==%22%FF%22']],
    // Another case, brackets, names of JavaScript, and names of the query class.
    ...['Limit', 'limit[]', '__proto__', 'constructor', 'after', 'filtered'].map((name): [string, string, string[]] => [
      name,
      'unknown',
      [`${name}=1`],
    ]),
  ])(
    'responds 400 for the parameter %s: %s [unknown-parameter] [repeated-parameter] [limit-canonical]',
    async (parameter, code, queries) => {
      for (const query of queries) {
        const { status, body } = await api.call('GET', `/v1/items?${query}`);
        expect([query, status, body.type]).toEqual([query, 400, '/docs/problems#invalid-parameters']);
        expect(body.errors).toEqual([{ parameter, code, detail: expect.any(String) }]);
      }
    },
  );

  it('responds to HEAD as to GET, without a body [head-like-get]', async () => {
    const { status, body, headers } = await api.call<undefined>('HEAD', '/v1/items');
    expect({ status, body }).toEqual({ status: 200, body: undefined });
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
    // Express would add one, for a body that it makes itself.
    expect(headers.get('etag')).toBeNull();
  });
});

describe('reading all pages during writes', () => {
  it('returns each of 2,000 existing items exactly once, with and without a filter [walk-exactly-once]', async () => {
    const filters = [
      '',
      'name.startsWith("before") || description.icontains("BEFORE")',
      // Most rows fall for this one.
      'name.contains("efor") && !name.endsWith("while")',
    ];
    const rows = Array.from({ length: 2000 }, () => ({ id: newId(), name: 'before', description: null }));
    await service.app.get(DataSource).getRepository(Item).insert(rows);
    const before = new Set(rows.map(({ id }) => id));

    let walking = true;
    let written = 0;
    const writers = Array.from({ length: 4 }, async () => {
      while (walking) {
        const { status } = await api.create({ name: 'meanwhile' });
        if (status === 201) written += 1;
      }
    });
    const walks = await Promise.all(filters.map((filter) => api.walk({ limit: '17', filter })));
    walking = false;
    await Promise.all(writers);

    expect(written).toBeGreaterThan(100);
    for (const items of walks) {
      const seen = items.map(({ id }) => id).filter((id) => before.has(id));
      expect([seen.length, new Set(seen).size]).toEqual([2000, 2000]);
    }
  });
});
