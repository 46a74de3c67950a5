import { Injectable } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { Metrics } from '../observability/metrics.js';
import { PoolMetrics, PRIMARY } from './pool-metrics.js';
import { StatementMetrics } from './statement-metrics.js';
import { StatementObservers } from './statement-observers.js';

/** What the database costs, seen from here. */
@Injectable()
export class DatabaseMetrics {
  readonly pools: PoolMetrics;
  private readonly replicas: readonly string[];

  constructor(
    private readonly metrics: Metrics,
    statements: StatementObservers,
    { DATABASE_URL, DATABASE_POOL_SIZE, DATABASE_REPLICA_URLS }: Configuration,
  ) {
    statements.add(new StatementMetrics(metrics).observe);
    this.replicas = DATABASE_REPLICA_URLS.map((_, index) => this.replicaName(index));
    // The embedded database has one connection.
    const size = DATABASE_URL === undefined ? 1 : DATABASE_POOL_SIZE;
    this.pools = new PoolMetrics(metrics, [PRIMARY, ...this.replicas], size);
  }

  /** Of its pool: the URL is no name for a metric. @param index - its place in `DATABASE_REPLICA_URLS` */
  replicaName(index: number): string {
    return `replica-${index + 1}`;
  }

  /** @param isReady - whether the replica at a place in `DATABASE_REPLICA_URLS` is read from now */
  watchReplicas(isReady: (index: number) => boolean): void {
    this.metrics.gauge(
      {
        name: 'items_database_replica_ready',
        help: 'Whether lists are read from that replica (1), or it is away or lacks migrations (0)',
        labels: { pool: this.replicas },
      },
      ({ pool }) => Number(isReady(this.replicas.indexOf(pool))),
    );
  }
}
