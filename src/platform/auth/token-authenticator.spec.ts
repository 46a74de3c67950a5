import { jest } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { Configuration } from '../config/configuration.js';
import type { AccessToken } from './access-token.entity.js';
import type { AccessTokensService } from './access-tokens.service.js';
import type { AuditLog } from './audit-log.js';
import type { DeclaredTokens } from './declared/declared-tokens.js';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Principal, Verdict } from './principal.js';
import { TokenAuthenticator } from './token-authenticator.js';
import { digestOf, fingerprintOf, generateToken } from './token-format.js';

const BURST = 50;
const valid = generateToken();
const ADDRESS = '192.0.2.1';

/** Knows one token, and counts how often it is asked. */
class CountingTokens {
  lookUps = 0;
  revokedAt: Date | null = null;

  find(digest: Buffer): Promise<AccessToken | null> {
    this.lookUps += 1;
    const token = { id: '1', expiresAt: null, revokedAt: this.revokedAt } as AccessToken;
    return Promise.resolve(digest.equals(digestOf(valid)) ? token : null);
  }

  markUsed(): Promise<void> {
    return Promise.resolve();
  }
}

describe('the token authenticator', () => {
  let tokens: CountingTokens;
  let authenticator: TokenAuthenticator;
  let declared: Map<string, Principal>;
  let events: string[];
  let jwt: { keys?: { start: () => void }; verify: () => Promise<Verdict> };

  function build(variables: Partial<Configuration> = {}): TokenAuthenticator {
    return new TokenAuthenticator(
      tokens as unknown as AccessTokensService,
      { start: () => Promise.resolve(), find: (fingerprint: string) => declared.get(fingerprint) } as unknown as DeclaredTokens,
      jwt as unknown as JwtVerifier,
      { write: (event: string) => events.push(event) } as unknown as AuditLog,
      Object.assign(new Configuration(), { AUTH_FAILURE_BURST: BURST, AUTH_FAILURE_RATE: 1, ...variables }),
    );
  }

  const outcome = async (credential: string, address = ADDRESS): Promise<string> => {
    const verdict = await authenticator.authenticate(credential, address);
    return 'principal' in verdict ? verdict.principal.id : verdict.refused;
  };

  beforeEach(() => {
    tokens = new CountingTokens();
    declared = new Map();
    events = [];
    jwt = { verify: () => Promise.resolve({ refused: 'jwt-form' }) };
    authenticator = build();
  });

  it('looks a valid token up once, also when many requests present it at the same time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => outcome(valid)));
    expect(new Set(outcomes)).toEqual(new Set(['1']));
    await outcome(valid);
    expect([tokens.lookUps, authenticator.size]).toEqual([1, 1]);
  });

  it('keeps nothing of tokens that nobody issued, and asks nobody about those that are mistyped', async () => {
    await outcome(valid);
    for (let index = 0; index < BURST; index += 1) {
      expect(await outcome(generateToken())).toBe('unknown');
    }
    expect([tokens.lookUps, authenticator.size]).toEqual([BURST + 1, 1]);
    expect(await outcome(`${valid.slice(0, -1)}!`)).toBe('checksum');
    expect(await outcome('malformed')).toBe('malformed');
    expect(tokens.lookUps).toBe(BURST + 1);
  });

  it('tells at once what needs no look-up', async () => {
    const address = jest.fn(() => ADDRESS);
    const judge = (credential: string) => authenticator.judge(credential, address);
    expect(judge(`${valid.slice(0, -1)}!`)).toEqual({ refused: 'checksum' });
    expect(judge('malformed')).toEqual({ refused: 'malformed' });
    expect(address).not.toHaveBeenCalled();
    expect([judge(valid), judge(generateToken())]).toEqual([undefined, undefined]);

    await outcome(valid);
    await Promise.all(Array.from({ length: BURST + 1 }, () => outcome(generateToken())));
    const { lookUps } = tokens;
    expect(judge(valid)).toMatchObject({ principal: { id: '1' } });
    expect(judge(generateToken())).toEqual({ refused: 'budget' });
    expect(tokens.lookUps).toBe(lookUps);
  });

  it('takes what is declared for a token only if it is one', async () => {
    jwt = { ...jwt, keys: { start: () => undefined } };
    authenticator = build();
    const mistyped = `${valid.slice(0, -1)}!`;
    const [token, ...others] = [generateToken(), 'test', 'malformed', 'a.b.c', mistyped] as const;
    for (const text of [token, ...others]) declared.set(fingerprintOf(text), { id: text, familyId: text, scopes: 'all' });
    const address = () => ADDRESS;
    expect(authenticator.judge(token, address)).toMatchObject({ principal: { id: token } });
    const judged = others.map((text) => authenticator.judge(text, address));
    expect(judged).toEqual([{ refused: 'malformed' }, { refused: 'malformed' }, undefined, { refused: 'checksum' }]);
    const outcomes = await Promise.all([token, ...others].map((text) => outcome(text)));
    expect(outcomes).toEqual([token, 'malformed', 'malformed', 'jwt-form', 'checksum']);
  });

  it('looks nothing up for an address that has failed too often, but what was valid before', async () => {
    authenticator = build({ TOKEN_CACHE_TTL: 0.001 });
    expect(await outcome(valid)).toBe('1');
    const outcomes = await Promise.all(Array.from({ length: 1000 }, () => outcome(generateToken())));
    expect(new Set(outcomes)).toEqual(new Set(['unknown', 'budget']));
    await delay(5);
    const { lookUps } = tokens;
    expect(lookUps).toBeLessThan(BURST + 10);
    expect(events).toEqual(['authentication.refused-by-budget']);
    expect(await outcome(valid)).toBe('1');
    expect(tokens.lookUps).toBe(lookUps + 1);

    tokens.revokedAt = new Date();
    await delay(5);
    const verdicts = [await outcome(valid), await outcome(valid)];
    expect(verdicts).toEqual(['revoked', 'budget']);
  });

  it('refuses nobody for the budget of another address that presents the same token', async () => {
    authenticator = build({ AUTH_FAILURE_BURST: 1 });
    const outcomes = [outcome(generateToken()), outcome(valid), outcome(valid, '192.0.2.2')];
    expect((await Promise.all(outcomes)).at(-1)).toBe('1');
  });

  it('remembers of the scopes of a JWT those that routes ask for', async () => {
    const scopes = [...Array.from({ length: 1000 }, (_, index) => `other:${index}`), 'items:read'];
    const principal = { id: '2', familyId: '2', subject: 'alice', scopes };
    jwt = { ...jwt, keys: { start: () => undefined }, verify: () => Promise.resolve({ principal, until: Infinity }) };
    authenticator = build();
    await authenticator.start(['items:read', 'items:write', 'items:read']);
    await authenticator.authenticate('a.b.c', ADDRESS);
    jwt.verify = () => Promise.reject(new Error('It should be remembered.'));
    const remembered = await authenticator.authenticate('a.b.c', ADDRESS);
    expect(remembered).toMatchObject({ principal: { id: '2', subject: 'alice', scopes: ['items:read'] } });
  });
});
