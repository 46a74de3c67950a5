import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';
import type { Principal } from './principal.js';

/**
 * Injects the caller of a route: `@CurrentPrincipal() { familyId }: Principal`. Store `familyId`, not `id`, as the owner of a row:
 * it does not change when an access token is rotated.
 */
export const CurrentPrincipal = createParamDecorator((_data: undefined, context: ExecutionContext): Principal => {
  const { user } = context.switchToHttp().getRequest<Request>();
  if (!user) {
    throw new Error('@CurrentPrincipal() is used on a @Public() route, which has no caller: add @RequireScopes() instead.');
  }
  return user;
});
