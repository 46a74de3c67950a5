import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../config/configuration.js';
import { type AccessToken, endOf } from './access-token.entity.js';
import { AccessTokensService } from './access-tokens.service.js';
import { AuditLog } from './audit-log.js';
import { networksOf } from './client-address.js';
import { DeclaredTokens } from './declared/declared-tokens.js';
import { FailureBudget } from './failure-budget.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { currentSpan } from '../tracing/traced.js';
import type { Principal, Verdict } from './principal.js';
import { digestOf, fingerprintOf, hasTokenPrefix, isWellFormedToken } from './token-format.js';

/** Credentials remembered at most; beyond it the least recently used ones need a look-up again. */
const CACHE_SIZE = 10_000;

/** Three parts in base64url (RFC 7515, section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/** What a trace says of a credential. */
const KIND = 'items.authentication.kind';

/** Makes a verdict on a credential that is not remembered. */
type LookUp = () => Promise<Verdict>;

/**
 * Tells who presents a credential. Valid ones are remembered for `TOKEN_CACHE_TTL`, which bounds how long a revoked one goes
 * on working; invalid ones are never remembered, so that inventing them fills no memory. A refusal costs one look-up or one
 * signature check at most, and none of either once its address has used up its budget for failures. What was valid before
 * is looked up without a budget, so that clients are not locked out by others behind the same address.
 */
@Injectable()
export class TokenAuthenticator implements OnApplicationShutdown {
  private readonly logger = new Logger('TokenAuthenticator');
  /** What is past its time is not used any more, but stays as a sign that the credential was valid. */
  private readonly accepted: LRUCache<string, Principal>;
  /** Concurrent requests with one credential share one look-up. */
  private readonly underWay = new Map<string, Promise<Verdict>>();
  private readonly notes = new Set<Promise<void>>();
  private readonly budget: FailureBudget;
  private knownScopes: readonly string[] = [];
  private readonly ttl: number;

  constructor(
    private readonly tokens: AccessTokensService,
    private readonly declared: DeclaredTokens,
    private readonly jwt: JwtVerifier,
    audit: AuditLog,
    { TOKEN_CACHE_TTL, AUTH_FAILURE_BURST: burst, AUTH_FAILURE_RATE: rate }: Configuration,
  ) {
    this.ttl = TOKEN_CACHE_TTL * 1000;
    this.accepted = new LRUCache({ max: CACHE_SIZE, noDeleteOnStaleGet: true, ttlResolution: 0 });
    const reason = `more failed authentications than ${burst} at once and ${rate} a second; if this is a load balancer, set TRUSTED_PROXIES`;
    const onExhausted = (actor: string, refused: number) => {
      audit.write('authentication.refused-by-budget', { actor, reason }, { refused });
    };
    this.budget = new FailureBudget({ burst, rate, onExhausted });
  }

  /**
   * Begins to follow the file of tokens and the keys of the issuer, which may be away.
   *
   * @param knownScopes - that routes ask for
   * @throws OperatorError when the file of tokens is wrong
   */
  async start(knownScopes: readonly string[]): Promise<void> {
    this.knownScopes = [...new Set(knownScopes)];
    await this.declared.start();
    this.jwt.keys?.start();
  }

  /** Credentials remembered now. */
  get size(): number {
    return this.accepted.size;
  }

  /**
   * The verdict on a credential that needs no look-up: one that is remembered, that the file of tokens names, that cannot be one, or
   * whose address has used up its budget for failures.
   *
   * @param credential - what stands behind `Bearer`
   * @param addressOf - asked for the address of the client if it matters
   */
  judge(credential: string, addressOf: () => string): Verdict | undefined {
    const key = fingerprintOf(credential);
    const declared = this.declared.find(key);
    // The file may have the digest of anything, also of what is easily guessed.
    const principal = declared && isWellFormedToken(credential) ? declared : this.accepted.get(key);
    if (principal) {
      return { principal, until: Infinity };
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
   * @param credential - what stands behind `Bearer`
   * @param address - of the client
   * @throws what the database throws when it is away and the credential is not remembered
   */
  async authenticate(credential: string, address: string): Promise<Verdict> {
    const kind = this.kindOf(credential);
    currentSpan()?.setAttribute(KIND, kind);
    const lookUp =
      kind === 'jwt'
        ? () => this.jwt.verify(credential)
        : async () => this.verdictOn(await this.tokens.find(digestOf(credential)));
    return this.judge(credential, () => address) ?? this.lookUpOnce(fingerprintOf(credential), address, lookUp);
  }

  /** Ends what goes on beside requests, and after them. */
  async onApplicationShutdown(): Promise<void> {
    this.jwt.keys?.stop();
    await Promise.all(this.notes);
  }

  private kindOf(credential: string): 'access token' | 'jwt' | undefined {
    if (hasTokenPrefix(credential)) {
      return 'access token';
    }
    return this.jwt.keys && JWT.test(credential) ? 'jwt' : undefined;
  }

  private wasValid(key: string): boolean {
    return this.accepted.peek(key, { allowStale: true }) !== undefined;
  }

  private lookUpOnce(key: string, address: string, lookUp: LookUp): Promise<Verdict> {
    const wasValid = this.wasValid(key);
    // What the budget of one address refuses says nothing of the credential to another.
    const question = wasValid ? key : `${key} ${address}`;
    const underWay = this.underWay.get(question);
    if (underWay) {
      return underWay;
    }
    const verdict = this.lookUp(key, wasValid ? [] : networksOf(address), lookUp).finally(() => this.underWay.delete(question));
    this.underWay.set(question, verdict);
    return verdict;
  }

  /** @param networks - whose budgets for failures it goes to */
  private async lookUp(key: string, networks: readonly string[], lookUp: LookUp): Promise<Verdict> {
    // What was read is as old as the question.
    const asked = Date.now();
    const verdict = await this.budget.attempt(networks, lookUp, isRefused);
    if (!verdict) {
      // Another address may have shown meanwhile that it is valid.
      const principal = this.accepted.get(key);
      return principal ? { principal, until: Infinity } : { refused: 'budget' };
    }
    if (isRefused(verdict)) {
      this.accepted.delete(key);
    } else {
      const until = Math.min(asked + this.ttl, verdict.until);
      this.accepted.set(key, this.reduced(verdict.principal), { ttl: Math.max(1, until - Date.now()) });
    }
    return verdict;
  }

  /** An issuer may name thousands of scopes; what no route asks for is not worth remembering. */
  private reduced(principal: Principal): Principal {
    const { scopes } = principal;
    return scopes === 'all' ? principal : { ...principal, scopes: this.knownScopes.filter((scope) => scopes.includes(scope)) };
  }

  private verdictOn(token: AccessToken | null): Verdict {
    const refused = token ? endOf(token) : 'unknown';
    if (!token || refused) {
      return { refused: refused ?? 'unknown', ...(token && { tokenId: token.id }) };
    }
    this.noteUse(token);
    const { id, familyId, scopes, expiresAt } = token;
    return {
      principal: { id, familyId: familyId ?? id, scopes: scopes ?? 'all' },
      until: expiresAt?.getTime() ?? Infinity,
    };
  }

  private noteUse(token: AccessToken): void {
    const note = this.tokens
      .markUsed(token)
      .catch((error: unknown) => {
        this.logger.warn({ msg: 'day of last use not noted', tokenId: token.id, err: error });
      })
      .finally(() => this.notes.delete(note));
    this.notes.add(note);
  }
}

function isRefused(verdict: Verdict): verdict is Exclude<Verdict, { principal: Principal }> {
  return 'refused' in verdict;
}
