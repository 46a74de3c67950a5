import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import { hideCredentials } from '../errors/redaction.js';
import { type FaultCode, invalidRequest, type Problem } from '../problems/problem.js';

declare global {
  // Express' type for custom properties.
  namespace Express {
    interface Request {
      /** Identifies the request in its response (`X-Request-Id`, `requestId`) and in the log. */
      id: string;
      /** Whether success is logged only at the level `debug`, because orchestrators send many probes. */
      isProbe?: boolean;
      /** How the global pipe validates a body with `@UseBodyParser()`: see its options of these names. */
      declaredBody?: { readonly validate?: boolean; readonly items?: Type<object> };
      /** The problem that was sent instead of a result. */
      problem?: Problem;
    }
  }
}

/** Accepted request ids: short, and safe in log lines and headers. */
const SANE = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/** Holds the current request for all code that runs on its behalf. */
export const requestStorage = new AsyncLocalStorage<Request>();

/** A safe `X-Request-Id` of the client, or a new one. */
export function requestIdOf(request: Request): string {
  const given = request.get('X-Request-Id') ?? '';
  return SANE.test(given) && hideCredentials(given) === given ? given : randomUUID();
}

/** The request that the running code serves, if any. */
export function currentRequest(): Request | undefined {
  return requestStorage.getStore();
}

/** Whether a request has a body (RFC 9112, section 6.3). */
export function hasBody({ headers }: Request): boolean {
  return Number(headers['content-length'] ?? 0) !== 0 || headers['transfer-encoding'] !== undefined;
}

/** The 400 problem for a handler that needs a body. @param mediaTypes - of the body; undefined for a JSON object */
export function bodyRequiredProblem(request: Request, mediaTypes?: readonly string[]): Problem {
  const types = mediaTypes?.join(' or ');
  return hasBody(request)
    ? invalidBodyProblem('media_type', `must be sent with Content-Type: ${types ?? 'application/json'}`)
    : invalidBodyProblem('required', `is missing: send ${types ?? 'a JSON object'}`);
}

/** The 400 problem for a body that cannot be read. */
export function invalidBodyProblem(code: FaultCode, detail: string): Problem {
  return invalidRequest([{ pointer: '', code, detail }]);
}
