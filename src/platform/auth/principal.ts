/** Who makes a request: the holder of an access token, or the subject of a JWT. */
export interface Principal {
  /** UUID of the access token, or made of the JWT's issuer and subject. The rate limit counts by it, and the log names it. */
  readonly id: string;
  /** UUID that stays the same when an access token is rotated: idempotency keys belong to it. */
  readonly familyId: string;
  /** `sub` of a JWT; undefined for access tokens. */
  readonly subject?: string;
  readonly scopes: 'all' | readonly string[];
}

declare global {
  // The hooks of Passport for the type of `request.user`, and of Express for other properties.
  namespace Express {
    interface User extends Principal {}
    interface Request {
      /** Why the request was refused, for the log. */
      refusal?: { readonly reason: RefusalReason; readonly tokenId: string | undefined; readonly address: string };
    }
  }
}

const OF_TOKENS = ['missing', 'malformed', 'checksum', 'unknown', 'expired', 'revoked', 'rotated', 'budget'] as const;
const OF_JWTS = ['jwt-form', 'jwt-key', 'jwt-signature', 'jwt-claims', 'jwt-expired', 'jwt-not-yet'] as const;

/** Why a request was refused, for the operator alone (`docs/authentication.md`). */
export const REFUSAL_REASONS = [...OF_TOKENS, ...OF_JWTS] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** Of a valid credential. */
export interface Admission {
  readonly principal: Principal;
  /** Until when it may be cached, in milliseconds since 1970. */
  readonly until?: number | undefined;
}

/** Of an invalid credential. */
export interface Refusal {
  readonly refused: RefusalReason;
  readonly tokenId?: string | undefined;
}

export type Verdict = Admission | Refusal;

/** Whether a text is a scope (RFC 6749, section 3.3). */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}
