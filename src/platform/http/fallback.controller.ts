import { All, Controller, Req, VERSION_NEUTRAL } from '@nestjs/common';
import type { Express, Request } from 'express';
import { RequireScopes } from '../auth/scopes.guard.js';
import { shownPath } from '../auth/token-format.js';
import { Hidden } from '../openapi/operation.decorator.js';
import { methodNotAllowed, notFound } from './problem-types.js';
import { Problem } from './problem.js';

/** Handles requests that match no other route. It is guarded like a route: without a token, clients cannot find out which paths exist. */
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
      throw new Problem(notFound, `The path ${shownPath(path)} does not exist.`);
    }
    const Allow = [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted().join(', ');
    throw new Problem(methodNotAllowed, `The path ${shownPath(path)} allows ${Allow}.`, { headers: { Allow } });
  }
}

/** Members of Express' router that its types omit. */
interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** All routes with prefix and version, as in `/v1/items/:id`, in matching order. */
export function expressRoutes({ router }: Pick<Express, 'router'>) {
  return (router.stack as unknown as Layer[]).flatMap((layer) => {
    const methods = Object.keys(layer.route?.methods ?? {}).map((method) => method.toUpperCase());
    return layer.route ? [{ path: layer.route.path, methods, match: (path: string) => layer.match(path) }] : [];
  });
}
