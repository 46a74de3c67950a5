import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/** The caller of a request: the holder of an access token or the subject of a JWT. */
export interface Principal {
  /** UUID of the access token, or derived from issuer and subject of the JWT. Key of the rate limit, and logged. */
  readonly id: string;
  /** UUID that survives the rotation of an access token. It owns idempotency keys. */
  readonly familyId: string;
  /** `sub` of a JWT; undefined for access tokens. */
  readonly subject?: string;
  /** `all` for a token without restrictions. Use {@link hasScope} to test for a scope. */
  readonly scopes: 'all' | readonly string[];
  /** Requests in `RATE_LIMIT_WINDOW`, if an access token has another limit than `RATE_LIMIT`. */
  readonly rateLimit?: number | undefined;
}

/** Whether a caller has a scope. Those that a route requires have been checked before its handler runs. */
export function hasScope({ scopes }: Pick<Principal, 'scopes'>, scope: string): boolean {
  return scopes === 'all' || scopes.includes(scope);
}

/**
 * Injects the caller of a route: `@CurrentPrincipal() { familyId }: Principal`. Store `familyId`, not `id`, as the owner of
 * a row: it does not change when an access token is rotated.
 */
export const CurrentPrincipal = createParamDecorator((_data: undefined, context: ExecutionContext): Principal => {
  const { user } = context.switchToHttp().getRequest<Request>();
  if (!user) {
    throw new Error(
      "@CurrentPrincipal() is used on a @Public() route, which has no caller: add @RequireScopes('things:read') instead.",
    );
  }
  return user;
});

declare global {
  // Passport's type of `request.user`, and Express' type for custom properties.
  namespace Express {
    interface User extends Principal {}
    interface Request {
      /** Whether the platform has verified `user`, which on public routes a feature's own Passport strategy can set. */
      isVerified?: true;
      /** Why and whose credential was refused, for the log. */
      refusal?: { readonly reason: RefusalReason; readonly tokenId: string | undefined; readonly address: string };
    }
  }
}

const OF_TOKENS = ['missing', 'malformed', 'checksum', 'unknown', 'expired', 'revoked', 'rotated', 'budget'] as const;
const OF_JWTS = ['jwt-form', 'jwt-key', 'jwt-signature', 'jwt-claims', 'jwt-expired', 'jwt-not-yet'] as const;

/** Why a request was refused. For the operator only (`docs/authentication.md`), never sent to clients. */
export const REFUSAL_REASONS = [...OF_TOKENS, ...OF_JWTS] as const;
export type RefusalReason = (typeof REFUSAL_REASONS)[number];

/** The result of an authentication. `until`: end of validity for caches, in milliseconds since 1970. */
export type Verdict =
  | { readonly principal: Principal; readonly until?: number | undefined }
  | { readonly refused: RefusalReason; readonly tokenId?: string | undefined };
