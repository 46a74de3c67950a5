import { AsyncLocalStorage } from 'node:async_hooks';
import type { NextFunction, Request, Response } from 'express';
// Declares `Request.id`.
import '../http/request-id.js';

/** What is known of the request that the running code serves. */
export interface RequestContext {
  readonly request: Request;
  /** What the platform has yet to do around the handler; see `Stage`. */
  around?: ((handle: () => Promise<unknown>) => Promise<unknown>) | undefined;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Remembers the request for everything that happens on its behalf, so that every log line can name it. */
export function rememberRequest(request: Request, _response: Response, next: NextFunction): void {
  storage.run({ request }, next);
}

/** The request that the running code serves, if it serves one. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}
