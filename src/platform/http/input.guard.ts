import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { isHidden } from '../openapi/hidden.decorator.js';
import { RouteParamtypes, takes } from '../routes/route.js';
import { FallbackController } from './fallback.controller.js';
import { invalidRequest } from './invalid-request.js';
import { hasJsonBody, readJson } from './read-json.js';
import { UNKNOWN_NAME } from './problem.js';

/** Parses the query, and reads a JSON body. It is the last guard: a request that another one refuses costs neither parsing nor memory. */
@Injectable()
export class InputGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    if (request.url.includes('?')) {
      checkQuery(request, context);
    }
    return hasJsonBody(request) && context.getClass() !== FallbackController ? readBody(request) : true;
  }
}

/** Parsed once: Express does it at each access. A route without parameters refuses all, unless it is hidden, as probes are. */
function checkQuery(request: Request, context: ExecutionContext): void {
  const [controller, handler] = [context.getClass(), context.getHandler()];
  if (!isHidden({ controller, handler })) {
    const { query } = request;
    Object.defineProperty(request, 'query', { value: query });
    const names = Object.keys(query);
    const isWrapped = (controller.prototype as Record<string, unknown>)[handler.name] !== handler;
    if (names.length > 0 && !isWrapped && !takes(RouteParamtypes.QUERY, { controller, name: handler.name })) {
      throw invalidRequest(names.map((name) => ({ parameter: name, code: 'unknown', detail: UNKNOWN_NAME })));
    }
  }
}

async function readBody(request: Request): Promise<boolean> {
  request.body = await readJson(request);
  return true;
}
