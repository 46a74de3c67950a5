import type { IncomingMessage } from 'node:http';
import type { NextFunction, Request, Response } from 'express';
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

/**
 * The values of a header as they were sent, one for each time that it was. Node's own `headersDistinct` makes a list of each header
 * for that.
 *
 * @param name - in lower case
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let place = 0; place < rawHeaders.length; place += 2) {
    const other = rawHeaders[place] ?? '';
    if (other.length === name.length && other.toLowerCase() === name) {
      values.push(rawHeaders[place + 1] ?? '');
    }
  }
  return values;
}
