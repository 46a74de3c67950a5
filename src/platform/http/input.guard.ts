import { parse, type ParsedUrlQuery } from 'node:querystring';
import { type CanActivate, type ExecutionContext, Injectable, type Type } from '@nestjs/common';
import { DECORATORS } from '@nestjs/swagger';
import type { Request } from 'express';
import { isHidden } from '../routes/operation.js';
import { parametersOf, type Route, RouteParamtypes, hasParameter } from '../routes/route.js';
import { hasBody } from '../requests/request.js';
import { isDecodable } from '../requests/percent-encoding.js';
import { type FaultCode, invalidRequest, UNKNOWN_NAME } from '../problems/problem.js';
import { checkMediaType, limitUpload, mediaTypeOf, readBody } from '../bodies/read-body.js';
import { bodyParameterOf, declaredBodyOf, defaultRules, takesFiles } from '../bodies/use-body-parser.decorator.js';

/** Maximum query parameters. Reporting thousands of errors would dominate the cost of a request. */
const MAX_PARAMETERS = 50;

/** Methods whose handlers rarely take a body: theirs is read only for `@Body()` or files. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** Reads query and body last, so that refused requests cost nothing. Hidden routes, such as probes, take any input. */
@Injectable()
export class InputGuard implements CanActivate {
  private readonly plans = new WeakMap<Route['handler'], ReturnType<typeof planOf>>();

  async canActivate(context: ExecutionContext): Promise<boolean> {
    if (context.getType() !== 'http') {
      return true;
    }
    const handler = context.getHandler();
    const plan = this.plans.getOrInsertComputed(handler, () => planOf(context.getClass(), handler));
    if (plan.isHidden) {
      return true;
    }
    const request = context.getArgByIndex<Request>(0);
    const start = request.url.indexOf('?');
    if (start >= 0) {
      const query = parseQuery(request.url.slice(start + 1));
      const { queryNames: known } = plan;
      rejectParameters(known ? Object.keys(query).filter((name) => !known.has(name)) : [], 'unknown', UNKNOWN_NAME);
      // Express would parse it again on each access.
      Object.defineProperty(request, 'query', { value: query });
    }
    if (plan.declared || hasBody(request)) {
      await prepareBody(request, plan);
    }
    return true;
  }
}

/** What a handler takes. */
function planOf(controller: Type, handler: Route['handler']) {
  const route = { controller, handler, name: handler.name };
  const isWrapped = (controller.prototype as Record<string, unknown>)[handler.name] !== handler;
  const queries = parametersOf(route).filter(({ kind }) => kind === RouteParamtypes.QUERY);
  const names = queries.flatMap(({ data }) => (typeof data === 'string' ? [data] : []));
  const declared = declaredBodyOf(route);
  return {
    isHidden: isHidden(route),
    /** Query parameters that it names or documents; undefined if a class with its own rules, or a wrapper, takes them. */
    queryNames: isWrapped || names.length < queries.length ? undefined : new Set([...names, ...documentedQueries(handler)]),
    takesBody: isWrapped || hasParameter(RouteParamtypes.BODY, route) || takesFiles(route),
    declared,
    isArray: declared?.items !== undefined || bodyParameterOf(route)?.type === Array,
  };
}

/** What a parameter decorator of a feature or a library takes from the request itself. */
function documentedQueries(handler: Route['handler']): string[] {
  const documented = Reflect.getMetadata(DECORATORS.API_PARAMETERS, handler) as { in: string; name?: string }[] | undefined;
  return (documented ?? []).flatMap(({ in: place, name }) => (place === 'query' && name !== undefined ? name : []));
}

/** Reads the body, or leaves multipart to an interceptor. */
async function prepareBody(request: Request, { declared, isArray, takesBody }: ReturnType<typeof planOf>): Promise<void> {
  if (declared) {
    checkMediaType(request, declared);
  }
  if (declared?.validate === false) {
    request.isBodyUnchecked = true;
  }
  const isTaken = takesBody || !WITHOUT_BODY.has(request.method);
  const rules = declared ?? (isTaken ? defaultRules(mediaTypeOf(request.headers)) : undefined);
  if (rules?.parser === 'multipart') {
    limitUpload(request, rules);
  } else if (rules && !(request.readableEnded && request.body !== undefined)) {
    // What middleware has read is left as it is.
    request.body = await readBody(request, rules, isArray);
  }
}

/** @throws Problem `invalid-parameters` for too many or repeated parameters, or if they are not percent-encoded UTF-8 */
function parseQuery(text: string): ParsedUrlQuery {
  const pairs = text.split('&').filter((pair) => pair !== '');
  rejectParameters(pairs.length > MAX_PARAMETERS ? [''] : [], 'too_many', `must have at most ${MAX_PARAMETERS} parameters`);
  const malformed = pairs.filter((pair) => !isDecodable(pair)).map((pair) => pair.split('=', 1).join());
  rejectParameters(malformed, 'encoding', 'must be percent-encoded UTF-8: write %25 for a percent sign');
  const query = parse(text, '&', '=', { maxKeys: 0 });
  const repeated = Object.keys(query).filter((name) => Array.isArray(query[name]));
  rejectParameters(repeated, 'repeated', 'is given more than once: keep one');
  return query;
}

function rejectParameters(parameters: readonly string[], code: FaultCode, detail: string): void {
  if (parameters.length > 0) {
    throw invalidRequest(parameters.map((parameter) => ({ parameter, code, detail })));
  }
}
