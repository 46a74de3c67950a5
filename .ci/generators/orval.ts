// Uses the client that orval generates, whose types tell responses apart by their status, for all that a client meets.
import { createItem, listItems, type NewItem, type Problem } from './generated/orval.js';
import { awayOrigin, origin, outcomeOf, type Outcomes, readerToken, token } from './outcomes.js';

const send = fetch;

/** Its functions send to the origin of the page. */
function at<Result>(base: string, call: () => Promise<Result>): Promise<Result> {
  globalThis.fetch = (path, init) => send(`${base}${String(path)}`, init);
  return call();
}

const as = (bearer: string): RequestInit => ({ headers: { Authorization: `Bearer ${bearer}` } });
const create = (
  body: NewItem,
  { base = origin, bearer = token, key }: { base?: string; bearer?: string; key?: string } = {},
) => at(base, () => createItem(body, key === undefined ? undefined : { 'Idempotency-Key': key }, as(bearer)));
const list = (base: string, params: Parameters<typeof listItems>[0]) => at(base, () => listItems(params, as(token)));

async function walk(): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await list(origin, { limit: 2, ...(cursor && { cursor }) });
    if (page.status !== 200) throw new Error(page.data.detail);
    names.push(...page.data.items.map(({ name }) => name));
    if (page.data.nextCursor === undefined) return names;
    cursor = page.data.nextCursor;
  }
}

type Answer = Awaited<ReturnType<typeof createItem | typeof listItems>>;

async function problem(call: Promise<Answer>, header = 'X-Request-Id'): Promise<Outcomes['problems'][0]> {
  const answer = await call;
  if (answer.status === 200 || answer.status === 201) throw new Error(`The response ${answer.status} is no problem.`);
  const data: Problem = answer.data;
  return outcomeOf(data, answer, header);
}

const item = { name: 'Blue bicycle', description: 'One bell.' };
const created = await create(item, { key: 'another-key' });
if (created.status !== 201) throw new Error(created.data.detail);
const replayed = await create(item, { key: 'another-key' });
for (const name of ['2', '3', '4', '5']) await create({ name });
const { name, description = '' } = created.data;
const outcomes: Outcomes = {
  created: { name, description },
  isReplayed:
    replayed.status === 201 &&
    replayed.data.id === created.data.id &&
    replayed.headers.get('Idempotent-Replayed') === 'true',
  walked: await walk(),
  problems: [
    // @ts-expect-error -- No such property.
    await problem(create({ name: '', color: 'blue' })),
    await problem(list(origin, { limit: 0, filter: 'color == "blue"' })),
    await problem(create({ name: 'x' }, { bearer: 'wrong' }), 'WWW-Authenticate'),
    await problem(create({ name: 'x' }, { bearer: readerToken }), 'WWW-Authenticate'),
    await problem(create({ name: 'x' }, { base: `${origin}/none` })),
    await problem(create({ name: 'x', description: 'x'.repeat(70_000) })),
    await problem(create({ name: 'Another' }, { key: 'another-key' })),
    await problem(list(awayOrigin, {}), 'Retry-After'),
    await problem(list(awayOrigin, {}), 'Retry-After'),
  ],
};
console.log(JSON.stringify(outcomes));
