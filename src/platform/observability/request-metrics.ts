import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { Histogram } from 'prom-client';
import type { Metrics } from './metrics.js';

/** Upper bounds of the buckets, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * Measures how long each request takes. Its labels have few values, whatever clients send: paths count by the route that took
 * them, methods by those that Node parses, and what was never answered has the status 0.
 */
export function requestMetrics({ registry }: Metrics): RequestHandler {
  const durations = new Histogram({
    name: 'items_http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: BUCKETS,
    registers: [registry],
  });
  return (request: Request, response: Response, next: NextFunction) => {
    const stop = durations.startTimer();
    response.once('close', () => {
      const { route } = request as { route?: { path: string } };
      const status = response.headersSent ? response.statusCode : 0;
      stop({ method: request.method, route: route?.path ?? 'none', status });
    });
    next();
  };
}
