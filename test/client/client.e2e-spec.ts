import { DataSource } from 'typeorm';
import {
  createItem,
  createItemsClient,
  type ItemDto,
  listItems,
  ProblemError,
  walk,
} from '../../clients/typescript/src/index.js';
import { Item } from '../../src/items/item.entity.js';
import { newId } from '../../src/platform/index.js';
import { Gateway } from '../support/gateway.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let gateway: Gateway;

beforeAll(async () => {
  service = await startService();
  gateway = await Gateway.start(service.port);
});

afterAll(async () => {
  await gateway.stop();
  await service.stop();
});

const connect = (token: string | (() => string | Promise<string>) = service.api.token, baseUrl = service.api.origin) =>
  createItemsClient({ baseUrl, token });

/** What a call is rejected with. */
async function problemOf(call: Promise<unknown>): Promise<ProblemError> {
  const error: unknown = await call.then(() => undefined).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ProblemError);
  return error as ProblemError;
}

it('creates items and lists them', async () => {
  const client = connect();
  const { data: item, response } = await createItem({ client, body: { name: 'Blue bicycle', description: 'One bell.' } });
  expect([response.status, item]).toEqual([
    201,
    { id: expect.any(String), name: 'Blue bicycle', description: 'One bell.', createdAt: expect.any(String) },
  ]);
  const { data: page } = await listItems({ client, query: { filter: 'name == "Blue bicycle"', limit: 1 } });
  expect(page).toEqual({ items: [item] });
});

it('asks for its token at every call', async () => {
  let calls = 0;
  const client = connect(async () => {
    calls += 1;
    return (await service.newClient()).token;
  });
  await createItem({ client, body: { name: 'x' } });
  await listItems({ client });
  expect(calls).toBe(2);
});

describe('a ProblemError', () => {
  it('names every fault of the request', async () => {
    const body = { name: '', colour: 'blue' } as { name: string };
    const { message, name, problem, response } = await problemOf(createItem({ client: connect(), body }));
    expect(problem).toEqual({
      type: '/docs/problems#invalid-body',
      title: 'Invalid body',
      status: 400,
      detail: expect.any(String),
      instance: '/v1/items',
      requestId: response.headers.get('X-Request-Id'),
      errors: [
        expect.objectContaining({ pointer: '/colour', code: 'unknown' }),
        expect.objectContaining({ pointer: '/name', code: expect.any(String) }),
      ],
    });
    expect([name, message]).toEqual(['ProblemError', `400 Invalid body: ${problem.detail}`]);
  });

  it('describes a wrong token', async () => {
    const { problem, response } = await problemOf(listItems({ client: connect('wrong') }));
    expect([problem.status, problem.type, response.headers.get('WWW-Authenticate')]).toEqual([
      401,
      '/docs/problems#unauthorized',
      'Bearer realm="items", error="invalid_token"',
    ]);
  });

  it('is made of answers that have no problem details, too', async () => {
    const client = connect(service.api.token, gateway.origin);
    for (const [type, body] of [
      ['text/html', '<h1>No</h1>'],
      ['application/json', '{"status":200}'],
      ['application/json', ''],
    ] as const) {
      gateway.failNext({ status: 403, headers: { 'Content-Type': type }, body });
      const { message, problem } = await problemOf(listItems({ client }));
      expect(message).toBe('403 Forbidden: The answer has no problem details.');
      expect(problem).toMatchObject({ type: 'about:blank', status: 403, instance: `${gateway.origin}/v1/items` });
    }
  });

  it('is not made with `throwOnError: false`, which gives the problem itself', async () => {
    const { error } = await listItems({ client: connect('wrong'), throwOnError: false });
    expect([error instanceof Error, error?.status]).toEqual([false, 401]);
  });
});

describe('the types', () => {
  it('know what an operation takes', async () => {
    const client = connect();
    // @ts-expect-error -- `name` is misspelt.
    expect((await problemOf(createItem({ client, body: { nme: 'x' } }))).problem.status).toBe(400);
    // @ts-expect-error -- a limit is a number.
    expect((await problemOf(listItems({ client, query: { limit: 'all' } }))).problem.status).toBe(400);
    // @ts-expect-error -- no such parameter.
    expect((await problemOf(listItems({ client, query: { colour: 'blue' } }))).problem.status).toBe(400);
    // @ts-expect-error -- a client is needed.
    expect(() => listItems({})).toThrow(TypeError);
    // @ts-expect-error -- one that knows no token is none.
    expect((await problemOf(listItems({ client: createItemsClient({ baseUrl: service.api.origin }) }))).problem.status).toBe(401);
  });

  it('know what it answers', async () => {
    const client = connect();
    const { data } = await createItem({ client, body: { name: 'x' } });
    const item: ItemDto = data;
    // @ts-expect-error -- no such property.
    expect(item.colour).toBeUndefined();
    // @ts-expect-error -- not every item has one.
    expect(() => data.description.length).toThrow(TypeError);
    const { error } = await listItems({ client, throwOnError: false });
    expect(error?.errors).toBeUndefined();
  });

  it('know which operations are lists, and of what', async () => {
    const client = connect();
    // @ts-expect-error -- creating an item is no list.
    await expect(walk(createItem, { client, body: { name: 'x' } }).next()).rejects.toBeInstanceOf(TypeError);
    // @ts-expect-error -- a limit is a number.
    expect((await problemOf(walk(listItems, { client, query: { limit: 'all' } }).next())).problem.status).toBe(400);
    const { value } = await walk(listItems, { client }).next();
    const item: ItemDto | undefined = value ?? undefined;
    // @ts-expect-error -- no such property.
    expect(item?.colour).toBeUndefined();
  });
});

describe('a walk', () => {
  const through = (token?: () => string) => connect(token, gateway.origin);

  beforeAll(async () => {
    const items = service.app.get(DataSource).getRepository(Item);
    await items.clear();
    const rows = Array.from({ length: 500 }, (_, index) => ({
      id: newId(),
      name: `${index % 2 ? 'odd' : 'even'} ${index}`,
      description: null,
    }));
    await items.insert(rows);
  });

  beforeEach(() => gateway.failNext());

  const EVEN = Array.from({ length: 250 }, (_, index) => `even ${498 - 2 * index}`);
  const query = { filter: 'name.startsWith("even")', limit: 100 };

  async function namesOf(items: AsyncIterable<ItemDto>): Promise<string[]> {
    const names: string[] = [];
    for await (const { name } of items) names.push(name);
    return names;
  }

  it('gives every item once, of as many pages as it takes', async () => {
    expect(await namesOf(walk(listItems, { client: through(), query }))).toEqual(EVEN);
    expect(gateway.keys).toHaveLength(3);
  });

  it('gives nothing of an empty list, and needs no query', async () => {
    expect(await namesOf(walk(listItems, { client: through(), query: { filter: 'name == "none"' } }))).toEqual([]);
    expect(await namesOf(walk(listItems, { client: through() }))).toHaveLength(500);
  });

  it('survives lost answers', async () => {
    gateway.failNext('lose', 'halve', { status: 503 });
    expect(await namesOf(walk(listItems, { client: through(), query }))).toEqual(EVEN);
  });

  it('goes on from a cursor', async () => {
    const client = through();
    const { data } = await listItems({ client, query });
    expect(await namesOf(walk(listItems, { client, query: { ...query, cursor: data.nextCursor ?? '' } }))).toEqual(
      EVEN.slice(100),
    );
  });

  it('asks for nothing more when it is left', async () => {
    for await (const { name } of walk(listItems, { client: through(), query })) {
      if (name === EVEN[99]) break;
    }
    expect(gateway.keys).toHaveLength(1);
  });

  it('gives what comes before an error', async () => {
    const tokens = [service.api.token, 'wrong'];
    const names: string[] = [];
    const interrupted = async () => {
      for await (const { name } of walk(listItems, { client: through(() => tokens.shift() ?? ''), query })) names.push(name);
    };
    await expect(interrupted()).rejects.toMatchObject({ name: 'ProblemError', problem: { status: 401 } });
    expect(names).toEqual(EVEN.slice(0, 100));
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const names: string[] = [];
    const interrupted = async () => {
      for await (const { name } of walk(listItems, { client: through(), query, signal: controller.signal })) {
        names.push(name);
        if (names.length === 100) controller.abort();
      }
    };
    await expect(interrupted()).rejects.toMatchObject({ name: 'AbortError' });
    expect([names.length, gateway.keys.length]).toEqual([100, 1]);
  });

  it('describes a cursor that is refused', async () => {
    const refused = namesOf(walk(listItems, { client: through(), query: { ...query, cursor: 'x' } }));
    await expect(refused).rejects.toBeInstanceOf(ProblemError);
    await expect(refused).rejects.toMatchObject({ problem: { errors: [{ parameter: 'cursor' }] } });
  });

  describe('an answer that is no page', () => {
    const json = { 'Content-Type': 'application/json' };

    it.each([
      ['leads to itself', json, '{"items":[],"nextCursor":"same"}', 'TypeError', 2],
      ['has no items', json, '{"data":[]}', 'TypeError', 1],
      ['is empty', json, '', 'TypeError', 1],
      ['is nothing', json, 'null', 'TypeError', 1],
      ['is a page of HTML', { 'Content-Type': 'text/html' }, '<p>Please log in.</p>', 'SyntaxError', 1],
    ])('ends the walk when it %s', async (_case, headers, body, name, requests) => {
      gateway.decide = () => ({ status: 200, headers, body });
      await expect(namesOf(walk(listItems, { client: through() }))).rejects.toMatchObject({ name });
      expect(gateway.keys).toHaveLength(requests);
    });
  });

  it('walks through any list of the service', async () => {
    const client = through();
    // As generated code has it for a list that another team adds.
    const listNames = (options: { query?: { cursor?: string; limit?: number } }) =>
      client.get<{ 200: { items: { name: string }[]; nextCursor?: string } }, unknown, true>({
        security: [{ scheme: 'bearer', type: 'http' }],
        url: '/v1/items',
        ...options,
      });
    const names: string[] = [];
    for await (const { name } of walk(listNames, { query: { limit: 100 } })) names.push(name);
    expect(names).toHaveLength(500);
  });
});
