import { SetMetadata } from '@nestjs/common';
import { isHidden } from '../openapi/hidden.decorator.js';
import { metadataOf, nameOf, type Route } from '../routes/route.js';
import { isScope } from './principal.js';

/** Who may call a route: everybody, or holders of a token with these scopes, of which there may be none. */
export type TokenPolicy = 'public' | readonly string[];

/** Metadata key of the policy of a route or controller. */
export const TOKEN_POLICY = 'token-policy';

/** Opens a controller or a route to everybody: no token, and therefore no rate limit. A route's own policy wins. */
export function Public(): ClassDecorator & MethodDecorator {
  return state('public');
}

/**
 * Asks for a token, and where that is restricted to some scopes, for these. Others are answered 403 with a challenge
 * (RFC 6750, section 3.1). Stands on a controller or a route; a route's own policy wins.
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
  const decorate = SetMetadata(TOKEN_POLICY, policy);
  return (target: object, method?: string | symbol, descriptor?: PropertyDescriptor) => {
    const isStated =
      method === undefined ? Reflect.hasOwnMetadata(TOKEN_POLICY, target) : Reflect.hasOwnMetadata(TOKEN_POLICY, target, method);
    if (isStated) {
      const name = typeof target === 'function' ? target.name : `${target.constructor.name}.${String(method)}`;
      throw new Error(`${name} has two token policies: keep one of @Public() and @RequireScopes().`);
    }
    if (method !== undefined) {
      // To be found where another decorator replaces the handler afterwards.
      Reflect.defineMetadata(TOKEN_POLICY, policy, target, method);
    }
    decorate(target as never, method as never, descriptor as never);
  };
}

/** The policy of a route; undefined without one: any valid token is accepted. */
export function tokenPolicyOf(route: Pick<Route, 'controller' | 'handler'>): TokenPolicy | undefined {
  return metadataOf(TOKEN_POLICY, route) as TokenPolicy | undefined;
}

/** The scopes that a route asks for. */
export function scopesOf(route: Pick<Route, 'controller' | 'handler'>): readonly string[] {
  const policy = tokenPolicyOf(route) ?? [];
  return policy === 'public' ? [] : policy;
}

/** What is wrong with the policy of a route: that there is none, or that it means nothing to tokens with scopes. */
export function tokenPolicyFaults(route: Route): string[] {
  const policy = tokenPolicyOf(route);
  const stated: unknown = Reflect.getMetadata(TOKEN_POLICY, route.controller.prototype as object, route.name);
  if (stated !== undefined && stated !== policy) {
    return [
      `${nameOf(route)} is replaced by a decorator, which hides its policy: write @RequireScopes() or @Public() above that.`,
    ];
  }
  if (policy === undefined) {
    const remedy = "add @RequireScopes('things:read') to it or to its controller, or @Public() if it is for everybody.";
    return [`${nameOf(route)} does not say who may call it: ${remedy}`];
  }
  return policy.length === 0 && !isHidden(route)
    ? [`${nameOf(route)} asks for no scope, so that a token for anything else may call it: name one in @RequireScopes().`]
    : [];
}
