import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { bearer, type Credentials, type Expected, jwtRows, type Sent, tokenRows } from './support/authentication-matrix.js';
import { IdentityProvider } from './support/identity-provider.js';
import { ServiceProcess } from './support/process.js';
import { request, sendRaw } from './support/raw-http.js';
import { eventually, startService, TESTER } from './support/service.js';
import { createTestDatabase, type TestDatabase } from './support/test-database.js';

const ROUTES = [
  ['GET', '/v1/items'],
  ['POST', '/v1/items'],
  ['GET', '/v1/nothing'],
] as const;

const ACCEPTED = [200, 201, 404];
const CHALLENGES = { missing: 'Bearer realm="items"', invalid: 'Bearer realm="items", error="invalid_token"' };

/** Processes on one database: the embedded one takes a single process. */
const REPLICAS = process.env['TEST_DATABASE_URL'] ? 2 : 1;

let database: TestDatabase;
let provider: IdentityProvider;
let replicas: ServiceProcess[];
let credentials: Credentials;

beforeAll(async () => {
  database = await createTestDatabase();
  provider = await IdentityProvider.start();
  credentials = await issueAll();
  // Everything here fails at one address.
  const environment = { ...database.environment, ...provider.environment, AUTH_FAILURE_BURST: '1000000' };
  replicas = await Promise.all(Array.from({ length: REPLICAS }, () => ServiceProcess.startReady(environment)));
  const isKnown = async () => (await answersTo(bearer(await provider.sign()))).every(({ status }) => status !== 401);
  await eventually(isKnown);
});

afterAll(async () => {
  await provider.stop();
  await database.drop();
});

/** Tokens in every state that they can have. */
async function issueAll(): Promise<Credentials> {
  const service = await startService({}, database);
  const tokens = service.app.get(AccessTokensService);
  const issue = (name: string, restrictions: { expiresAt?: Date; scopes?: string[] } = {}) =>
    tokens.issue({ name, ...restrictions }, TESTER);
  const idOf = async (wanted: string) => (await tokens.list()).find(({ name }) => name === wanted)?.id ?? '';
  const rotate = async (name: string, overlap: number) => tokens.rotate(await idOf(name), { overlap }, TESTER);
  const issued = {
    good: await issue('good'),
    expired: await issue('expired', { expiresAt: new Date(Date.now() - 1) }),
    revoked: await issue('revoked'),
    rotated: await issue('rotated'),
    overlapping: await issue('overlapping'),
    expiring: await issue('expiring', { expiresAt: new Date(Date.now() + 3_600_000) }),
    reader: await issue('reader', { scopes: ['items:read'] }),
    writer: await issue('writer', { scopes: ['items:write'] }),
  };
  await tokens.revoke({ id: await idOf('revoked') }, TESTER);
  await rotate('rotated', 0);
  const replacement = await rotate('overlapping', 3_600_000);
  const id = await idOf('good');
  await service.stop();
  return { ...issued, replacement, id };
}

/** Sends it along every route to every replica. */
async function answersTo(sent: Sent) {
  const answers = replicas.flatMap(({ origin }) =>
    ROUTES.map(([method, path]) => sendRaw(Number(new URL(origin).port), requestOf(method, path, sent))),
  );
  return Promise.all(answers);
}

function requestOf(method: string, path: string, { headers = [], query, body, mediaType = 'application/json' }: Sent): Buffer {
  const content = body ?? (method === 'POST' ? '{"name":"x"}' : '');
  const fields = content === '' ? headers : [...headers, `Content-Type: ${mediaType}`];
  return Buffer.from(request(`${method} ${path}${query === undefined ? '' : `?${query}`}`, fields, content), 'latin1');
}

/** Whether every replica answers so along every route, and says no more than it should. */
async function expectAnswers(sent: Sent, expected: Expected): Promise<void> {
  const answers = await answersTo(sent);
  const statuses = answers.map(({ status }) => status);
  if (expected !== 'missing' && expected !== 'invalid') {
    expect(statuses).toEqual(replicas.flatMap(() => (expected === 'accepted' ? ACCEPTED : expected)));
    return;
  }
  expect(statuses).toEqual(answers.map(() => 401));
  for (const { headers, body } of answers) {
    expect(/(?<=^www-authenticate: ).*$/m.exec(headers)?.[0]).toBe(CHALLENGES[expected].toLowerCase());
    expect(headers).not.toContain('ratelimit');
    // The same words for every reason.
    expect(JSON.parse(body)).toEqual({
      type: '/docs/problems#unauthorized',
      title: 'Missing or invalid token',
      status: 401,
      detail: 'A valid bearer token is required.',
      instance: expect.stringMatching(/^\/v1\/(?:items|nothing)$/),
      requestId: expect.any(String),
    });
  }
}

it.each(tokenRows)('access tokens: %s', async (_name, send, expected) => {
  for (const sent of await send(credentials)) await expectAnswers(sent, expected);
});

it.each(jwtRows)('JWTs: %s', async (_name, send, expected) => {
  for (const sent of await send(provider)) await expectAnswers(sent, expected);
});

it('counted each kind of credential, led no replica to keys of an attacker, and all replicas end well', async () => {
  for (const replica of replicas) {
    for (const kind of ['token', 'jwt']) {
      expect(await replica.metric(`items_authentications_total{kind="${kind}"}`)).toBeGreaterThan(0);
    }
    expect(await replica.end('SIGTERM')).toBe(0);
  }
  expect(provider.requests.elsewhere).toBe(0);
});
