import { inspect } from 'node:util';
import type { ExecutionContext, INestApplicationContext } from '@nestjs/common';
import { ApplicationConfig } from '@nestjs/core';
import type { Request, Response } from 'express';
import { isStaticToken } from '../auth/static/static-tokens.js';
import type { Principal } from '../auth/principal.js';
import { Configuration } from '../config/configuration.js';
import { pathPrefixOf } from '../config/origins.js';
import { hideCredentials } from '../errors/redaction.js';
import { Metrics } from '../observability/metrics.js';
import { nameOf, pathParametersOf, type Route } from '../routes/route.js';
import { OpenApiDocument, type DocumentedOperation } from './openapi-document.js';
import { type Deprecation, operationOf } from '../routes/operation.js';

/** A path (RFC 3986, section 3.3), in which `{name}` is a path parameter of the deprecated route. */
const PATH = /^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[\dA-F]{2}|\{\w+\})+)+$/i;
const PLACEHOLDER = /\{(\w+)\}/g;

/** Kinds of callers: `declared` is a token of `AUTH_TOKENS_FILE`; `none` is a request without a valid token. */
const CALLERS = ['token', 'declared', 'jwt', 'none'] as const;

export function deprecationFaults(route: Route): string[] {
  const deprecated = operationOf(route)?.deprecated;
  if (deprecated === undefined) {
    return [];
  }
  const { since, sunset, use } = Object(deprecated) as Partial<Record<keyof Deprecation, unknown>>;
  const faults = Object.entries({ since, sunset }).flatMap(([name, date]) =>
    isDate(date) ? [] : `deprecated.${name} is ${inspect(date)}: write a day as YYYY-MM-DD, such as 2026-01-31.`,
  );
  if (isDate(since) && isDate(sunset)) {
    const earliest = new Date(since);
    earliest.setUTCFullYear(earliest.getUTCFullYear() + 1);
    const remedy = `write ${earliest.toISOString().slice(0, 10)}, 12 months after deprecated.since, or later.`;
    faults.push(...(new Date(sunset) < earliest ? [`deprecated.sunset is ${sunset}: ${remedy}`] : []));
  }
  const isPath = typeof use === 'string' && PATH.test(use);
  if (typeof use !== 'string' || use.trim() === '' || (use.startsWith('/') && !isPath)) {
    const remedy = 'write what to use instead, as a path such as /v1/widgets/{id}, or in words.';
    faults.push(`deprecated.use is ${inspect(use)}: ${remedy}`);
  }
  const known = pathParametersOf(route);
  const unknown = [...(isPath ? use : '').matchAll(PLACEHOLDER)].filter(([, name = '']) => !known.includes(name));
  faults.push(...unknown.map(([part]) => `deprecated.use has ${part}, but the route has no path parameter of this name.`));
  return faults.map((fault) => `${nameOf(route)}: ${fault}`);
}

/** A day of the calendar. It begins at midnight in UTC, as `Date` has it. */
function isDate(value: unknown): value is string {
  const date = typeof value === 'string' && /^[2-9]\d{3}-\d\d-\d\d$/.test(value) ? new Date(value) : new Date(NaN);
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === value;
}

/** Headers of each response (RFC 9745, RFC 8594), with the successor of the resource (RFC 5829) below the path prefix. */
function headersOf({ since, sunset, use }: Deprecation, prefix: string, valueOf: (parameter: string) => string) {
  const successor = use.replaceAll(PLACEHOLDER, (_all, parameter: string) => valueOf(parameter));
  return {
    Deprecation: `@${Date.parse(since) / 1000}`,
    Sunset: new Date(sunset).toUTCString(),
    ...(use.startsWith('/') && { Link: `<${prefix}${successor}>; rel="successor-version"` }),
  };
}

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  Deprecation: 'Since when the operation is deprecated (RFC 9745).',
  Sunset: 'From when on the operation may be removed (RFC 8594).',
  Link: 'What to use instead (RFC 8288).',
};

/** Documents the deprecation of a route, if any, in its operation and in the headers of all documented responses. */
export function describeDeprecation(operation: DocumentedOperation, route: Route, prefix: string): void {
  const { deprecated } = operationOf(route) ?? {};
  if (!deprecated) return;
  const { since, sunset, use } = deprecated;
  const instead = use.startsWith('/') ? `\`${use}\`` : use;
  const note = `Deprecated since ${since}, and may be removed from ${sunset} on. Use ${instead} instead.`;
  // `npm run api:check` reads the extension.
  Object.assign(operation, { deprecated: true, 'x-sunset': sunset });
  operation.description = [note, operation.description ?? []].flat().join('\n\n');
  const headers = Object.entries(headersOf(deprecated, prefix, (parameter) => parameter)).map(
    ([name, example]) => [name, { description: DESCRIPTIONS[name], schema: { type: 'string' }, example }] as const,
  );
  for (const response of Object.values(operation.responses)) {
    Object.assign(response, { headers: { ...response.headers, ...Object.fromEntries(headers) } });
  }
}

/**
 * Sends the deprecation of operations in the headers of all their responses, also of refusals by guards, and counts their
 * requests.
 *
 * @param routes - all routes of the application, whose OpenAPI document must be built and checked
 */
export function announceDeprecations(app: INestApplicationContext, routes: readonly Route[]): void {
  const help = 'Requests for deprecated operations, by kind of caller';
  const labelNames = { method: [], route: [], caller: [] };
  const counter = app.get(Metrics).counter({ name: 'deprecated_requests_total', help, labels: labelNames });
  const document = app.get(OpenApiDocument);
  const prefix = pathPrefixOf(app.get(Configuration).PUBLIC_URL);
  const announced = new Map<Route['handler'], { deprecated: Deprecation; labels: { method: string; route: string } }>();
  for (const route of routes) {
    const { deprecated } = operationOf(route) ?? {};
    const documented = document.find(route.handler);
    if (!deprecated || !documented) continue;
    const labels = { method: documented.method, route: documented.path.replaceAll(PLACEHOLDER, ':$1') };
    announced.set(route.handler, { deprecated, labels });
    CALLERS.forEach((caller) => counter.inc({ ...labels, caller }, 0));
  }
  const canActivate = (context: ExecutionContext) => {
    const found = announced.get(context.getHandler());
    if (found && context.getType() === 'http') {
      const [request, response] = context.getArgs<[Request, Response]>();
      announce(found.deprecated, prefix, request, response);
      // Guards that run after this one authenticate the caller.
      response.once('close', () => counter.inc({ ...found.labels, caller: callerOf(request.user) }));
    }
    return true;
  };
  if (announced.size > 0) {
    const guards = app.get(ApplicationConfig).getGlobalGuards();
    // Before those that refuse requests.
    guards.unshift({ canActivate });
  }
}

function announce(deprecated: Deprecation, prefix: string, { params }: Request, response: Response): void {
  const valueOf = (parameter: string) => [params[parameter] ?? []].flat().map(encodeURIComponent).join('/');
  for (const [name, value] of Object.entries(headersOf(deprecated, prefix, valueOf))) {
    // Middleware may have set other links.
    response.append(name, hideCredentials(value));
  }
}

function callerOf(user: Principal | undefined): (typeof CALLERS)[number] {
  if (user?.subject !== undefined) {
    return 'jwt';
  }
  return user ? (isStaticToken(user) ? 'declared' : 'token') : 'none';
}
