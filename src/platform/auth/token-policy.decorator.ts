import type { ExecutionContext } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { isHidden } from '../openapi/route-documentation.js';
import { metadataOf, nameOf, type Route } from '../routes/route.js';
import { isScope } from './principal.js';

/** Access to a route: public, or any token with all of these scopes (possibly none). */
export type TokenPolicy = 'public' | readonly string[];

const TOKEN_POLICY = 'token-policy';

/** Makes a controller or route public: it needs no token and has no rate limit. A route's policy overrides its controller's. */
export function Public(): ClassDecorator & MethodDecorator {
  return state('public');
}

/**
 * Requires a token with all of these scopes; a token without one of them gets 403. A route's policy overrides its controller's.
 *
 * @param scopes - such as `widgets:write`
 * @throws Error if one is not a valid scope (RFC 6749, section 3.3)
 */
export function RequireScopes(...scopes: string[]): ClassDecorator & MethodDecorator {
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined) {
    throw new Error(`"${wrong}" is not a valid scope: use visible ASCII characters without spaces, such as widgets:write.`);
  }
  return state(scopes);
}

function state(policy: TokenPolicy): ClassDecorator & MethodDecorator {
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    const owner = (descriptor?.value ?? target) as { readonly name: string };
    if (Reflect.hasOwnMetadata(TOKEN_POLICY, owner)) {
      throw new Error(`${owner.name} has two token policies: keep either @Public() or one @RequireScopes().`);
    }
    Reflect.defineMetadata(TOKEN_POLICY, policy, owner);
    if (method !== undefined) {
      // Detects decorators that replace the handler afterwards.
      Reflect.defineMetadata(TOKEN_POLICY, policy, target, method);
    }
  };
}

/** The declared policy of a route; undefined if it has none, which stops the boot. */
export function tokenPolicyOf(route: Pick<Route, 'controller' | 'handler'>): TokenPolicy | undefined {
  return metadataOf(TOKEN_POLICY, route) as TokenPolicy | undefined;
}

/** The policy for a request. Boot checks guarantee that every served route has one. */
export function requiredPolicy(reflector: Reflector, context: ExecutionContext): TokenPolicy {
  return reflector.getAllAndOverride<TokenPolicy>(TOKEN_POLICY, [context.getHandler(), context.getClass()]);
}

/** The scopes that a route requires. */
export function scopesOf(route: Pick<Route, 'controller' | 'handler'>): readonly string[] {
  const policy = tokenPolicyOf(route) ?? [];
  return policy === 'public' ? [] : policy;
}

/** Errors of a route's policy, with their fixes. */
export function tokenPolicyFaults(route: Route): string[] {
  const policy = tokenPolicyOf(route);
  const stated: unknown = Reflect.getMetadata(TOKEN_POLICY, route.controller.prototype as object, route.name);
  const rules: [boolean, string][] = [
    [
      stated !== undefined && stated !== policy,
      'has a decorator that replaces the handler and hides its policy: write @RequireScopes() or @Public() above that decorator.',
    ],
    [
      policy === undefined,
      "has no token policy: add @RequireScopes('things:read') to it or to its controller, or @Public() if it needs no token.",
    ],
    [
      policy?.length === 0 && !isHidden(route),
      'requires no scope, so that any token may call it: name a scope in @RequireScopes().',
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, fault]) => `${nameOf(route)} ${fault}`);
}
