import type { ExecutionContext, Type } from '@nestjs/common';
import { type Route, routeOf } from './route.js';

/** Something that is made once for each route, when its first request comes. */
export class PerRoute<T> {
  /** By handler and controller: controllers can inherit a handler. */
  private readonly known = new WeakMap<Route['handler'], Map<Type, T>>();

  constructor(private readonly make: (route: Route) => T) {}

  /** What was made for the route that a request goes to. */
  of(context: ExecutionContext): T {
    const route = routeOf(context);
    let ofHandler = this.known.get(route.handler);
    if (!ofHandler) {
      ofHandler = new Map();
      this.known.set(route.handler, ofHandler);
    }
    if (!ofHandler.has(route.controller)) {
      ofHandler.set(route.controller, this.make(route));
    }
    return ofHandler.get(route.controller) as T;
  }
}
