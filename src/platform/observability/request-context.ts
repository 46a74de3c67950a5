import { AsyncLocalStorage } from 'node:async_hooks';
import type { NextFunction, Request, Response } from 'express';

/** What is known of the request that the running code serves. */
export interface RequestContext {
  readonly requestId: string;
  /** What the platform has yet to do around the handler; see `Stage`. */
  around?: ((handle: () => Promise<unknown>) => Promise<unknown>) | undefined;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Remembers the request for everything that happens on its behalf, so that every log line can name it. */
export function rememberRequest(request: Request, _response: Response, next: NextFunction): void {
  storage.run({ requestId: request.id }, next);
}

/** The request that the running code serves, if it serves one. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}
