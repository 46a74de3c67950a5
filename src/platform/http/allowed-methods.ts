import type { Request } from 'express';

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
export function allowedMethods({ app, path, route: own }: Request & { route?: unknown }): string[] {
  const layers = app.router.stack as unknown as Layer[];
  const methods = layers
    .filter((layer) => layer.route && layer.route !== own && layer.match(path))
    .flatMap(({ route }) => Object.keys(route?.methods ?? {}))
    .map((method) => method.toUpperCase());
  return [...new Set(methods.includes('GET') ? [...methods, 'HEAD'] : methods)].toSorted();
}
