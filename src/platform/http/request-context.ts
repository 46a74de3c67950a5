import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { hideCredentials } from '../auth/hide-credentials.js';
import { badRequest } from './http-problem-types.js';
import { Problem } from './problem.js';

declare global {
  // Express' type for custom properties.
  namespace Express {
    interface Request {
      /** Identifies the request in its response (`X-Request-Id`, `requestId`) and in the log. */
      id: string;
    }
  }
}

const storage = new AsyncLocalStorage<Request>();

/** Accepted request ids: short, and safe in log lines and headers. */
const SANE = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/** Sets the request id, from a safe `X-Request-Id` or a new one, and stores the request for all code that runs on its behalf. */
export function rememberRequest(request: Request, response: Response, next: NextFunction): void {
  const given = request.get('X-Request-Id') ?? '';
  request.id = SANE.test(given) && hideCredentials(given) === given ? given : randomUUID();
  response.setHeader('X-Request-Id', request.id);
  storage.run(request, next);
}

/** The request that the running code serves, if any. */
export function currentRequest(): Request | undefined {
  return storage.getStore();
}

/** HTTP/1.1 requires a `Host` header (RFC 9112, section 3.2). */
export function requireHost({ headers, httpVersion }: Request, _response: Response, next: NextFunction): void {
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new Problem(badRequest, 'The Host header is missing.');
  }
  next();
}
