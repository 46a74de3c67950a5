import type { Metrics } from '../observability/metrics.js';

const STORAGES = ['redis', 'process'] as const;

/** What decides whether a request is admitted. */
export type Storage = (typeof STORAGES)[number];

/** @param isShared - whether requests are counted in Redis; undefined without `REDIS_URL` */
export function rateLimitMetrics(metrics: Metrics, isShared: () => boolean | undefined) {
  const shared = 'Whether requests are counted in Redis (1), or in each process (0)';
  metrics.gauge({ name: 'rate_limit_shared', help: shared }, () => Number(isShared() === true));
  const degraded = 'Whether this process counts alone although REDIS_URL is set';
  metrics.gauge({ name: 'rate_limit_degraded', help: degraded }, () => Number(isShared() === false));
  return {
    decisions: metrics.counter({
      name: 'rate_limit_decisions_total',
      help: 'Requests with a valid token, by decision and by the storage that decided',
      labels: { decision: ['admitted', 'refused'], storage: STORAGES },
    }),
    changes: metrics.counter({
      name: 'rate_limit_storage_changes_total',
      help: 'Switches between Redis and the process as storage',
      labels: { to: STORAGES },
    }),
    redisDuration: metrics.histogram(
      { name: 'rate_limit_redis_duration_seconds', help: 'Response time of Redis' },
      // Requests wait no longer than the last bound.
      [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5],
    ),
  };
}
