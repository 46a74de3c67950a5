import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { DataSource, type Repository } from 'typeorm';
import {
  type Client,
  createItem,
  createItemsClient,
  type Item,
  type ItemsClientOptions,
  listItems,
  ProblemError,
  walk,
} from '../../clients/typescript/src/index.js';
import { Item as ItemEntity } from '../../src/items/item.entity.js';
import { newId } from '../../src/platform/index.js';
import { eventually } from '../support/eventually.js';
import { type Fault, Gateway } from '../support/gateway.js';
import { startService } from '../support/service.js';
import { useService } from '../support/use-service.js';

const service = useService(() => startService());
let gateway: Gateway;
let items: Repository<ItemEntity>;

beforeAll(async () => {
  // Makes the random part of waits short; the test of the function that waits checks how long it is.
  const { random } = Math;
  jest.spyOn(Math, 'random').mockImplementation(() => random() / 10);
  items = service.app.get(DataSource).getRepository(ItemEntity);
  gateway = await Gateway.start(service.port);
});

beforeEach(() => gateway.failNext());

/** A client whose requests pass the gateway. */
const connect = (options: Partial<ItemsClientOptions> = {}) =>
  createItemsClient({ baseUrl: gateway.origin, token: service.api.token, ...options });

async function problemOf(call: Promise<unknown>): Promise<ProblemError> {
  const error: unknown = await call.then(() => undefined).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ProblemError);
  return error as ProblemError;
}

it('creates items, each with a key and a token of its own, and lists them', async () => {
  const token = jest.fn(async () => (await service.newClient()).token);
  const client = connect({ token });
  await createItem({ client, body: { name: 'Red bicycle' } });
  const { data: item, response } = await createItem({ client, body: { name: 'Blue bicycle', description: 'One bell.' } });
  expect([response.status, item]).toEqual([
    201,
    { id: expect.any(String), name: 'Blue bicycle', description: 'One bell.', createdAt: expect.any(String) },
  ]);
  expect(new Set(gateway.keys).size).toBe(2);
  const { data: page } = await listItems({ client, query: { filter: 'name == "Blue bicycle"', limit: 1 } });
  expect(page).toEqual({ items: [item] });
  expect(token).toHaveBeenCalledTimes(3);
});

it('works in Deno, whose `Request` takes a `client` of another kind', async () => {
  const client = connect();
  const { Request } = globalThis;
  globalThis.Request = class extends Request {
    constructor(...[input, init]: ConstructorParameters<typeof Request>) {
      if (init && 'client' in init) throw new TypeError('Argument 2 `client` must be a Deno.HttpClient');
      super(input, init);
    }
  };
  try {
    const { data } = await createItem({ client, body: { name: 'Green bicycle' } });
    expect((await walk(listItems, { client }).next()).value).toEqual(data);
  } finally {
    globalThis.Request = Request;
  }
});

describe('a ProblemError', () => {
  it('names every fault of the request', async () => {
    const body = { name: '', color: 'blue' } as { name: string };
    const { message, name, problem, response } = await problemOf(createItem({ client: connect(), body }));
    expect(problem).toMatchObject({
      type: '/docs/problems#invalid-body',
      status: 400,
      requestId: response.headers.get('X-Request-Id'),
      errors: [{ pointer: '/color', code: 'unknown' }, { pointer: '/name' }],
    });
    expect([name, message]).toEqual(['ProblemError', `400 Invalid body: ${problem.detail}`]);
  });

  it.each([
    ['text/html', '<h1>No</h1>'],
    ['application/json', '{"status":200}'],
    ['application/json', ''],
  ])('is made of responses without problem details, too: %s %s', async (type, body) => {
    gateway.failNext({ status: 403, headers: { 'Content-Type': type }, body });
    const { message, problem } = await problemOf(listItems({ client: connect() }));
    expect(message).toBe('403 Forbidden: The response has no problem details.');
    expect(problem).toMatchObject({ type: 'about:blank', status: 403, instance: `${gateway.origin}/v1/items` });
  });
});

it('returns the problem itself with `throwOnError: false`', async () => {
  const { error } = await listItems({ client: connect({ token: 'wrong' }), throwOnError: false });
  expect([error instanceof Error, error?.status]).toEqual([false, 401]);
});

it('has the types of the document: what an operation takes, what it returns, and which list it walks', async () => {
  const client = connect();
  const calls = [
    // @ts-expect-error -- `name` is misspelt.
    createItem({ client, body: { nme: 'x' } }),
    // @ts-expect-error -- a limit is a number.
    listItems({ client, query: { limit: 'all' } }),
    // @ts-expect-error -- no such parameter.
    listItems({ client, query: { color: 'blue' } }),
    // @ts-expect-error -- one that knows no token is none.
    listItems({ client: createItemsClient({ baseUrl: service.api.origin }) }),
    // @ts-expect-error -- a limit is a number.
    walk(listItems, { client, query: { limit: 'all' } }).next(),
  ];
  const statuses = (await Promise.all(calls.map(problemOf))).map(({ problem }) => problem.status);
  expect(statuses).toEqual([400, 400, 400, 401, 400]);
  // @ts-expect-error -- a client is needed.
  expect(() => listItems({})).toThrow(TypeError);
  // @ts-expect-error -- creating an item is no list.
  await expect(walk(createItem, { client, body: { name: 'x' } }).next()).rejects.toBeInstanceOf(TypeError);

  const { data } = await createItem({ client, body: { name: 'x' } });
  const { value } = await walk(listItems, { client }).next();
  for (const item of [data, value] satisfies (Item | void)[]) {
    // @ts-expect-error -- no such property.
    expect(item?.color).toBeUndefined();
  }
  // @ts-expect-error -- not every item has one.
  expect(() => data.description.length).toThrow(TypeError);
});

describe('a walk', () => {
  beforeAll(async () => {
    await items.clear();
    const names = Array.from({ length: 500 }, (_, index) => `${index % 2 ? 'odd' : 'even'} ${index}`);
    await items.insert(names.map((name) => ({ id: newId(), name, description: null })));
  });

  const EVEN = Array.from({ length: 250 }, (_, index) => `even ${498 - 2 * index}`);
  const query = { filter: 'name.startsWith("even")', limit: 100 };

  /** The names until the walk ends, and the error that ends it. @param act - called with each */
  async function take(walked: AsyncIterable<{ name: string }>, act?: (count: number) => void) {
    const names: string[] = [];
    try {
      for await (const { name } of walked) {
        names.push(name);
        act?.(names.length);
      }
      return { names };
    } catch (error) {
      return { names, error };
    }
  }

  it('gives every item once, of as many pages as it takes, though responses are lost, from any cursor', async () => {
    const client = connect();
    expect(await take(walk(listItems, { client, query }))).toEqual({ names: EVEN });
    expect(gateway.keys).toHaveLength(3);
    gateway.failNext('lose', 'halve', { status: 503 });
    expect(await take(walk(listItems, { client, query }))).toEqual({ names: EVEN });
    const { nextCursor: cursor = '' } = (await listItems({ client, query })).data;
    expect(await take(walk(listItems, { client, query: { ...query, cursor } }))).toEqual({ names: EVEN.slice(100) });
  });

  it('takes any operation with pages', async () => {
    const client = connect();
    // As generated code has it for a list that another team adds.
    const listNames = (options: { query?: { cursor?: string; limit?: number } }) =>
      client.get<{ 200: { items: { name: string }[]; nextCursor?: string } }, unknown, true>({
        security: [{ scheme: 'bearer', type: 'http' }],
        url: '/v1/items',
        ...options,
      });
    expect((await take(walk(listNames, { query: { limit: 100 } }))).names).toHaveLength(500);
  });

  it('asks for nothing more when it is left', async () => {
    for await (const { name } of walk(listItems, { client: connect(), query })) {
      if (name === EVEN[99]) break;
    }
    expect(gateway.keys).toHaveLength(1);
  });

  it('gives what comes before an error', async () => {
    const tokens = [service.api.token, 'wrong'];
    const { names, error } = await take(walk(listItems, { client: connect({ token: () => tokens.shift() ?? '' }), query }));
    expect(names).toEqual(EVEN.slice(0, 100));
    expect(error).toBeInstanceOf(ProblemError);
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const walked = walk(listItems, { client: connect(), query, signal: controller.signal });
    const { names, error } = await take(walked, (count) => count === 100 && controller.abort());
    expect(error).toMatchObject({ name: 'AbortError' });
    expect([names.length, gateway.keys.length]).toEqual([100, 1]);
  });

  it.each([
    ['leads to itself', 'application/json', '{"items":[],"nextCursor":"same"}', 'TypeError', 2],
    ['has no items', 'application/json', '{"data":[]}', 'TypeError', 1],
    ['is nothing', 'application/json', 'null', 'TypeError', 1],
    ['is a page of HTML', 'text/html', '<p>Please log in.</p>', 'SyntaxError', 1],
  ])('ends at a response that is no page, as it %s', async (_case, type, body, name, requests) => {
    gateway.decide = () => ({ status: 200, headers: { 'Content-Type': type }, body });
    expect((await take(walk(listItems, { client: connect() }))).error).toMatchObject({ name });
    expect(gateway.keys).toHaveLength(requests);
  });
});

describe('a call that fails', () => {
  const calls = {
    list: (client: Client) => listItems({ client }),
    create: (client: Client) => createItem({ client, body: { name: 'x' } }),
    'create with a key': (client: Client) =>
      createItem({ client, body: { name: 'x' }, headers: { 'Idempotency-Key': 'mine' } }),
    // As generated code calls what another team adds without @Idempotent().
    'create that takes no key': (client: Client) =>
      client.post({ url: '/v1/items', security: [{ scheme: 'bearer', type: 'http' }], body: { name: 'x' } }),
  };
  const status = (...statuses: number[]) => statuses.map((each) => ({ status: each }));
  const uncertain: Fault[] = ['lose', 'halve', ...status(502, 503, 504)];
  const rows: [call: keyof typeof calls, faults: Fault[], requests: 1 | 2, key?: unknown][] = [
    ['list', uncertain, 2],
    ['list', status(400, 401, 403, 404, 409, 422, 500, 501), 1],
    ['create', uncertain, 2, expect.stringMatching(/^[0-9a-f]{32}$/)],
    ['create with a key', ['lose'], 2, 'mine'],
    ['create that takes no key', ['lose', { status: 503 }], 1],
    ['create that takes no key', status(429), 2],
  ];
  const cases = rows.flatMap(([call, faults, requests, key]) => faults.map((fault) => ({ call, fault, requests, key })));

  it.each(cases)(
    'is sent again, with its key, if that does nothing more: $call $fault',
    async ({ call, fault, requests, key }) => {
      const before = await items.count();
      gateway.failNext(fault);
      const outcome = calls[call](connect());
      await (requests === 1 ? expect(outcome).rejects.toThrow() : outcome);
      expect(gateway.keys).toEqual(Array.from({ length: requests }, () => key));
      expect(new Set(gateway.keys).size).toBe(1);
      if (requests === 2) expect(await items.count()).toBe(before + (call === 'list' ? 0 : 1));
    },
  );

  it('ends with the last error when there is no response', async () => {
    gateway.failNext('lose', 'lose', 'lose');
    await expect(listItems({ client: connect({ retries: 2 }) })).rejects.toThrow('fetch failed');
    expect(gateway.keys).toHaveLength(3);
  });

  it('waits as long as Retry-After says, which is enough: no request is refused twice', async () => {
    const limited = await startService({ RATE_LIMIT: '3', RATE_LIMIT_WINDOW: '1' });
    const attempts = jest.fn(fetch);
    const client = connect({ baseUrl: limited.api.origin, token: limited.api.token, fetch: attempts });
    const counts: number[] = [];
    for (let call = 0; call < 7; call += 1) {
      attempts.mockClear();
      await createItem({ client, body: { name: 'x' } });
      counts.push(attempts.mock.calls.length);
    }
    await limited.stop();
    expect(Math.max(...counts)).toBe(2);
  });

  it.each([
    ['its wait', { status: 503, headers: { 'Retry-After': '60' } }],
    ['an attempt', 'keep waiting'],
  ] as const)('ends %s with its signal, after which there is no other', async (_what, fault) => {
    gateway.failNext(fault);
    const controller = new AbortController();
    const call = createItem({ client: connect(), body: { name: 'x' }, signal: controller.signal });
    const ended = expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    await eventually(() => gateway.keys.length === 1);
    // Until the client waits.
    await delay(200);
    controller.abort(new DOMException('too late', 'TimeoutError'));
    await ended;
    expect(gateway.keys).toHaveLength(1);
  });
});
