import type { RequestObserver } from '../http/observe-requests.js';
import { DurationHistogram } from './duration-histogram.js';
import type { Metrics } from './metrics.js';

/**
 * Upper bounds of the buckets, in seconds. That of the objective for latency, 0.25, is one of them: what lies between two bounds
 * cannot be told apart. Above 5 are requests only whose clients were slow to send them.
 */
const BOUNDS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Methods that routes have. The fallback takes all others that Node parses, some thirty: they are one. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'other'];

/**
 * Measures how long each request takes. Its labels have few values, whatever clients send: paths count by the route that took
 * them, `none` where that was none, and what was never answered has the status 0.
 */
export function requestMetrics(metrics: Metrics): RequestObserver {
  const durations = new DurationHistogram(
    metrics.registry,
    {
      name: 'items_http_request_duration_seconds',
      help: 'Time from the arrival of a request to the end of its answer',
      labels: { method: METHODS, route: 'open', status: 'open' },
    },
    BOUNDS,
  );
  let inFlight = 0;
  metrics.gauge(
    { name: 'items_http_requests_in_flight', help: 'Requests that have arrived and are not answered yet' },
    () => inFlight,
  );
  return ({ method }) => {
    const start = performance.now();
    inFlight += 1;
    return ({ route = 'none', status = 0 }) => {
      inFlight -= 1;
      durations.observe({ method, route, status: String(status) }, (performance.now() - start) / 1000);
    };
  };
}
