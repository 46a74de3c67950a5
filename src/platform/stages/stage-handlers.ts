import { currentRequest, type RequestContext } from '../http/request-context.js';
import type { Route } from '../routes/route.js';

type Handler = (...inputs: unknown[]) => unknown;

const staged = new WeakSet<Route['handler']>();

/**
 * Has the stages of the platform around the handlers of some routes, in the place of Nest's interceptors: with one of these, Nest
 * takes each request through a chain of Observables, which costs about an eighth of a page (ADR 25).
 *
 * A handler is replaced by one of the same name, with all that decorators said of it. Called by something else than a request
 * it is what it was.
 */
export function stageHandlers(routes: readonly Route[]): void {
  for (const { controller, handler } of routes) {
    if (!staged.has(handler)) {
      const replaced = stage(handler as Handler);
      staged.add(replaced);
      Object.defineProperty(controller.prototype, handler.name, { value: replaced, configurable: true, writable: true });
    }
  }
}

function stage(handler: Handler): Handler {
  const replaced = function (this: unknown, ...inputs: unknown[]): unknown {
    const around = takeAround();
    return around ? around(async () => await handler.apply(this, inputs)) : handler.apply(this, inputs);
  };
  for (const key of Reflect.getMetadataKeys(handler)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), replaced);
  }
  return Object.defineProperty(replaced, 'name', { value: handler.name });
}

/** What is to be around the first handler that a request calls: what that calls is a part of it. */
function takeAround(): RequestContext['around'] {
  const current = currentRequest();
  const around = current?.around;
  if (current) {
    current.around = undefined;
  }
  return around;
}
