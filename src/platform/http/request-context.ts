import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { hideCredentials } from '../auth/hide-credentials.js';

declare global {
  // Express' own hook for properties that middleware adds.
  namespace Express {
    interface Request {
      /** Names this request in its response (`X-Request-Id`, `requestId`) and in the log. */
      id: string;
    }
  }
}

/** What is known of the request that the running code serves. */
interface RequestContext {
  readonly request: Request;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** Short enough to log and free of anything that could break out of a log line or a header. */
const SANE = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/**
 * Gives every request an id, the caller's `X-Request-Id` when it is sane and a new one otherwise, and keeps the request for all work on
 * its behalf, so that every log line can name it.
 */
export function rememberRequest(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  request.id = typeof given === 'string' && isSane(given) ? given : randomUUID();
  response.setHeader('X-Request-Id', request.id);
  storage.run({ request }, next);
}

/** The request that the running code serves, if it serves one. */
export function currentRequest(): RequestContext | undefined {
  return storage.getStore();
}

function isSane(id: string): boolean {
  return SANE.test(id) && hideCredentials(id) === id;
}
