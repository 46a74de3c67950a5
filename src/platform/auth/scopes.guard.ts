import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { SERVICE_NAME } from '../service/service.js';
import { defineProblemType } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';
import { SetHandlerMetadata } from '../routes/handler-metadata.js';
import { isHidden } from '../routes/operation.js';
import { faultsOfRoute, type Route } from '../routes/route.js';
import { isScope } from '../config/variables.decorators.js';
import { hasScope, type Principal } from './principal.js';

/** Access to a route: public, or any token with all of these scopes (possibly none). */
type TokenPolicy = 'public' | readonly string[];

const TOKEN_POLICY = 'token-policy';

/** Makes a controller or route public: no token, no rate limit. A route's policy overrides its controller's. */
export function Public(): ClassDecorator & MethodDecorator {
  return setTokenPolicy('public');
}

/**
 * Requires a token with all of these scopes; a token without one of them gets 403. A route's policy overrides its
 * controller's.
 *
 * @param scopes - at least one, such as `widgets:write`
 * @throws Error if one is not a valid scope (RFC 6749, section 3.3)
 */
export function RequireScopes(...scopes: string[]): ClassDecorator & MethodDecorator {
  requireValid(scopes);
  return setTokenPolicy(scopes);
}

/** Scopes of modules that no route requires. */
const definedScopes = new Set<string>();

/**
 * Defines a scope that no route requires, for `hasScope` or `Authenticator`: `token issue` rejects scopes that it does not
 * know.
 *
 * @returns the scope
 * @throws Error if it is not a valid scope (RFC 6749, section 3.3)
 */
export function defineScope(scope: string): string {
  requireValid([scope]);
  definedScopes.add(scope);
  return scope;
}

/** The scopes that routes require or modules define. */
export function knownScopes(routes: readonly Route[]): ReadonlySet<string> {
  return definedScopes.union(new Set(routes.flatMap(scopesOf)));
}

function requireValid(scopes: readonly string[]): void {
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined) {
    throw new Error(`"${wrong}" is not a valid scope: use visible ASCII characters without spaces, such as widgets:write.`);
  }
}

function setTokenPolicy(policy: TokenPolicy): ClassDecorator & MethodDecorator {
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    const owner = (descriptor?.value ?? target) as { readonly name: string };
    if (Reflect.hasOwnMetadata(TOKEN_POLICY, owner)) {
      throw new Error(`${owner.name} has two token policies: keep either @Public() or one @RequireScopes().`);
    }
    if (method === undefined || descriptor === undefined) {
      Reflect.defineMetadata(TOKEN_POLICY, policy, owner);
    } else {
      const decorator = policy === 'public' ? '@Public()' : '@RequireScopes()';
      SetHandlerMetadata(TOKEN_POLICY, policy, decorator)(target, method, descriptor);
    }
  };
}

/** The policy of a route or else of its controller, which does not inherit one. A route without a policy stops the start. */
export function tokenPolicyOf({ controller, handler }: Pick<Route, 'controller' | 'handler'>): TokenPolicy | undefined {
  const policy: unknown = Reflect.getMetadata(TOKEN_POLICY, handler) ?? Reflect.getOwnMetadata(TOKEN_POLICY, controller);
  return policy as TokenPolicy | undefined;
}

export function scopesOf(route: Pick<Route, 'controller' | 'handler'>): readonly string[] {
  const policy = tokenPolicyOf(route) ?? [];
  return policy === 'public' ? [] : policy;
}

export function tokenPolicyFaults(route: Route): string[] {
  const policy = tokenPolicyOf(route);
  return faultsOfRoute(route, [
    policy === undefined &&
      "has no token policy: add @RequireScopes('things:read') to it or to its controller, or @Public() if it needs no " +
        'token.',
    policy?.length === 0 &&
      !isHidden(route) &&
      'requires no scope, so that any token may call it: name a scope in @RequireScopes().',
  ]);
}

/** Rejects a message handler without `@Public()`: a message has no token that a guard could check. */
export function messagePolicyFaults(handler: Route): string[] {
  const remedy =
    'check the caller yourself, at a gateway with Authenticator.verify() in the handshake, and add @Public() to the class.';
  const fault = `is not an HTTP route, so that nothing checks a token or its scopes: ${remedy}`;
  return faultsOfRoute(handler, [tokenPolicyOf(handler) !== 'public' && fault]);
}

/** A `WWW-Authenticate` header value (RFC 6750, section 3). */
export function challenge(parameters: { error?: 'invalid_token' | 'insufficient_scope'; scope?: string } = {}): string {
  const fields = Object.entries({ realm: SERVICE_NAME, ...parameters }).map(([name, value]) => `${name}="${value}"`);
  return `Bearer ${fields.join(', ')}`;
}

const insufficientScope = defineProblemType({
  name: 'insufficient-scope',
  status: 403,
  title: 'Insufficient scope',
  remedy:
    'The token lacks a scope that this operation needs; `WWW-Authenticate` lists them. Use a token with these scopes: ' +
    'the operator issues one.',
});

export function insufficientScopeProblem(scopes: readonly string[]): Problem {
  return new Problem(insufficientScope, `The token lacks a scope: this operation needs ${scopes.join(' and ')}.`, {
    headers: { 'WWW-Authenticate': challenge({ error: 'insufficient_scope', scope: scopes.join(' ') }) },
  });
}

/** @throws Problem 403 if a scope that is required is not granted */
export function checkScopes(caller: Pick<Principal, 'scopes'>, required: readonly string[]): void {
  if (!required.every((scope) => hasScope(caller, scope))) {
    throw insufficientScopeProblem(required);
  }
}

/** Checks the token's scopes. Runs after the rate limit, so that requests refused here count. */
@Injectable()
export class ScopesGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const caller = context.getType() === 'http' ? (context.getArgByIndex<Request>(0).user ?? { scopes: [] }) : undefined;
    // Most tokens have all scopes, and need no look at the metadata.
    if (caller && caller.scopes !== 'all') {
      checkScopes(caller, scopesOf({ controller: context.getClass(), handler: context.getHandler() }));
    }
    return true;
  }
}
