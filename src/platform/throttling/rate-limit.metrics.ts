import type { Metrics } from '../observability/metrics.js';

const STORAGES = ['redis', 'process'] as const;

/** What decides about a request. */
export type Storage = (typeof STORAGES)[number];

/** Registers the metrics of the rate limit. @param state - read at each collection */
export function rateLimitMetrics(metrics: Metrics, state: { isShared: () => boolean; isDegraded: () => boolean }) {
  const shared = 'Whether requests are counted in Redis (1), or in each process (0)';
  metrics.gauge({ name: 'rate_limit_shared', help: shared }, () => Number(state.isShared()));
  const degraded = 'Whether this process counts alone although REDIS_URL is set';
  metrics.gauge({ name: 'rate_limit_degraded', help: degraded }, () => Number(state.isDegraded()));
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
