import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { v5 } from 'uuid';
import { Configuration } from '../../config/configuration.js';
import { Metrics } from '../../observability/metrics.js';
import type { Principal, RefusalReason, Verdict } from '../principal.js';
import { isPrintableLine } from '../token-format.js';
import { issuerKeys, RENEWAL_TIMES } from './issuer-keys.js';

/** Algorithms of accepted JWTs. Each has a kind of key of its own, so that no key fits two. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

/** Difference between the issuer's clock and this one that is allowed for, in seconds. */
const LEEWAY = 30;

/** Verifies JWTs of the issuer at `AUTH_JWT_ISSUER`. */
@Injectable()
export class JwtVerifier implements OnApplicationShutdown {
  /** Undefined where no JWTs are accepted. */
  readonly keys;
  private readonly options;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    configuration: Configuration,
    metrics: Metrics,
    @Optional() private readonly times = RENEWAL_TIMES,
  ) {
    const { AUTH_JWT_ISSUER: issuer = '', AUTH_JWT_AUDIENCE: audience = '' } = configuration;
    this.keys = issuer === '' ? undefined : issuerKeys(configuration, metrics, times);
    this.options = { algorithms: ALGORITHMS, issuer, audience, clockTolerance: LEEWAY, requiredClaims: ['exp', 'sub'] };
  }

  /** Fetches the keys, if there is an issuer, in the background, now and on a timer. */
  start(): void {
    const { keys } = this;
    if (keys) {
      this.timer = setInterval(() => void keys.reload(), this.times.interval).unref();
      void keys.reload();
    }
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  /** Verifies a JWT. Never rejects, and waits for one fetch of the keys at most. */
  async verify(token: string): Promise<Verdict> {
    if (!this.keys) {
      return { refused: 'malformed' };
    }
    try {
      const { payload } = await jwtVerify(token, this.keys, this.options);
      const principal = principalOf(payload, this.options.issuer);
      return principal ? { principal, until: ((payload.exp ?? 0) + LEEWAY) * 1000 } : { refused: 'jwt-claims' };
    } catch (error) {
      return { refused: reasonOf(error) };
    }
  }
}

function reasonOf(error: unknown): RefusalReason {
  if (error instanceof errors.JWTExpired) {
    return 'jwt-expired';
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'nbf' ? 'jwt-not-yet' : 'jwt-claims';
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return 'jwt-signature';
  }
  // Errors of key sets, and of others than jose, are about the key.
  return error instanceof errors.JOSEError && !error.code.startsWith('ERR_JWKS_') ? 'jwt-form' : 'jwt-key';
}

/** @returns undefined for claims in a form that is not understood */
function principalOf({ sub, scope, scp }: JWTPayload, issuer: string): Principal | undefined {
  // Separated by spaces (RFC 9068) or in a list. A token without the claim, like those of Kubernetes, may do everything.
  const claim = scope === undefined ? scp : scope;
  const scopes: unknown = typeof claim === 'string' ? claim.split(' ').filter(Boolean) : claim;
  const areScopes = Array.isArray(scopes) && scopes.every((name) => typeof name === 'string');
  // 255 characters at most (OpenID Connect Core 1.0, section 2).
  if (typeof sub !== 'string' || !isPrintableLine(sub, 255) || !(areScopes || claim === undefined)) {
    return undefined;
  }
  // A UUID of version 5 is never the id of an access token, which has version 7.
  const id = v5(sub, v5(issuer, v5.URL));
  return { id, familyId: id, subject: sub, scopes: areScopes ? scopes : 'all' };
}
