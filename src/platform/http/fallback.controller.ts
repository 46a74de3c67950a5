import { All, Controller, Req, VERSION_NEUTRAL } from '@nestjs/common';
import type { Express, Request } from 'express';
import { RequireScopes } from '../auth/token-policy.decorator.js';
import { Hidden } from '../openapi/route-documentation.js';
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
  refuse(@Req() { app, path, route }: Request): never {
    const own = (route as { path: string }).path;
    const others = expressRoutes(app as Express).filter((other) => other.path !== own && other.match(path));
    const methods = others.flatMap((other) => other.methods);
    if (methods.length === 0) {
      throw new Problem(notFound, `Nothing is at ${path}.`);
    }
    const Allow = [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted().join(', ');
    throw new Problem(methodNotAllowed, `${path} can be called with ${Allow}.`, { headers: { Allow } });
  }
}

/** The part of Express' router that its types leave out. */
interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** The routes of an application with all prefixes and the version, as `/v1/items/:id`, in the order in which they are tried. */
export function expressRoutes({ router }: Pick<Express, 'router'>) {
  return (router.stack as unknown as Layer[]).flatMap((layer) => {
    const { path = '', methods = {} } = layer.route ?? {};
    const match = (requested: string) => layer.match(requested);
    return layer.route ? [{ path, methods: Object.keys(methods).map((method) => method.toUpperCase()), match }] : [];
  });
}
