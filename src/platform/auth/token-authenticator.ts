import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../config/configuration.js';
import { AccessTokensService } from './access-tokens.service.js';
import { networksOf } from './client-address.js';
import { DeclaredTokens } from './declared/declared-tokens.js';
import { FailureBudget } from './failure-budget.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Principal, Verdict } from './principal.js';
import { fingerprintOf, hasTokenPrefix, isWellFormedToken } from './token-format.js';

/** Three parts in base64url (RFC 7515, section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Finds out who presents a credential. Valid ones are remembered for `TOKEN_CACHE_TTL`, which bounds how long a revoked one goes
 * on working; invalid ones are never remembered, so that inventing them fills no memory. A refusal costs one look-up or one
 * signature check at most, and none of either once its address has used up its budget for failures. What was valid before
 * is looked up without a budget, so that clients are not locked out by others behind the same address.
 */
@Injectable()
export class TokenAuthenticator implements OnApplicationShutdown {
  /** What is past its time is not used any more, but stays as a sign that the credential was valid. */
  private readonly accepted = new LRUCache<string, Principal>({ max: 10_000, noDeleteOnStaleGet: true, ttlResolution: 0 });
  /** Concurrent requests with one credential share one look-up. */
  private readonly underWay = new Map<string, Promise<Verdict>>();
  private readonly budget: FailureBudget;
  private readonly ttl: number;

  constructor(
    private readonly tokens: AccessTokensService,
    private readonly declared: DeclaredTokens,
    private readonly jwt: JwtVerifier,
    { TOKEN_CACHE_TTL, AUTH_FAILURE_BURST, AUTH_FAILURE_RATE }: Configuration,
  ) {
    this.ttl = TOKEN_CACHE_TTL * 1000;
    this.budget = new FailureBudget(AUTH_FAILURE_BURST, AUTH_FAILURE_RATE);
  }

  /**
   * Begins to follow the file of tokens and the keys of the issuer, which may be away.
   *
   * @throws OperatorError when the file of tokens is wrong
   */
  async start(): Promise<void> {
    await this.declared.start();
    this.jwt.keys?.start();
  }

  /** Credentials remembered now. */
  get size(): number {
    return this.accepted.size;
  }

  /** What a credential claims to be; undefined if it can be neither. */
  kindOf(credential: string): 'access token' | 'jwt' | undefined {
    if (hasTokenPrefix(credential)) {
      return 'access token';
    }
    return this.jwt.keys && JWT.test(credential) ? 'jwt' : undefined;
  }

  /**
   * The verdict on a credential that needs no look-up: one that is remembered, that the file of tokens names, that cannot be one, or
   * whose address has used up its budget for failures.
   *
   * @param addressOf - called for the address of the client if it matters
   */
  judge(credential: string, addressOf: () => string): Verdict | undefined {
    const key = fingerprintOf(credential);
    const declared = this.declared.find(key);
    // The file may have the digest of anything, also of what is easily guessed.
    const principal = declared && isWellFormedToken(credential) ? declared : this.accepted.get(key);
    if (principal) {
      return { principal };
    }
    const kind = this.kindOf(credential);
    if (kind === undefined) {
      return { refused: 'malformed' };
    }
    if (kind === 'access token' && !isWellFormedToken(credential)) {
      return { refused: 'checksum' };
    }
    return !this.wasValid(key) && this.budget.refuses(networksOf(addressOf())) ? { refused: 'budget' } : undefined;
  }

  /**
   * The verdict on a credential for which {@link judge} has none.
   *
   * @param address - of the client
   * @throws what the database throws when it is away
   */
  async lookUp(credential: string, address: string): Promise<Verdict> {
    const key = fingerprintOf(credential);
    const networks = this.wasValid(key) ? [] : networksOf(address);
    const verdict = await this.budget.attempt(networks, () => this.verifyOnce(key, credential), isRefused);
    return verdict ?? { refused: 'budget' };
  }

  onApplicationShutdown(): void {
    this.jwt.keys?.stop();
  }

  private wasValid(key: string): boolean {
    return this.accepted.peek(key, { allowStale: true }) !== undefined;
  }

  private async verifyOnce(key: string, credential: string): Promise<Verdict> {
    const principal = this.accepted.get(key);
    if (principal) {
      return { principal };
    }
    const verdict = this.underWay.get(key) ?? this.verify(key, credential).finally(() => this.underWay.delete(key));
    this.underWay.set(key, verdict);
    return verdict;
  }

  private async verify(key: string, credential: string): Promise<Verdict> {
    // What was read is as old as the question.
    const asked = Date.now();
    const verdict = await (this.kindOf(credential) === 'jwt' ? this.jwt : this.tokens).verify(credential);
    if (isRefused(verdict)) {
      this.accepted.delete(key);
    } else {
      const until = Math.min(asked + this.ttl, verdict.until ?? Infinity);
      this.accepted.set(key, verdict.principal, { ttl: Math.max(1, until - Date.now()) });
    }
    return verdict;
  }
}

function isRefused(verdict: Verdict): verdict is Exclude<Verdict, { principal: Principal }> {
  return 'refused' in verdict;
}
