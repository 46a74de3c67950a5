import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { DataSource } from 'typeorm';
import {
  type Client,
  createItem,
  createItemsClient,
  type ItemDto,
  type ItemsClientOptions,
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
  // Makes the random part of waits short; how long it is shows the test of the function that waits.
  const { random } = Math;
  jest.spyOn(Math, 'random').mockImplementation(() => random() / 10);
  service = await startService();
  gateway = await Gateway.start(service.port);
});

afterAll(async () => {
  await gateway.stop();
  await service.stop();
});

beforeEach(() => gateway.failNext());

/** A client whose requests pass the gateway. */
const connect = (options: Partial<ItemsClientOptions> = {}) =>
  createItemsClient({ baseUrl: gateway.origin, token: service.api.token, ...options });

const firstNames = async (client: Client) =>
  (await listItems({ client, query: { limit: 100 } })).data.items.map(({ name }) => name);

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
  const token = jest.fn(async () => (await service.newClient()).token);
  const client = connect({ token });
  await createItem({ client, body: { name: 'x' } });
  await listItems({ client });
  expect(token).toHaveBeenCalledTimes(2);
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
    const { problem, response } = await problemOf(listItems({ client: connect({ token: 'wrong' }) }));
    expect([problem.status, problem.type, response.headers.get('WWW-Authenticate')]).toEqual([
      401,
      '/docs/problems#unauthorized',
      'Bearer realm="items", error="invalid_token"',
    ]);
  });

  it('is made of answers that have no problem details, too', async () => {
    const client = connect();
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
    const { error } = await listItems({ client: connect({ token: 'wrong' }), throwOnError: false });
    expect([error instanceof Error, error?.status]).toEqual([false, 401]);
  });
});

it('has the types of the document: what an operation takes, what it answers, and of what it is a list', async () => {
  const client = connect();
  const statusOf = async (call: Promise<unknown>) => (await problemOf(call)).problem.status;
  // @ts-expect-error -- `name` is misspelt.
  expect(await statusOf(createItem({ client, body: { nme: 'x' } }))).toBe(400);
  // @ts-expect-error -- a limit is a number.
  expect(await statusOf(listItems({ client, query: { limit: 'all' } }))).toBe(400);
  // @ts-expect-error -- no such parameter.
  expect(await statusOf(listItems({ client, query: { colour: 'blue' } }))).toBe(400);
  // @ts-expect-error -- a client is needed.
  expect(() => listItems({})).toThrow(TypeError);
  // @ts-expect-error -- one that knows no token is none.
  expect(await statusOf(listItems({ client: createItemsClient({ baseUrl: service.api.origin }) }))).toBe(401);
  // @ts-expect-error -- creating an item is no list.
  await expect(walk(createItem, { client, body: { name: 'x' } }).next()).rejects.toBeInstanceOf(TypeError);
  // @ts-expect-error -- a limit is a number.
  expect(await statusOf(walk(listItems, { client, query: { limit: 'all' } }).next())).toBe(400);

  const { data } = await createItem({ client, body: { name: 'x' } });
  const { value } = await walk(listItems, { client }).next();
  for (const item of [data, value] satisfies (ItemDto | void)[]) {
    // @ts-expect-error -- no such property.
    expect(item?.colour).toBeUndefined();
  }
  // @ts-expect-error -- not every item has one.
  expect(() => data.description.length).toThrow(TypeError);
  const { error } = await listItems({ client, throwOnError: false });
  expect(error?.errors).toBeUndefined();
});

describe('a walk', () => {
  beforeAll(async () => {
    const items = service.app.get(DataSource).getRepository(Item);
    await items.clear();
    const names = Array.from({ length: 500 }, (_, index) => `${index % 2 ? 'odd' : 'even'} ${index}`);
    await items.insert(names.map((name) => ({ id: newId(), name, description: null })));
  });

  const EVEN = Array.from({ length: 250 }, (_, index) => `even ${498 - 2 * index}`);
  const query = { filter: 'name.startsWith("even")', limit: 100 };

  async function namesOf(items: AsyncIterable<ItemDto>): Promise<string[]> {
    const names: string[] = [];
    for await (const { name } of items) names.push(name);
    return names;
  }

  it('gives every item once, of as many pages as it takes, though answers are lost', async () => {
    expect(await namesOf(walk(listItems, { client: connect(), query }))).toEqual(EVEN);
    expect(gateway.keys).toHaveLength(3);
    gateway.failNext('lose', 'halve', { status: 503 });
    expect(await namesOf(walk(listItems, { client: connect(), query }))).toEqual(EVEN);
  });

  it('gives nothing of an empty list, and needs no query', async () => {
    expect(await namesOf(walk(listItems, { client: connect(), query: { filter: 'name == "none"' } }))).toEqual([]);
    expect(await namesOf(walk(listItems, { client: connect() }))).toHaveLength(500);
  });

  it('goes on from a cursor', async () => {
    const client = connect();
    const { data } = await listItems({ client, query });
    expect(await namesOf(walk(listItems, { client, query: { ...query, cursor: data.nextCursor ?? '' } }))).toEqual(
      EVEN.slice(100),
    );
  });

  it('asks for nothing more when it is left', async () => {
    for await (const { name } of walk(listItems, { client: connect(), query })) {
      if (name === EVEN[99]) break;
    }
    expect(gateway.keys).toHaveLength(1);
  });

  it('gives what comes before an error', async () => {
    const tokens = [service.api.token, 'wrong'];
    const names: string[] = [];
    const interrupted = async () => {
      for await (const { name } of walk(listItems, { client: connect({ token: () => tokens.shift() ?? '' }), query }))
        names.push(name);
    };
    await expect(interrupted()).rejects.toMatchObject({ name: 'ProblemError', problem: { status: 401 } });
    expect(names).toEqual(EVEN.slice(0, 100));
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const names: string[] = [];
    const interrupted = async () => {
      for await (const { name } of walk(listItems, { client: connect(), query, signal: controller.signal })) {
        names.push(name);
        if (names.length === 100) controller.abort();
      }
    };
    await expect(interrupted()).rejects.toMatchObject({ name: 'AbortError' });
    expect([names.length, gateway.keys.length]).toEqual([100, 1]);
  });

  const json = { 'Content-Type': 'application/json' };

  it.each([
    ['leads to itself', json, '{"items":[],"nextCursor":"same"}', 'TypeError', 2],
    ['has no items', json, '{"data":[]}', 'TypeError', 1],
    ['is nothing', json, 'null', 'TypeError', 1],
    ['is a page of HTML', { 'Content-Type': 'text/html' }, '<p>Please log in.</p>', 'SyntaxError', 1],
  ])('ends at an answer that is no page, as it %s', async (_case, headers, body, name, requests) => {
    gateway.decide = () => ({ status: 200, headers, body });
    await expect(namesOf(walk(listItems, { client: connect() }))).rejects.toMatchObject({ name });
    expect(gateway.keys).toHaveLength(requests);
  });

  it('walks through any list of the service', async () => {
    const client = connect();
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

describe('a create', () => {
  it.each(['lose', 'halve', { status: 502 }, { status: 503 }, { status: 504 }] as const)(
    'makes one item with one key when its first answer is %j',
    async (fault) => {
      gateway.failNext(fault);
      const client = connect();
      const name = JSON.stringify(fault);
      expect((await createItem({ client, body: { name } })).data.name).toBe(name);
      expect([gateway.keys.length, new Set(gateway.keys).size]).toEqual([2, 1]);
      expect(gateway.keys[0]).toMatch(/^[0-9a-f]{32}$/);
      expect((await firstNames(client)).filter((other) => other === name)).toEqual([name]);
    },
  );

  it('is sent again with the key that it has already', async () => {
    gateway.failNext('lose');
    await createItem({ client: connect(), body: { name: 'keyed' }, headers: { 'Idempotency-Key': 'mine' } });
    expect(gateway.keys).toEqual(['mine', 'mine']);
  });

  it('has a key of its own', async () => {
    const client = connect();
    await Promise.all([createItem({ client, body: { name: 'x' } }), createItem({ client, body: { name: 'x' } })]);
    expect(new Set(gateway.keys).size).toBe(2);
  });
});

describe('an operation that takes no key', () => {
  // As generated code calls what another team adds without @Idempotent().
  const send = (client: Client) =>
    client.post({ url: '/v1/items', security: [{ scheme: 'bearer', type: 'http' }], body: { name: 'unkeyed' } });

  it.each(['lose', { status: 503 }] as const)('is not sent again when it may have been carried out: %j', async (fault) => {
    gateway.failNext(fault);
    await expect(send(connect())).rejects.toThrow();
    expect(gateway.keys).toEqual([undefined]);
  });

  it('is sent again when it was refused', async () => {
    gateway.failNext({ status: 429 });
    await send(connect());
    expect(gateway.keys).toEqual([undefined, undefined]);
  });
});

describe('a list', () => {
  it('is asked for again, without a key', async () => {
    gateway.failNext('lose', 'halve', { status: 503 });
    expect(await firstNames(connect())).toContain('keyed');
    expect(gateway.keys).toEqual(Array.from({ length: 4 }));
  });

  it.each([400, 401, 403, 404, 409, 422, 500, 501])('is not asked for again after %i', async (status) => {
    gateway.failNext({ status });
    await expect(firstNames(connect())).rejects.toMatchObject({ name: 'ProblemError', response: { status } });
    expect(gateway.keys).toHaveLength(1);
  });

  it('gives the last error when there is no answer', async () => {
    gateway.failNext('lose', 'lose', 'lose');
    await expect(firstNames(connect({ retries: 2 }))).rejects.toThrow('fetch failed');
    expect(gateway.keys).toHaveLength(3);
  });
});

describe('Retry-After', () => {
  let limited: Service;

  beforeAll(async () => {
    limited = await startService({ RATE_LIMIT: '3', RATE_LIMIT_WINDOW: '1' });
  });

  afterAll(() => limited.stop());

  it('of the service is waited for, so that all of a burst succeed', async () => {
    const { origin: baseUrl, token } = limited.api;
    const attempts = jest.fn(fetch);
    const client = connect({ baseUrl, token, retries: 20, fetch: attempts });
    const names = Array.from({ length: 8 }, (_, index) => `burst ${index}`);
    await Promise.all(names.map((name) => createItem({ client, body: { name } })));
    const statuses = (await Promise.all(attempts.mock.results.map(({ value }) => value as Promise<Response>))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 201)).toHaveLength(8);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
    expect((await firstNames(client)).toSorted()).toEqual(names);
  });

  it('is enough: one client by itself is refused once at most', async () => {
    const attempts = jest.fn(fetch);
    const { token } = await limited.newClient();
    const client = connect({ baseUrl: limited.api.origin, token, fetch: attempts });
    const counts: number[] = [];
    for (let call = 0; call < 7; call += 1) {
      attempts.mockClear();
      await createItem({ client, body: { name: 'x' } });
      counts.push(attempts.mock.calls.length);
    }
    expect(Math.max(...counts)).toBe(2);
  });
});

describe('a signal', () => {
  it('ends the wait', async () => {
    gateway.failNext({ status: 503, headers: { 'Retry-After': '60' } });
    const controller = new AbortController();
    const call = listItems({ client: connect(), signal: controller.signal });
    void delay(200).then(() => controller.abort(new Error('enough')));
    await expect(call).rejects.toThrow('enough');
    expect(gateway.keys).toHaveLength(1);
  });

  it('ends an attempt, after which there is no other', async () => {
    gateway.failNext('keep waiting');
    const attempts = jest.fn(fetch);
    const client = connect({ fetch: attempts });
    const call = createItem({ client, body: { name: 'x' }, signal: AbortSignal.timeout(200) });
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(attempts).toHaveBeenCalledTimes(1);
  });
});
