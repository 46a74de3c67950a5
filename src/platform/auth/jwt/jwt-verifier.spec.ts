import { randomInt } from 'node:crypto';
import { jest } from '@jest/globals';
import { Logger, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { JWTPayload } from 'jose';
import { v5, version } from 'uuid';
import { hostileTokens } from '../../../../test/support/hostile-tokens.js';
import { IdentityProvider, type Signing } from '../../../../test/support/identity-provider.js';
import { algorithms, SigningKey } from '../../../../test/support/signing-key.js';
import { Configuration } from '../../config/configuration.js';
import { ConfigurationModule } from '../../config/configuration.module.js';
import { readConfiguration } from '../../config/read-configuration.js';
import { Metrics } from '../../observability/metrics.js';
import type { Principal } from '../principal.js';
import { IssuerKeys } from './issuer-keys.js';
import { JwtVerifier } from './jwt-verifier.js';

let provider: IdentityProvider;
let keys: IssuerKeys;
let verifier: JwtVerifier;
const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
jest.spyOn(Logger.prototype, 'log').mockImplementation(() => undefined);

beforeAll(async () => {
  provider = await IdentityProvider.start();
  const configuration = readConfiguration(provider.environment);
  keys = new IssuerKeys(configuration, new Metrics());
  verifier = new JwtVerifier(configuration, keys);
  verifier.start();
});

afterAll(async () => {
  keys.stop();
  await provider.stop();
});

beforeEach(() => {
  warn.mockClear();
});

/** Seconds since the epoch. */
function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

async function principalOf(claims: JWTPayload, signing?: Signing): Promise<Principal | undefined> {
  const verdict = await verifier.verify(await provider.sign(claims, signing));
  return 'principal' in verdict ? verdict.principal : undefined;
}

describe('a JWT of the issuer', () => {
  it.each(algorithms)('is accepted when signed with %s', async (alg) => {
    const exp = inSeconds(100);
    const id = v5('alice', v5(provider.issuer, v5.URL));
    expect(await verifier.verify(await provider.sign({ exp }, { alg }))).toEqual({
      principal: { id, familyId: id, subject: 'alice', scopes: 'all' },
      until: (exp + 30) * 1000,
    });
    expect(version(id)).toBe(5);
  });

  it.each(algorithms)('need not name the only key for %s', async (alg) => {
    expect(await principalOf({}, { alg, kid: null })).toMatchObject({ subject: 'alice' });
  });

  it.each<[Record<string, number>, string]>([
    [{ exp: -20 }, 'expired within the leeway'],
    [{ nbf: 20 }, 'begins within the leeway'],
  ])('is accepted with %j, when it %s', async (times) => {
    const claims = Object.fromEntries(Object.entries(times).map(([name, seconds]) => [name, inSeconds(seconds)]));
    expect(await principalOf(claims)).toMatchObject({ subject: 'alice' });
  });

  it('may be for other audiences, too', async () => {
    expect(await principalOf({ aud: ['another-api', provider.audience] })).toMatchObject({ subject: 'alice' });
  });

  it.each<[JWTPayload, Principal['scopes']]>([
    [{}, 'all'],
    [{ scope: 'items:read' }, ['items:read']],
    [{ scope: ' items:read  items:write ' }, ['items:read', 'items:write']],
    [{ scope: ['items:read', 'items:write'] }, ['items:read', 'items:write']],
    [{ scp: 'items:read items:write' }, ['items:read', 'items:write']],
    [{ scp: ['items:read'] }, ['items:read']],
    [{ scope: 'items:read', scp: ['items:write'] }, ['items:read']],
    [{ scope: '', scp: ['items:write'] }, []],
    [{ scp: '' }, []],
    [{ scope: [] }, []],
  ])('with %j has the scopes %j', async (claims, scopes) => {
    expect(await principalOf(claims)).toMatchObject({ scopes });
  });

  it.each(['system:serviceaccount:shop:checkout', 'é'.repeat(255), '😀'.repeat(255), ' '])(
    'may speak of %j, and always means the same by it',
    async (sub) => {
      const principal = await principalOf({ sub });
      expect(principal).toMatchObject({ subject: sub, id: v5(sub, v5(provider.issuer, v5.URL)) });
      expect(await principalOf({ sub }, { alg: 'ES256' })).toEqual(principal);
    },
  );

  it.each(['1e300', '1e999'])('may expire at %s, beyond what a Date, or a number, can hold', async (number) => {
    const payload = JSON.stringify({ iss: provider.issuer, aud: provider.audience, sub: 'alice', exp: 'exp' });
    const { kid } = provider.key();
    const token = await provider.key().sign({ alg: 'RS256', kid }, payload.replace('"exp":"exp"', `"exp":${number}`));
    const verdict = await verifier.verify(token);
    expect('until' in verdict && new Date(verdict.until).toISOString()).toBe('+275760-09-13T00:00:00.000Z');
  });
});

describe('a hostile JWT', () => {
  it.each(hostileTokens)('is refused: %s', async (_name, reason, make) => {
    expect(await verifier.verify(await make(provider))).toEqual({ refused: reason });
    expect(warn).not.toHaveBeenCalled();
    expect(provider.requests.elsewhere).toBe(0);
  });

  it.each(['', '.', '....', '\0', 'a.b.c', 'é.é.é', '\ud800', 'x'.repeat(1_000_000), '.'.repeat(1_000_000)])(
    'is refused: junk %#',
    async (junk) => {
      expect(await verifier.verify(junk)).toEqual({ refused: 'jwt-form' });
    },
  );

  it.each(algorithms)('does not come of changing a JWT with %s by a character anywhere', async (alg) => {
    const token = await provider.sign({}, { alg });
    const { length } = token;
    for (let index = 0; index < 1000; index += 1) {
      const place = randomInt(length);
      const other = token[place] === 'A' ? 'B' : 'A';
      const verdict = await verifier.verify(token.slice(0, place) + other + token.slice(place + 1));
      // The last character of the signature has bits that mean nothing.
      expect(place === length - 1 || 'refused' in verdict).toBe(true);
    }
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('JWTs that do not name one of several keys', () => {
  let open: { provider: IdentityProvider; keys: IssuerKeys; verifier: JwtVerifier };

  beforeEach(async () => {
    const several = await IdentityProvider.start();
    const configuration = readConfiguration(several.environment);
    const itsKeys = new IssuerKeys(configuration, new Metrics());
    open = { provider: several, keys: itsKeys, verifier: new JwtVerifier(configuration, itsKeys) };
  });

  afterEach(async () => {
    open.keys.stop();
    await open.provider.stop();
  });

  it.each(algorithms)('are tried with each: %s', async (alg) => {
    const former = open.provider.key(alg);
    await open.provider.rotate();
    const signings = [{ alg }, { key: former }];
    for (const signing of signings) {
      const token = await open.provider.sign({}, { ...signing, kid: null });
      expect(await open.verifier.verify(token)).toMatchObject({ principal: { subject: 'alice' } });
      const late = await open.provider.sign({ exp: inSeconds(-60) }, { ...signing, kid: null });
      expect(await open.verifier.verify(late)).toEqual({ refused: 'jwt-expired' });
    }
    const strange = await open.provider.sign({}, { key: await SigningKey.generate(alg), kid: null });
    expect(await open.verifier.verify(strange)).toEqual({ refused: 'jwt-signature' });
  });

  it('are tried with ten at most', async () => {
    const first = open.provider.key('ES256');
    const others = await Promise.all(Array.from({ length: 10 }, () => SigningKey.generate('ES256')));
    const [ninth, tenth] = others.slice(8);
    open.provider.published = [first, ...others].map(({ publicJwk }) => publicJwk);
    const verdictOn = async (key?: SigningKey) =>
      open.verifier.verify(await open.provider.sign({}, { alg: 'ES256', kid: null, ...(key && { key }) }));
    expect(await verdictOn(first)).toHaveProperty('principal');
    expect(await verdictOn(ninth)).toHaveProperty('principal');
    expect(await verdictOn(tenth)).toEqual({ refused: 'jwt-signature' });
  });
});

describe('the verifier', () => {
  it('is off, and refuses everything, without an issuer', async () => {
    @Module({ imports: [ConfigurationModule.with(new Configuration())], providers: [Metrics, IssuerKeys, JwtVerifier] })
    class JwtModule {}
    const context = await NestFactory.createApplicationContext(JwtModule, { logger: false });
    const off = context.get(JwtVerifier);
    off.start();
    expect(off.isEnabled).toBe(false);
    expect(await off.verify(await provider.sign())).toEqual({ refused: 'malformed' });
    expect(context.get(Metrics).registry.getMetricsAsArray()).toEqual([]);
    await context.close();
  });

  it('is on with an issuer', () => {
    expect(verifier.isEnabled).toBe(true);
  });

  it.each<[string, (token: string) => unknown]>([
    ['an error', (token) => new TypeError(`bad ${token}`)],
    ['no error', (token) => token],
  ])('refuses what fails in a way that nobody thought of, and does not quote it in the log: %s', async (_case, fault) => {
    const token = await provider.sign();
    const find = jest.spyOn(keys, 'find').mockRejectedValue(fault(token));
    expect(await verifier.verify(token)).toEqual({ refused: 'jwt-form' });
    find.mockRestore();
    expect(warn).toHaveBeenCalledTimes(1);
    expect(JSON.stringify(warn.mock.calls)).toContain('JWT not verified');
    expect(JSON.stringify(warn.mock.calls)).not.toContain(token.slice(0, 20));
  });
});
