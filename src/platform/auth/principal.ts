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
