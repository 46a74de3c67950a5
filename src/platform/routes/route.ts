import type { ExecutionContext, Type } from '@nestjs/common';

/** A method of a controller that answers requests. */
export interface Route {
  readonly controller: Type;
  /** Has the name of the method: the boot checks see to that. */
  readonly handler: ReturnType<ExecutionContext['getHandler']>;
}

/** The route that a request goes to. */
export function routeOf(context: ExecutionContext): Route {
  return { controller: context.getClass(), handler: context.getHandler() };
}

/** For messages: `ItemsController.listItems`. */
export function nameOf({ controller, handler }: Route): string {
  return `${controller.name}.${handler.name}`;
}

/** The same of what a decorator stands on, which may be a whole controller. */
export function placeOf(target: object, method?: string | symbol): string {
  return typeof target === 'function' ? target.name : `${target.constructor.name}.${String(method)}`;
}

/** A decorator of routes and of controllers. */
export type Annotation = (target: object, method?: string | symbol) => void;

/** Leaves something on a route, or on all routes of a controller, where it stays if another decorator replaces the handler. */
export function annotate(key: string, value: unknown): Annotation {
  return (target, method) => {
    if (method === undefined) {
      Reflect.defineMetadata(key, value, target);
    } else {
      Reflect.defineMetadata(key, value, target, method);
    }
  };
}

/** What {@link annotate} left on a route or, where that has none, on its controller: that class, and none that it extends. */
export function annotationOf(key: string, { controller, handler }: Route): unknown {
  return Reflect.getMetadata(key, controller.prototype as object, handler.name) ?? Reflect.getOwnMetadata(key, controller);
}
