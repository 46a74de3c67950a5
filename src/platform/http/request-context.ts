import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { hideCredentials } from '../auth/hide-credentials.js';
import { badRequest } from './http-problem-types.js';
import { Problem } from './problem.js';

declare global {
  // Express' own hook for properties that middleware adds.
  namespace Express {
    interface Request {
      /** Names this request in its response (`X-Request-Id`, `requestId`) and in the log. */
      id: string;
    }
  }
}

const storage = new AsyncLocalStorage<Request>();

/** Short enough to log and free of anything that could break out of a log line or a header. */
const SANE = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/**
 * Gives every request an id, the caller's `X-Request-Id` when it is sane and a new one otherwise, and keeps the request for all work on
 * its behalf, so that every log line can name it.
 */
export function rememberRequest(request: Request, response: Response, next: NextFunction): void {
  const given = request.get('X-Request-Id') ?? '';
  request.id = SANE.test(given) && hideCredentials(given) === given ? given : randomUUID();
  response.setHeader('X-Request-Id', request.id);
  storage.run(request, next);
}

/** The request that the running code serves, if it serves one. */
export function currentRequest(): Request | undefined {
  return storage.getStore();
}

/** Middleware: HTTP/1.1 requires a `Host` header (RFC 9112, section 3.2). */
export function requireHost({ headers, httpVersion }: Request, _response: Response, next: NextFunction): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new Problem(badRequest, 'The Host header is missing.');
  }
  next();
}
