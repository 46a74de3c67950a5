import { parse, type ParsedUrlQuery } from 'node:querystring';
import { type CanActivate, type ExecutionContext, Injectable, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { HIDDEN } from '../openapi/route-documentation.js';
import { parametersOf, type Route, RouteParamtypes } from '../routes/route.js';
import { invalidRequest } from './invalid-request.js';
import { isDecodable } from './percent-encoding.js';
import { UNKNOWN_NAME } from './problem.js';
import { hasJsonBody, readJson } from './read-json.js';

/** Parameters that a query may have. Naming the faults of thousands would take longer than all else of a request. */
const MAX_PARAMETERS = 50;

/**
 * Parses the query, and reads a JSON body. It is the last guard: a request that another one refuses costs neither parsing nor memory.
 * Routes that are hidden from the API, such as probes, may be called with any query, and their bodies are not read.
 */
@Injectable()
export class InputGuard implements CanActivate {
  private readonly names = new WeakMap<Route['handler'], ReadonlySet<string> | undefined>();

  constructor(private readonly reflector: Reflector) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.getArgByIndex<Request>(0);
    const [controller, handler] = [context.getClass(), context.getHandler()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(HIDDEN, [handler, controller])) {
      return true;
    }
    const start = request.url.indexOf('?');
    if (start >= 0) {
      const query = parseQuery(request.url.slice(start + 1));
      if (!this.names.has(handler)) {
        this.names.set(handler, queryNames(controller, handler));
      }
      const known = this.names.get(handler);
      refuse(known ? Object.keys(query).filter((name) => !known.has(name)) : [], 'unknown', UNKNOWN_NAME);
      // Express would parse it again at each access.
      Object.defineProperty(request, 'query', { value: query });
    }
    if (hasJsonBody(request)) {
      request.body = await readJson(request);
    }
    return true;
  }
}

/** The query parameters that a handler names; undefined where a class, which has rules of its own, or a wrapper takes them. */
function queryNames(controller: Type, handler: Route['handler']): ReadonlySet<string> | undefined {
  const isWrapped = (controller.prototype as Record<string, unknown>)[handler.name] !== handler;
  const queries = parametersOf({ controller, name: handler.name }).filter(({ kind }) => kind === RouteParamtypes.QUERY);
  const names = queries.flatMap(({ data }) => (typeof data === 'string' ? [data] : []));
  return isWrapped || names.length < queries.length ? undefined : new Set(names);
}

/**
 * @param text - what follows the `?`
 * @throws Problem `invalid-parameters` for too many, for one that is given twice, or is not UTF-8, which Node would read as something else
 */
function parseQuery(text: string): ParsedUrlQuery {
  const query = parse(text, '&', '=', { maxKeys: 0 });
  const names = Object.keys(query);
  refuse(names.length > MAX_PARAMETERS ? [''] : [], 'too_many', `must have at most ${MAX_PARAMETERS} parameters`);
  const pairs = isDecodable(text) ? [] : text.split('&');
  const malformed = pairs.filter((pair) => !isDecodable(pair)).map((pair) => pair.split('=', 1).join());
  refuse(malformed, 'encoding', 'must be percent-encoded UTF-8: write %25 for a percent sign');
  const repeated = names.filter((name) => Array.isArray(query[name]));
  refuse(repeated, 'repeated', 'is given more than once: keep one');
  return query;
}

function refuse(parameters: readonly string[], code: string, detail: string): void {
  if (parameters.length > 0) {
    throw invalidRequest(parameters.map((parameter) => ({ parameter, code, detail })));
  }
}
