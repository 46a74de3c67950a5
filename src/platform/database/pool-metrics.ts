import type { Pool } from 'pg';
import type { DurationHistogram, Metrics } from '../observability/metrics.js';
import type { PoolObserver } from './database-pool.js';

/** The pool of connections to the database itself. */
export const PRIMARY = 'primary';

/** Upper bounds of the buckets, in seconds. A connection that is free comes at once, a new one takes milliseconds. */
const BOUNDS = [0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

type PoolLabels = Readonly<Record<'pool', readonly string[]>>;

/** Tells how many connections there are to each server, and how long requests wait for one. */
export class PoolMetrics {
  /** By name: one that is being replaced by its successor has two for a moment. */
  private readonly pools: ReadonlyMap<string, Set<Pool>>;
  private readonly waits: DurationHistogram<PoolLabels>;

  /**
   * @param names - of all pools that there may be
   * @param size - connections that each has at most
   */
  constructor(metrics: Metrics, names: readonly string[], size: number) {
    this.pools = new Map(names.map((name) => [name, new Set()]));
    const labels = { pool: names };
    metrics.gauge(
      {
        name: 'items_database_pool_connections',
        help: 'Connections that the process holds, by what they do',
        labels: { ...labels, state: ['used', 'idle'] },
      },
      ({ pool, state }) => this.sum(pool, ({ totalCount, idleCount }) => (state === 'idle' ? idleCount : totalCount - idleCount)),
    );
    metrics.gauge(
      { name: 'items_database_pool_limit', help: 'Connections that it may hold: DATABASE_POOL_SIZE', labels },
      () => size,
    );
    metrics.gauge(
      { name: 'items_database_pool_waiting', help: 'Requests that wait for a connection to come free', labels },
      ({ pool }) => this.sum(pool, ({ waitingCount }) => waitingCount),
    );
    this.waits = metrics.histogram(
      {
        name: 'items_database_pool_acquire_duration_seconds',
        help: 'Time until a request had a connection, be it a new one, or was told that there is none',
        labels,
      },
      BOUNDS,
    );
  }

  /** Watches the pools of that name. */
  observerOf(name: string): PoolObserver {
    const labels = { pool: name };
    return {
      opened: (pool) => this.pools.get(name)?.add(pool),
      closed: (pool) => this.pools.get(name)?.delete(pool),
      acquired: (seconds) => {
        this.waits.observe(labels, seconds);
      },
    };
  }

  private sum(name: string, count: (pool: Pool) => number): number {
    return [...(this.pools.get(name) ?? [])].reduce((sum, pool) => sum + count(pool), 0);
  }
}
