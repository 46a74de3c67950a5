import { DataSource } from 'typeorm';
import { Item } from '../src/items/item.entity.js';
import { newId } from '../src/platform/index.js';
import type { Api, ItemBody, PageBody, ProblemBody } from './support/api.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let api: Api;

beforeAll(async () => {
  service = await startService();
  api = service.api;
});

afterAll(() => service.stop());

describe('paging, of all items that there are', () => {
  const created: string[] = [];

  it('shows an empty list without a cursor', async () => {
    expect((await api.list()).body).toEqual({ items: [] });
  });

  it('shows 20 items by default, newest first, and a cursor only when more follow', async () => {
    for (let index = 0; index < 20; index += 1) {
      created.unshift((await api.create({ name: `item ${index}` })).body.id);
    }
    const full = (await api.list()).body;
    expect(full).toEqual({ items: expect.any(Array) });
    expect(full.items.map(({ id }) => id)).toEqual(created);

    created.unshift((await api.create({ name: 'one more' })).body.id);
    const first = (await api.list()).body;
    expect(first.items.map(({ id }) => id)).toEqual(created.slice(0, 20));
    expect(first.nextCursor).toMatch(/^[A-Za-z0-9_-]{1,512}$/);
    const second = (await api.list({ cursor: first.nextCursor ?? '' })).body;
    expect(second.items.map(({ id }) => id)).toEqual(created.slice(20));
    expect(second.nextCursor).toBeUndefined();
  });

  it.each([1, 2, 7, 20, 21, 100])('walks with a limit of %d over each item once', async (limit) => {
    const seen: ItemBody[] = [];
    let page: PageBody = { items: [] };
    do {
      page = (await api.list({ limit: String(limit), ...(page.nextCursor && { cursor: page.nextCursor }) })).body;
      expect(page.items.length).toBeLessThanOrEqual(limit);
      seen.push(...page.items);
    } while (page.nextCursor);
    expect(seen.map(({ id }) => id)).toEqual(created);
  });

  it('lets the limit change between pages, and a cursor be used again', async () => {
    const { nextCursor = '' } = (await api.list({ limit: '3' })).body;
    const next = (await api.list({ limit: '5', cursor: nextCursor })).body;
    expect(next.items.map(({ id }) => id)).toEqual(created.slice(3, 8));
    expect((await api.list({ limit: '5', cursor: nextCursor })).body).toEqual(next);
  });

  it('refuses a cursor with any one character changed, dropped or added', async () => {
    const { nextCursor = '' } = (await api.list({ limit: '3' })).body;
    const changed = Array.from(nextCursor).map(
      (character, index) => nextCursor.slice(0, index) + (character === 'A' ? 'B' : 'A') + nextCursor.slice(index + 1),
    );
    for (const cursor of [
      ...changed,
      nextCursor.slice(1),
      nextCursor.slice(0, -1),
      `${nextCursor}A`,
      `${nextCursor}=`,
      ` ${nextCursor}`,
    ]) {
      const { status, body } = await api.list<ProblemBody>({ cursor });
      expect({ cursor, status, code: body.errors?.[0]?.code }).toEqual({ cursor, status: 400, code: 'cursor' });
    }
  });
});

describe('POST /v1/items', () => {
  it('creates an item and answers 201 with it', async () => {
    const { status, body, headers } = await api.create({ name: 'Bicycle', description: 'Blue' });
    expect(status).toBe(201);
    expect(headers.get('content-type')).toMatch(/^application\/json/);
    expect(body).toEqual({ id: expect.any(String), name: 'Bicycle', description: 'Blue', createdAt: expect.any(String) });
    expect((await api.list({ limit: '1' })).body.items).toEqual([body]);
  });

  it('gives a lower-case UUIDv7 as id, whose millisecond is createdAt', async () => {
    const { id, createdAt } = (await api.create({ name: 'x' })).body;
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(Date.parse(createdAt)).toBe(Number.parseInt(id.replace('-', '').slice(0, 12), 16));
    expect(Math.abs(Date.parse(createdAt) - Date.now())).toBeLessThan(60_000);
  });

  it.each([
    ['left out', { name: 'x' }],
    ['null', { name: 'x', description: null }],
  ])('leaves a description out of the answers when it is %s', async (_case, item) => {
    const { status, body } = await api.create(item);
    expect(status).toBe(201);
    expect(Object.keys(body)).toEqual(['id', 'name', 'createdAt']);
    expect(Object.keys((await api.list()).body.items[0] ?? {})).toEqual(['id', 'name', 'createdAt']);
  });

  it.each([
    ['what looks like a byte order mark', '\ufeffBOM\ufeff'],
    ['white space around it', '  \t name \n '],
    ['composed and decomposed accents', 'é e\u0301'],
    ['no normal form and control characters', '\u212b \ufb01 \u0001 \u007f \u0085 \ufeff'],
    ['characters beyond the basic plane', '😀'.repeat(255)],
    ['quotes, percent signs and SQL', `'; DROP TABLE items; -- % _ \\ "`],
    ['markup', '<script>alert(1)</script> &amp;'],
    ['one character', 'x'],
  ])('stores a name byte for byte: %s', async (_case, name) => {
    const { status, body } = await api.create({ name, description: name });
    expect(status).toBe(201);
    const [stored] = (await api.list({ limit: '1' })).body.items;
    expect(stored).toEqual(body);
    expect(Buffer.from(stored?.name ?? '').equals(Buffer.from(name))).toBe(true);
  });

  it('accepts a description of 0 and of 4096 characters, and repeated names', async () => {
    expect((await api.create({ name: 'same', description: '' })).body.description).toBe('');
    expect((await api.create({ name: 'same', description: '😀'.repeat(4096) })).status).toBe(201);
  });

  it.each<[string, unknown, string, string]>([
    ['no name', {}, '/name', 'required'],
    ['a name of null', { name: null }, '/name', 'type'],
    ['a name that is a number', { name: 1 }, '/name', 'type'],
    ['a name that is an array', { name: ['x'] }, '/name', 'type'],
    ['an empty name', { name: '' }, '/name', 'blank'],
    ['a blank name', { name: ' \t\u00a0\u2003\ufeff' }, '/name', 'blank'],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, '/name', 'too_long'],
    ['a name of 256 characters beyond the basic plane', { name: '😀'.repeat(256) }, '/name', 'too_long'],
    ['a name with U+0000', { name: 'a\0b' }, '/name', 'character'],
    ['a name with a lone surrogate', { name: 'a\ud800b' }, '/name', 'character'],
    ['a description that is an object', { name: 'x', description: {} }, '/description', 'type'],
    ['a description of 4097 characters', { name: 'x', description: 'x'.repeat(4097) }, '/description', 'too_long'],
    ['a description with U+0000', { name: 'x', description: '\0' }, '/description', 'character'],
    ['an unknown field', { name: 'x', colour: 'red' }, '/colour', 'unknown'],
    ['a field that only the service sets', { name: 'x', id: 'y' }, '/id', 'unknown'],
    ['a field whose name needs escaping in a pointer', { name: 'x', 'a/b~c': 1 }, '/a~1b~0c', 'unknown'],
  ])('refuses %s', async (_case, item, pointer, code) => {
    const { status, body } = await api.create<ProblemBody>(item);
    expect(status).toBe(400);
    expect(body.type).toBe('/docs/problems#invalid-body');
    expect(body.errors).toEqual([{ pointer, code, detail: expect.any(String) }]);
  });

  it('names every fault of the body at once', async () => {
    const { status, body } = await api.call('POST', '/v1/items', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: ' \0'.repeat(200), description: 7, nam: 'x' }),
    });
    expect(status).toBe(400);
    expect(body.errors?.map(({ pointer, parameter, code }) => `${pointer ?? parameter} ${code}`).toSorted()).toEqual([
      '/description type',
      '/nam unknown',
      '/name character',
      '/name too_long',
    ]);
  });

  it('refuses a query', async () => {
    const { status, body } = await api.call('POST', '/v1/items?dry=1', { body: '{}' });
    expect([status, body.errors]).toEqual([400, [{ parameter: 'dry', code: 'unknown', detail: expect.any(String) }]]);
  });
});

describe('the body of POST /v1/items', () => {
  const valid = '{"name":"x"}';

  it.each<[string, RequestInit['body'], Record<string, string>, string]>([
    ['another media type', valid, { 'Content-Type': 'text/plain' }, 'media_type'],
    ['a form', 'name=x', { 'Content-Type': 'application/x-www-form-urlencoded' }, 'media_type'],
    ['another kind of JSON', valid, { 'Content-Type': 'application/merge-patch+json' }, 'media_type'],
    ['another charset', valid, { 'Content-Type': 'application/json; charset=utf-16' }, 'charset'],
    ['bytes that are no UTF-8', new Uint8Array([...Buffer.from('{"name":"'), 0xff, 0xfe, ...Buffer.from('"}')]), {}, 'charset'],
    ['a content coding', valid, { 'Content-Encoding': 'gzip' }, 'content_encoding'],
    ['no body', null, {}, 'required'],
    ['nothing but white space', '  ', {}, 'syntax'],
    ['malformed JSON', '{"name":', {}, 'syntax'],
    ['two values', '{"name":"x"}{"name":"y"}', {}, 'syntax'],
    ['a comment', '{"name":"x"/**/}', {}, 'syntax'],
    ['NaN', '{"name":NaN}', {}, 'syntax'],
    ['an array', '[{"name":"x"}]', {}, 'not_object'],
    ['a string', '"x"', {}, 'not_object'],
    ['null', 'null', {}, 'not_object'],
    ['__proto__', '{"name":"x","__proto__":{"name":"y"}}', {}, 'unknown'],
    ['constructor', '{"name":"x","constructor":{}}', {}, 'unknown'],
    ['deep nesting', `{"name":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, {}, 'too_deep'],
    ['32 levels in an object', `{"name":${'['.repeat(32)}${']'.repeat(32)}}`, {}, 'too_deep'],
    ['31 levels, which is a wrong type alone', `{"name":${'['.repeat(31)}${']'.repeat(31)}}`, {}, 'type'],
  ])('is refused with a code that says why: %s', async (_case, body, headers, code) => {
    const answer = await api.post(body, headers);
    expect(answer.status).toBe(400);
    expect(answer.body.type).toBe('/docs/problems#invalid-body');
    expect(answer.body.errors?.map((fault) => fault.code)).toEqual([code]);
  });

  it('gives a name that is there twice the last value, as JSON.parse does', async () => {
    const { status, body } = await api.post<ItemBody>('{"name":"x","n\\u0061me":"y"}');
    expect([status, body.name]).toEqual([201, 'y']);
  });

  it('may have in its texts what looks like JSON', async () => {
    const text = '"name":1,{[\\"}]';
    const { status, body } = await api.create({ name: text, description: '\\"\\' });
    expect([status, body.name, body.description]).toEqual([201, text, '\\"\\']);
  });

  it.each([['application/json'], ['application/json; charset=UTF-8'], ['Application/JSON;charset="utf-8"']])(
    'is accepted as %s',
    async (type) => {
      expect((await api.post(valid, { 'Content-Type': type })).status).toBe(201);
    },
  );

  it('may have 64 KiB and no byte more', async () => {
    const bodyOf = (bytes: number) => valid + ' '.repeat(bytes - valid.length);
    expect((await api.post(bodyOf(65_536))).status).toBe(201);
    const { status, body } = await api.post(bodyOf(65_537));
    expect(status).toBe(413);
    expect(body.type).toBe('/docs/problems#content-too-large');
  });

  it('may not exceed that when its length is not announced', async () => {
    const stream = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(Buffer.alloc(16_384, 0x20));
      },
    });
    const response = await fetch(`${api.origin}/v1/items`, {
      method: 'POST',
      headers: { ...api.authorization, 'Content-Type': 'application/json' },
      body: stream,
      duplex: 'half',
    });
    expect(response.status).toBe(413);
    expect(((await response.json()) as ProblemBody).requestId).toBe(response.headers.get('x-request-id'));
  });
});

describe('GET /v1/items', () => {
  it.each<[string, string, string, string]>([
    ['limit=0', 'limit=0', 'limit', 'range'],
    ['limit=101', 'limit=101', 'limit', 'range'],
    ['limit=-1', 'limit=-1', 'limit', 'range'],
    ['an empty limit', 'limit=', 'limit', 'range'],
    ['a limit with a fraction', 'limit=1.0', 'limit', 'range'],
    ['a limit in hexadecimal', 'limit=0x10', 'limit', 'range'],
    ['a limit with an exponent', 'limit=1e1', 'limit', 'range'],
    ['a limit with a leading zero', 'limit=05', 'limit', 'range'],
    ['a limit with a sign', 'limit=%2B5', 'limit', 'range'],
    ['a limit with a space', 'limit=%205', 'limit', 'range'],
    ['a limit in other digits', 'limit=%D9%A5', 'limit', 'range'],
    ['a limit that is no number', 'limit=ten', 'limit', 'range'],
    ['a limit given twice', 'limit=5&limit=5', 'limit', 'repeated'],
    ['an empty cursor', 'cursor=', 'cursor', 'cursor'],
    ['a cursor of nothing we made', 'cursor=abc', 'cursor', 'cursor'],
    ['a long cursor', `cursor=${'A'.repeat(513)}`, 'cursor', 'cursor'],
    ['an unknown parameter', 'page=2', 'page', 'unknown'],
    ['an unknown parameter behind a thousand others', `${'&'.repeat(1000)}page=2`, 'page', 'unknown'],
    ['a filter that is not percent-encoded', 'filter=name.contains(%22100%%22)', 'filter', 'encoding'],
    ['a filter that is not UTF-8', 'filter=name==%22%FF%22', 'filter', 'encoding'],
    ['a known parameter in upper case', 'Limit=2', 'Limit', 'unknown'],
    ['brackets', 'limit[]=5', 'limit[]', 'unknown'],
    ['__proto__', '__proto__=1', '__proto__', 'unknown'],
    ['constructor', 'constructor=1', 'constructor', 'unknown'],
    ['what the query computes', 'after=1', 'after', 'unknown'],
    ['what the query computes of the filter', 'filtered=1', 'filtered', 'unknown'],
  ])('refuses %s', async (_case, query, parameter, code) => {
    const { status, body } = await api.call('GET', `/v1/items?${query}`);
    expect(status).toBe(400);
    expect(body.type).toBe('/docs/problems#invalid-parameters');
    expect(body.errors).toEqual([{ parameter, code, detail: expect.any(String) }]);
  });

  it('takes a blank filter as none', async () => {
    expect((await api.list({ filter: ' \t' })).status).toBe(200);
    expect((await api.list({ filter: '' })).status).toBe(200);
  });

  it('answers HEAD as GET, without a body', async () => {
    const { status, body, headers } = await api.call<undefined>('HEAD', '/v1/items');
    expect({ status, body }).toEqual({ status: 200, body: undefined });
    expect(Number(headers.get('content-length'))).toBeGreaterThan(0);
  });
});

describe('a walk while others write', () => {
  it('shows each of 2,000 items that were there before exactly once, with a filter and without', async () => {
    const filters = [
      undefined,
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
    const walks = await Promise.all(filters.map((filter) => idsOfWalk(filter)));
    walking = false;
    await Promise.all(writers);

    expect(written).toBeGreaterThan(100);
    for (const ids of walks) {
      const seen = ids.filter((id) => before.has(id));
      expect([seen.length, new Set(seen).size]).toEqual([2000, 2000]);
    }
  });
});

/** The items on all pages, one after the other. */
async function idsOfWalk(filter: string | undefined): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page: PageBody = (await api.list({ limit: '17', ...(filter && { filter }), ...(cursor && { cursor }) })).body;
    ids.push(...page.items.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor);
  return ids;
}
