/** Who makes a request: the holder of an access token. */
export interface Principal {
  /** Id of the token, never the token. The rate limit counts by it and the log names it. */
  readonly tokenId: string;
  /** What the token is restricted to. */
  readonly scopes: 'all' | readonly string[];
}

declare global {
  // Passport's own hook for the type of `request.user`.
  namespace Express {
    interface User extends Principal {}
  }
}
