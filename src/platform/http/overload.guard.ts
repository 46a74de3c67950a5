import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { isHidden } from '../routes/operation.js';
import { serviceUnavailable } from '../problems/problem-types.js';
import { Problem } from '../problems/problem.js';

/**
 * Rejects requests, before authentication, once a turn of the event loop has served others for `MAX_EVENT_LOOP_DELAY`. If
 * turns served all that wait, each later turn would take longer (ADR 33). Hidden routes, such as probes, are served.
 */
@Injectable()
export class OverloadGuard implements CanActivate {
  private readonly longest: number;
  private readonly shed;
  /** Time of the first request of this turn of the event loop. */
  private first: number | undefined;

  constructor({ MAX_EVENT_LOOP_DELAY }: Configuration, metrics: Metrics) {
    this.longest = MAX_EVENT_LOOP_DELAY * 1000;
    const help = 'Requests rejected with 503 because a turn of the event loop took too long';
    this.shed = metrics.counter({ name: 'http_requests_shed_total', help });
  }

  canActivate(context: ExecutionContext): boolean {
    const now = performance.now();
    if (this.first === undefined) {
      this.first = now;
      setImmediate(() => {
        this.first = undefined;
      });
    }
    const isBehind = now - this.first > this.longest && context.getType() === 'http';
    if (isBehind && !isHidden({ controller: context.getClass(), handler: context.getHandler() })) {
      this.shed.inc();
      throw new Problem(serviceUnavailable, 'The service is overloaded. Retry in 1 s.', { headers: { 'Retry-After': '1' } });
    }
    return true;
  }
}
