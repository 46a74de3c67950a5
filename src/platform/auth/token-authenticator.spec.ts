import { Logger } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import type { AccessTokensService } from './access-tokens.service.js';
import type { DeclaredTokens } from './declared/declared-tokens.js';
import type { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Verdict } from './principal.js';
import { TokenAuthenticator } from './token-authenticator.js';
import { generateToken } from './token-format.js';

Logger.overrideLogger(false);

const valid = generateToken();

/** Knows one token, and counts how often it is asked. */
class CountingTokens {
  lookUps = 0;

  verify(token: string): Promise<Verdict> {
    this.lookUps += 1;
    const principal = { id: '1', familyId: '1', scopes: 'all' } as const;
    return Promise.resolve(token === valid ? { principal } : { refused: 'unknown' });
  }
}

/** @param AUTH_FAILURE_BURST - failures that an address may cause */
function build(AUTH_FAILURE_BURST: number) {
  const tokens = new CountingTokens();
  const authenticator = new TokenAuthenticator(
    tokens as unknown as AccessTokensService,
    { find: () => undefined } as unknown as DeclaredTokens,
    {} as JwtVerifier,
    Object.assign(new Configuration(), { AUTH_FAILURE_RATE: 1, AUTH_FAILURE_BURST }),
  );
  const lookUp = async (credential: string, address: string): Promise<string> => {
    const verdict = await authenticator.lookUp(credential, address);
    return 'principal' in verdict ? verdict.principal.id : verdict.refused;
  };
  return { tokens, authenticator, lookUp };
}

it('looks a valid token up once, also when more requests present it at the same time than may fail', async () => {
  const { tokens, authenticator, lookUp } = build(10);
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => lookUp(valid, '192.0.2.1')));
  expect([new Set(outcomes), tokens.lookUps, authenticator.size]).toEqual([new Set(['1']), 1, 1]);
  expect(authenticator.judge(valid, () => '')).toMatchObject({ principal: { id: '1' } });
});

it('does not refuse a token for the budget of another address that presents it', async () => {
  const { lookUp } = build(1);
  const outcomes = [lookUp(generateToken(), '192.0.2.1'), lookUp(valid, '192.0.2.1'), lookUp(valid, '192.0.2.2')];
  expect((await Promise.all(outcomes)).at(-1)).toBe('1');
});
