import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { Logger } from '@nestjs/common';
import { Histogram } from 'prom-client';
import { hideCredentials } from '../auth/hide-credentials.js';
import { outcomeOf } from '../http/request-context.js';
import { currentTrace } from '../tracing/traced.js';
import type { Metrics } from './metrics.js';

/** In seconds; 0.25 is the objective for latency. */
const BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const logger = new Logger();

/** Methods of routes. Node parses some thirty others, which count as one. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Measures each request and logs it in one line: without a status if it got no response, and never with headers, query or body. */
export function observeRequests(metrics: Metrics, isLogged: boolean): RequestHandler {
  const durations = new Histogram({
    name: 'items_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its response',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [metrics.registry],
  });
  let inFlight = 0;
  metrics.gauge({ name: 'items_http_requests_in_flight', help: 'Requests without a complete response' }, () => inFlight);
  return (request: Request, response: Response, next: NextFunction) => {
    const start = performance.now();
    // Express shortens it for what is mounted below a path.
    const { method, path } = request;
    const trace = currentTrace();
    inFlight += 1;
    response.once('close', () => {
      inFlight -= 1;
      const durationMs = performance.now() - start;
      const { route, status, isAborted } = outcomeOf(request, response);
      const labels = { method: METHODS.has(method) ? method : 'other', route: route ?? 'none', status: status ?? 0 };
      durations.observe(labels, durationMs / 1000);
      if (isLogged) {
        logger.log({
          msg: 'request',
          requestId: request.id,
          ...trace,
          principalId: request.user?.id,
          subject: request.user?.subject,
          refusal: request.refusal,
          method,
          route,
          path: hideCredentials(path),
          status,
          aborted: isAborted || undefined,
          durationMs: Math.round(durationMs * 1000) / 1000,
        });
      }
    });
    next();
  };
}
