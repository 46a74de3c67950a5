import { Injectable, Logger } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../config/configuration.js';
import { AccessTokensService } from './access-tokens.service.js';
import type { Principal } from './principal.js';
import { digestOf, isWellFormedToken } from './token-format.js';

/** Tokens remembered at most; beyond it the least recently used ones need a look-up again. */
const CACHE_SIZE = 10_000;

/**
 * Tells who presents a token. Valid tokens are remembered for `TOKEN_CACHE_TTL`, which bounds how long a revoked one goes
 * on working; invalid ones are never remembered, so that inventing tokens fills no memory.
 */
@Injectable()
export class TokenAuthenticator {
  private readonly logger = new Logger('TokenAuthenticator');
  private readonly principals: LRUCache<string, Principal, Buffer>;

  constructor(
    private readonly tokens: AccessTokensService,
    configuration: Configuration,
  ) {
    const ttl = configuration.TOKEN_CACHE_TTL * 1000;
    // Concurrent requests with one unknown token share one look-up.
    this.principals = new LRUCache<string, Principal, Buffer>({
      max: CACHE_SIZE,
      ttl,
      // A look-up pushed out of a full cache still answers those who wait for it.
      ignoreFetchAbort: true,
      fetchMethod: async (_key, _stale, { context: digest, options }) => {
        const asked = Date.now();
        const token = await this.tokens.findUsable(digest);
        if (!token) {
          return undefined;
        }
        // What was read is as old as the question.
        const until = Math.min(asked + ttl, token.expiresAt?.getTime() ?? Infinity);
        options.ttl = Math.max(1, until - Date.now());
        this.tokens.markUsed(token).catch((error: unknown) => {
          this.logger.warn({ msg: 'day of last use not noted', tokenId: token.id, err: error });
        });
        return { tokenId: token.id, scopes: token.scopes ?? 'all' };
      },
    });
  }

  /** Tokens remembered now. */
  get size(): number {
    return this.principals.size;
  }

  /**
   * @returns undefined when the token was never issued, or is revoked or expired
   * @throws what the database throws when it is away and the token is not remembered
   */
  async authenticate(token: string): Promise<Principal | undefined> {
    if (!isWellFormedToken(token)) {
      return undefined;
    }
    const digest = digestOf(token);
    return this.principals.fetch(digest.toString('base64'), { context: digest });
  }
}
