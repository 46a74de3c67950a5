import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { AccessTokensService } from '../src/platform/auth/access-tokens.service.js';
import { generateToken, tokenDigest, TOKEN_PREFIX } from '../src/platform/auth/token-format.js';
import { DatabaseMetrics } from '../src/platform/database/database-metrics.js';
import { Metrics } from '../src/platform/observability/metrics.js';
import { Api, type ProblemBody } from './support/api.js';
import { IdentityProvider } from './support/identity-provider.js';
import { request, sendRaw } from './support/raw-http.js';
import { eventually, startService, TESTER } from './support/service.js';
import { useService } from './support/use-service.js';

const CACHE_SECONDS = 1;

/** Tokens in every state that they can have, and JWTs of the provider. */
interface Credentials {
  good: string;
  expired: string;
  revoked: string;
  /** Rotated, and past the overlap. */
  rotated: string;
  /** Rotated, and within the overlap. */
  overlapping: string;
  /** The token that replaced it. */
  replacement: string;
  reader: string;
  writer: string;
}

/** Lines of the header section in Latin-1, and additions to path and body. */
interface Sent {
  headers?: string[];
  query?: string;
  body?: string;
  mediaType?: string;
}

/** The statuses of a list, a create and a wrong path, or a refusal of all with a challenge. */
type Expected = readonly [number, number, number] | 'missing' | 'invalid';

const ROUTES = [
  ['GET', '/v1/items'],
  ['POST', '/v1/items'],
  ['GET', '/v1/nothing'],
] as const;

const ACCEPTED = [200, 201, 404] as const;
const READS = [200, 403, 404] as const;
const WRITES = [403, 201, 404] as const;
const NEITHER = [403, 403, 404] as const;
const ALL = { scope: 'items:read items:write' };
const CHALLENGES = { missing: 'bearer realm="items"', invalid: 'bearer realm="items", error="invalid_token"' };

let provider: IdentityProvider;
let tokens: AccessTokensService;
let credentials: Credentials;

const idOf = async (wanted: string) => (await tokens.list()).find(({ name }) => name === wanted)?.id ?? '';

const service = useService(async () => {
  provider = await IdentityProvider.start();
  // Everything here fails at one address.
  const settings = { TOKEN_CACHE_TTL: String(CACHE_SECONDS), AUTH_FAILURE_BURST: '1000000' };
  return startService({ ...settings, ...provider.environment });
});

beforeAll(async () => {
  tokens = service.app.get(AccessTokensService);
  const issue = async (name: string, restrictions: { expiresAt?: Date; scopes?: string[] } = {}) =>
    (await tokens.issue({ name, ...restrictions }, TESTER)).token;
  const rotate = async (name: string, overlap: number) => (await tokens.rotate(await idOf(name), { overlap }, TESTER)).token;
  const issued = {
    good: service.api.token,
    expired: await issue('expired', { expiresAt: new Date(Date.now() - 1) }),
    revoked: await issue('revoked'),
    rotated: await issue('rotated'),
    overlapping: await issue('overlapping'),
    reader: await issue('reader', { scopes: ['items:read'] }),
    writer: await issue('writer', { scopes: ['items:write'] }),
  };
  await tokens.revoke({ id: await idOf('revoked') }, TESTER);
  await rotate('rotated', 0);
  credentials = { ...issued, replacement: await rotate('overlapping', 3_600_000) };
});

function bearer(token: string): Sent {
  return { headers: [`Authorization: Bearer ${token}`] };
}

/** Values of `Authorization`, where `$` is the good token. */
function values(...texts: string[]): () => Sent[] {
  return () => texts.map((text) => ({ headers: [`Authorization: ${text.replaceAll('$', credentials.good)}`] }));
}

/** Header sections, where `$` is the good token. */
function sections(...headers: string[][]): () => Sent[] {
  return () => headers.map((lines) => ({ headers: lines.map((line) => line.replaceAll('$', credentials.good)) }));
}

/** Bearer credentials derived from existing ones. */
function tokensOf(make: (given: Credentials) => string[]): () => Sent[] {
  return () => make(credentials).map(bearer);
}

/** JWTs of the provider. */
function jwts(...given: Parameters<IdentityProvider['sign']>[]): () => Promise<Sent[]> {
  return async () => (await Promise.all(given.map((parameters) => provider.sign(...parameters)))).map(bearer);
}

async function expectAnswers({ headers = [], query = '', body, mediaType = 'application/json' }: Sent, expected: Expected) {
  const answers = await Promise.all(
    ROUTES.map(([method, path]) => {
      const content = body ?? (method === 'POST' ? '{"name":"x"}' : '');
      const fields = content === '' ? headers : [...headers, `Content-Type: ${mediaType}`];
      return sendRaw(service.port, Buffer.from(request(`${method} ${path}${query}`, fields, content), 'latin1'));
    }),
  );
  const isRefused = expected === 'missing' || expected === 'invalid';
  expect(answers.map(({ status }) => status)).toEqual(isRefused ? [401, 401, 401] : expected);
  for (const answer of isRefused ? answers : []) {
    expect(/(?<=^www-authenticate: ).*$/m.exec(answer.headers)?.[0]).toBe(CHALLENGES[expected as 'missing' | 'invalid']);
    expect(answer.headers).not.toContain('ratelimit');
    // The same words for every reason.
    expect(JSON.parse(answer.body)).toEqual({
      type: '/docs/problems#unauthorized',
      title: 'Missing or invalid token',
      status: 401,
      detail: 'A valid bearer token is required.',
      instance: expect.stringMatching(/^\/v1\/(?:items|nothing)$/),
      requestId: expect.any(String),
    });
  }
}

it.each<[string, () => Sent[] | Promise<Sent[]>, Expected]>([
  ['no header [token-required] [challenge-without-token]', () => [{}], 'missing'],
  ['no token behind the scheme', values('', '   ', 'Bearer', 'Bearer   '), 'missing'],
  ['no scheme, or no blank behind it', values('$', 'Bearer$', 'Bearer:$', 'Bearer\t$', 'Bear $'), 'missing'],
  ['another scheme', values('Basic $', 'Token $', 'DPoP $', 'Basic Bearer $'), 'missing'],
  [
    'another header [token-header-only]',
    sections(['X-Access-Token: $'], ['Proxy-Authorization: Bearer $'], ['Cookie: access_token=$']),
    'missing',
  ],
  [
    'another spelling of the same [scopes-all-by-default]',
    values('bearer $', 'BEARER $', 'Bearer    $', '  Bearer $  '),
    ACCEPTED,
  ],
  ['the token and more', values('Bearer $ x', 'Bearer $, realm="items"', 'Bearer $, Bearer $', 'Bearer $\u00e9'), 'invalid'],
  ['something around the token', values('Bearer "$"', 'Bearer <$>', 'Bearer token=$', 'Bearer $=='), 'invalid'],
  ['another text', values('Bearer x', 'Bearer undefined', 'Bearer __proto__', `Bearer ${'x'.repeat(8000)}`), 'invalid'],
  ['more than a header section may have', values(`Bearer ${'x'.repeat(20_000)}`), [431, 431, 431]],
  ['a control character', values('Bearer $\u0000'), [400, 400, 400]],
  [
    'another prefix',
    tokensOf(({ good }) =>
      ['', 'other_', TOKEN_PREFIX.toUpperCase()].map((prefix) => prefix + good.slice(TOKEN_PREFIX.length)),
    ),
    'invalid',
  ],
  ['another length', tokensOf(({ good }) => ['items_', good.slice(0, -1), `${good}0`]), 'invalid'],
  [
    'a wrong checksum [refusal-says-no-reason]',
    tokensOf(({ good }) => [good.slice(0, -1) + (good.endsWith('0') ? '1' : '0')]),
    'invalid',
  ],
  ['a token that was never issued [token-required] [challenge-invalid-token]', tokensOf(() => [generateToken()]), 'invalid'],
  ['the digest', tokensOf(({ good }) => [tokenDigest(good)]), 'invalid'],
  [
    'a token that is over [challenge-invalid-token] [refusal-says-no-reason]',
    tokensOf(({ expired, revoked, rotated }) => [expired, revoked, rotated]),
    'invalid',
  ],
  ['a token in use [rotation-overlap]', tokensOf(({ overlapping, replacement }) => [overlapping, replacement]), ACCEPTED],
  ['a token for reading [token-required] [scopes-only-named]', tokensOf(({ reader }) => [reader]), READS],
  ['a token for writing [scopes-only-named]', tokensOf(({ writer }) => [writer]), WRITES],
  ['the header twice', sections(['Authorization: Bearer $', 'Authorization: Bearer $']), 'invalid'],
  ['a good one behind another', sections(['Authorization: Basic dTpw', 'Authorization: Bearer $']), 'invalid'],
  ['a good one before a bad one', sections(['Authorization: Bearer $', 'Authorization: Bearer x']), 'invalid'],
  ['Basic twice', sections(['Authorization: Basic dTpw', 'Authorization: Basic dTpw']), 'missing'],
  [
    'the query [token-header-only]',
    () => ['', '[]'].map((name) => ({ query: `?access_token${name}=${credentials.good}` })),
    'missing',
  ],
  ['the query, beside a good header', () => [{ ...bearer(credentials.good), query: '?access_token=x' }], [400, 400, 404]],
  [
    'a JSON body [token-header-only]',
    () => [{ body: JSON.stringify({ name: 'x', access_token: credentials.good }) }],
    'missing',
  ],
  [
    'a form [token-header-only]',
    () => [{ body: `name=x&access_token=${credentials.good}`, mediaType: 'application/x-www-form-urlencoded' }],
    'missing',
  ],
  [
    'a malformed or large body and no token [refused-before-body]',
    () => [{ body: '{"name":' }, { body: 'x'.repeat(100_000) }],
    'missing',
  ],
  ['a JWT for access, by its type [jwt-type]', jwts([ALL], [ALL, { typ: 'application/AT+JWT' }]), ACCEPTED],
  [
    'a JWT for something else, by its type [jwt-type]',
    jwts([ALL, { typ: 'logout+jwt' }], [ALL, { typ: 'id+jwt' }]),
    'invalid',
  ],
  [
    'a JWT for several audiences, of 12,000 characters',
    jwts([{ ...ALL, aud: ['another', 'items-api'], groups: 'x'.repeat(8500) }]),
    ACCEPTED,
  ],
  ['a JWT for reading [scopes-only-named]', jwts([{ scope: 'openid items:read' }]), READS],
  ['a JWT for writing, in scp', jwts([{ scp: ['items:write'] }]), WRITES],
  [
    'a JWT with other scopes, or none [jwt-default-scopes]',
    jwts([{ scope: 'openid profile' }], [{ scope: '' }], []),
    NEITHER,
  ],
  [
    'a JWT that has expired, or is of another issuer [jwt-of-issuer-only]',
    jwts([{ exp: 1 }], [{ iss: 'https://issuer.example' }]),
    'invalid',
  ],
])('%s', async (_name, send, expected) => {
  for (const sent of await send()) await expectAnswers(sent, expected);
});

it.each(['DELETE /v1/items', 'OPTIONS /v1/items', 'GET /nothing', 'POST /'])(
  '%s is refused without a token [token-required]',
  async (line) => {
    const [method = '', path = ''] = line.split(' ');
    const { status, headers } = await service.api.send(method, path);
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="items"']);
  },
);

it('names the scopes that a token lacks [challenge-scopes]', async () => {
  const { status, headers, body } = await new Api(service.api.origin, credentials.reader).create<ProblemBody>({ name: 'x' });
  const challenge = 'Bearer realm="items", error="insufficient_scope", scope="items:write"';
  expect([status, headers.get('www-authenticate')]).toEqual([403, challenge]);
  expect(body.detail).toContain('items:write');
});

it('counts authenticated requests by kind of credential', async () => {
  const metric = await service.app.get(Metrics).registry.getSingleMetric('items_authentications_total')?.get();
  expect(metric?.values.map(({ labels, value }) => [labels['kind'], value > 0])).toEqual([
    ['token', true],
    ['jwt', true],
  ]);
});

describe('an access token', () => {
  it('is refused as soon as it has expired, also if it was in use [expiry-at-once]', async () => {
    const usual = await startService({ TOKEN_CACHE_TTL: '30' });
    let client = usual.api;
    let lifetime = 1000;
    let until = 0;
    // On a busy machine, the first ones have expired before they are used.
    await eventually(async () => {
      lifetime *= 2;
      until = Date.now() + lifetime;
      client = await usual.newClient('short', { expiresAt: new Date(until) });
      return (await client.list()).status === 200;
    });
    await delay(Math.max(0, until + 10 - Date.now()));
    expect((await client.list()).status).toBe(401);
    await usual.stop();
  });

  it('is refused within the time of the cache after it was revoked [revocation-time]', async () => {
    const client = await service.newClient('to be revoked');
    expect((await client.list()).status).toBe(200);
    const which = { id: await idOf('to be revoked') };
    expect([await tokens.revoke(which, TESTER), await tokens.revoke(which, TESTER)]).toEqual([
      expect.objectContaining(which),
      undefined,
    ]);
    // The time of the cache, and some more for a busy machine.
    await eventually(async () => (await client.list()).status === 401, CACHE_SECONDS + 10);
  });

  it('cannot be rotated twice, after it was revoked, or by an unknown id', async () => {
    const rotate = (id: string) => tokens.rotate(id, { overlap: 0 }, TESTER);
    await service.newClient('rotated once');
    const id = await idOf('rotated once');
    const outcomes = await Promise.allSettled([rotate(id), rotate(id)]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const next = (await tokens.list()).at(-1)?.id ?? '';
    await expect(rotate(id)).rejects.toThrow(`is already replaced by ${next}`);
    await tokens.revoke({ id: next }, TESTER);
    await expect(rotate(next)).rejects.toThrow('is revoked. Rotate');
    await expect(rotate('0190163d-8694-739b-aea5-966c26f8ad91')).rejects.toThrow('is unknown');
  });

  it('has the name and scopes of the token that it replaces [rotation-keeps-scopes]', async () => {
    await service.newClient('narrow', { scopes: ['items:read'] });
    const { token, row } = await tokens.rotate(await idOf('narrow'), { overlap: 0 }, TESTER);
    expect(row).toMatchObject({ name: 'narrow', scopes: ['items:read'] });
    const client = new Api(service.api.origin, token);
    expect([(await client.list()).status, (await client.create({ name: 'x' })).status]).toEqual([200, 403]);
  });

  it('is replaced without a longer life, however long the overlap is', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000);
    await service.newClient('one hour', { expiresAt });
    const { replacedExpiresAt } = await tokens.rotate(await idOf('one hour'), { overlap: 86_400_000 }, TESTER);
    expect(Math.abs(Number(replacedExpiresAt) - Number(expiresAt))).toBeLessThan(1000);
  });

  it('is revoked alone: the one that it replaced stays valid for its overlap [revoke-one-token]', async () => {
    const replaced = await service.newClient('replaced');
    const { token, row } = await tokens.rotate(await idOf('replaced'), { overlap: 3_600_000 }, TESTER);
    await tokens.revoke({ id: row.id }, TESTER);
    expect([(await new Api(replaced.origin, token).list()).status, (await replaced.list()).status]).toEqual([401, 200]);
  });

  it('that is over is refused with the reason and its id', async () => {
    const { expired, revoked, rotated } = credentials;
    for (const [reason, token] of Object.entries({ expired, revoked, rotated })) {
      expect(await tokens.verify(token)).toEqual({ refused: reason, tokenId: await idOf(reason) });
    }
  });

  it('gets its own verdict when it is looked up together with others, in one statement, as is the record of their use', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `at once ${index}`);
    const issued = await Promise.all(names.map((name) => tokens.issue({ name }, TESTER)));
    await tokens.revoke({ id: await idOf('at once 3') }, TESTER);
    const observed = jest.spyOn(service.app.get(DatabaseMetrics), 'observe');
    const verdicts = await Promise.all(
      [generateToken(), ...issued.map(({ token }) => token)].map((token) => tokens.verify(token)),
    );
    const refusals = verdicts.map((verdict) => ('refused' in verdict ? verdict.refused : undefined));
    expect(refusals).toEqual(['unknown', ...names.map((name) => (name === 'at once 3' ? 'revoked' : undefined))]);
    const count = (word: string) =>
      observed.mock.calls.filter(([text]) => text.trimStart().startsWith(word) && text.includes('access_tokens')).length;
    expect(count('SELECT')).toBe(1);
    const used = async () =>
      (await tokens.list()).filter(({ name, lastUsedOn }) => names.includes(name) && lastUsedOn !== null);
    await eventually(async () => (await used()).length === names.length - 1);
    expect(count('UPDATE')).toBe(1);
    observed.mockRestore();
    expect((await used()).map(({ name }) => name)).not.toContain('at once 3');
  });

  it('is stored as a digest, with the day of its last use [tokens-stored-hashed]', async () => {
    expect((await service.api.list()).status).toBe(200);
    const today = new Date().toISOString().slice(0, 10);
    await eventually(async () =>
      (await tokens.list()).some(({ name, lastUsedOn }) => name === 'test' && lastUsedOn === today),
    );
    expect(JSON.stringify(await tokens.list())).not.toContain(credentials.good.slice(6));
  });
});

describe('authentication', () => {
  it('responds with 401 before the body has arrived [refused-before-body]', async () => {
    const head = 'POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{';
    expect((await sendRaw(service.port, head)).status).toBe(401);
  });

  it('does not ask a client that waits for 100 Continue for its body [refused-before-body]', async () => {
    const head = (headers: string) =>
      `POST /v1/items HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 12\r\nExpect: 100-continue\r\n${headers}\r\n`;
    const refused = await sendRaw(service.port, head(''));
    expect(refused.status).toBe(401);
    expect(refused.headers).toContain('connection: close');
    expect((await sendRaw(service.port, head(`Authorization: Bearer ${credentials.good}\r\n`))).status).toBe(100);
  });
});
