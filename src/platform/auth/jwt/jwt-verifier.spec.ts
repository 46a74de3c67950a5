import { randomInt } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { v5, version } from 'uuid';
import { hostileTokens, inSeconds } from '../../../../test/support/hostile-tokens.js';
import { IdentityProvider } from '../../../../test/support/identity-provider.js';
import { algorithms } from '../../../../test/support/signing-key.js';
import { Configuration } from '../../config/configuration.js';
import { readConfiguration } from '../../config/read-configuration.js';
import { Metrics } from '../../observability/metrics.js';
import { JwtVerifier } from './jwt-verifier.js';

let provider: IdentityProvider;
let verifier: JwtVerifier;
jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);

beforeAll(async () => {
  provider = await IdentityProvider.start();
  verifier = new JwtVerifier(readConfiguration(provider.environment), new Metrics());
});

afterAll(() => verifier.onApplicationShutdown());

describe('a JWT of the issuer', () => {
  it.each(algorithms)(
    'is accepted when signed with %s, also without a key id if there is only one key [jwt-algorithms]',
    async (alg) => {
      const exp = inSeconds(100);
      const id = v5('alice', v5(provider.issuer, v5.URL));
      for (const signing of [{ alg }, { alg, kid: null }]) {
        expect(await verifier.verify(await provider.sign({ exp }, signing))).toEqual({
          principal: { id, familyId: id, subject: 'alice', scopes: [] },
          until: (exp + 30) * 1000,
        });
      }
      expect(version(id)).toBe(5);
    },
  );

  it.each<[string, object, object?]>([
    ['expired within the leeway [jwt-expiry-leeway]', { exp: inSeconds(-5) }],
    ['valid after the leeway', { nbf: inSeconds(20) }],
    ['valid for longer than a Date can hold', { exp: 1e300 }],
    ['for any text as subject', { sub: '😀'.repeat(255) }, { subject: '😀'.repeat(255) }],
    ['with scopes and more spaces', { scope: ' items:read  items:write ' }, { scopes: ['items:read', 'items:write'] }],
    ['with a list of scopes', { scope: ['items:read', 'items:write'] }, { scopes: ['items:read', 'items:write'] }],
    ['with scp', { scp: 'items:read items:write' }, { scopes: ['items:read', 'items:write'] }],
    ['with scope and scp', { scope: 'items:read', scp: ['items:write'] }, { scopes: ['items:read'] }],
    ['with an empty scope', { scope: '', scp: ['items:write'] }, { scopes: [] }],
  ])('is accepted %s [scopes-only-named]', async (_case, claims, principal = { subject: 'alice', scopes: [] }) => {
    expect(await verifier.verify(await provider.sign({ ...claims }))).toMatchObject({ principal });
  });
});

describe('the type of a JWT', () => {
  it.each([null, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt', 'application/jwt'])(
    'may be %s [jwt-type]',
    async (typ) => {
      expect(await verifier.verify(await provider.sign({}, { typ }))).toHaveProperty('principal');
    },
  );

  it.each(['', 'at-jwt', 'xjwt', 'jwtx', 'atjwt', 'xat+jwt', 'application/xjwt', 'xapplication/jwt', 'text/jwt'])(
    'cannot be "%s"',
    async (typ) => {
      expect(await verifier.verify(await provider.sign({}, { typ }))).toEqual({ refused: 'jwt-form' });
    },
  );
});

describe('the scopes of a JWT that names none', () => {
  const settings = { AUTH_JWT_DEFAULT_SCOPES: 'items:read, items:write' };

  it.each<[string, object, string[]]>([
    ['no claim', {}, ['items:read', 'items:write']],
    ['an empty scope', { scope: '' }, []],
    ['scp', { scp: ['items:read'] }, ['items:read']],
  ])(
    'are those of AUTH_JWT_DEFAULT_SCOPES only without a claim: with %s [jwt-default-scopes]',
    async (_case, claims, scopes) => {
      const defaulting = new JwtVerifier(readConfiguration({ ...provider.environment, ...settings }), new Metrics());
      expect(await defaulting.verify(await provider.sign({ ...claims }))).toMatchObject({ principal: { scopes } });
    },
  );
});

describe('a hostile JWT', () => {
  it.each(hostileTokens)(
    'is refused: %s [jwt-of-issuer-only] [jwt-claims-required] [jwt-algorithms] [jwt-type]',
    async (_name, reason, make) => {
      expect(await verifier.verify(await make(provider))).toEqual({ refused: reason });
      expect(provider.requests.elsewhere).toBe(0);
    },
  );

  it.each(algorithms)('is detected when a character of a JWT with %s is changed', async (alg) => {
    const token = await provider.sign({}, { alg });
    for (let count = 0; count < 1000; count += 1) {
      // The last character of the signature has bits that mean nothing.
      const index = randomInt(token.length - 1);
      const other = token[index] === 'A' ? 'B' : 'A';
      expect(await verifier.verify(token.slice(0, index) + other + token.slice(index + 1))).toHaveProperty('refused');
    }
  });
});

it('refuses all JWTs and adds no metrics without an issuer', async () => {
  const metrics = new Metrics();
  const off = new JwtVerifier(new Configuration(), metrics);
  off.start();
  expect(await off.verify(await provider.sign())).toEqual({ refused: 'malformed' });
  off.onApplicationShutdown();
  expect(metrics.registry.getMetricsAsArray()).toEqual([]);
});
