import { Configuration } from '../config/configuration.js';
import type { AccessToken } from './access-token.entity.js';
import type { AccessTokensService } from './access-tokens.service.js';
import { TokenAuthenticator } from './token-authenticator.js';
import { digestOf, generateToken } from './token-format.js';

const valid = generateToken();

/** Knows one token, and counts how often it is asked. */
class CountingTokens {
  lookUps = 0;

  findUsable(digest: Buffer): Promise<AccessToken | null> {
    this.lookUps += 1;
    const token = { id: '1', expiresAt: null } as AccessToken;
    return Promise.resolve(digest.equals(digestOf(valid)) ? token : null);
  }

  markUsed(): Promise<void> {
    return Promise.resolve();
  }
}

describe('the token authenticator', () => {
  let tokens: CountingTokens;
  let authenticator: TokenAuthenticator;

  beforeEach(() => {
    tokens = new CountingTokens();
    authenticator = new TokenAuthenticator(tokens as unknown as AccessTokensService, new Configuration());
  });

  it('looks a valid token up once, also when many requests present it at the same time', async () => {
    const principals = await Promise.all(Array.from({ length: 100 }, () => authenticator.authenticate(valid)));
    expect(new Set(principals.map((principal) => principal?.tokenId))).toEqual(new Set(['1']));
    await authenticator.authenticate(valid);
    expect([tokens.lookUps, authenticator.size]).toEqual([1, 1]);
  });

  it('keeps nothing of tokens that nobody issued, and asks nobody about those that are mistyped', async () => {
    await authenticator.authenticate(valid);
    for (let index = 0; index < 2000; index += 1) {
      expect(await authenticator.authenticate(generateToken())).toBeUndefined();
    }
    expect([tokens.lookUps, authenticator.size]).toEqual([2001, 1]);
    expect(await authenticator.authenticate(`${valid.slice(0, -1)}!`)).toBeUndefined();
    expect(tokens.lookUps).toBe(2001);
    await authenticator.authenticate(valid);
    expect(tokens.lookUps).toBe(2001);
  });
});
