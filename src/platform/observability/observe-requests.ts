import { Logger } from '@nestjs/common';
import type { Span } from '@opentelemetry/api';
import type { Request, RequestHandler } from 'express';
import { shownPath } from '../errors/redaction.js';
import { SERVICE_NAME } from '../service/service.js';
import { failSpan, inRequestSpan } from '../tracing/tracing.js';
import type { Metrics } from './metrics.js';

/** In seconds; 0.25 is the latency objective. */
const BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Methods with a label value of their own. About thirty others that Node accepts share one. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Measures, logs and traces requests, without headers, query or body. A request without a response has no status. */
export function observeRequests(metrics: Metrics): RequestHandler {
  const logger = new Logger();
  const help = 'Time from the start of a request to the end of its response';
  const labelNames = { method: [], route: [], status: [] };
  const durations = metrics.histogram({ name: 'http_request_duration_seconds', help, labels: labelNames }, BUCKETS);
  let inFlight = 0;
  metrics.gauge({ name: 'http_requests_in_flight', help: 'Requests without a complete response' }, () => inFlight);
  return (request, response, next) => {
    const start = performance.now();
    // Read now, because Express shortens the path inside mounted handlers.
    const { method, path } = request;
    inFlight += 1;
    const observe = (span: Span | undefined) => {
      inFlight -= 1;
      const durationMs = performance.now() - start;
      const { user, refusal } = request;
      const { path: route } = (request.route ?? {}) as { path?: string };
      const status = response.headersSent ? response.statusCode : undefined;
      const aborted = response.writableFinished ? undefined : true;
      const labels = { method: METHODS.has(method) ? method : 'other', route: route ?? 'none', status: status ?? 0 };
      durations.observe(labels, durationMs / 1000);
      const { traceId, spanId } = span?.spanContext() ?? {};
      const caller = { principalId: user?.id, subject: user?.subject, refusal };
      const outcome = { method, route, path: shownPath(path), status, aborted };
      const measured = { ...outcome, durationMs: Math.round(durationMs * 1000) / 1000 };
      const line = { msg: 'request', requestId: request.id, traceId, spanId, ...caller, ...measured, ...problemIn(request) };
      logger[request.isProbe && status === 200 ? 'debug' : 'log'](line);
      endSpan(span, request, outcome);
    };
    inRequestSpan(request, (span) => {
      response.once('close', () => observe(span));
      next();
    });
  };
}

function problemIn({ problem }: Request) {
  return { problem: problem?.type.name, codes: problem?.errors && [...new Set(problem.errors.map(({ code }) => code))] };
}

interface Outcome {
  readonly method: string;
  readonly route: string | undefined;
  readonly path: string;
  readonly status: number | undefined;
  readonly aborted: boolean | undefined;
}

/** Names the attributes and methods as OpenTelemetry does (semantic conventions for HTTP spans). */
function endSpan(span: Span | undefined, request: Request, { method, route, path, status, aborted }: Outcome): void {
  if (!span) {
    return;
  }
  const isKnown = METHODS.has(method) || method === 'TRACE';
  const name = isKnown ? method : 'HTTP';
  span.updateName(route === undefined ? name : `${name} ${route}`).setAttributes({
    'http.request.method': isKnown ? method : '_OTHER',
    'http.request.method_original': isKnown ? undefined : method,
    'http.route': route,
    'http.response.status_code': status,
    'network.protocol.version': request.httpVersion,
    'url.path': path,
    'url.scheme': 'http',
    'enduser.id': request.user?.id,
    [`${SERVICE_NAME}.request.id`]: request.id,
    [`${SERVICE_NAME}.request.aborted`]: aborted,
  });
  if (status !== undefined && status >= 500) {
    failSpan(span, { name: String(status) });
  }
  span.end();
}
