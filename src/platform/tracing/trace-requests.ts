import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { outcomeOf } from '../http/outcome-of.js';
import { runIn } from './current-span.js';
import type { OpenSpan } from './span.js';
import type { Tracing } from './tracing.js';

/** Those that the semantic conventions know; any other is `_OTHER` there. Node reads some more, and no arbitrary ones. */
const KNOWN_METHODS: ReadonlySet<string> = new Set('CONNECT DELETE GET HEAD OPTIONS PATCH POST PUT QUERY TRACE'.split(' '));

/**
 * Makes a span of each request, from its arrival to the end of its answer, for all that happens on its behalf. It says nothing of query,
 * headers and body, and of the client no more than the id that the log knows it by.
 */
export function traceRequests(tracing: Tracing): RequestHandler {
  return (request: Request, response: Response, next: NextFunction) => {
    const span = tracing.beginRequest(request.headers);
    if (!span) {
      next();
      return;
    }
    // Express shortens it for what is mounted below a path.
    const { path } = request;
    response.once('close', () => {
      span.set({ 'url.path': path });
      describe(span, request, response);
      span.end();
    });
    runIn(span, next);
  };
}

function describe(span: OpenSpan, request: Request, response: Response): void {
  const { method, id, httpVersion } = request;
  const { route, status, isAborted } = outcomeOf(request, response);
  const isKnown = KNOWN_METHODS.has(method);
  span.rename([isKnown ? method : 'HTTP', ...(route === undefined ? [] : [route])].join(' '));
  span.set({
    'http.request.method': isKnown ? method : '_OTHER',
    'http.request.method_original': isKnown ? undefined : method,
    'http.route': route,
    'http.response.status_code': status,
    'network.protocol.version': httpVersion,
    'url.scheme': 'http',
    'enduser.id': request.user?.id,
    'items.request.id': id,
    'items.request.aborted': isAborted || undefined,
  });
  if (status !== undefined && status >= 500) {
    span.fail(String(status));
  }
}
