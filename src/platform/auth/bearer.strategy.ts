import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { Configuration } from '../config/configuration.js';
import { databaseBusy } from '../database/database-problem.js';
import { Bulkhead } from '../database/bulkhead.js';
import { traced } from '../tracing/traced.js';
import { AccessTokensService } from './access-tokens.service.js';
import { DeclaredTokens } from './declared/declared-tokens.js';
import { clientAddress, FailureBudget, networksOf } from './failure-budget.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Principal, Verdict } from './principal.js';
import { fingerprintOf, isWellFormedToken, TOKEN_PREFIX } from './token-format.js';

/** Three parts in base64url (RFC 7515, section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Verifies `Authorization: Bearer <token>` (RFC 6750, section 2.1), and takes a token from nowhere else (RFC 9700, section 4.3.2).
 *
 * Valid credentials are cached for `TOKEN_CACHE_TTL`, which bounds how long a revoked one works; invalid ones never are. What is not
 * cached is looked up while its address has failures left, and always if it was valid before, so that neighbours cannot lock it out.
 */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy) {
  /** An expired entry shows that the credential was valid before. */
  private readonly accepted = new LRUCache<string, Principal>({ max: 10_000, noDeleteOnStaleGet: true, ttlResolution: 0 });
  /** Concurrent requests with one credential share one look-up. */
  private readonly lookUps = new Map<string, Promise<Verdict>>();
  private readonly budget: FailureBudget;
  /** Look-ups of new credentials by network: as many at once as it has failures left, or a few that may overdraw its budget. */
  private readonly newcomers: Bulkhead;

  constructor(
    private readonly tokens: AccessTokensService,
    private readonly declared: DeclaredTokens,
    private readonly jwt: JwtVerifier,
    private readonly configuration: Configuration,
  ) {
    super({ passReqToCallback: true });
    // Passport keeps strategies by name for the whole process; applications in one process must not share one.
    this.name = `bearer-${randomUUID()}`;
    passport.use(this);
    this.budget = new FailureBudget(configuration.AUTH_FAILURE_BURST, configuration.AUTH_FAILURE_RATE);
    const few = Math.ceil(configuration.DATABASE_POOL_SIZE / 2);
    this.newcomers = new Bulkhead({
      total: Infinity,
      // Where look-ups share no connections, half of the pool is left for others.
      perOwner: (network) => (tokens.sharesConnections ? Math.max(few, Math.min(100, this.budget.leftOf(network))) : few),
      wait: configuration.DATABASE_CONNECTION_TIMEOUT * 1000,
    });
  }

  /** The verdict on a request that needs no look-up; undefined for others. */
  judge(request: Request): Verdict | undefined {
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
    const isToken = credential.startsWith(TOKEN_PREFIX);
    if (isToken ? !isWellFormedToken(credential) : !this.jwt.keys || !JWT.test(credential)) {
      return { refused: isToken ? 'checksum' : 'malformed' };
    }
    return !this.wasValid(key) && this.budget.isSpent(clientAddress(request)) ? { refused: 'budget' } : undefined;
  }

  /** Gives Passport the header alone: the library also takes tokens from the query and the body. */
  override authenticate(request: Request): void {
    const headers = { authorization: `Bearer ${credentialOf(request)}` };
    super.authenticate({ headers, request } as unknown as Request);
  }

  /** Looks a credential up. @throws what the database throws when it is away */
  validate({ request }: { readonly request: Request }, credential: string): Promise<Verdict> {
    const key = fingerprintOf(credential);
    const address = clientAddress(request);
    let verdict = this.lookUps.get(key);
    if (!verdict) {
      const verifier = credential.startsWith(TOKEN_PREFIX) ? this.tokens : this.jwt;
      const lookUp = () => this.lookUp(verifier, credential, key, address);
      const run = () => (this.wasValid(key) ? lookUp() : this.lookUpNewcomer(lookUp, address));
      verdict = traced('authenticate', run).finally(() => this.lookUps.delete(key));
      this.lookUps.set(key, verdict);
    }
    return verdict;
  }

  private wasValid(key: string): boolean {
    return this.accepted.peek(key, { allowStale: true }) !== undefined;
  }

  private lookUpNewcomer(lookUp: () => Promise<Verdict>, address: string): Promise<Verdict> {
    const run = async (): Promise<Verdict> => (this.budget.isSpent(address) ? { refused: 'budget' } : lookUp());
    // The smallest network waits first, so that its requests do not keep those of its neighbours from the larger one.
    const inTurn = (task: () => Promise<Verdict>, network: string) => () =>
      this.newcomers.run(network, task, undefined, databaseBusy);
    return networksOf(address).reduceRight(inTurn, run)();
  }

  private async lookUp(verifier: AccessTokensService | JwtVerifier, credential: string, key: string, address: string) {
    // What was read is as old as the question.
    const asked = Date.now();
    const verdict = await verifier.verify(credential);
    if ('principal' in verdict) {
      const until = Math.min(asked + this.configuration.TOKEN_CACHE_TTL * 1000, verdict.until ?? Infinity);
      this.accepted.set(key, verdict.principal, { ttl: Math.max(1, until - Date.now()) });
    } else if (!this.accepted.delete(key)) {
      this.budget.spend(address);
    }
    return verdict;
  }
}

/** The credential of a request; a malformed one becomes `malformed`, which is challenged as an invalid token. */
function credentialOf(request: Request): string | undefined {
  const credentials = request.headersDistinct['authorization'] ?? [];
  if (!credentials.some((value) => /^bearer +\S/i.test(value))) {
    return undefined;
  }
  const [credential = '', ...others] = credentials;
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(credential)?.[1];
  return others.length === 0 && token !== undefined ? token : 'malformed';
}
