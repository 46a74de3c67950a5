/** Who makes a request: the holder of an access token, or the subject of a JWT. */
export interface Principal {
  /** UUID of the access token, or made of the JWT's issuer and subject. The rate limit counts by it, and the log names it. */
  readonly id: string;
  /** UUID that stays the same when an access token is rotated: idempotency keys belong to it. */
  readonly familyId: string;
  /** `sub` of a JWT; undefined for access tokens. */
  readonly subject?: string;
  /** What it is restricted to. */
  readonly scopes: 'all' | readonly string[];
}

declare global {
  // Passport's own hook for the type of `request.user`.
  namespace Express {
    interface User extends Principal {}
  }
}

/** Why a request was refused. Only the operator sees it: the response says no more than RFC 6750 does. */
export const REFUSAL_REASONS = [
  /** No bearer credential at all. */
  'missing',
  /** A credential in no form that is accepted. */
  'malformed',
  /** An access token with a wrong checksum. */
  'checksum',
  /** An access token that was never issued. */
  'unknown',
  'expired',
  'revoked',
  /** Replaced by another token, and past the overlap. */
  'rotated',
  /** Not looked up: its address has failed too often. */
  'budget',
  /** Not a JWT, or one with an algorithm that is not accepted. */
  'jwt-form',
  /** A JWT of a key that the issuer does not publish. */
  'jwt-key',
  'jwt-signature',
  /** A JWT for another audience, of another issuer, or without a required claim. */
  'jwt-claims',
  'jwt-expired',
  'jwt-not-yet',
] as const;

/** One of {@link REFUSAL_REASONS}. */
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** A valid credential, which may be cached until a time in milliseconds since the epoch, or an invalid one. */
export type Verdict =
  { readonly principal: Principal; readonly until: number } | { readonly refused: RefusalReason; readonly tokenId?: string };

/** Whether a text is a scope as RFC 6749 spells it (section 3.3). */
export function isScope(text: string): boolean {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
}
