import { context, propagation, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import type { RequestHandler } from 'express';
import { hideCredentials } from '../auth/hide-credentials.js';
import { SERVICE_NAME } from '../config/configuration.js';
import { outcomeOf } from '../http/request-context.js';
import { failSpan } from './traced.js';

/** Handles each request in a server span, which continues the trace of the caller. */
export const traceRequests: RequestHandler = (request, response, next) => {
  // Without an SDK there is no propagator.
  if (propagation.fields().length === 0) {
    next();
    return;
  }
  // Express shortens the path below a mounted handler.
  const { method, path, id, httpVersion, headers } = request;
  const { traceparent, tracestate = '' } = headers;
  // The state is exported and passed on.
  const caller = propagation.extract(ROOT_CONTEXT, { traceparent, tracestate: hideCredentials(String(tracestate)) });
  const span = trace.getTracer(SERVICE_NAME).startSpan(method, { kind: SpanKind.SERVER }, caller);
  response.once('close', () => {
    const { route, status, isAborted } = outcomeOf(request, response);
    span.updateName(route === undefined ? method : `${method} ${route}`);
    span.setAttributes({
      'http.request.method': method,
      'http.route': route,
      'http.response.status_code': status,
      'network.protocol.version': httpVersion,
      'url.path': hideCredentials(path),
      'url.scheme': 'http',
      'enduser.id': request.user?.id,
      'items.request.id': id,
      'items.request.aborted': isAborted || undefined,
    });
    if (status !== undefined && status >= 500) {
      failSpan(span, { name: String(status) });
    }
    span.end();
  });
  context.with(trace.setSpan(caller, span), next);
};
