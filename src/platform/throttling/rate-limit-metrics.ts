import type { Metrics } from '../observability/metrics.js';

const STORAGES = ['redis', 'process'] as const;

/** Metrics of the limiter. */
export class RateLimitMetrics {
  readonly decisions;
  readonly changes;
  readonly redisDuration;

  /** @param isShared - whether requests are counted in Redis now; undefined without one */
  constructor(metrics: Metrics, isShared: (() => boolean) | undefined) {
    this.decisions = metrics.counter({
      name: 'items_rate_limit_decisions_total',
      help: 'Requests with a valid token, by decision and by where it was made',
      labels: { decision: ['admitted', 'refused'], storage: STORAGES },
    });
    this.changes = metrics.counter({
      name: 'items_rate_limit_storage_changes_total',
      help: 'Changes between Redis and counting in the process',
      labels: { to: STORAGES },
    });
    // No call waits longer than the last bound.
    this.redisDuration = metrics.histogram(
      { name: 'items_rate_limit_redis_duration_seconds', help: 'Time until Redis responds' },
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05],
    );
    const shared = 'Whether requests are counted in Redis (1), or in each process (0)';
    metrics.gauge({ name: 'items_rate_limit_shared', help: shared }, () => Number(isShared?.() === true));
    const degraded = 'Whether this process counts for itself although REDIS_URL is set';
    metrics.gauge({ name: 'items_rate_limit_degraded', help: degraded }, () => Number(isShared?.() === false));
  }
}
