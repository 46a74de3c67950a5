import { Injectable, Logger } from '@nestjs/common';
import {
  type CompactJWSHeaderParameters,
  type CryptoKey,
  decodeJwt,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
} from 'jose';
import { v5 } from 'uuid';
import { Configuration } from '../../config/configuration.js';
import type { RefusalReason, Verdict } from '../verdict.js';
import { IssuerKeys } from './issuer-keys.js';
import { principalOf } from './jwt-principal.js';
import { ALGORITHMS } from './key-set.js';

/** How far the issuer's clock and that of this machine may differ, in seconds. */
export const LEEWAY = 30;

/** Keys that are tried at most on a JWT that does not name its own. */
const MOST_KEYS = 10;

/** The latest time that a `Date` can hold. */
const LATEST = 8.64e15;

/** What jose's errors mean, by their code. */
const REASONS: ReadonlyMap<string, RefusalReason> = new Map([
  [errors.JWSInvalid.code, 'jwt-form'],
  [errors.JWTInvalid.code, 'jwt-form'],
  [errors.JOSEAlgNotAllowed.code, 'jwt-form'],
  [errors.JOSENotSupported.code, 'jwt-form'],
  [errors.JWKSNoMatchingKey.code, 'jwt-key'],
  [errors.JWSSignatureVerificationFailed.code, 'jwt-signature'],
  [errors.JWTClaimValidationFailed.code, 'jwt-claims'],
  [errors.JWTExpired.code, 'jwt-expired'],
]);

/** Tells who presents a JWT of the issuer at `AUTH_JWT_ISSUER`. */
@Injectable()
export class JwtVerifier {
  private readonly logger = new Logger('JwtVerifier');
  private readonly issuer: string | undefined;
  private readonly namespace: string;
  private readonly options: JWTVerifyOptions;

  constructor(
    { AUTH_JWT_ISSUER: issuer, AUTH_JWT_AUDIENCE: audience = '' }: Configuration,
    private readonly keys: IssuerKeys,
  ) {
    this.issuer = issuer;
    this.namespace = v5(issuer ?? '', v5.URL);
    this.options = {
      algorithms: [...ALGORITHMS],
      issuer: issuer ?? '',
      audience,
      clockTolerance: LEEWAY,
      requiredClaims: ['exp', 'sub'],
    };
  }

  /** Whether JWTs are accepted at all. */
  get isEnabled(): boolean {
    return this.issuer !== undefined;
  }

  /** Fetches the keys of the issuer in the background. */
  start(): void {
    this.keys.start();
  }

  /** What is to be thought of a JWT. Never throws, and waits for the issuer no longer than a renewal of its keys may take. */
  async verify(token: string): Promise<Verdict> {
    if (!this.isEnabled) {
      return { refused: 'malformed' };
    }
    try {
      const claims = await this.verified(token);
      const principal = principalOf(claims, this.namespace);
      const until = Math.min(((claims.exp ?? 0) + LEEWAY) * 1000, LATEST);
      return principal ? { principal, until } : { refused: 'jwt-claims' };
    } catch (error) {
      return { refused: this.reasonOf(error) };
    }
  }

  private async verified(token: string): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, (header) => this.findKey(header, token), this.options);
      return payload;
    } catch (error) {
      if (error instanceof errors.JWKSMultipleMatchingKeys) {
        return this.verifiedWithAny(error, token);
      }
      throw error;
    }
  }

  /** What names no issuer, or another one, does not make this process ask for keys. */
  private findKey(header: CompactJWSHeaderParameters, token: string): Promise<CryptoKey> {
    const claims = decodeJwt(token);
    if (claims.iss !== this.issuer) {
      throw new errors.JWTClaimValidationFailed('The JWT is of another issuer.', claims, 'iss');
    }
    return this.keys.find(header);
  }

  private async verifiedWithAny(keys: AsyncIterable<CryptoKey>, token: string): Promise<JWTPayload> {
    let tried = 0;
    for await (const key of keys) {
      try {
        const { payload } = await jwtVerify(token, key, this.options);
        return payload;
      } catch (error) {
        tried += 1;
        if (!(error instanceof errors.JWSSignatureVerificationFailed) || tried === MOST_KEYS) {
          throw error;
        }
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }

  private reasonOf(error: unknown): RefusalReason {
    const reason = error instanceof errors.JOSEError ? REASONS.get(error.code) : undefined;
    if (!reason) {
      // Its message may quote the token.
      const frames = Error.isError(error) ? error.stack?.match(/^ +at .+$/gm) : undefined;
      this.logger.warn({ msg: 'JWT not verified', type: Error.isError(error) ? error.name : typeof error, frames });
    }
    const isTooEarly =
      error instanceof errors.JWTClaimValidationFailed && error.claim === 'nbf' && error.reason === 'check_failed';
    return isTooEarly ? 'jwt-not-yet' : (reason ?? 'jwt-form');
  }
}
