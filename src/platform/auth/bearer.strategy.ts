import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { PassportStrategy } from '@nestjs/passport';
import type { Request } from 'express';
import { LRUCache } from 'lru-cache';
import passport from 'passport';
import { Strategy } from 'passport-http-bearer';
import { Configuration } from '../config/configuration.js';
import { traced } from '../tracing/tracing.js';
import { AccessTokensService } from './access-tokens.service.js';
import { clientAddress } from '../requests/client-address.js';
import { StaticTokens } from './static/static-tokens.js';
import { FailureBudget } from './failure-budget.js';
import { JwtVerifier } from './jwt/jwt-verifier.js';
import type { Principal, Verdict } from './principal.js';
import { tokenDigest, isWellFormedToken, TOKEN_PREFIX } from './token-format.js';

/** Three parts in base64url (RFC 7515, section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/;

/**
 * Verifies `Authorization: Bearer <token>` (RFC 6750, section 2.1; RFC 9700, section 4.3.2). Valid credentials are cached
 * for `TOKEN_CACHE_TTL`, which limits how long a revoked token works. New ones are looked up only while their address has
 * failures left, so that other clients of the same network can lock them out, such as renewed JWTs. Credentials that were
 * valid before are always looked up.
 */
@Injectable()
export class BearerStrategy extends PassportStrategy(Strategy, 'platform-bearer') {
  /** Principals by digest. An expired entry shows that the credential was valid before. */
  private readonly accepted = new LRUCache<string, Principal>({ max: 10_000, noDeleteOnStaleGet: true, ttlResolution: 0 });
  /** Concurrent requests with one credential share one look-up. */
  private readonly verifications = new Map<string, Promise<Verdict>>();
  private readonly budget: FailureBudget;

  constructor(
    private readonly tokens: AccessTokensService,
    private readonly staticTokens: StaticTokens,
    private readonly jwt: JwtVerifier,
    private readonly configuration: Configuration,
  ) {
    super({ passReqToCallback: true });
    // Passport registers strategies by name for the whole process: each application needs its own name, and that of the
    // library, `bearer`, is left to features. Only the guard of the platform understands a verdict.
    passport.unuse('platform-bearer');
    this.name = `bearer-${randomUUID()}`;
    passport.use(this);
    const { AUTH_FAILURE_BURST, AUTH_FAILURE_RATE, DATABASE_CONNECTION_TIMEOUT } = configuration;
    this.budget = new FailureBudget(AUTH_FAILURE_BURST, AUTH_FAILURE_RATE, DATABASE_CONNECTION_TIMEOUT * 1000);
  }

  /** The verdict on a request that needs no look-up; undefined for all others. */
  immediateVerdict(request: Request): Verdict | undefined {
    const credential = credentialOf(request);
    if (credential === undefined) {
      return { refused: 'missing' };
    }
    const digest = tokenDigest(credential);
    const staticToken = this.staticTokens.tokens.get(digest);
    // Only a text in the form of a token: the file may contain the digest of any text, even of one that is easy to guess.
    const principal = staticToken && isWellFormedToken(credential) ? staticToken : this.accepted.get(digest);
    if (principal) {
      return { principal };
    }
    const isToken = credential.startsWith(TOKEN_PREFIX);
    if (isToken ? !isWellFormedToken(credential) : !this.jwt.keys || !JWT.test(credential)) {
      return { refused: isToken ? 'checksum' : 'malformed' };
    }
    return undefined;
  }

  /** Passes only the header to Passport: the library also accepts tokens in the query and the body. */
  override authenticate(request: Request): void {
    const headers = { authorization: `Bearer ${credentialOf(request)}` };
    super.authenticate({ headers, request } as unknown as Request);
  }

  /** Called by Passport with a credential that needs a look-up. @throws the database's error if it is unavailable */
  validate({ request }: { readonly request: Request }, credential: string): Promise<Verdict> {
    const digest = tokenDigest(credential);
    const address = clientAddress(request);
    const verify = () => this.verifyCredential(credential, digest);
    const wasValid = this.accepted.peek(digest, { allowStale: true }) !== undefined;
    const run = wasValid ? verify : () => this.budget.run(address, verify);
    // Not shared between addresses: a refusal by the budget of one must not reach requests of another.
    const shared = wasValid ? digest : `${digest} ${address}`;
    const end = () => this.verifications.delete(shared);
    return this.verifications.getOrInsertComputed(shared, () => traced('authenticate', run).finally(end));
  }

  /** The verdict on any request, without Passport. @throws the database's error if it is unavailable */
  async verify(request: Request): Promise<Verdict> {
    return this.immediateVerdict(request) ?? this.validate({ request }, credentialOf(request) ?? '');
  }

  private async verifyCredential(credential: string, digest: string): Promise<Verdict> {
    const verifier = credential.startsWith(TOKEN_PREFIX) ? this.tokens : this.jwt;
    // The entry's lifetime starts before the look-up, whose result may already be that old. This clock is never set back.
    const asked = performance.now();
    const verdict = await verifier.verify(credential);
    if ('principal' in verdict) {
      const rest = asked + this.configuration.TOKEN_CACHE_TTL * 1000 - performance.now();
      const ttl = Math.min(rest, (verdict.until ?? Infinity) - Date.now());
      this.accepted.set(digest, verdict.principal, { ttl: Math.max(1, ttl) });
    } else {
      this.accepted.delete(digest);
    }
    return verdict;
  }
}

/** A bearer credential. A malformed or repeated header gives `malformed`, which gets the challenge of an invalid token. */
function credentialOf(request: Request): string | undefined {
  const credentials = request.headersDistinct['authorization'] ?? [];
  if (!credentials.some((value) => /^bearer +\S/i.test(value))) {
    return undefined;
  }
  const [credential = '', ...others] = credentials;
  const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(credential)?.[1];
  return others.length === 0 && token !== undefined ? token : 'malformed';
}
