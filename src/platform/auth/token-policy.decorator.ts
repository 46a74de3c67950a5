import type { ExecutionContext } from '@nestjs/common';
import type { Reflector } from '@nestjs/core';
import { isHidden } from '../openapi/route-documentation.js';
import { metadataOf, nameOf, type Route } from '../routes/route.js';
import { isScope } from './principal.js';

/** Who may call a route: everybody, or holders of a token with these scopes, of which there may be none. */
export type TokenPolicy = 'public' | readonly string[];

const TOKEN_POLICY = 'token-policy';

/** Opens a controller or a route to everybody: no token, and therefore no rate limit. A route's own policy wins. */
export function Public(): ClassDecorator & MethodDecorator {
  return state('public');
}

/**
 * Asks for a token, and where that is restricted to some scopes, for these: others get 403. A route's own policy wins over that of
 * its controller.
 *
 * @param scopes - all of which a restricted token needs, such as `widgets:write`
 * @throws Error when one is no scope of RFC 6749
 */
export function RequireScopes(...scopes: string[]): ClassDecorator & MethodDecorator {
  const wrong = scopes.find((scope) => !isScope(scope));
  if (wrong !== undefined) {
    throw new Error(`"${wrong}" is no scope: write visible ASCII characters without spaces, such as widgets:write.`);
  }
  return state(scopes);
}

function state(policy: TokenPolicy): ClassDecorator & MethodDecorator {
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    const owner = (descriptor?.value ?? target) as { readonly name: string };
    if (Reflect.hasOwnMetadata(TOKEN_POLICY, owner)) {
      throw new Error(`${owner.name} has two token policies: keep one of @Public() and @RequireScopes().`);
    }
    Reflect.defineMetadata(TOKEN_POLICY, policy, owner);
    if (method !== undefined) {
      // To be found where another decorator replaces the handler afterwards.
      Reflect.defineMetadata(TOKEN_POLICY, policy, target, method);
    }
  };
}

/** The policy of a route; undefined without one: any valid token is accepted. */
export function tokenPolicyOf(route: Pick<Route, 'controller' | 'handler'>): TokenPolicy | undefined {
  return metadataOf(TOKEN_POLICY, route) as TokenPolicy | undefined;
}

/** The same for a request: every route that is served has a policy of its own or of its own controller. */
export function requiredPolicy(reflector: Reflector, context: ExecutionContext): TokenPolicy {
  return reflector.getAllAndOverride<TokenPolicy>(TOKEN_POLICY, [context.getHandler(), context.getClass()]);
}

/** The scopes that a route asks for. */
export function scopesOf(route: Pick<Route, 'controller' | 'handler'>): readonly string[] {
  const policy = tokenPolicyOf(route) ?? [];
  return policy === 'public' ? [] : policy;
}

/** What is wrong with the policy of a route, and how to fix it. */
export function tokenPolicyFaults(route: Route): string[] {
  const policy = tokenPolicyOf(route);
  const stated: unknown = Reflect.getMetadata(TOKEN_POLICY, route.controller.prototype as object, route.name);
  const rules: [boolean, string][] = [
    [
      stated !== undefined && stated !== policy,
      'is replaced by a decorator, which hides its policy: write @RequireScopes() or @Public() above that.',
    ],
    [
      policy === undefined,
      "does not say who may call it: add @RequireScopes('things:read') to it or to its controller, or @Public() if it is for everybody.",
    ],
    [
      policy?.length === 0 && !isHidden(route),
      'asks for no scope, so that a token for anything else may call it: name one in @RequireScopes().',
    ],
  ];
  return rules.filter(([isBroken]) => isBroken).map(([, fault]) => `${nameOf(route)} ${fault}`);
}
