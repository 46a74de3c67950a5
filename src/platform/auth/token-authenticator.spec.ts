import { Configuration } from '../config/configuration.js';
import type { AccessToken } from './access-token.entity.js';
import type { AccessTokensService } from './access-tokens.service.js';
import type { AuditLog } from './audit-log.js';
import type { DeclaredTokens } from './declared/declared-tokens.js';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Verdict } from './principal.js';
import { TokenAuthenticator } from './token-authenticator.js';
import { digestOf, generateToken } from './token-format.js';

const valid = generateToken();
const ADDRESS = '192.0.2.1';

/** Knows one token, and counts how often it is asked. */
class CountingTokens {
  lookUps = 0;

  find(digest: Buffer): Promise<AccessToken | null> {
    this.lookUps += 1;
    const token = { id: '1', expiresAt: null, revokedAt: null } as AccessToken;
    return Promise.resolve(digest.equals(digestOf(valid)) ? token : null);
  }

  markUsed(): Promise<void> {
    return Promise.resolve();
  }
}

describe('the token authenticator', () => {
  let tokens: CountingTokens;
  let authenticator: TokenAuthenticator;
  let jwt: { keys?: { start: () => void }; verify: () => Promise<Verdict> };

  function build(variables: Partial<Configuration> = {}): TokenAuthenticator {
    return new TokenAuthenticator(
      tokens as unknown as AccessTokensService,
      { start: () => Promise.resolve(), find: () => undefined } as unknown as DeclaredTokens,
      jwt as unknown as JwtVerifier,
      { write: () => undefined } as unknown as AuditLog,
      Object.assign(new Configuration(), { AUTH_FAILURE_RATE: 1, ...variables }),
    );
  }

  const outcome = async (credential: string, address = ADDRESS): Promise<string> => {
    const verdict = await authenticator.authenticate(credential, address);
    return 'principal' in verdict ? verdict.principal.id : verdict.refused;
  };

  beforeEach(() => {
    tokens = new CountingTokens();
    jwt = { verify: () => Promise.resolve({ refused: 'jwt-form' }) };
    authenticator = build();
  });

  it('looks a valid token up once, also when many requests present it at the same time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 100 }, () => outcome(valid)));
    expect(new Set(outcomes)).toEqual(new Set(['1']));
    await outcome(valid);
    expect([tokens.lookUps, authenticator.size]).toEqual([1, 1]);
  });

  it('does not refuse a token for the budget of another address that presents it', async () => {
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
