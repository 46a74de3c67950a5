import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { isHidden } from '../openapi/hidden.decorator.js';
import { parametersOf, type Route, RouteParamtypes } from '../routes/route.js';
import { invalidRequest } from './invalid-request.js';
import { hasJsonBody, readJson } from './read-json.js';
import { UNKNOWN_NAME } from './problem.js';

/**
 * Parses the query, and reads a JSON body. It is the last guard: a request that another one refuses costs neither parsing nor memory.
 * Routes that are hidden from the API, such as probes, may be called with any query, and their bodies are not read.
 */
@Injectable()
export class InputGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    const [controller, handler] = [context.getClass(), context.getHandler()];
    if (isHidden({ controller, handler })) {
      return true;
    }
    if (request.url.includes('?')) {
      checkQuery(request, { controller, handler });
    }
    return hasJsonBody(request) ? readBody(request) : true;
  }
}

/** Parsed once: Express does it at each access. Parameters that the handler does not name are refused. */
function checkQuery(request: Request, { controller, handler }: Pick<Route, 'controller' | 'handler'>): void {
  const { query } = request;
  Object.defineProperty(request, 'query', { value: query });
  const isWrapped = (controller.prototype as Record<string, unknown>)[handler.name] !== handler;
  const known = parametersOf({ controller, name: handler.name }).filter(({ kind }) => kind === RouteParamtypes.QUERY);
  // A class has rules of its own.
  if (!isWrapped && known.every(({ data }) => typeof data === 'string')) {
    const unknown = Object.keys(query).filter((name) => !known.some(({ data }) => data === name));
    if (unknown.length > 0) {
      throw invalidRequest(unknown.map((name) => ({ parameter: name, code: 'unknown', detail: UNKNOWN_NAME })));
    }
  }
}

async function readBody(request: Request): Promise<boolean> {
  request.body = await readJson(request);
  return true;
}
