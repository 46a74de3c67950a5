import { type ArgumentMetadata, type CanActivate, type ExecutionContext, Injectable, type Type } from '@nestjs/common';
import type { Request } from 'express';
import { jsonSchemaOf } from '../routes/json-schema.js';
import { isHidden } from '../routes/operation.js';
import { documentedParameters, parametersOf, type Route, RouteParamtypes, hasParameter } from '../routes/route.js';
import { hasBody } from '../requests/request.js';
import { checkMediaType, limitUpload, mediaTypeOf, readBody } from '../bodies/read-body.js';
import { queryLists, readQuery } from './read-query.js';
import { bodyParameterOf, declaredBodyOf, defaultBodyOptions, takesFiles } from '../bodies/use-body-parser.decorator.js';

/** Methods whose requests rarely have a body: it is read only if the handler takes `@Body()` or files. */
const WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** Last global guard: refused requests cost no parsing of query and body. Hidden routes, such as probes, take any input. */
@Injectable()
export class InputGuard implements CanActivate {
  private readonly plans = new WeakMap<Route['handler'], Plan>();

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
      // The getter of Express would parse the query again on each access.
      Object.defineProperty(request, 'query', { value: await readQuery(request.url.slice(start + 1), plan) });
    }
    if (plan.declared || hasBody(request)) {
      await prepareBody(request, plan);
    }
    return true;
  }
}

type Plan = ReturnType<typeof planOf>;

/** What a handler takes of query and body, read from its metadata once. Its name is its method's: see `nameHandlers`. */
function planOf(controller: Type, handler: Route['handler']) {
  const route = { controller, handler, name: handler.name };
  const queries = parametersOf(route).filter(({ kind }) => kind === RouteParamtypes.QUERY);
  const hidden = isHidden(route);
  const names = hidden ? [] : queries.map(namesOf).filter((each) => each !== undefined);
  const declared = declaredBodyOf(route);
  const repeatable = queryLists.get(handler);
  return {
    isHidden: hidden,
    queryNames: names.length < queries.length ? undefined : new Set([...names.flat(), ...documentedQueries(handler)]),
    repeatable,
    lists: [...(repeatable ?? [])].filter((name) => isTakenAsList(name, queries)),
    queryTypes: queries
      .filter(({ data }) => typeof data !== 'string')
      .map(({ type: metatype, schema }) => ({ type: 'query', metatype, schema }) as ArgumentMetadata),
    takesBody: hasParameter(RouteParamtypes.BODY, route) || takesFiles(route),
    declared,
    isArray: declared?.items !== undefined || bodyParameterOf(route)?.type === Array,
  };
}

/** The names that a parameter takes; undefined for a class, which rejects others, and a schema that does not list all. */
function namesOf({ data, schema }: ReturnType<typeof parametersOf>[number]): string[] | undefined {
  if (typeof data === 'string') {
    return [data];
  }
  // Most schemas would ignore other names. The OpenAPI document has converted it at the start.
  const { properties, additionalProperties } = (schema && jsonSchemaOf(schema, 'input')) ?? {};
  return properties && !additionalProperties ? Object.keys(properties) : undefined;
}

/** Whether a query parameter is taken as it is, or by a Standard Schema: one text would not become a list. */
function isTakenAsList(name: string, queries: ReturnType<typeof parametersOf>): boolean {
  const takers = queries.filter(({ data }) => data === undefined || data === name);
  const isRaw = takers.every(({ data, schema, hasPipes }) => (data ?? schema) !== undefined && !hasPipes);
  return takers.length > 0 && isRaw;
}

/** Query parameters that only `@ApiQuery()` names, because custom parameter decorators take them from the request. */
function documentedQueries(handler: Route['handler']): string[] {
  return documentedParameters(handler).flatMap(({ in: place, name }) =>
    place === 'query' && typeof name === 'string' ? name : [],
  );
}

/** Reads the body, or leaves multipart to an interceptor. */
async function prepareBody(request: Request, { declared, isArray, takesBody }: Plan): Promise<void> {
  if (declared) {
    checkMediaType(request, declared);
    request.declaredBody = declared;
  }
  const isTaken = takesBody || !WITHOUT_BODY.has(request.method);
  const options = declared ?? (isTaken ? defaultBodyOptions(mediaTypeOf(request.headers)) : undefined);
  if (options?.parser === 'multipart') {
    limitUpload(request, options);
  } else if (options && !(request.readableEnded && request.body !== undefined)) {
    // A body that middleware has read is left as it is.
    request.body = await readBody(request, options, isArray);
  }
}
