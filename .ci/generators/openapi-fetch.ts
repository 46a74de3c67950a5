// Uses the client of openapi-fetch, with types by openapi-typescript, for all that a client meets.
import createClient, { type Client } from 'openapi-fetch';
import type { components, paths } from './generated/openapi-fetch.js';
import { awayOrigin, origin, outcomeOf, type Outcomes, readerToken, token } from './outcomes.js';

type Api = Client<paths>;
type Failed = { error?: components['schemas']['Problem']; response: Response };

const connect = (baseUrl: string, bearer: string) =>
  createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${bearer}` } });
const create = (client: Api, body: components['schemas']['NewItem'], key?: string) =>
  client.POST('/v1/items', key === undefined ? { body } : { body, params: { header: { 'Idempotency-Key': key } } });

async function walk(client: Api): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data } = await client.GET('/v1/items', { params: { query: { limit: 2, ...(cursor && { cursor }) } } });
    if (!data) throw new Error('A page is missing.');
    names.push(...data.items.map(({ name }) => name));
    if (data.nextCursor === undefined) return names;
    cursor = data.nextCursor;
  }
}

async function problem(call: Promise<Failed>, header = 'X-Request-Id'): Promise<Outcomes['problems'][0]> {
  const { error, response } = await call;
  if (!error) throw new Error(`The response ${response.status} is no problem.`);
  return outcomeOf(error, response, header);
}

const client = connect(origin, token);
const { data: created } = await create(client, { name: 'Blue bicycle', description: 'One bell.' }, 'a-key-of-the-client');
const replayed = await create(client, { name: 'Blue bicycle', description: 'One bell.' }, 'a-key-of-the-client');
if (!created) throw new Error('The item is missing.');
for (const name of ['2', '3', '4', '5']) await create(client, { name });
const away = connect(awayOrigin, token);
const { name, description = '' } = created;
const outcomes: Outcomes = {
  created: { name, description },
  isReplayed: replayed.data?.id === created.id && replayed.response.headers.get('Idempotent-Replayed') === 'true',
  walked: await walk(client),
  problems: [
    // @ts-expect-error -- No such property.
    await problem(create(client, { name: '', color: 'blue' })),
    await problem(client.GET('/v1/items', { params: { query: { limit: 0, filter: 'color == "blue"' } } })),
    await problem(create(connect(origin, 'wrong'), { name: 'x' }), 'WWW-Authenticate'),
    await problem(create(connect(origin, readerToken), { name: 'x' }), 'WWW-Authenticate'),
    await problem(create(connect(`${origin}/none`, token), { name: 'x' })),
    await problem(create(client, { name: 'x', description: 'x'.repeat(70_000) })),
    await problem(create(client, { name: 'Another' }, 'a-key-of-the-client')),
    await problem(away.GET('/v1/items'), 'Retry-After'),
    await problem(away.GET('/v1/items'), 'Retry-After'),
  ],
};
console.log(JSON.stringify(outcomes));
