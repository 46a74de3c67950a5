import type { DurationHistogram, EventCounter, Metrics } from '../observability/metrics.js';

/** Where requests are counted. */
const STORAGES = ['redis', 'process'] as const;

const DECISIONS = ['admitted', 'refused'] as const;

/** Upper bounds of the buckets, in seconds; no call waits longer than the last one. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05];

/** What the limiter says of itself. */
export class RateLimitMetrics {
  private readonly decisions: EventCounter<{ readonly decision: typeof DECISIONS; readonly storage: typeof STORAGES }>;
  private readonly changes: EventCounter<{ readonly to: typeof STORAGES }>;
  private readonly roundTrips: DurationHistogram;

  /**
   * @param wantsShared - whether there is a Redis to count in
   * @param isShared - whether requests are counted there now
   */
  constructor(metrics: Metrics, wantsShared: boolean, isShared: () => boolean) {
    this.decisions = metrics.counter({
      name: 'items_rate_limit_decisions_total',
      help: 'Requests with a valid token, by what the limiter decided and where it counted',
      labels: { decision: DECISIONS, storage: STORAGES },
    });
    this.changes = metrics.counter({
      name: 'items_rate_limit_storage_changes_total',
      help: 'How often the place where requests are counted changed, by the new place',
      labels: { to: STORAGES },
    });
    this.roundTrips = metrics.histogram(
      { name: 'items_rate_limit_redis_duration_seconds', help: 'Time from a question to Redis to its answer' },
      BOUNDS,
    );
    metrics.gauge(
      {
        name: 'items_rate_limit_shared',
        help: 'Whether requests are counted in Redis (1), or each process counts for itself (0)',
      },
      () => Number(isShared()),
    );
    metrics.gauge(
      { name: 'items_rate_limit_degraded', help: 'Whether this process counts for itself although REDIS_URL is set' },
      () => Number(wantsShared && !isShared()),
    );
  }

  readonly decided = (admitted: boolean, isShared: boolean): void => {
    this.decisions.inc({ decision: admitted ? 'admitted' : 'refused', storage: isShared ? 'redis' : 'process' });
  };

  readonly changed = (isShared: boolean): void => {
    this.changes.inc({ to: isShared ? 'redis' : 'process' });
  };

  readonly answered = (seconds: number): void => {
    this.roundTrips.observe({}, seconds);
  };
}
