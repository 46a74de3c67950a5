import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from './principal.js';

/**
 * The caller of a route: `@CurrentPrincipal() { familyId }: Principal`. Store `familyId` as the owner of a row: it stays the same when
 * an access token is rotated, which `id` does not. Of a JWT, it is made of issuer and subject, so that each subject has one.
 */
export const CurrentPrincipal = createParamDecorator((_data: undefined, context: ExecutionContext): Principal => {
  const { user } = context.switchToHttp().getRequest<Request>();
  if (!user) {
    throw new Error(
      '@CurrentPrincipal() is on a route with @Public(), which has no caller: ask for a token with @RequireScopes().',
    );
  }
  return user;
});
