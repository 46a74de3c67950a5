import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import {
  type Client,
  createItem,
  createItemsClient,
  type ItemsClientOptions,
  listItems,
} from '../../clients/typescript/src/index.js';
import { Gateway } from '../support/gateway.js';
import { type Service, startAwayFromDatabase, startService } from '../support/service.js';

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

const connect = (options: Partial<ItemsClientOptions> = {}) =>
  createItemsClient({ baseUrl: gateway.origin, token: service.api.token, ...options });

const namesOf = async (client: Client) => (await listItems({ client, query: { limit: 100 } })).data.items.map(({ name }) => name);

/** Creates an item that must then be there once. */
async function expectOneItem(name: string): Promise<void> {
  const client = connect();
  const { data } = await createItem({ client, body: { name } });
  expect(data.name).toBe(name);
  const requests = gateway.keys.length;
  expect([requests, new Set(gateway.keys).size]).toEqual([2, 1]);
  expect(gateway.keys[0]).toMatch(/^[0-9a-f]{32}$/);
  expect((await namesOf(client)).filter((other) => other === name)).toEqual([name]);
}

describe('a create', () => {
  it.each(['lose', 'halve'] as const)('makes one item when its answer is lost: %s', async (fault) => {
    gateway.failNext(fault);
    await expectOneItem(fault);
  });

  it.each([502, 503, 504])('makes one item when a gateway answers %i', async (status) => {
    gateway.failNext({ status });
    await expectOneItem(String(status));
  });

  it('is sent again with the key that it has already', async () => {
    gateway.failNext('lose');
    await createItem({ client: connect(), body: { name: 'keyed' }, headers: { 'Idempotency-Key': 'mine' } });
    expect(gateway.keys).toEqual(['mine', 'mine']);
  });

  it('is sent again with a body that is a stream', async () => {
    gateway.failNext('lose');
    const body = new Blob(['{"name":"streamed"}']).stream();
    const options = { client: connect(), body: body as never, bodySerializer: null, duplex: 'half' as const };
    expect((await createItem(options)).data.name).toBe('streamed');
    expect(gateway.keys).toHaveLength(2);
  });

  it('has a key of its own', async () => {
    gateway.failNext();
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
    expect(await namesOf(connect())).toContain('streamed');
    expect(gateway.keys).toEqual(Array.from({ length: 4 }));
  });

  it.each([400, 401, 403, 404, 409, 422, 500, 501])('is not asked for again after %i', async (status) => {
    gateway.failNext({ status });
    await expect(namesOf(connect())).rejects.toMatchObject({ name: 'ProblemError', response: { status } });
    expect(gateway.keys).toHaveLength(1);
  });

  it('gives the last error when there is no answer', async () => {
    gateway.failNext('lose', 'lose', 'lose');
    await expect(namesOf(connect({ retries: 2 }))).rejects.toThrow('fetch failed');
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
    const statuses: number[] = [];
    const client = createItemsClient({
      baseUrl: limited.api.origin,
      token: limited.api.token,
      retries: 20,
      fetch: async (input) => {
        const answer = await fetch(input);
        statuses.push(answer.status);
        return answer;
      },
    });
    await Promise.all(Array.from({ length: 8 }, (_, index) => createItem({ client, body: { name: `burst ${index}` } })));
    expect(statuses.filter((status) => status === 201)).toHaveLength(8);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
    expect((await namesOf(client)).toSorted()).toEqual(Array.from({ length: 8 }, (_, index) => `burst ${index}`));
  });

  it('is enough: one client by itself is refused once at most', async () => {
    const attempts: number[] = [];
    const client = createItemsClient({
      baseUrl: limited.api.origin,
      token: (await limited.newClient()).token,
      fetch: (input, init) => {
        attempts.push((attempts.pop() ?? 0) + 1);
        return fetch(input, init);
      },
    });
    for (let call = 0; call < 7; call += 1) {
      attempts.push(0);
      await createItem({ client, body: { name: 'x' } });
    }
    expect(Math.max(...attempts)).toBe(2);
  });

  it('may be a date', async () => {
    gateway.failNext();
    const end = Math.ceil(Date.now() / 1000) * 1000 + 1000;
    const headers = { 'Retry-After': new Date(end).toUTCString() };
    // Timers may be a little early.
    gateway.decide = () => (Date.now() < end - 50 ? { status: 503, headers } : undefined);
    await namesOf(connect());
    expect(gateway.keys).toHaveLength(2);
  });

  it('is not waited for when that takes longer than the patience', async () => {
    gateway.failNext({ status: 429, headers: { 'Retry-After': '91' } });
    await expect(namesOf(connect())).rejects.toMatchObject({ problem: { status: 429 } });
    expect(gateway.keys).toHaveLength(1);
    const away = await startAwayFromDatabase();
    const attempts: unknown[] = [];
    const options = {
      baseUrl: away.origin,
      patience: 100,
      fetch: (input: unknown) => fetch(attempts[attempts.push(input) - 1] as Request),
    };
    await expect(namesOf(connect(options))).rejects.toMatchObject({ problem: { type: '/docs/problems#service-unavailable' } });
    expect(attempts).toHaveLength(1);
    await away.stop();
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
    let attempts = 0;
    const client = connect({
      fetch: (input, init) => {
        attempts += 1;
        return fetch(input, init);
      },
    });
    const call = createItem({ client, body: { name: 'x' }, signal: AbortSignal.timeout(200) });
    await expect(call).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(attempts).toBe(1);
  });
});
