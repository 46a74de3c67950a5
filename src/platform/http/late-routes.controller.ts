import { All, Controller, Next, VERSION_NEUTRAL } from '@nestjs/common';
import type { Express, NextFunction, Request } from 'express';
import { RequireScopes } from '../auth/scopes.guard.js';
import { shownPath } from '../errors/redaction.js';
import { Hidden } from '../routes/operation.js';
import { methodNotAllowed, notFound } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';

/**
 * Last controller to match, except another one for all paths. Passes requests that the guards accept on to what libraries
 * have mapped, and then to {@link rejectUnknown}: without a token, clients cannot find out which paths exist.
 */
@RequireScopes()
@Hidden()
@Controller({ version: VERSION_NEUTRAL })
export class LateRoutesController {
  @All('{*path}')
  pass(@Next() next: NextFunction): void {
    next();
  }
}

/** Members of Express' router that its types omit. */
interface Layer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Last middleware, for requests that match no route. @throws Problem 405 with the methods of the path, or 404 */
export function rejectUnknown({ app, method, path }: Request): never {
  const layers = (app as Express).router.stack as unknown as Layer[];
  // A matching route of this method has passed the request on: it is middleware, and proves no path.
  const others = layers.filter(({ route }) => route && !route.methods[method.toLowerCase()]);
  const found = others.filter((layer) => layer.match(path)).flatMap(({ route }) => Object.keys(route?.methods ?? {}));
  const methods = new Set(found.map((name) => name.toUpperCase()));
  if (methods.size === 0) {
    throw new Problem(notFound, `The path ${shownPath(path)} does not exist.`);
  }
  const Allow = [...(methods.has('GET') ? methods.add('HEAD') : methods)].toSorted().join(', ');
  throw new Problem(methodNotAllowed, `The path ${shownPath(path)} allows ${Allow}.`, { headers: { Allow } });
}
