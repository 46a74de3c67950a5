import { Injectable, type OnApplicationShutdown, Optional } from '@nestjs/common';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import { v5 } from 'uuid';
import { Configuration } from '../../config/configuration.js';
import { Metrics } from '../../observability/metrics.js';
import type { Principal, RefusalReason, Verdict } from '../principal.js';
import { isPrintableLine } from '../token-format.js';
import { issuerKeys, RENEWAL_TIMES } from './issuer-keys.js';

/** Accepted algorithms. Each needs a different key type, so that no key can be used with two of them. */
const ALGORITHMS = ['RS256', 'ES256', 'EdDSA'];

/** Allowed clock difference to the issuer, in seconds. */
const LEEWAY = 30;

/** Verifies JWTs of the issuer `AUTH_JWT_ISSUER`. */
@Injectable()
export class JwtVerifier implements OnApplicationShutdown {
  /** Undefined if no issuer is configured. */
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

  /** Fetches the keys in the background, now and periodically, if an issuer is configured. */
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

  /** Verifies a JWT. Never rejects; waits for at most one fetch of the keys. */
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
  // Key set errors, and errors from outside jose, are about the key.
  return error instanceof errors.JOSEError && !error.code.startsWith('ERR_JWKS_') ? 'jwt-form' : 'jwt-key';
}

/** @returns undefined if the claims have an unsupported form */
function principalOf({ sub, scope, scp }: JWTPayload, issuer: string): Principal | undefined {
  // A string with spaces (RFC 9068) or an array. A token without the claim, like those of Kubernetes, has all scopes.
  const claim = scope === undefined ? scp : scope;
  const scopes: unknown = typeof claim === 'string' ? claim.split(' ').filter(Boolean) : claim;
  const areScopes = Array.isArray(scopes) && scopes.every((name) => typeof name === 'string');
  // At most 255 characters (OpenID Connect Core 1.0, section 2).
  if (typeof sub !== 'string' || !isPrintableLine(sub, 255) || !(areScopes || claim === undefined)) {
    return undefined;
  }
  // UUIDv5 never collides with the id of an access token, which is a UUIDv7.
  const id = v5(sub, v5(issuer, v5.URL));
  return { id, familyId: id, subject: sub, scopes: areScopes ? scopes : 'all' };
}
