import type { NextFunction, Request, Response } from 'express';
import { badRequest } from './http-problem-types.js';
import { Problem } from './problem.js';

/** HTTP/1.1 requires a `Host` header (RFC 9112, section 3.2). */
export function hostHeader(request: Request, _response: Response, next: NextFunction): void {
  if (request.httpVersion === '1.1' && request.headers.host === undefined) {
    throw new Problem(badRequest, 'The Host header is missing.');
  }
  next();
}
