import { RequestMethod } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import { hasBody } from '../requests/request.js';
import { isHidden } from '../routes/operation.js';
import { methodOf, type Route } from '../routes/route.js';
import { OpenApiDocument, operationsOf } from './openapi-document.js';

/** Seconds for which browsers keep the response to a preflight request; Chromium keeps none longer. */
const MAX_AGE = 7200;

/** Methods that `@All()` serves. */
const METHODS = ['DELETE', 'GET', 'HEAD', 'PATCH', 'POST', 'PUT'];

/** Headers that any route takes. */
const REQUEST_HEADERS = ['Authorization', 'Content-Type', 'Idempotency-Key', 'If-Match', 'If-None-Match', 'X-Request-Id'];
const TRACE_HEADERS = ['traceparent', 'tracestate'];

/** Headers that any response may have, beyond those that browsers let every page read. */
const RESPONSE_HEADERS = ['Allow', 'ETag', 'RateLimit', 'RateLimit-Policy', 'Retry-After', 'WWW-Authenticate'];
const MORE_RESPONSE_HEADERS = ['Content-Disposition', 'Deprecation', 'Idempotent-Replayed', 'Link', 'Location', 'Sunset'];

/**
 * Lets the pages of other origins send requests with a token, and read all responses: with the methods of the routes, and
 * the headers that every route has or an operation documents, but without cookies and other credentials of browsers.
 * Preflight requests get 204 before the guards; those of other origins get no header that allows anything.
 *
 * @param origins - exact origins; if there are none, nothing is changed
 * @param routes - all routes of the application, whose OpenAPI document must be built
 */
export function enableCors(app: NestExpressApplication, origins: readonly string[], routes: readonly Route[]): void {
  if (origins.length === 0) {
    return;
  }
  const operations = operationsOf(app.get(OpenApiDocument).get()).map(({ operation }) => operation);
  const parameters = operations.flatMap((operation) => operation.parameters ?? []);
  const asked = parameters.flatMap((each) => (each.in === 'header' ? each.name : []));
  const responses = operations.flatMap((operation) => Object.values(operation.responses));
  const received = responses.flatMap(({ headers = {} }) => Object.keys(headers));
  const allowed = {
    origin: [...origins],
    methods: methodsOf(routes),
    allowedHeaders: [...new Set([...REQUEST_HEADERS, ...TRACE_HEADERS, ...asked])],
    exposedHeaders: [...new Set(['X-Request-Id', ...RESPONSE_HEADERS, ...MORE_RESPONSE_HEADERS, ...received])],
    maxAge: MAX_AGE,
    preflightContinue: true,
  };
  // Without `allowedHeaders`, `cors` would allow the headers that the request asks for.
  const refused = { origin: [], methods: [], allowedHeaders: [], preflightContinue: true };
  app.enableCors(({ headers: { origin = '' } }: Request, respond) => {
    respond(null, origins.includes(origin) ? allowed : refused);
  });
  // `cors` would add a Content-Length, which a 204 must not have (RFC 9110, section 8.6).
  app.use((request: Request, response: Response, next: NextFunction) =>
    isPreflight(request) ? void response.writeHead(204).end() : next(),
  );
}

function methodsOf(routes: readonly Route[]): string[] {
  const shown = routes.filter((route) => !isHidden(route));
  const methods = new Set(shown.map((route) => RequestMethod[methodOf(route)]));
  return methods.has('ALL') ? METHODS : METHODS.filter((each) => methods.has(each === 'HEAD' ? 'GET' : each));
}

/** A request with a body does not count as a preflight request: Node would read the body to its end. */
function isPreflight(request: Request): boolean {
  const { origin, 'access-control-request-method': method } = request.headers;
  return request.method === 'OPTIONS' && origin !== undefined && method !== undefined && !hasBody(request);
}
