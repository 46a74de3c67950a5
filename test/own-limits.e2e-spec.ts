import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { tokenDigest, generateToken } from '../src/platform/auth/token-format.js';
import { newId } from '../src/platform/ids/id.js';
import { Api } from './support/api.js';
import { IdentityProvider } from './support/identity-provider.js';
import { eventually, startService, TESTER } from './support/service.js';
import { SigningKey } from './support/signing-key.js';
import { testDirectory } from './support/test-database.js';
import { useService } from './support/use-service.js';

const [plain, reader] = [generateToken(), generateToken()];

let file: string;
let provider: IdentityProvider;
let tokens: AccessTokensService;

const service = useService(async () => {
  provider = await IdentityProvider.start([await SigningKey.generate('RS256')]);
  file = join(testDirectory(), 'own-limits');
  await writeFile(file, `plain:${plain}:limit=2\nreader:${tokenDigest(reader)}:limit=5:items:read\n`);
  return startService({ RATE_LIMIT: '3', AUTH_TOKENS_FILE: file, ...provider.environment });
});

beforeAll(() => {
  tokens = service.app.get(AccessTokensService);
});

async function issue(rateLimit: number | null) {
  const { token, row } = await tokens.issue({ name: 'test', rateLimit }, TESTER);
  return { token, id: row.id };
}

/** How many of some requests were admitted, and what the responses said. */
async function use(token: string, count: number) {
  const client = new Api(service.api.origin, token);
  const answers = await Promise.all(Array.from({ length: count }, () => client.list()));
  const refused = answers.filter(({ status }) => status === 429);
  const left = answers.flatMap(({ status, headers }) => (status === 200 ? (headers.get('ratelimit') ?? '') : []));
  return {
    admitted: left.length,
    refused: refused.length,
    policies: [...new Set(answers.map(({ headers }) => headers.get('ratelimit-policy')))],
    remaining: left.map((value) => Number(/;r=(\d+);/.exec(value)?.[1])).toSorted((a, b) => b - a),
    refusals: refused.map(({ headers, body }) => ({
      retryAfter: Number(headers.get('retry-after')),
      body: body as unknown,
    })),
  };
}

const policy = (limit: number) => [`"default";q=${limit};w=60`];

it.each([
  ['above RATE_LIMIT [token-own-limit]', 5],
  ['below it [token-own-limit]', 1],
])('admits exactly the requests of a limit %s, which the headers and the problem tell', async (_case, limit) => {
  const { token } = await issue(limit);
  const { refusals, ...rest } = await use(token, 8);
  const remaining = Array.from({ length: limit }, (_, index) => limit - 1 - index);
  expect(rest).toEqual({ admitted: limit, refused: 8 - limit, policies: policy(limit), remaining });
  for (const { retryAfter, body } of refusals) {
    expect(retryAfter).toBeGreaterThan(50);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(body).toMatchObject({
      detail: expect.stringContaining(`its limit of ${limit} requests in 60 seconds. Retry in`),
    });
  }
});

it('takes the largest limit', async () => {
  expect(await use((await issue(10_000)).token, 1)).toMatchObject({ policies: policy(10_000), remaining: [9999] });
});

it('leaves RATE_LIMIT to JWTs, and to tokens that were issued without a limit or by an older version', async () => {
  const older = generateToken();
  const statement = 'INSERT INTO access_tokens (id, name, digest, created_at) VALUES ($1, $2, $3, now())';
  await service.app.get(DataSource).query(statement, [newId(), 'older', Buffer.from(tokenDigest(older), 'hex')]);
  for (const token of [older, (await issue(null)).token, await provider.sign({ scope: 'items:read' })]) {
    expect(await use(token, 4)).toMatchObject({ admitted: 3, refused: 1, policies: policy(3) });
  }
});

it('gives the token that replaces another the same limit, in a window of its own [rotation-keeps-limit] [rotated-own-limit]', async () => {
  const { token, id } = await issue(5);
  expect(await use(token, 6)).toMatchObject({ admitted: 5 });
  const next = await tokens.rotate(id, { overlap: 60_000 }, TESTER);
  expect(next.row.rateLimit).toBe(5);
  expect(await use(next.token, 6)).toMatchObject({ admitted: 5, policies: policy(5) });
  const last = await tokens.rotate(next.row.id, { overlap: 0 }, TESTER);
  expect(await use(last.token, 6)).toMatchObject({ admitted: 5, policies: policy(5) });
});

it('follows the file of tokens, with the count of the window [static-limit] [static-reloaded]', async () => {
  expect(await use(plain, 3)).toMatchObject({ admitted: 2, policies: policy(2) });
  expect(await use(reader, 6)).toMatchObject({ admitted: 5, policies: policy(5) });
  expect((await new Api(service.api.origin, reader).create({ name: 'x' })).headers.get('ratelimit-policy')).toBe(
    policy(5)[0],
  );
  await writeFile(file, `plain:${plain}:limit=4\nreader:${reader}:items:read\n`);
  await eventually(async () => (await use(reader, 1)).policies[0] === policy(3)[0]);
  expect(await use(plain, 3)).toMatchObject({ admitted: 2, refused: 1, policies: policy(4), remaining: [1, 0] });
});
