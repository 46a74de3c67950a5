import { All, Controller, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { Hidden } from '../openapi/hidden.decorator.js';
import type { Request } from 'express';
import { RequireScopes } from '../auth/token-policy.decorator.js';
import { methodNotAllowed, notFound } from './http-problem-types.js';
import { Problem } from './problem.js';

/**
 * Where requests end that no other route takes. Being a route, it is guarded like one: without a token a stranger learns
 * nothing about which paths exist, and with one the request counts.
 */
@RequireScopes()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
export class FallbackController {
  @All('{*path}')
  refuse(@Req() request: Request): never {
    const methods = allowedMethods(request).join(', ');
    if (methods === '') {
      throw new Problem(notFound, `Nothing is at ${request.path}.`);
    }
    throw new Problem(methodNotAllowed, `${request.path} can be called with ${methods}.`, { headers: { Allow: methods } });
  }
}

/** The part of Express' router that tells which routes a path has; its types leave it out. */
interface Layer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * The methods that a request's path has: the value of `Allow` (RFC 9110, section 10.2.1).
 *
 * @param request - as its own route sees it, which does not count: it is the fallback
 */
function allowedMethods({ app, path, route: own }: Request & { route?: unknown }): string[] {
  const layers = app.router.stack as unknown as Layer[];
  const methods = layers
    .filter((layer) => layer.route && layer.route !== own && layer.match(path))
    .flatMap(({ route }) => Object.keys(route?.methods ?? {}))
    .map((method) => method.toUpperCase());
  return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted();
}
