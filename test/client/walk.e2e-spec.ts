import {
  createItemsClient,
  type ItemDto,
  type ItemsClientOptions,
  listItems,
  ProblemError,
  walk,
} from '../../clients/typescript/src/index.js';
import { Item } from '../../src/items/item.entity.js';
import { Database, newId } from '../../src/platform/index.js';
import { Gateway } from '../support/gateway.js';
import { type Service, startService } from '../support/service.js';

let service: Service;
let gateway: Gateway;

beforeAll(async () => {
  service = await startService();
  gateway = await Gateway.start(service.port);
  const rows = Array.from({ length: 500 }, (_, index) => ({
    id: newId(),
    name: `${index % 2 ? 'odd' : 'even'} ${index}`,
    description: null,
  }));
  await service.app.get(Database).repository(Item).insert(rows);
});

afterAll(async () => {
  await gateway.stop();
  await service.stop();
});

beforeEach(() => gateway.failNext());

const connect = (options: Partial<ItemsClientOptions> = {}) =>
  createItemsClient({ baseUrl: gateway.origin, token: service.api.token, ...options });

const EVEN = Array.from({ length: 250 }, (_, index) => `even ${498 - 2 * index}`);
const query = { filter: 'name.startsWith("even")', limit: 100 };

async function namesOf(items: AsyncIterable<ItemDto>): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of items) names.push(name);
  return names;
}

it('gives every item once, of as many pages as it takes', async () => {
  expect(await namesOf(walk(listItems, { client: connect(), query }))).toEqual(EVEN);
  expect(gateway.keys).toHaveLength(3);
});

it('gives nothing of an empty list, and needs no query', async () => {
  expect(await namesOf(walk(listItems, { client: connect(), query: { filter: 'name == "none"' } }))).toEqual([]);
  expect(await namesOf(walk(listItems, { client: connect() }))).toHaveLength(500);
});

it('survives lost answers', async () => {
  gateway.failNext('lose', 'halve', { status: 503 });
  expect(await namesOf(walk(listItems, { client: connect(), query }))).toEqual(EVEN);
});

it('goes on from a cursor', async () => {
  const client = connect();
  const { data } = await listItems({ client, query });
  expect(await namesOf(walk(listItems, { client, query: { ...query, cursor: data.nextCursor ?? '' } }))).toEqual(EVEN.slice(100));
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

it('tells of a cursor that is refused', async () => {
  const refused = namesOf(walk(listItems, { client: connect(), query: { ...query, cursor: 'x' } }));
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
    await expect(namesOf(walk(listItems, { client: connect() }))).rejects.toMatchObject({ name });
    expect(gateway.keys).toHaveLength(requests);
  });
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
