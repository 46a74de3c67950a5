import type { Express } from 'express';

/** A route as Express has it. */
export interface ExpressRoute {
  /** In capitals. */
  readonly methods: readonly string[];
  /** With all prefixes and the version: `/v1/items/:id`. */
  readonly path: string;
  /** Whether it is for a path of a request. */
  match(path: string): boolean;
}

/** The part of Express' router that its types leave out. */
interface Layer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** The routes of an application, in the order in which they are tried. */
export function expressRoutes({ router }: Pick<Express, 'router'>): ExpressRoute[] {
  return (router.stack as unknown as Layer[]).flatMap((layer) =>
    layer.route
      ? [
          {
            methods: Object.keys(layer.route.methods).map((method) => method.toUpperCase()),
            path: layer.route.path,
            match: (path: string) => layer.match(path),
          },
        ]
      : [],
  );
}
