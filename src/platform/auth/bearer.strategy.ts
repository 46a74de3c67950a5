import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { Configuration, SERVICE_NAME } from '../config/configuration.js';
import { databaseBusy } from '../database/database-problem.js';
import { Bulkhead } from '../database/bulkhead.js';
import { Metrics } from '../observability/metrics.js';
import { AccessTokensService } from './access-tokens.service.js';
import { DeclaredTokens } from './declared/declared-tokens.js';
import { clientAddress, FailureBudget, networksOf } from './failure-budget.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import { type Principal, REFUSAL_REASONS, type RefusalReason, type Verdict } from './principal.js';
import { fingerprintOf, isWellFormedToken, TOKEN_PREFIX } from './token-format.js';

declare global {
  // Express' own hook for properties that middleware adds.
  namespace Express {
    interface Request {
      /** Why it was not let in, with whose token if that is known, and from where: for the log. */
      refusal?: { readonly reason: RefusalReason; readonly tokenId: string | undefined; readonly address: string };
    }
  }
}

/** Three parts in base64url (RFC 7515, section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * `Authorization: Bearer <token>` (RFC 6750, section 2.1), and no other place for a token (RFC 9700, section 4.3.2).
 *
 * Valid credentials are remembered for `TOKEN_CACHE_TTL`, which bounds how long a revoked one goes on working. Invalid ones are never
 * remembered, and are not looked up once their address has used up its budget. What was valid before needs no budget, so that a
 * client is not locked out by others behind the same address.
 */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  /** An entry past its time lets nobody in, but shows that the credential was valid. */
  private readonly accepted = new LRUCache<string, Principal>({ max: 10_000, noDeleteOnStaleGet: true, ttlResolution: 0 });
  /** Concurrent requests with one credential share one look-up. */
  private readonly lookUps = new Map<string, Promise<Verdict>>();
  private readonly budget: FailureBudget;
  /** Look-ups of new credentials by network: without a bound, those that begin at once would all be within the budget. */
  private readonly newcomers: Bulkhead;
  private readonly refusals;
  private readonly successes;

  constructor(
    private readonly tokens: AccessTokensService,
    private readonly declared: DeclaredTokens,
    private readonly jwt: JwtVerifier,
    private readonly configuration: Configuration,
    metrics: Metrics,
  ) {
    super({ realm: SERVICE_NAME, passReqToCallback: true });
    // Passport keeps strategies by name for the whole process; applications in one process must not share one.
    this.name = `bearer-${randomUUID()}`;
    passport.use(this);
    this.budget = new FailureBudget(configuration.AUTH_FAILURE_BURST, configuration.AUTH_FAILURE_RATE);
    this.newcomers = new Bulkhead({
      total: Infinity,
      // Half of the connections are left for others.
      perOwner: Math.ceil(configuration.DATABASE_POOL_SIZE / 2),
      wait: configuration.DATABASE_CONNECTION_TIMEOUT * 1000,
    });
    this.refusals = metrics.counter({
      name: 'items_authentication_refusals_total',
      help: 'Requests answered 401, by the reason that the log tells as well',
      labels: { reason: REFUSAL_REASONS },
    });
    this.successes = metrics.counter({
      name: 'items_authentications_total',
      help: 'Requests let in, by what they came with',
      labels: { kind: ['token', 'jwt'] },
    });
  }

  /**
   * The principal of a request, where no look-up is needed: Passport can be left out then.
   *
   * @returns false if it is refused, undefined if a look-up has to decide
   */
  decide(request: Request): Principal | false | undefined {
    const verdict = this.judge(request);
    return verdict && this.settle(request, verdict);
  }

  /** Shows the library one well-formed header: by itself it also takes tokens from the query and the body. */
  override authenticate(request: Request): void {
    const headers = { authorization: `Bearer ${credentialOf(request)}` };
    super.authenticate({ headers, request } as unknown as Request);
  }

  /** @throws what the database throws when it is away */
  async validate({ request }: { request: Request }, credential: string): Promise<Principal | false> {
    const key = fingerprintOf(credential);
    let verdict = this.lookUps.get(key);
    if (!verdict) {
      verdict = this.lookUp(key, credential, clientAddress(request)).finally(() => this.lookUps.delete(key));
      this.lookUps.set(key, verdict);
    }
    return this.settle(request, await verdict);
  }

  private judge(request: Request): Verdict | undefined {
    const credential = credentialOf(request);
    if (credential === undefined) {
      return { refused: 'missing' };
    }
    const key = fingerprintOf(credential);
    const declared = this.declared.find(key);
    // The file may have the digest of anything, also of what is easily guessed.
    const principal = declared && isWellFormedToken(credential) ? declared : this.accepted.get(key);
    if (principal) {
      return { principal };
    }
    if (credential.startsWith(TOKEN_PREFIX) ? !isWellFormedToken(credential) : !this.jwt.keys || !JWT.test(credential)) {
      return { refused: credential.startsWith(TOKEN_PREFIX) ? 'checksum' : 'malformed' };
    }
    return !this.wasValid(key) && this.budget.isSpent(clientAddress(request)) ? { refused: 'budget' } : undefined;
  }

  private async lookUp(key: string, credential: string, address: string): Promise<Verdict> {
    if (this.wasValid(key)) {
      return this.verify(key, credential, address);
    }
    const verify = async (): Promise<Verdict> =>
      this.budget.isSpent(address) ? { refused: 'budget' } : this.verify(key, credential, address);
    return this.newcomers.run(networksOf(address).at(-1) ?? '', verify, undefined, databaseBusy);
  }

  private wasValid(key: string): boolean {
    return this.accepted.peek(key, { allowStale: true }) !== undefined;
  }

  private async verify(key: string, credential: string, address: string): Promise<Verdict> {
    // What was read is as old as the question.
    const asked = Date.now();
    const verdict = await (credential.startsWith(TOKEN_PREFIX) ? this.tokens : this.jwt).verify(credential);
    if ('principal' in verdict) {
      const until = Math.min(asked + this.configuration.TOKEN_CACHE_TTL * 1000, verdict.until ?? Infinity);
      this.accepted.set(key, verdict.principal, { ttl: Math.max(1, until - Date.now()) });
    } else if (!this.accepted.delete(key)) {
      this.budget.spend(address);
    }
    return verdict;
  }

  private settle(request: Request, verdict: Verdict): Principal | false {
    if ('principal' in verdict) {
      this.successes.inc({ kind: verdict.principal.subject === undefined ? 'token' : 'jwt' });
      return verdict.principal;
    }
    const { refused: reason, tokenId } = verdict;
    request.refusal = { reason, tokenId, address: clientAddress(request) };
    this.refusals.inc({ reason });
    return false;
  }
}

/** What follows `Bearer`. A malformed credential becomes a token that cannot exist, and is challenged as an invalid token. */
function credentialOf(request: Request): string | undefined {
  const credentials = request.headersDistinct['authorization'] ?? [];
  const [credential = ''] = credentials;
  if (!credentials.some((value) => /^bearer +\S/i.test(value))) {
    return undefined;
  }
  const token = credentials.length === 1 ? /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(credential)?.[1] : undefined;
  return token ?? 'malformed';
}
