import { randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { AUDIENCE, CertifiedProvider, newKey } from './support/certified-provider.js';
import { eventually } from './support/eventually.js';
import { ServiceProcess } from './support/process.js';
import { createEmbedded } from './support/test-database.js';

const ALL = 'items:read items:write';
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'] as const;

let keys: Record<(typeof ALGORITHMS)[number], Awaited<ReturnType<typeof newKey>>>;
let provider: CertifiedProvider;
let service: ServiceProcess;

// The provider tells developers about its defaults.
for (const method of ['info', 'warn'] as const) jest.spyOn(console, method).mockImplementation(() => undefined);

beforeAll(async () => {
  keys = { RS256: await newKey('RS256'), ES256: await newKey('ES256'), EdDSA: await newKey('EdDSA') };
  provider = await CertifiedProvider.start(Object.values(keys).map(({ jwk }) => jwk));
  const { environment } = await createEmbedded();
  const jwts = { AUTH_JWT_ISSUER: provider.issuer, AUTH_JWT_AUDIENCE: AUDIENCE, AUTH_FAILURE_BURST: '1000000' };
  service = await ServiceProcess.startReady({ ...environment, ...jwts });
});

beforeEach(() => provider.signing.clear());

/** The statuses of a list and a create. */
async function statusesWith(token: string): Promise<number[]> {
  const api = service.client(token);
  return [(await api.list()).status, (await api.create({ name: 'x' })).status];
}

/** Why the service refuses a token, by its log; undefined if it does not. */
async function refusalOf(token: string): Promise<unknown> {
  const id = randomUUID();
  const { status, headers } = await service.client(token).call('GET', '/v1/items', { headers: { 'X-Request-Id': id } });
  if (status === 200) return undefined;
  expect([status, headers.get('WWW-Authenticate')]).toEqual([401, 'Bearer realm="items", error="invalid_token"']);
  const line = () => service.linesOf('request').find(({ requestId }) => requestId === id);
  await eventually(() => line() !== undefined);
  return (line()?.['refusal'] as { reason?: unknown } | undefined)?.reason;
}

describe('an access token of a certified issuer, for the audience', () => {
  it.each(ALGORITHMS)('is accepted, signed with %s [jwt-algorithms] [jwt-type]', async (alg) => {
    provider.signing.set(AUDIENCE, { sign: { alg } });
    const token = await provider.issue(ALL);
    expect(decodeProtectedHeader(token)).toEqual({ alg, typ: 'at+jwt', kid: keys[alg].jwk.kid });
    expect(await statusesWith(token)).toEqual([200, 201]);
  });

  it.each([
    ['items:read', [200, 403]],
    ['items:write', [403, 201]],
    ['', [403, 403]],
  ])('has the scopes that the issuer granted: %s', async (scope, statuses) => {
    expect(await statusesWith(await provider.issue(scope))).toEqual(statuses);
  });
});

describe('after the login of a user at a certified issuer, by the code flow with PKCE', () => {
  it.each(ALGORITHMS)('the access token is accepted, and the ID token is refused, signed with %s', async (alg) => {
    provider.signing.set(AUDIENCE, { sign: { alg } });
    const { accessToken, idToken } = await provider.logIn('alice', ALL);
    expect(decodeProtectedHeader(accessToken)).toEqual({ alg, typ: 'at+jwt', kid: keys[alg].jwk.kid });
    expect(decodeJwt(accessToken)).toMatchObject({
      iss: provider.issuer,
      aud: AUDIENCE,
      sub: 'alice',
      client_id: 'website',
    });
    expect(await statusesWith(accessToken)).toEqual([200, 201]);
    expect(decodeJwt(idToken)).toMatchObject({ iss: provider.issuer, aud: 'website', sub: 'alice' });
    expect(await refusalOf(idToken)).toBe('jwt-claims');
  });

  it('the access token has the scopes to which the user consented', async () => {
    expect(await statusesWith((await provider.logIn('bob', 'items:read')).accessToken)).toEqual([200, 403]);
  });

  it('a client that did not begin the flow gets no token', async () => {
    const stolen = provider.logIn('carol', ALL, () => 'x'.repeat(43));
    await expect(stolen).rejects.toThrow('"error":"invalid_grant"');
  });
});

describe('another token of a certified issuer', () => {
  it('is refused for another resource, and without one, when it is opaque', async () => {
    expect(await refusalOf(await provider.issue(ALL, 'https://other.example/'))).toBe('jwt-claims');
    expect(await refusalOf(await provider.issue('openid', ''))).toBe('malformed');
  });

  it('is refused after its expiry', async () => {
    const { now } = Date;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => now() - 86_400_000);
    const expired = await provider.issue(ALL).finally(() => clock.mockRestore());
    expect(await refusalOf(expired)).toBe('jwt-expired');
  });

  it('is refused if it is an ID token, and has no scopes if its client has the name of the audience', async () => {
    const token = await provider.issueIdToken('batch');
    expect(decodeJwt(token)).toMatchObject({ iss: provider.issuer, aud: 'batch', sub: 'alice' });
    expect(await refusalOf(token)).toBe('jwt-claims');
    expect(await statusesWith(await provider.issueIdToken(AUDIENCE))).toEqual([403, 403]);
  });

  it('is refused if it is a statement about a token', async () => {
    const statement = await provider.introspect(await provider.issue('openid', ''));
    expect(decodeProtectedHeader(statement)).toMatchObject({ typ: 'token-introspection+jwt' });
    expect(decodeJwt(statement)).toMatchObject({ iss: provider.issuer, aud: AUDIENCE });
    expect(await refusalOf(statement)).toMatch(/^jwt-(?:form|claims)$/);
  });

  it.each(['HS256', 'HS512'] as const)('is refused, signed with %s and the public key as the secret', async (alg) => {
    provider.signing.set(AUDIENCE, { sign: { alg, key: Buffer.from(keys.RS256.publicPem), kid: keys.RS256.jwk.kid ?? '' } });
    const token = await provider.issue(ALL);
    expect(decodeProtectedHeader(token)).toMatchObject({ alg, typ: 'at+jwt' });
    expect(await refusalOf(token)).toBe('jwt-form');
  });

  it('is refused with another algorithm of its key, without one, and with other claims', async () => {
    provider.signing.set(AUDIENCE, { sign: { alg: 'PS256' } });
    expect(await refusalOf(await provider.issue(ALL))).toBe('jwt-form');
    provider.signing.clear();
    const [header = '', payload = '', signature = ''] = (await provider.issue('items:read')).split('.');
    const encoded = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url');
    const changed = encoded({ ...decodeJwt(`${header}.${payload}.${signature}`), scope: ALL });
    expect(await refusalOf(`${header}.${changed}.${signature}`)).toBe('jwt-signature');
    expect(await refusalOf(`${encoded({ alg: 'none', typ: 'at+jwt' })}.${payload}.`)).toMatch(/^(?:jwt-form|malformed)$/);
  });

  it('is encrypted: refused', async () => {
    const key = Buffer.alloc(32, 1);
    provider.signing.set(AUDIENCE, { sign: { alg: 'RS256' }, encrypt: { alg: 'dir', enc: 'A256GCM', key } });
    expect(await refusalOf(await provider.issue(ALL))).toMatch(/^(?:jwt-form|malformed)$/);
  });
});

it('accepts known keys while the issuer is down, and a key that it signs with from now on once it is back [issuer-keys-kept]', async () => {
  const old = await provider.issue(ALL);
  const next = await newKey('RS256');
  const all = [next.jwk, ...Object.values(keys).map(({ jwk }) => jwk)];
  provider.use(all);
  const token = await provider.issue(ALL);
  expect(decodeProtectedHeader(token).kid).toBe(next.jwk.kid);
  provider.fail();
  expect(await refusalOf(token)).toBe('jwt-key');
  expect(await statusesWith(old)).toEqual([200, 201]);
  provider.use(all);
  // At most every 30 seconds.
  await eventually(async () => (await refusalOf(token)) === undefined);
  expect(await statusesWith(token)).toEqual([200, 201]);
});

it('writes no token to the log', () => {
  expect(service.output.stdout).not.toMatch(/eyJ[\w-]+\.eyJ/);
});
