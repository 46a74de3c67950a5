import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import type { Request } from 'express';
import { nameOf, type Route } from '../routes/route.js';
import type { Principal } from './principal.js';
import { tokenPolicyOf } from './token-policy.decorator.js';

const callerOf = (_data: undefined, context: ExecutionContext): Principal | undefined =>
  context.switchToHttp().getRequest<Request>().user;

/**
 * The caller of a route: `@CurrentPrincipal() { familyId }: Principal`. Store `familyId` as the owner of a row: it stays the same when
 * an access token is rotated, which `id` does not. Of a JWT, it is made of issuer and subject, so that each subject has one.
 */
export const CurrentPrincipal = createParamDecorator(callerOf);

/** What is wrong with a route that takes a caller and has none. */
export function callerFaults(route: Route): string[] {
  const parameters = (Reflect.getMetadata(ROUTE_ARGS_METADATA, route.controller, route.name) ?? {}) as object;
  const takesCaller = Object.values(parameters).some(({ factory }: { factory?: unknown }) => factory === callerOf);
  return takesCaller && tokenPolicyOf(route) === 'public'
    ? [`${nameOf(route)} is @Public() and takes @CurrentPrincipal(): it has no caller, so ask for a token with @RequireScopes().`]
    : [];
}
