import { All, Controller, Req, VERSION_NEUTRAL } from '@nestjs/common';
import { Hidden } from '../openapi/hidden.decorator.js';
import type { Express, Request } from 'express';
import { RequireScopes } from '../auth/token-policy.decorator.js';
import { expressRoutes } from './express-routes.js';
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

/**
 * The methods that a request's path has: the value of `Allow` (RFC 9110, section 10.2.1).
 *
 * @param request - as its own route sees it, which does not count: it is the fallback
 */
function allowedMethods({ app, path, route }: Request): string[] {
  const own = (route as { path?: string } | undefined)?.path;
  const methods = expressRoutes(app as Express)
    .filter((other) => other.path !== own && other.match(path))
    .flatMap((other) => other.methods);
  return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted();
}
