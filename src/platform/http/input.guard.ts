import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { HIDDEN } from '../openapi/hidden.decorator.js';
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
  private readonly names = new WeakMap<Route['handler'], ReadonlySet<string> | undefined>();

  constructor(private readonly routes: Reflector) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    if (this.routes.getAllAndOverride<boolean | undefined>(HIDDEN, [context.getHandler(), context.getClass()])) {
      return true;
    }
    if (request.url.includes('?')) {
      this.checkQuery(request, context);
    }
    return hasJsonBody(request) ? readBody(request) : true;
  }

  /** Parsed once: Express does it at each access. Parameters that the handler does not name are refused. */
  private checkQuery(request: Request, context: ExecutionContext): void {
    const { query } = request;
    Object.defineProperty(request, 'query', { value: query });
    const handler = context.getHandler();
    if (!this.names.has(handler)) {
      this.names.set(handler, queryNames(context.getClass(), handler));
    }
    const known = this.names.get(handler);
    const unknown = known ? Object.keys(query).filter((name) => !known.has(name)) : [];
    if (unknown.length > 0) {
      throw invalidRequest(unknown.map((name) => ({ parameter: name, code: 'unknown', detail: UNKNOWN_NAME })));
    }
  }
}

/** The query parameters that a handler names; undefined where a class, which has rules of its own, or a wrapper takes them. */
function queryNames(controller: Route['controller'], handler: Route['handler']): ReadonlySet<string> | undefined {
  const isWrapped = (controller.prototype as Record<string, unknown>)[handler.name] !== handler;
  const queries = parametersOf({ controller, name: handler.name }).filter(({ kind }) => kind === RouteParamtypes.QUERY);
  const names = queries.flatMap(({ data }) => (typeof data === 'string' ? [data] : []));
  return isWrapped || names.length < queries.length ? undefined : new Set(names);
}

async function readBody(request: Request): Promise<boolean> {
  request.body = await readJson(request);
  return true;
}
