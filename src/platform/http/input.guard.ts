import { parse, type ParsedUrlQuery } from 'node:querystring';
import { type CanActivate, type ExecutionContext, Injectable, type Type } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request } from 'express';
import { HIDDEN } from '../openapi/route-documentation.js';
import { parametersOf, type Route, RouteParamtypes } from '../routes/route.js';
import { invalidRequest } from './invalid-request.js';
import { isDecodable } from './percent-encoding.js';
import { type FaultCode, UNKNOWN_NAME } from './problem.js';
import { hasJsonBody, readJson } from './read-json.js';

/** Maximum query parameters. Reporting thousands of errors would dominate the cost of a request. */
const MAX_PARAMETERS = 50;

/** Reads the query and a JSON body, last, so that refused requests cost nothing. Hidden routes, such as probes, take any input. */
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
      // Express would parse it again on each access.
      Object.defineProperty(request, 'query', { value: query });
    }
    if (hasJsonBody(request)) {
      request.body = await readJson(request);
    }
    return true;
  }
}

/** The query parameters that a handler names; undefined if a class with its own rules, or a wrapper, takes them. */
function queryNames(controller: Type, handler: Route['handler']): ReadonlySet<string> | undefined {
  const isWrapped = (controller.prototype as Record<string, unknown>)[handler.name] !== handler;
  const queries = parametersOf({ controller, name: handler.name }).filter(({ kind }) => kind === RouteParamtypes.QUERY);
  const names = queries.flatMap(({ data }) => (typeof data === 'string' ? [data] : []));
  return isWrapped || names.length < queries.length ? undefined : new Set(names);
}

/** @throws Problem `invalid-parameters` for too many or repeated parameters, or if they are not percent-encoded UTF-8 */
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

function refuse(parameters: readonly string[], code: FaultCode, detail: string): void {
  if (parameters.length > 0) {
    throw invalidRequest(parameters.map((parameter) => ({ parameter, code, detail })));
  }
}
