import { randomUUID } from 'node:crypto';
import type { NextFunction, Request, Response } from 'express';
import { hideCredentials } from '../auth/hide-credentials.js';

declare global {
  // Express' own hook for properties that middleware adds.
  namespace Express {
    interface Request {
      /** Names this request in its answer (`X-Request-Id`, `requestId`) and in the log. */
      id: string;
    }
  }
}

/** Short enough to log and free of anything that could break out of a log line or a header. */
const SANE = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/** Gives every request an id: the caller's `X-Request-Id` when it is sane, a new one otherwise. */
export function requestId(request: Request, response: Response, next: NextFunction): void {
  const given = request.headers['x-request-id'];
  request.id = typeof given === 'string' && isSane(given) ? given : randomUUID();
  response.setHeader('X-Request-Id', request.id);
  next();
}

function isSane(id: string): boolean {
  return SANE.test(id) && hideCredentials(id) === id;
}
