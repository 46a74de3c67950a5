import type { NextFunction, Request, Response } from 'express';
import { headerValues } from './header-values.js';
import { badRequest } from './http-problem-types.js';
import { Problem } from './problem.js';

/** HTTP/1.1 requires exactly one `Host` header, with a host and perhaps a port (RFC 9112, section 3.2). */
export function hostHeader(request: Request, _response: Response, next: NextFunction): void {
  const hosts = headerValues(request, 'host');
  if (hosts.length > 1 || (hosts.length === 0 && request.httpVersion === '1.1') || !/^[^\s/@?#]*$/.test(hosts[0] ?? '')) {
    throw new Problem(badRequest, 'There must be one Host header, with a host and perhaps a port.');
  }
  next();
}
